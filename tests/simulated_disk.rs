//! Promise: the simulated disk shows exactly the legal states after a power cut, and fails as told.
//!
//! Method: small cases whose legal images are written down by hand, every one of them listed. The
//! proofs of the other tests stand on this one: an illegal image is a false alarm, a missing one a
//! fault that is never looked for.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;
use std::io::ErrorKind;

use common::generator::{Choices, Generator};
use common::media::{Cut, Media};
use common::simulated::{CallKind, Effect, Fault, SimulatedDisk};
use idjournal::{Storage, StorageFile};

const SECTOR_BYTES: usize = 4;

/// Every image that a cut can leave, told by `tell`.
fn images(disk: &SimulatedDisk, cut: Cut, tell: impl Fn(&Media) -> String) -> BTreeSet<String> {
    let mut told = BTreeSet::new();
    let mut choices = Choices::listed();
    loop {
        told.insert(tell(&disk.media().image(cut, &mut choices)));
        if !choices.advance() {
            return told;
        }
    }
}

fn content(media: &Media) -> String {
    match media.content("f") {
        Ok(bytes) => String::from_utf8_lossy(bytes).replace('\0', "."),
        Err(_) => "no file".to_owned(),
    }
}

fn names(media: &Media) -> String {
    let told = media.names().into_iter().map(|name| {
        let bytes = media.content(&name).unwrap();
        format!("{name}={} ", String::from_utf8_lossy(bytes))
    });
    told.collect()
}

fn set(told: &[&str]) -> BTreeSet<String> {
    told.iter().map(|text| (*text).to_owned()).collect()
}

/// A disk with the durable file `f`.
fn disk_with(bytes: &[u8]) -> (SimulatedDisk, std::sync::Arc<dyn StorageFile>) {
    let disk = SimulatedDisk::new(SECTOR_BYTES);
    let file = disk.create("f").unwrap();
    assert_eq!(file.write_at(0, bytes).unwrap(), bytes.len());
    file.sync().unwrap();
    disk.sync_directory().unwrap();
    (disk, file)
}

#[test]
fn a_sector_shows_the_version_after_its_first_pieces() {
    let (disk, file) = disk_with(b"aaaabbbb");
    file.write_at(0, b"1").unwrap();
    file.write_at(1, b"2").unwrap();
    file.write_at(4, b"3").unwrap();
    // "a2aa" is not among them: the second write of a sector does not survive without the first.
    let legal = [
        "aaaabbbb", "1aaabbbb", "12aabbbb", "aaaa3bbb", "1aaa3bbb", "12aa3bbb",
    ];
    assert_eq!(images(&disk, Cut::Free, content), set(&legal));
    assert_eq!(disk.media().free_images(), 6);
    assert_eq!(images(&disk, Cut::Nothing, content), set(&["aaaabbbb"]));
    assert_eq!(images(&disk, Cut::Everything, content), set(&["12aa3bbb"]));
    let in_time = ["aaaabbbb", "1aaabbbb", "12aabbbb", "12aa3bbb"];
    assert_eq!(images(&disk, Cut::Prefix, content), set(&in_time));
    let all_but_one = ["aaaa3bbb", "1aaa3bbb", "12aabbbb"];
    assert_eq!(images(&disk, Cut::AllButOne, content), set(&all_but_one));
    assert_eq!(
        images(&disk, Cut::OnlyOne, content),
        set(&["1aaabbbb", "12aabbbb", "aaaa3bbb"])
    );
}

#[test]
fn a_write_is_torn_at_sector_borders_only() {
    let (disk, file) = disk_with(b"aaaabbbbcccc");
    file.write_at(2, b"123456").unwrap();
    let legal = [
        "aaaabbbbcccc",
        "aa12bbbbcccc",
        "aaaa3456cccc",
        "aa123456cccc",
    ];
    assert_eq!(images(&disk, Cut::Free, content), set(&legal));
    let in_time = ["aaaabbbbcccc", "aa12bbbbcccc", "aa123456cccc"];
    assert_eq!(images(&disk, Cut::Prefix, content), set(&in_time));
}

#[test]
fn a_length_lies_between_synced_and_current() {
    let (disk, file) = disk_with(b"aaaa");
    file.write_at(4, b"bbbb").unwrap();
    let garbage = "\u{fffd}\u{fffd}\u{fffd}\u{fffd}";
    let longer = format!("aaaa{garbage}");
    let between = "aaaa\u{fffd}\u{fffd}".to_owned();
    let legal = [
        "aaaa", "aaaabb", "aaaabbbb", "aaaa..", "aaaa....", &longer, &between,
    ];
    assert_eq!(images(&disk, Cut::Free, content), set(&legal));
    assert_eq!(images(&disk, Cut::Nothing, content), set(&["aaaa"]));
    file.sync().unwrap();
    assert_eq!(images(&disk, Cut::Free, content), set(&["aaaabbbb"]));
}

#[test]
fn what_is_synced_stays() {
    let (disk, file) = disk_with(b"aaaa");
    file.write_at(0, b"bbbb").unwrap();
    file.sync().unwrap();
    file.write_at(0, b"c").unwrap();
    assert_eq!(images(&disk, Cut::Free, content), set(&["bbbb", "cbbb"]));
}

#[test]
fn names_are_there_or_not_in_any_combination() {
    let (disk, _) = disk_with(b"1");
    disk.create("g").unwrap();
    disk.rename("f", "h").unwrap();
    let legal = ["f=1 ", "f=1 g= ", "h=1 ", "g= h=1 "];
    assert_eq!(images(&disk, Cut::Free, names), set(&legal));
    disk.sync_directory().unwrap();
    assert_eq!(images(&disk, Cut::Free, names), set(&["g= h=1 "]));
    disk.remove("g").unwrap();
    assert_eq!(images(&disk, Cut::Free, names), set(&["g= h=1 ", "h=1 "]));
}

#[test]
fn a_file_never_has_two_names_and_a_replaced_one_may_come_back() {
    let (disk, _) = disk_with(b"1");
    let other = disk.create("g").unwrap();
    other.write_at(0, b"2").unwrap();
    other.sync().unwrap();
    disk.sync_directory().unwrap();
    disk.rename("g", "f").unwrap();
    disk.rename("f", "h").unwrap();
    // f replaced by g's file, which then moved on: the replaced file is back if only the second
    // change is durable, and g's file has one name in each image.
    let legal = ["f=1 g=2 ", "f=2 ", "h=2 ", "f=1 h=2 "];
    assert_eq!(images(&disk, Cut::Free, names), set(&legal));
}

#[test]
fn a_failing_sync_forgets_and_the_next_one_makes_up_for_nothing() {
    let (disk, file) = disk_with(b"aaaabbbb");
    file.write_at(0, b"1").unwrap();
    disk.fail(Fault {
        kind: CallKind::Sync,
        nth: 1,
        is_lasting: false,
        effect: Effect::Fails(5),
    });
    assert_eq!(file.sync().unwrap_err().raw_os_error(), Some(5));
    assert!(disk.has_failed());
    assert_eq!(content(&disk.media()), "1aaabbbb");
    file.sync().unwrap();
    assert_eq!(disk.changes_after_failure(), 1);
    assert_eq!(content(&disk.snapshot().media()), "1aaabbbb");
    assert_eq!(images(&disk, Cut::Everything, content), set(&["aaaabbbb"]));
    file.write_at(4, b"2").unwrap();
    file.sync().unwrap();
    assert_eq!(images(&disk, Cut::Everything, content), set(&["aaaa2bbb"]));
    // Written back as read, it is durable at last.
    file.write_at(0, b"1aaa").unwrap();
    file.sync().unwrap();
    assert_eq!(images(&disk, Cut::Nothing, content), set(&["1aaa2bbb"]));
}

#[test]
fn a_failing_directory_sync_forgets_names() {
    let (disk, _) = disk_with(b"1");
    disk.rename("f", "g").unwrap();
    disk.fail(Fault {
        kind: CallKind::SyncDirectory,
        nth: 1,
        is_lasting: false,
        effect: Effect::Fails(5),
    });
    assert!(disk.sync_directory().is_err());
    disk.sync_directory().unwrap();
    assert_eq!(names(&disk.media()), "g=1 ");
    assert_eq!(images(&disk, Cut::Everything, names), set(&["f=1 "]));
    // Renamed away and back, the name is durable with the next sync.
    disk.rename("g", "g.away").unwrap();
    disk.rename("g.away", "g").unwrap();
    disk.sync_directory().unwrap();
    assert_eq!(images(&disk, Cut::Nothing, names), set(&["g=1 "]));
}

#[test]
fn the_planned_call_fails_and_no_other() {
    let (disk, file) = disk_with(b"aaaa");
    let fault = Fault {
        kind: CallKind::Write,
        nth: 2,
        is_lasting: false,
        effect: Effect::Short(1),
    };
    disk.fail(fault);
    assert_eq!(file.write_at(0, b"12").unwrap(), 2);
    assert_eq!(file.write_at(0, b"34").unwrap(), 1);
    assert_eq!(file.write_at(1, b"56").unwrap(), 2);
    assert_eq!(content(&disk.media()), "356a");
    let lasting = Fault {
        nth: 1,
        is_lasting: true,
        effect: Effect::Fails(28),
        ..fault
    };
    disk.fail(lasting);
    for _ in 0..3 {
        assert_eq!(
            file.write_at(0, b"7").unwrap_err().kind(),
            ErrorKind::StorageFull
        );
    }
    disk.heal();
    assert_eq!(file.write_at(0, b"7").unwrap(), 1);
    assert_eq!(content(&disk.media()), "756a");
    assert_eq!(disk.count(CallKind::Write), 8);
}

#[test]
fn space_runs_out_for_growth_only() {
    let (disk, file) = disk_with(b"aaaa");
    disk.limit_space(Some(3));
    assert_eq!(file.write_at(2, b"bbbb").unwrap(), 4);
    assert_eq!(file.write_at(6, b"cc").unwrap(), 1);
    assert_eq!(
        file.write_at(7, b"c").unwrap_err().kind(),
        ErrorKind::StorageFull
    );
    assert_eq!(file.write_at(0, b"dddd").unwrap(), 4);
    disk.limit_space(None);
    assert_eq!(file.write_at(7, b"e").unwrap(), 1);
    assert_eq!(content(&disk.media()), "ddddbbce");
}

#[test]
fn images_begin_unlocked_and_go_their_own_way() {
    let (disk, file) = disk_with(b"aaaa");
    let lock = disk.try_lock("lock", "1").unwrap();
    assert!(lock.is_some());
    assert!(disk.try_lock("lock", "2").unwrap().is_none());
    let copy = disk.snapshot();
    assert!(copy.try_lock("lock", "2").unwrap().is_some());
    file.write_at(0, b"b").unwrap();
    assert_eq!(content(&copy.media()), "aaaa");
    drop(lock);
    assert!(disk.try_lock("lock", "3").unwrap().is_some());
}

#[test]
fn rot_changes_what_is_durable() {
    let (disk, file) = disk_with(b"aaaabbbb");
    file.write_at(4, b"cccc").unwrap();
    file.sync().unwrap();
    disk.change(|media| media.flip_bit("f", 0, 1)).unwrap();
    assert_eq!(images(&disk, Cut::Free, content), set(&["caaacccc"]));
    assert_eq!(disk.media().replaced_versions("f").unwrap(), 1);
    disk.change(|media| media.revert_sector("f", 0)).unwrap();
    assert_eq!(images(&disk, Cut::Free, content), set(&["caaabbbb"]));
    disk.change(|media| media.replace("g", b"2")).unwrap();
    disk.change(|media| media.swap("f", "g")).unwrap();
    assert_eq!(
        images(&disk, Cut::Nothing, names),
        set(&["f=2 g=caaabbbb "])
    );
}

#[test]
fn random_images_are_among_the_listed_ones() {
    let (disk, file) = disk_with(b"aaaabbbbcccc");
    for offset in [0, 3, 5, 9, 1] {
        file.write_at(offset, b"12").unwrap();
    }
    let legal = images(&disk, Cut::Free, content);
    let mut generator = Generator::new(1);
    let mut seen = BTreeSet::new();
    for _ in 0..2_000 {
        let image = disk.image(&mut Choices::random(generator.next()));
        assert_eq!(image.media().unsynced_units(), 0);
        seen.insert(content(&image.media()));
    }
    assert!(
        seen.is_subset(&legal),
        "illegal: {:?}",
        seen.difference(&legal)
    );
    assert_eq!(seen, legal, "some are never drawn");
}

//! Segments that are missing, short, doubled or another store's.

use std::collections::BTreeMap;

use idjournal::inspect::Inspection;
use idjournal::{DamageReason, Error, MemoryStorage, SegmentNumber, Store};

use crate::directory::set_u32;
use crate::support::{
    Answers, Files, answers, files, open, refusal, repeatable, small, storage_of,
};

/// A closed store of several segments, what it answers, and which slot holds which segment of its
/// chain.
struct Made {
    files: Files,
    answers: Answers,
    chain: BTreeMap<u64, String>,
}

fn made(seed: u64) -> Made {
    let storage = MemoryStorage::new();
    let (options, _) = repeatable(1024, seed);
    let store = open(storage.clone(), options.clone()).unwrap();
    let orders = store.cache("orders").unwrap();
    orders.set_capacity(30).wait().unwrap();
    for number in 0..200 {
        let _ = orders.add(format!("order-{seed}-{number}")).unwrap();
    }
    store.close().unwrap();
    let files = files(&storage);
    let store = open(storage_of(&files), options).unwrap();
    let chain = store.recovery().segments.iter();
    let chain = chain.map(|segment| (segment.number.0, format!("slot-{:06}", segment.slot.0)));
    let chain: BTreeMap<u64, String> = chain.collect();
    assert!(chain.len() >= 3, "{chain:?}");
    let answers = answers(&store);
    assert_eq!(answers.len(), 1);
    Made {
        files,
        answers,
        chain,
    }
}

fn damage(files: &Files) -> (u64, DamageReason) {
    match refusal(files, small(1024)) {
        Error::Damaged {
            segment, reason, ..
        } => (segment.0, reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_segment_of_the_chain_is_missed_by_name_and_no_other_slot_is() {
    let made = made(1);
    for name in made.files.keys().filter(|name| name.starts_with("slot-")) {
        let mut files = made.files.clone();
        files.remove(name);
        match made.chain.iter().find(|(_, slot)| *slot == name) {
            Some((number, _)) => {
                assert_eq!(damage(&files), (*number, DamageReason::Missing), "{name}");
            }
            None => {
                let store = open(storage_of(&files), small(1024)).unwrap();
                assert_eq!(answers(&store), made.answers);
            }
        }
    }
}

#[test]
fn a_store_file_without_its_segments_is_refused() {
    let made = made(1);
    let mut files = made.files.clone();
    files.retain(|name, _| !name.starts_with("slot-"));
    let (_, reason) = damage(&files);
    assert_eq!(reason, DamageReason::Missing);
    // The newest ones all gone: what is left would be a whole older state.
    for kept in 1..made.chain.len() {
        let mut files = made.files.clone();
        for slot in made.chain.values().skip(kept) {
            files.remove(slot);
        }
        files
            .retain(|name, _| !name.starts_with("slot-") || made.chain.values().any(|s| s == name));
        let (_, reason) = damage(&files);
        assert_eq!(reason, DamageReason::Missing, "{kept} kept");
    }
}

#[test]
fn the_first_segment_of_a_life_is_missed_although_nothing_leads_to_it() {
    let storage = MemoryStorage::new();
    let (options, _) = repeatable(1024, 5);
    let store = open(storage.clone(), options.clone()).unwrap();
    let _ = store.cache("orders").unwrap().add("order-1").unwrap();
    store.close().unwrap();
    let before = files(&storage);
    let store = open(storage.clone(), options).unwrap();
    let _ = store.cache("orders").unwrap().add("order-2").unwrap();
    store.close().unwrap();
    let after = files(&storage);
    let used = |name: &&String| name.starts_with("slot-") && before.get(*name) != after.get(*name);
    let used: Vec<&String> = after.keys().filter(used).collect();
    assert!(!used.is_empty());
    let mut lost = after.clone();
    for name in used {
        match before.get(name) {
            Some(bytes) => lost.insert(name.clone(), bytes.clone()),
            None => lost.remove(name),
        };
    }
    let store = open(storage_of(&after), small(1024)).unwrap();
    let newest = store.recovery().segments.last().unwrap().number.0;
    assert_eq!(damage(&lost), (newest, DamageReason::Missing));
}

#[test]
fn a_segment_of_another_length_than_its_header_says_is_refused() {
    let made = made(1);
    for (number, slot) in &made.chain {
        for bytes in [0, 100, 128, 300, 512, 1016, 1023, 1025, 2048, 4096] {
            let mut files = made.files.clone();
            files.get_mut(slot).unwrap().resize(bytes, 0);
            let (segment, reason) = damage(&files);
            assert_eq!(segment, *number, "{slot} of {bytes} bytes");
            let has_header = bytes >= 128;
            match reason {
                DamageReason::Length => assert!(has_header),
                DamageReason::Missing | DamageReason::Header => assert!(!has_header),
                other => panic!("{slot} of {bytes} bytes: {other}"),
            }
        }
    }
}

#[test]
fn a_segment_of_another_store_is_refused() {
    let (made, other) = (made(1), made(2_000_000));
    for (number, slot) in &made.chain {
        let mut files = made.files.clone();
        files.insert(slot.clone(), other.files[slot].clone());
        let (segment, reason) = damage(&files);
        assert_eq!(segment, *number);
        let same_number = other.chain.get(number) == Some(slot);
        let expected = if same_number {
            DamageReason::OtherStore
        } else {
            DamageReason::Missing
        };
        assert_eq!(reason, expected, "{slot}");
    }
    // The whole journal of another store under this store file.
    let mut files = other.files.clone();
    files.insert(String::from("store"), made.files["store"].clone());
    let (_, reason) = damage(&files);
    assert!(
        matches!(reason, DamageReason::OtherStore | DamageReason::Missing),
        "{reason}"
    );
    // A slot of another store beside a whole one is a free slot.
    let mut files = made.files.clone();
    files.insert(
        String::from("slot-000777"),
        other.files["slot-000000"].clone(),
    );
    let store = open(storage_of(&files), small(1024)).unwrap();
    assert_eq!(answers(&store), made.answers);
}

#[test]
fn slots_may_change_their_names_but_not_be_doubled() {
    let made = made(1);
    let names: Vec<&String> = made
        .files
        .keys()
        .filter(|name| name.starts_with("slot-"))
        .collect();
    for from in &names {
        for to in &names {
            if from == to {
                continue;
            }
            let mut swapped = made.files.clone();
            swapped.insert((*to).clone(), made.files[*from].clone());
            swapped.insert((*from).clone(), made.files[*to].clone());
            let store = open(storage_of(&swapped), small(1024)).unwrap();
            assert_eq!(answers(&store), made.answers);
            let mut doubled = made.files.clone();
            doubled.insert((*to).clone(), made.files[*from].clone());
            same_or_refused(&doubled, &made);
        }
        let mut doubled = made.files.clone();
        doubled.insert(String::from("slot-000900"), made.files[*from].clone());
        if made.chain.values().any(|slot| slot == *from) {
            assert_eq!(damage(&doubled).1, DamageReason::Twice);
        } else {
            same_or_refused(&doubled, &made);
        }
    }
}

fn same_or_refused(files: &Files, made: &Made) {
    match open(storage_of(files), small(1024)) {
        Ok(store) => assert_eq!(answers(&store), made.answers),
        Err(error) => {
            let is_named = |segment| segment != SegmentNumber(0);
            assert!(
                matches!(error, Error::Damaged { segment, .. } if is_named(segment)),
                "{error:?}"
            );
        }
    }
}

#[test]
fn slots_with_noise_in_them_are_free_or_refused_never_a_panic() {
    let made = made(1);
    let mut random = crate::support::Random(11);
    for bytes in [1, 127, 1024, 4096] {
        let noise: Vec<u8> = (0..bytes).map(|_| random.next().to_le_bytes()[0]).collect();
        let mut files = made.files.clone();
        files.insert(String::from("slot-000500"), noise);
        let store: Store = open(storage_of(&files), small(1024)).unwrap();
        assert_eq!(answers(&store), made.answers);
        for number in 0..100 {
            let _ = store
                .cache("more")
                .unwrap()
                .add(format!("{number}"))
                .unwrap();
        }
    }
}

/// Wrong bytes may be right for those who know the newer format; both ways of looking say so.
#[test]
fn a_newer_segment_beside_damage_is_told_first_by_open_and_by_a_look() {
    let made = made(1);
    let mut told = 0;
    let chain: Vec<&String> = made.chain.values().collect();
    for newer in &chain {
        for damaged in chain.iter().filter(|damaged| *damaged != newer) {
            let mut files = made.files.clone();
            for copy in [0, 128] {
                set_u32(&mut files.get_mut(*newer).unwrap()[copy..copy + 128], 8, 2);
            }
            files.get_mut(*damaged).unwrap()[300] ^= 1;
            let looked = Inspection::on(storage_of(&files)).map(drop);
            let is_named = |error: &Error| {
                matches!(error, Error::NewerFormat { file, .. }
                if *file == format!("memory/{newer}"))
            };
            let opened = refusal(&files, small(1024));
            assert!(is_named(&opened), "{newer}, {damaged}: {opened:?}");
            let looked = looked.unwrap_err();
            assert!(is_named(&looked), "{newer}, {damaged}: {looked:?}");
            told += 1;
        }
    }
    assert!(told >= 6, "{told}");
}

#[test]
fn errors_of_an_open_name_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let made = made(1);
    let path = directory.path().to_str().unwrap();
    for (name, bytes) in &made.files {
        std::fs::write(directory.path().join(name), bytes).unwrap();
    }
    let newest = directory
        .path()
        .join(made.chain.values().next_back().unwrap());
    let whole = std::fs::read(&newest).unwrap();
    let error_of = |bytes: &[u8]| {
        std::fs::write(&newest, bytes).unwrap();
        let opened = idjournal::Store::open(directory.path(), small(1024));
        opened.err().unwrap()
    };
    let error = error_of(&whole[..512]);
    assert!(
        matches!(&error, Error::Damaged { place, .. } if place == path),
        "{error:?}"
    );
    assert!(error.to_string().contains(path), "{error}");
    let mut newer = whole.clone();
    for copy in [0, 128] {
        set_u32(&mut newer[copy..copy + 128], 8, 2);
    }
    let error = error_of(&newer);
    assert!(error.to_string().starts_with(path), "{error}");
    assert!(matches!(error, Error::NewerFormat { .. }), "{error:?}");
}

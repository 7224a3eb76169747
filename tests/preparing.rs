//! Promise: a slot is made of small writes, so that no large page comes to be in the page cache, of
//! which each later sync of a few bytes would send all to the disk (F50).
//!
//! Method: every call of the storage is noted. What a device then writes for one synced add is a
//! figure of a real disk, and not told here.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/mod.rs"]
mod support;

use idjournal::{FileStorage, MemoryStorage, Options, Storage, SyncPolicy, Writes};

use support::watched::{Call, Watched};
use support::{open, uuid};

/// The most that one write of zeros may have: a page.
const ZEROS_MAX: usize = 4096;

/// Fills a store of four segments and more; how many slots were made.
fn slots_are_made_of_small_writes(inner: impl Storage, segment_bytes: u64, writes: Writes) -> u64 {
    let storage = Watched::new(inner);
    let options = Options::default()
        .segment_bytes(segment_bytes)
        .keeper(false);
    let options = options.sync_policy(SyncPolicy::Manual).writes(writes);
    let store = open(storage.clone(), options).unwrap();
    let orders = store.cache("orders").unwrap();
    for number in 0..4 * segment_bytes / 56 {
        let _ = orders.add(uuid(number)).unwrap();
    }
    store.close().unwrap();
    let calls = storage.calls();
    let mut slots = 0;
    for (at, call) in calls.iter().enumerate() {
        let Call::Create(name) = call else { continue };
        let Some(slot) = name
            .strip_suffix(".new")
            .filter(|name| name.starts_with("slot-"))
        else {
            continue;
        };
        slots += 1;
        // Zeros from the first byte to the last, then a sync, and only then the name.
        let mut end = 0;
        let mut rest = calls[at + 1..].iter();
        let after = rest.find(|call| match call {
            Call::Write(written, offset, bytes, are_zeros) if written == name => {
                assert!(*are_zeros && *bytes <= ZEROS_MAX, "{call:?}");
                assert_eq!(*offset, end, "{call:?}");
                end += *bytes as u64;
                false
            }
            _ => true,
        });
        assert_eq!(end, segment_bytes, "{name}");
        assert_eq!(after, Some(&Call::Sync(name.clone())));
        let renamed = Call::Rename(name.clone(), slot.to_owned());
        assert_eq!(rest.next(), Some(&renamed));
        assert_eq!(rest.next(), Some(&Call::SyncDirectory));
    }
    // What is written later is records and headers: none of it is larger than a record may be.
    for call in &calls {
        if let Call::Write(_, _, bytes, _) = call {
            assert!(*bytes <= ZEROS_MAX, "{call:?}");
        }
    }
    slots
}

#[test]
fn f50_zeros_are_written_in_calls_of_a_page() {
    for segment_bytes in [1024, 4096, 5120, 64 << 10, 4 << 20] {
        let slots =
            slots_are_made_of_small_writes(MemoryStorage::new(), segment_bytes, Writes::Auto);
        assert!(slots >= 4, "{slots} slots of {segment_bytes} bytes");
    }
}

#[test]
fn f50_zeros_are_written_before_a_slot_is_mapped() {
    for writes in [Writes::Mapped, Writes::Positioned] {
        let directory = tempfile::tempdir().unwrap();
        let storage = FileStorage::new(directory.path()).unwrap();
        let slots = slots_are_made_of_small_writes(storage, 64 << 10, writes);
        assert!(slots >= 4, "{slots} slots");
    }
}

//! What an open finds and does.

use idjournal::{AddressSettings, Error, MemoryStorage, Wildcards};
use tracing::Level;
use tracing::level_filters::LevelFilter;

use super::listener::{Told, listening};
use super::support::{files, killed, open, small, storage_of, uuid};
use super::{add, assert_on_the_page};

fn only(told: &[Told], name: &str) -> Told {
    let found: Vec<&Told> = told.iter().filter(|one| one.name == name).collect();
    let [one] = &found[..] else {
        panic!("one {name}, not {told:?}")
    };
    assert_on_the_page(one);
    (*one).clone()
}

/// What a kill leaves of a store with three IDs, and where its last segment ends.
fn left() -> (MemoryStorage, String, usize) {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), small(4096)).unwrap();
    let orders = store.cache("orders").unwrap();
    for number in 0..3 {
        add(&orders, uuid(number));
    }
    let left = killed(&storage);
    let store = open(killed(&left), small(4096)).unwrap();
    let segment = *store.recovery().segments.last().unwrap();
    let name = format!("slot-{:06}", segment.slot.0);
    (left, name, usize::try_from(segment.end).unwrap())
}

#[test]
fn a_recovery_is_told_with_what_it_found() {
    let (storage, name, end) = left();
    let mut files = files(&storage);
    files.get_mut(&name).unwrap()[end..end + 8].fill(0xff);
    listening(LevelFilter::INFO, |heard| {
        let store = open(storage_of(&files), small(4096).id_cache_size(2)).unwrap();
        let (told, report) = (heard.take(), store.recovery());
        let recovered = only(&told, "recovered");
        assert_eq!(recovered.level, Level::INFO);
        let numbers = [
            ("segments", report.segments.len() as u64),
            ("records", report.records),
            ("caches", 1),
            ("ids", report.ids),
            ("prepared", 0),
            ("rewritten_bytes", report.rewritten_bytes),
            ("changes", 1),
            ("took_milliseconds", report.took_milliseconds),
        ];
        for (field, number) in numbers {
            assert_eq!(recovered.number(field), number, "{field}");
        }
        assert_eq!(recovered.get("is_new"), "false");
        let tail = only(&told, "tail");
        assert_eq!(
            (tail.number("offset"), tail.level),
            (end as u64, Level::WARN)
        );
        let changed = only(&told, "changed by options");
        assert_eq!(
            (changed.get("what"), changed.get("address")),
            ("capacity", "orders")
        );
        assert_eq!((changed.number("old"), changed.number("new")), (20_000, 2));
        assert_eq!(changed.number("forgotten"), 1);
        assert_eq!(told.len(), 3);
    });
}

#[test]
fn a_new_store_is_told_as_new_and_nothing_else() {
    listening(LevelFilter::TRACE, |heard| {
        let _store = open(MemoryStorage::new(), small(4096)).unwrap();
        let told = heard.take();
        assert_eq!(only(&told, "recovered").get("is_new"), "true");
        assert_eq!(told.len(), 1);
    });
}

#[test]
fn of_a_thousand_changes_a_hundred_are_told_and_all_counted() {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), small(16 << 10)).unwrap();
    for number in 0..1_000 {
        add(&store.cache(format!("address-{number}")).unwrap(), "a");
    }
    let left = killed(&storage);
    listening(LevelFilter::INFO, |heard| {
        let _store = open(left, small(16 << 10).id_cache_size(10)).unwrap();
        let told = heard.take();
        assert_eq!(only(&told, "recovered").number("changes"), 1_000);
        let changes = told.iter().filter(|one| one.name == "changed by options");
        assert_eq!(changes.count(), 100);
    });
}

#[test]
fn a_pattern_that_means_nothing_now_is_told() {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), small(4096)).unwrap();
    let mut settings = AddressSettings::default();
    settings.id_cache_size = Some(5);
    store.configure("orders.#", settings).wait().unwrap();
    let wildcards = Wildcards::default().any_words(b'.').delimiter(b'/');
    let left = killed(&storage);
    listening(LevelFilter::INFO, |heard| {
        let store = open(left, small(4096).wildcards(wildcards)).unwrap();
        let inactive = store.recovery().inactive_patterns.len();
        assert_eq!(inactive, 1);
        let told = only(&heard.take(), "pattern inactive");
        assert_eq!(told.get("pattern"), "orders.#");
    });
}

#[test]
fn damage_is_told_with_its_place() {
    let (storage, name, end) = left();
    // A recovery vouches for all that it has shown.
    open(storage.clone(), small(4096)).unwrap().close().unwrap();
    let mut files = files(&storage);
    files.get_mut(&name).unwrap()[end - 16] ^= 1;
    let damaged = storage_of(&files);
    listening(LevelFilter::ERROR, |heard| {
        let error = open(damaged, small(4096)).err();
        let Some(Error::Damaged {
            segment,
            offset,
            reason,
            ..
        }) = error
        else {
            panic!("{error:?}")
        };
        let told = only(&heard.take(), "damaged");
        assert_eq!(
            (told.number("segment"), told.number("offset")),
            (segment.0, offset)
        );
        assert_eq!(
            (told.get("reason"), told.level),
            (&*reason.to_string(), Level::ERROR)
        );
    });
}

//! A store of many segments with every kind and form of record, also of those that no call writes.
//!
//! Three lives, each ended by a kill. Between them an encoder of the tests appends what no call
//! writes yet; the second life carries the first of that forward, and the third makes the end.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use idjournal::inspect::{Inspection, Item, Record};
use idjournal::{Cache, MemoryStorage, Namespace, OnDuplicate, Options, Owner, Store};

use crate::support::encoder::{CARRIED, END_OF_GROUP, LARGE, Life, MARKED, WHOLE, framed};
use crate::support::{Answers, Files, answers, files, open, repeatable, storage_of, uuid};

pub(crate) const SEGMENT_BYTES: u64 = 8192;

/// Room that is made for what is encoded.
const ENCODED_BYTES_MAX: u64 = 2_400;

/// A store as a kill leaves it, and as a close does.
pub(crate) struct Made {
    pub(crate) killed: Files,
    pub(crate) closed: Files,
    /// What it answered at the last sync and after each change since.
    pub(crate) legal: Vec<Answers>,
    /// Where the records ended at that sync: slot and offset.
    pub(crate) synced: (String, usize),
}

pub(crate) fn make() -> Made {
    let storage = live(&Files::new(), 1, fill);
    let encoded = with_encoded(storage, 0);
    let storage = live(&encoded, 2, carry);
    let encoded = with_encoded(storage, 1);
    let storage = storage_of(&encoded);
    let store = open(storage.clone(), options(3)).unwrap();
    let encoded_ids = |store: &Store| {
        let cache = store.cache("encoded-1").unwrap();
        cache.ids().collect::<Vec<_>>()
    };
    let expected: [&[u8]; 8] = [
        b"whole",
        b"carried value",
        b"t1",
        b"t2",
        b"p1",
        b"p2",
        b"renewed",
        b"again",
    ];
    let found: BTreeSet<Vec<u8>> = encoded_ids(&store).into_iter().collect();
    let expected: BTreeSet<Vec<u8>> = expected.iter().map(|id| id.to_vec()).collect();
    assert_eq!(found, expected, "what was encoded is not what was read");
    finish(&store);
    let (legal, synced) = unsynced_end(&storage, &store);
    let killed = files(&storage);
    store.close().unwrap();
    let closed = files(&storage);
    assert_every_form(&killed);
    assert_every_form(&closed);
    Made {
        killed,
        closed,
        legal,
        synced,
    }
}

fn options(seed: u64) -> Options {
    repeatable(SEGMENT_BYTES, seed).0
}

/// The number that the header of a segment file gives.
pub(crate) fn number_of(segment: &[u8]) -> u64 {
    Life::of(segment).number
}

/// One life that begins from these files and ends by a kill.
fn live(begin: &Files, seed: u64, work: impl FnOnce(&Store)) -> Files {
    let storage = storage_of(begin);
    let store = open(storage.clone(), options(seed)).unwrap();
    work(&store);
    until_room(&storage, &store);
    store.sync().wait_synced().unwrap();
    files(&storage)
}

/// An ID of so many bytes.
fn long_id(number: u64, bytes: usize) -> Vec<u8> {
    let mut id = uuid(number).to_vec();
    id.resize(bytes.max(id.len()), b'.');
    id
}

fn add(cache: &Cache, numbers: std::ops::Range<u64>, bytes: usize) {
    for number in numbers {
        let _ = cache.add(long_id(number, bytes)).unwrap();
    }
}

/// The first life: long IDs that stay, short ones that go, all that calls write.
fn fill(store: &Store) {
    let stays = store.cache("stays").unwrap();
    let bridge = store.cache_in(Namespace::Bridge, "stays").unwrap();
    let goes = store.cache("goes").unwrap();
    goes.set_capacity(4).wait().unwrap();
    add(&stays, 0..14, 1_200);
    add(&bridge, 0..2, 900);
    add(&goes, 100..110, 600);
}

/// The second life: enough bytes to release what the first life wrote, and what was encoded then.
fn carry(store: &Store) {
    let released = store.stats().segments_released;
    let goes = store.cache("goes").unwrap();
    let mut number = 1_000;
    while store.stats().segments_released < released + 7 {
        add(&goes, number..number + 1, 1_000);
        number += 1;
    }
    assert!(store.stats().carried_records > 14, "{:?}", store.stats());
}

/// Goes on until there is room in the active segment for what is encoded.
fn until_room(storage: &MemoryStorage, store: &Store) {
    let goes = store.cache("goes").unwrap();
    for number in 10_000.. {
        add(&goes, number..number + 1, 100);
        let inspection = Inspection::on(storage.clone()).unwrap();
        if inspection.segments().last().unwrap().end + ENCODED_BYTES_MAX < SEGMENT_BYTES {
            return;
        }
        assert!(number < 11_000, "no segment has room enough");
    }
}

/// The last life: every call that records.
fn finish(store: &Store) {
    let stays = store.cache("stays").unwrap();
    let goes = store.cache("goes").unwrap();
    add(&goes, 20_000..20_004, 100);
    let mut transaction = store.begin(OnDuplicate::Skip, Owner(1));
    assert!(transaction.remove(&stays, long_id(1, 1_200)).unwrap());
    let _ = transaction.add(&goes, uuid(30_000)).unwrap();
    let _ = transaction.add(&stays, uuid(30_001)).unwrap();
    transaction.commit().wait().unwrap();
    assert!(stays.remove(long_id(2, 1_200)).wait().unwrap());
    let cleared = store.cache_in(Namespace::Bridge, "cleared").unwrap();
    add(&cleared, 0..3, 40);
    assert_eq!(cleared.clear().wait().unwrap(), 3);
    for (name, namespaces) in [
        ("one", &[Namespace::Client][..]),
        ("two", &[Namespace::Client, Namespace::Bridge]),
    ] {
        for namespace in namespaces {
            add(&store.cache_in(*namespace, name).unwrap(), 0..1, 40);
        }
        assert!(store.drop_cache(name).wait().unwrap());
    }
}

/// Three changes behind a sync, in a segment that was there before; what was answered at the sync
/// and after each of them, and where the records ended at the sync.
fn unsynced_end(storage: &MemoryStorage, store: &Store) -> (Vec<Answers>, (String, usize)) {
    let goes = store.cache("goes").unwrap();
    let stays = store.cache("stays").unwrap();
    for number in 40_000.. {
        store.sync().wait_synced().unwrap();
        let before = store.stats();
        let mut legal = vec![answers(store)];
        let inspection = Inspection::on(storage.clone()).unwrap();
        let last = inspection.segments().last().unwrap();
        let synced = (
            format!("slot-{:06}", last.slot.0),
            usize::try_from(last.end).unwrap(),
        );
        add(&goes, 3 * number..3 * number + 1, 50);
        legal.push(answers(store));
        add(&stays, 3 * number..3 * number + 1, 300);
        legal.push(answers(store));
        assert!(stays.remove(long_id(3 * number, 300)).wait().unwrap());
        add(&goes, 3 * number + 1..3 * number + 2, 70);
        legal.push(answers(store));
        let now = store.stats();
        if (now.syncs, now.segments_begun) == (before.syncs, before.segments_begun) {
            return (legal, synced);
        }
    }
    unreachable!("there is always a segment with room");
}

/// These files with records behind the last one that no call writes, of addresses of their own.
fn with_encoded(mut made: Files, round: u32) -> Files {
    let inspection = Inspection::on(storage_of(&made)).unwrap();
    let last = inspection.segments().last().unwrap();
    let (mut end, slot) = (usize::try_from(last.end).unwrap(), last.slot);
    let segment = made.get_mut(&format!("slot-{:06}", slot.0)).unwrap();
    let life = Life::of(segment);
    for record in encoded(&life, end, last.base_time.0 + 7, round) {
        life.put(segment, end, &record);
        end += record.len();
    }
    made
}

/// What [`assert_every_form`] asks for and calls do not write.
fn encoded(life: &Life, end: usize, now: u64, round: u32) -> Vec<Vec<u8>> {
    let word = |number: u32| number.to_le_bytes();
    let long = |number: u64| number.to_le_bytes();
    let name = format!("encoded-{round}");
    let (mine, other) = (&word(40 + 2 * round), &word(41 + 2 * round));
    let (time, mark) = (&long(now), &life.mark(end));
    let definition = |address: &[u8], flags: u8, kind: u8, last: u64| {
        let numbers = [60, 1 << 40, 1, last].map(long).concat();
        let head = [&[kind, 1, 0, 0][..], &word(0)].concat();
        framed(8, flags, &[address, &head, &numbers, time, name.as_bytes()])
    };
    let put = |kind, flags, parts: &[&[u8]]| framed(kind, flags | END_OF_GROUP, parts);
    let whole = |kind, flags, ordinal, rest: &[u8]| {
        put(kind, WHOLE | flags, &[mine, time, &long(ordinal), rest])
    };
    let short =
        |kind, flags, delta, rest: &[u8]| put(kind, flags, &[mine, &word(delta), &word(7), rest]);
    let add = |ordinal: u64, id: &[u8]| {
        let bytes = word(u32::try_from(id.len()).unwrap());
        [&[1][..], mine, &long(ordinal), &bytes, id].concat()
    };
    let add_with = |ordinal: u64, value: &[u8], id: &[u8]| {
        let bytes = word(u32::try_from(id.len()).unwrap());
        let length = [u8::try_from(value.len()).unwrap()];
        [&[2][..], mine, &long(ordinal), &length, value, &bytes, id].concat()
    };
    let remove = |ordinal: u64| [&[4][..], mine, &long(ordinal)].concat();
    let mark_place = [&[13][..], &word(5), b"place", &word(2), b"18"].concat();
    let prepare = |id: &[u8], flags, adds: [&[u8]; 2]| {
        let elements = [
            &add(0, adds[0]),
            &add_with(0, b"v", adds[1]),
            &remove(10),
            &mark_place,
        ];
        let elements = elements.map(|element| &element[..]).concat();
        let owner = &long(5);
        put(10, flags, &[time, owner, &word(4), &word(4), id, &elements])
    };
    let bookmark = |flags, value: &[u8]| put(13, flags, &[time, &word(5), b"place", value]);
    let (in_doubt, settled) = (format!("tx-{round}"), [&long(12)[..], &long(13)].concat());
    let changes = [
        add(9, b"t1"),
        add_with(11, b"t value", b"t2"),
        remove(5),
        mark_place.clone(),
    ];
    vec![
        definition(mine, END_OF_GROUP, 0, 0),
        whole(1, 0, 1, b"whole"),
        put(1, MARKED, &[mark, mine, &word(1), &word(7), b"short"]),
        short(2, 0, 2, b"\x05valuewith value"),
        whole(2, 0, 4, b"\x0bother valuecarried value"),
        whole(3, CARRIED, 1, b"whole"),
        whole(2, CARRIED, 4, b"\x0bother valuecarried value"),
        put(1, WHOLE | LARGE, &[mine, time, &long(5), b"large"]),
        short(1, LARGE, 1, b"large and short"),
        put(4, 0, &[mine, &long(2), time]),
        put(5, 0, &[mine, time, &long(7), &long(3), b"\x03newrenewed"]),
        put(
            5,
            MARKED,
            &[mark, mine, time, &long(8), &long(6), b"\x00again"],
        ),
        put(9, 0, &[time, &word(4), &changes.concat()]),
        prepare(b"tx-x", 0, [b"p1", b"p2"]),
        put(11, 0, &[time, &word(4), &word(2), b"tx-x", &settled]),
        prepare(b"tx-y", 0, [b"y1", b"y2"]),
        put(12, 0, &[time, &word(4), b"tx-y"]),
        prepare(in_doubt.as_bytes(), 0, [b"z1", b"z2"]),
        prepare(in_doubt.as_bytes(), CARRIED, [b"z1", b"z2"]),
        bookmark(0, b"17"),
        bookmark(LARGE, b"a large one"),
        bookmark(CARRIED, b"19"),
        put(14, MARKED, &[mark]),
        put(200, 0, &[b"of a later version"]),
        definition(other, 0, 1, 0),
        put(1, WHOLE, &[other, time, &long(1), b"of the other"]),
        definition(mine, CARRIED | END_OF_GROUP, 0, 13),
        put(6, 0, &[other, &long(2), time]),
        put(7, 0, &[other, &word(0), &long(2), time]),
    ]
}

/// What a record is, in words: its kind, and what of its form makes a difference to a reader.
fn form(item: &Item<'_>) -> String {
    let decoded = item.decoded;
    let shown = format!("{:?}", decoded.record);
    let mut words = shown
        .split([' ', '('])
        .next()
        .unwrap_or_default()
        .to_lowercase();
    let value = |add: &idjournal::inspect::Add<'_>| {
        if add.value.is_some() {
            " with value"
        } else {
            ""
        }
    };
    words += match &decoded.record {
        Record::Add(add) | Record::Renew { add, .. } => value(add),
        Record::Drop { other: Some(_), .. } => " of two",
        _ => "",
    };
    let flags = [
        (decoded.whole, " whole"),
        (decoded.carried, " carried"),
        (decoded.mark.is_some(), " marked"),
        (!decoded.end_of_group, " before"),
    ];
    for (is_set, word) in flags {
        words += if is_set { word } else { "" };
    }
    words
}

/// Every kind of docs/format.md stands in the chain, in every form that a reader tells apart.
fn assert_every_form(made: &Files) {
    let mut found = BTreeSet::new();
    let mut large = 0;
    let inspection = Inspection::on(storage_of(made)).unwrap();
    assert!(!inspection.is_damaged(), "{:?}", inspection.findings());
    inspection
        .records(&mut |item| {
            let form = form(item);
            found.insert(form.replace(" marked", ""));
            found.insert(form);
            let slot = &made[&format!("slot-{:06}", item.slot.0)];
            let flags = slot[usize::try_from(item.offset).unwrap() + 5];
            large += u64::from(flags & LARGE != 0);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(large >= 3, "{large} records in the large form");
    for wanted in FORMS.lines() {
        assert!(found.contains(wanted), "no {wanted} among {found:#?}");
    }
}

const FORMS: &str = "\
add
add marked
add whole
add whole carried
add with value
add with value whole
bookmark
bookmark carried
clear
commit
definition
definition before
definition carried
drop
drop of two
mark marked
prepare
prepare carried
release
remove
renew
renew with value
rollback
seal
skipped
transaction";

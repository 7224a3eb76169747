//! Promise: hashes, lengths, times and sizes at their ends do what the middle does.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

fn mixed(number: u64) -> u64 {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// An ID of 36 bytes.
fn usual(number: u64) -> Vec<u8> {
    format!("{number:036}").into_bytes()
}

fn add_usual(cache: &mut Cache, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let id = usual(number);
        assert_eq!(cache.find(mixed(number), &id), None);
        cache.add(mixed(number), &id, &[], Ticks(number), 56);
    }
}

#[test]
fn ids_of_one_hash_are_told_apart_by_their_bytes() {
    let mut cache = Cache::new(500);
    for number in 0..700 {
        assert_eq!(cache.find(9, &usual(number)), None);
        assert_eq!(
            cache.add(9, &usual(number), &[], Ticks(0), 56).0,
            Ordinal(number + 1)
        );
    }
    for number in 0..700 {
        let expected = (number >= 200).then_some(Ordinal(number + 1));
        assert_eq!(cache.find(9, &usual(number)), expected);
    }
}

#[test]
fn the_shortest_and_the_longest_come_back_whole() {
    let mut cache = Cache::new(300);
    let (longest, value) = (vec![b'x'; 65_536], vec![b'v'; 255]);
    assert_eq!(cache.add(1, b"", &value, Ticks(5), 300).0, Ordinal(1));
    for number in 2..=290_u64 {
        let mut id = longest.clone();
        id[..8].copy_from_slice(&number.to_le_bytes());
        cache.add(mixed(number), &id, &value, Ticks(5), 66_000);
        let found = cache.get(cache.find(mixed(number), &id).unwrap()).unwrap();
        assert_eq!(
            (found.id, found.value, found.record_bytes),
            (&id[..], &value[..], 66_000)
        );
    }
    let empty = cache.get(cache.find(1, b"").unwrap()).unwrap();
    assert_eq!(
        (empty.id, empty.value, empty.record_bytes),
        (&b""[..], &value[..], 300)
    );
    assert_eq!(cache.find(1, &value), None);
    assert_eq!(cache.live_bytes(), 300 + 289 * 66_000);
}

#[test]
fn a_place_taken_again_and_again_does_not_fill_its_chunk() {
    let mut cache = Cache::new(1000);
    let longest = vec![b'x'; 65_536];
    cache.restore(Ordinal(1), 1, b"stays", b"value", Ticks(1), 64);
    for ordinal in (0..600).map(|round| Ordinal(2 + round % 2)) {
        cache.remove(Ordinal(5 - ordinal.0));
        assert_eq!(
            cache.restore(ordinal, 2, &longest, &[], Ticks(1), 66_000),
            Restored::Fresh
        );
        assert_eq!(cache.get(ordinal).unwrap().id, &longest[..]);
        assert_eq!(cache.len(), 2);
    }
    cache.restored();
    let stays = cache.get(cache.find(1, b"stays").unwrap()).unwrap();
    assert_eq!((stays.id, stays.value), (&b"stays"[..], &b"value"[..]));
}

#[test]
fn times_far_apart_are_never_too_early() {
    let mut cache = Cache::new(1000);
    let day = 24 * 3600 * 100_u64;
    let times = [800, 100, 101, 4000, 0, 20_000, 3, 90_000].map(|days| days * day + 1);
    for (ordinal, time) in (1..).zip(times) {
        let id = usual(ordinal);
        cache.restore(Ordinal(ordinal), ordinal, &id, &[], Ticks(time), 56);
        for (earlier, time) in (1..=ordinal).zip(times) {
            let found = cache.get(Ordinal(earlier)).unwrap().time.0;
            assert!((time..time + 2000).contains(&found), "{found} for {time}");
        }
    }
    cache.restore(Ordinal(50), 50, b"end of time", &[], Ticks(u64::MAX), 56);
    assert_eq!(cache.get(Ordinal(50)).unwrap().time, Ticks(u64::MAX));
    cache.add(51, b"exact", &[], Ticks(7), 56);
    cache.restore(
        Ordinal(400),
        400,
        b"exact too",
        &[],
        Ticks(7 + 496 * day),
        56,
    );
    assert_eq!(cache.get(Ordinal(400)).unwrap().time, Ticks(7 + 496 * day));
}

#[test]
fn numbers_that_no_honest_journal_holds_do_no_harm() {
    let mut cache = Cache::new(1 << 31);
    for ordinal in [1, 1 << 31, 2, (1 << 32) + 5, u64::MAX - 1, 0, u64::MAX] {
        cache.restore(
            Ordinal(ordinal),
            ordinal,
            &usual(ordinal),
            &[],
            Ticks(1),
            56,
        );
        assert!(
            cache.heap_bytes() < 8192,
            "{} after {ordinal}",
            cache.heap_bytes()
        );
    }
    assert_eq!((cache.len(), cache.next()), (2, Ordinal(u64::MAX)));
    cache.add(1, b"one more", &[], Ticks(1), 56);
    assert_eq!((cache.len(), cache.find(1, b"one more")), (2, None));
    assert_eq!(cache.forget_below(Ordinal(u64::MAX)).bytes, 56);
}

#[test]
fn capacity_zero_keeps_nothing_and_counts_on() {
    let mut cache = Cache::new(0);
    assert_eq!(cache.add(1, b"a", &[], Ticks(1), 56).0, Ordinal(1));
    assert_eq!(cache.add(1, b"a", &[], Ticks(1), 56).0, Ordinal(2));
    assert_eq!(
        (cache.len(), cache.eviction_bytes(), cache.heap_bytes()),
        (0, 0, 0)
    );
}

#[test]
fn a_full_window_takes_24_bytes_per_id_at_most_beside_the_id() {
    for capacity in [20_000, 100_000, 1_000_000] {
        let mut cache = Cache::new(capacity);
        add_usual(&mut cache, 0..capacity + capacity / 2);
        let heap_bytes = cache.heap_bytes() as u64;
        let each = heap_bytes as f64 / capacity as f64 - 36.0;
        assert!(each <= 24.0, "{each} bytes per ID at {capacity}");
    }
}

#[test]
fn ids_of_one_length_take_20_bytes_each_beside_the_id_and_others_24() {
    let mut random = 1_u32;
    for (is_alike, most) in [(true, 20.0), (false, 24.0)] {
        let mut cache = Cache::new(100_000);
        let mut id_bytes = 0;
        for number in 0..150_000_u64 {
            random = random.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            let shorter = if is_alike { 0 } else { random as usize >> 28 };
            let id = &usual(number)[shorter..];
            cache.add(mixed(number), id, &[], Ticks(0), 56);
            id_bytes += if number >= 50_000 { id.len() } else { 0 };
        }
        let each = (cache.heap_bytes() - id_bytes) as f64 / 100_000.0;
        assert!(each <= most, "{each} bytes per ID, alike: {is_alike}");
    }
}

#[test]
fn a_cache_of_a_few_ids_is_small() {
    let mut cache = Cache::new(20_000);
    add_usual(&mut cache, 0..4);
    let beyond = cache.heap_bytes() + size_of::<Cache>() - 4 * 36;
    assert!(beyond <= 296, "{beyond}");
}

#[test]
fn a_shrunk_cache_becomes_small_and_stays_right() {
    let mut cache = Cache::new(60_000);
    add_usual(&mut cache, 0..70_000);
    let forgotten = cache.set_capacity(1000);
    assert_eq!((cache.len(), forgotten.bytes), (1000, 59_000 * 56));
    for number in 0..70_000 {
        let expected = (number >= 69_000).then_some(Ordinal(number + 1));
        assert_eq!(cache.find(mixed(number), &usual(number)), expected);
    }
    add_usual(&mut cache, 70_000..73_000);
    assert!(cache.heap_bytes() < 1000 * 80, "{}", cache.heap_bytes());
    for number in 68_000..73_000 {
        let expected = (number >= 72_000).then_some(Ordinal(number + 1));
        assert_eq!(cache.find(mixed(number), &usual(number)), expected);
    }
}

#[test]
fn every_id_is_found_at_each_step_of_a_change_of_capacity() {
    let mut cache = Cache::new(30_000);
    add_usual(&mut cache, 0..31_000);
    let mut next = 31_000;
    for capacity in [12_000, 13_000, 40_000, 2000] {
        let _ = cache.set_capacity(capacity);
        for _ in 0..60 {
            add_usual(&mut cache, next..next + 16);
            next += 16;
            for number in (next - cache.len()..next).step_by(97) {
                let found = cache.find(mixed(number), &usual(number));
                assert_eq!(found, Some(Ordinal(number + 1)), "capacity {capacity}");
            }
        }
    }
}

#[test]
fn a_clear_gives_back_all_memory() {
    let mut cache = Cache::new(20_000);
    add_usual(&mut cache, 0..30_000);
    let forgotten = cache.forget_below(Ordinal(30_001));
    assert_eq!(
        (forgotten.bytes, cache.heap_bytes(), cache.len()),
        (20_000 * 56, 0, 0)
    );
    drop(forgotten);
    assert_eq!(cache.add(1, b"next", &[], Ticks(1), 56).0, Ordinal(30_001));
}

//! Every cut of the newest segment of the store of many segments, with nothing and with zeros
//! behind the cut.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use idjournal::Error;
use idjournal::inspect::{Element, Inspection, Record};

use crate::every_kind::{self, SEGMENT_BYTES};
use crate::flips::{Byte, map};
use crate::support::encoder::block_bytes;
use crate::support::{Answers, Files, answers, open, small, storage_of};

/// What stands behind a cut.
#[derive(Clone, Copy, Debug)]
enum Behind {
    /// Nothing: the file ends there.
    Nothing,
    /// Zeros: what was written there is not there.
    Zeros,
}

/// Cuts the segment that the store ends in at every byte; how many cuts opened, and how many were
/// refused.
///
/// No crash cuts what was synced. Where zeros stand for it and for every mark behind it, nothing
/// can tell that it was there, unless the store was closed; then nothing may be known that was
/// never added.
fn cut_all(made: &Files, newest: &str, legal: &[Answers], synced: usize) -> [u64; 2] {
    let (mut opened, mut refused) = (0, 0);
    let is_closed = legal.len() == 1;
    let ever = ever_added(made);
    let whole = &made[newest];
    let number = every_kind::number_of(whole);
    for behind in [Behind::Nothing, Behind::Zeros] {
        for at in 0..whole.len() {
            let place = format!("{newest} cut at {at}, {behind:?} behind");
            let mut cut = made.clone();
            let bytes = cut.get_mut(newest).unwrap();
            match behind {
                Behind::Nothing => bytes.truncate(at),
                Behind::Zeros => bytes[at..].fill(0),
            }
            let is_whole = bytes == whole;
            match open(storage_of(&cut), small(SEGMENT_BYTES)) {
                Ok(store) => {
                    let now = answers(&store);
                    assert!(matches!(behind, Behind::Zeros), "{place}: opened");
                    // Behind the last record there may be an earlier life, and before that padding.
                    let is_all_there = are_same_up_to(&cut[newest], whole, synced);
                    if at >= synced || is_all_there {
                        assert!(legal.contains(&now), "{place}: not a state since the sync");
                    } else {
                        let mut ids = now.values().flat_map(|(_, ids)| ids);
                        let are_known = ids.all(|(_, id)| ever.contains(id));
                        assert!(!is_closed && are_known, "{place}: opened");
                    }
                    assert!(
                        !is_whole || now == *legal.last().unwrap(),
                        "{place}: other answers"
                    );
                    opened += 1;
                }
                Err(Error::Damaged {
                    segment, offset, ..
                }) => {
                    assert_eq!(segment.0, number, "{place}");
                    // A cut through zeros takes nothing before the next record, one through a
                    // header nothing before the first, as the other copy serves.
                    let taken = whole[at..].iter().position(|byte| *byte != 0).unwrap_or(0);
                    let first = (at + taken).max(2 * block_bytes(whole.len()));
                    assert!(offset <= first as u64, "{place}: told at {offset}");
                    refused += 1;
                }
                Err(other) => panic!("{place}: {other:?}"),
            }
        }
    }
    [opened, refused]
}

/// Whether both are the same up to `end`.
fn are_same_up_to(one: &[u8], other: &[u8], end: usize) -> bool {
    one.get(..end).is_some_and(|bytes| other.starts_with(bytes))
}

/// Every ID in any record of the chain.
fn ever_added(made: &Files) -> BTreeSet<Vec<u8>> {
    let mut ever = BTreeSet::new();
    let inspection = Inspection::on(storage_of(made)).unwrap();
    inspection
        .records(&mut |item| {
            match &item.decoded.record {
                Record::Add(add) | Record::Renew { add, .. } => drop(ever.insert(add.id.to_vec())),
                Record::Transaction { elements, .. } | Record::Prepare { elements, .. } => {
                    let ids = elements.filter_map(|element| match element {
                        Element::Add { id, .. } => Some(id.to_vec()),
                        _ => None,
                    });
                    ever.extend(ids);
                }
                _ => {}
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    ever
}

#[test]
fn every_cut_of_the_newest_segment_is_refused_or_costs_the_unsynced_end_at_most() {
    let made = every_kind::make();
    let (newest, synced) = &made.synced;
    let [opened, refused] = cut_all(&made.killed, newest, &made.legal, *synced);
    println!("killed: {opened} cuts opened, {refused} refused");
    assert_eq!(opened + refused, 2 * SEGMENT_BYTES);
    assert!(opened > 1_000 && refused > SEGMENT_BYTES);
    let end = map(&made.closed, None)[newest]
        .iter()
        .rposition(|byte| *byte != Byte::Spare)
        .unwrap()
        + 1;
    let last = &made.legal[made.legal.len() - 1..];
    let [opened, refused] = cut_all(&made.closed, newest, last, end);
    println!("closed: {opened} cuts opened, {refused} refused");
    assert_eq!(opened + refused, 2 * SEGMENT_BYTES);
    assert!(opened > 100 && refused > SEGMENT_BYTES + 2_000);
}

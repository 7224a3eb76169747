//! Reads ahead: what needs no order, on all cores; what needs it, one thread before the one that
//! applies it.
//!
//! What is found and what fails is the same as on one thread, and is told in the order of the
//! journal. Small stores are read by the caller alone: they are read in the time that a thread
//! takes to begin, and in tests each call of the disk has its turn.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::directory::slot_name;
use crate::error::{Error, Result};
use crate::facade::Mutex;
use crate::hash::IdHasher;
use crate::ids::{Ordinal, SegmentNumber, Ticks};
use crate::record::{Add, Record};
use crate::recovery::File;
use crate::recovery::chain::Chain;
use crate::recovery::scan::{SegmentFacts, SlotFacts, scan_segment};
use crate::recovery::slots::Life;
use crate::segment::{Item, SegmentReader};
use crate::store_file::StoreCopy;

/// Stores of fewer bytes are read by the caller alone.
const ALONE_BYTES: u64 = 8 << 20;
const THREADS_MAX: usize = 16;
/// Bytes of IDs, or records, after which a batch is handed over.
const BATCH_BYTES: usize = 32 << 10;
const BATCH_STEPS: usize = 1024;
/// Beyond that, for the record that reaches it.
const BATCH_SLACK_BYTES: usize = 4 << 10;
/// Batches that may wait to be applied: what they hold is all that reading ahead takes.
const BATCHES_AHEAD: usize = 16;

/// Some records of one segment, in order, with all that must be read of them.
#[derive(Default)]
pub(super) struct Batch {
    /// The place of the segment in the chain.
    pub(super) segment: usize,
    pub(super) steps: Vec<Step>,
    /// Whether the segment ends with it.
    pub(super) is_last: bool,
    bytes: Vec<u8>,
}

/// A record of a batch.
pub(super) enum Step {
    /// A plain add, ready to be applied.
    Add(ReadAdd),
    /// Any other, to be decoded again from these bytes.
    Other {
        /// Its offset in the segment.
        offset: u64,
        /// Where it stands in the batch.
        start: usize,
        /// Its length.
        bytes: usize,
    },
}

/// An add as the batch holds it.
pub(super) struct ReadAdd {
    /// Its offset in the segment.
    pub(super) offset: u64,
    /// The hash of its ID.
    pub(super) hash: u64,
    /// The length of its record.
    pub(super) record_bytes: u64,
    /// Whether it is a copy.
    pub(super) is_carried: bool,
    address: u32,
    ordinal: Ordinal,
    time: Ticks,
    id: (usize, usize),
    value_bytes: usize,
}

impl Batch {
    pub(super) fn bytes(&self, start: usize, bytes: usize) -> &[u8] {
        self.bytes.get(start..start + bytes).unwrap_or_default()
    }

    pub(super) fn add(&self, read: &ReadAdd) -> Add<'_> {
        let (start, id_bytes) = read.id;
        let value = self.bytes(start + id_bytes, read.value_bytes);
        Add {
            address: read.address,
            ordinal: read.ordinal,
            time: read.time,
            value: (!value.is_empty()).then_some(value),
            id: self.bytes(start, id_bytes),
        }
    }

    /// Forgets all but the memory.
    fn begin(&mut self, segment: usize) {
        (self.segment, self.is_last) = (segment, false);
        self.steps.clear();
        self.steps.reserve_exact(BATCH_STEPS);
        self.bytes.clear();
        self.bytes.reserve_exact(BATCH_BYTES + BATCH_SLACK_BYTES);
    }

    fn push(&mut self, item: &Item<'_>, hasher: &IdHasher) {
        let start = self.bytes.len();
        let (offset, decoded) = (item.offset, &item.decoded);
        let Record::Add(add) = &decoded.record else {
            self.bytes.extend_from_slice(item.raw);
            let bytes = item.raw.len();
            self.steps.push(Step::Other {
                offset,
                start,
                bytes,
            });
            return;
        };
        let value = add.value.unwrap_or_default();
        self.bytes.extend_from_slice(add.id);
        self.bytes.extend_from_slice(value);
        self.steps.push(Step::Add(ReadAdd {
            offset,
            hash: hasher.hash(add.id),
            record_bytes: decoded.bytes,
            is_carried: decoded.carried,
            address: add.address,
            ordinal: add.ordinal,
            time: add.time,
            id: (start, add.id.len()),
            value_bytes: value.len(),
        }));
    }
}

/// Reads the segments that are likely to be in the chain, if there is much to read. One that cannot
/// be read is left out: if it is needed, that is told when it is.
pub(super) fn read_segments(store: &StoreCopy, all: &[SlotFacts]) -> HashMap<Life, SegmentFacts> {
    let ours = |facts: &SlotFacts| {
        let is_ours = facts
            .header
            .filter(|header| header.identity == store.identity);
        is_ours.filter(|header| header.segment_bytes == facts.bytes)
    };
    let newest = all
        .iter()
        .filter_map(ours)
        .max_by_key(|header| header.number);
    let oldest_needed = newest.map_or(SegmentNumber(0), |header| header.oldest_needed);
    let likely = all.iter().filter_map(|facts| Some((facts, ours(facts)?)));
    let likely = likely.filter(|(_, header)| header.number >= oldest_needed);
    let likely: Vec<_> = likely.collect();
    let threads = threads(likely.iter().map(|(facts, _)| facts.bytes).sum());
    if threads < 2 {
        return HashMap::new();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut read = Vec::new();
        while let Some((facts, header)) = likely.get(next.fetch_add(1, Ordering::Relaxed)) {
            let found = scan_segment(facts, header, None);
            read.extend(
                found
                    .ok()
                    .map(|found| ((header.number, header.salt), found)),
            );
        }
        read
    };
    thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).filter_map(spawn).collect();
        let mut read: HashMap<_, _> = work().into_iter().collect();
        for other in others {
            read.extend(other.join().unwrap_or_default());
        }
        read
    })
}

/// Reads the records of the chain, oldest first, and has `apply` called with each batch in turn,
/// until one of both fails.
pub(super) fn read_chain(
    chain: &Chain,
    hasher: &IdHasher,
    mut apply: impl FnMut(&Batch) -> Result<()>,
) -> Result<()> {
    let bytes = chain.segments.iter().map(|segment| segment.end).sum();
    if threads(bytes) < 2 {
        return read_batches(chain, hasher, alone(apply));
    }
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(BATCHES_AHEAD);
        let (give_back, given_back) = mpsc::channel::<Batch>();
        let read = move || {
            // Nobody listens any more if applying has failed: that is told, not this.
            let hand_over = |batch| {
                sender.send(batch).map_err(|_| Error::Closed)?;
                Ok(given_back.try_recv().unwrap_or_default())
            };
            read_batches(chain, hasher, hand_over)
        };
        let Ok(reader) = thread::Builder::new().spawn_scoped(scope, read) else {
            return read_batches(chain, hasher, alone(&mut apply));
        };
        receiver.into_iter().try_for_each(|batch| {
            apply(&batch)?;
            // Once all is read nobody wants it any more.
            let _ = give_back.send(batch);
            Ok(())
        })?;
        reader
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Applies at once what is handed over.
fn alone(mut apply: impl FnMut(&Batch) -> Result<()>) -> impl FnMut(Batch) -> Result<Batch> {
    move |batch| {
        apply(&batch)?;
        Ok(batch)
    }
}

/// `hand_over` gives a batch for what comes next, with whatever it held before.
fn read_batches(
    chain: &Chain,
    hasher: &IdHasher,
    mut hand_over: impl FnMut(Batch) -> Result<Batch>,
) -> Result<()> {
    let mut batch = Batch::default();
    for (segment, of_chain) in chain.segments.iter().enumerate() {
        let failed = |error| Error::io("read", slot_name(of_chain.facts.slot), error);
        let file = File::clone(&of_chain.facts.file);
        let mut reader =
            SegmentReader::new(file, &of_chain.header, Some(of_chain.end)).map_err(failed)?;
        batch.begin(segment);
        while let Some(item) = reader.next().map_err(failed)? {
            batch.push(&item, hasher);
            if batch.steps.len() >= BATCH_STEPS || batch.bytes.len() >= BATCH_BYTES {
                batch = hand_over(batch)?;
                batch.begin(segment);
            }
        }
        batch.is_last = true;
        batch = hand_over(batch)?;
    }
    Ok(())
}

/// Has `work` done with each of `items`, on all cores if `much` of it is to be done.
pub(super) fn for_each<T: Send>(items: Vec<T>, is_much: bool, work: impl Fn(T) + Sync) {
    let others = if is_much { threads(u64::MAX) - 1 } else { 0 };
    let left = Mutex::new(items.into_iter());
    let take = || left.lock().next();
    let work = || {
        while let Some(item) = take() {
            work(item);
        }
    };
    thread::scope(|scope| {
        for _ in 0..others {
            // Without that thread the others have more to do.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
}

fn threads(bytes: u64) -> usize {
    if bytes < ALONE_BYTES {
        return 1;
    }
    thread::available_parallelism().map_or(1, |cores| cores.get().min(THREADS_MAX))
}

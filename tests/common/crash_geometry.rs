//! What a seed of the crash loop decides about disk and store, and what was looked at.

use std::time::Duration;

use idjournal::SyncPolicy;

use super::generator::Generator;
use super::media::Media;
use super::number_from;
use super::operation::Profile;
use super::said::AtOpen;

/// What a seed decides about the disk and the store.
#[derive(Clone, Debug)]
pub struct Geometry {
    pub segment_bytes: u64,
    pub sector_bytes: usize,
    pub policy: SyncPolicy,
    pub profile: Profile,
    /// The share of lives with a planned fault.
    pub faults: usize,
    /// The share of images that are damaged as well.
    pub rots: usize,
    /// At which shares of the disk's calls a life is looked at.
    pub snapshots: [usize; 4],
}

impl Geometry {
    pub fn of(seed: u64) -> Geometry {
        let mut generator = Generator::of_part(seed, 2);
        let segment_bytes = [1024, 1024, 2048, 4096][generator.below(4)];
        let sector_bytes = [128, 256, 512][generator.below(3)];
        let interval = SyncPolicy::Interval(Duration::from_millis(20));
        let policy = [SyncPolicy::Always, SyncPolicy::Manual, interval];
        let policy = policy[[0, 0, 1, 1, 2][generator.below(5)]];
        let settings = [2, 3, 7][generator.below(3)];
        let caches = [1, 2, 6][generator.below(3)];
        let ages = Generator::of_part(seed, 7).per_cent(35);
        let mut of_patterns = Generator::of_part(seed, 8);
        let patterns = of_patterns.per_cent(30) && !cfg!(idjournal_mutants);
        let mut settings = AtOpen::from(settings);
        if patterns && of_patterns.per_cent(40) {
            settings = settings.generate(&mut of_patterns, ages);
        }
        let profile = Profile {
            caches,
            drops: true,
            configures: true,
            ids: [3, 6, 14][generator.below(3)],
            settings,
            changes_settings: false,
            reopens: true,
            leases: seed % 4 == 3,
            claims: 0,
            // By itself, so that all else of a seed stays as it was.
            prepares: Generator::of_part(seed, 4).per_cent(40) && !patterns,
            ages,
            patterns,
            copies: Generator::of_part(seed, 9).per_cent(20) && !cfg!(idjournal_mutants),
        };
        Geometry {
            segment_bytes,
            sector_bytes,
            policy,
            profile,
            faults: 40,
            rots: number_from("IDJOURNAL_ROTS").map_or(15, |rots| rots as usize),
            snapshots: [2, 5, 15, 30],
        }
    }
}

/// What was looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Power cuts and kills recovered from.
    pub states: u64,
    /// Of these, power cuts within a recovery.
    pub nested: u64,
    /// Of these, kills of the process.
    pub kills: u64,
    /// Recoveries that found less than everything issued, and more than what was acknowledged.
    pub between: u64,
    /// Lives that ended with a failed call of the disk.
    pub failures: u64,
    /// Clean closes whose bytes were compared with those after another open.
    pub closes: u64,
    /// Calls of the store.
    pub operations: u64,
    /// Stores with one damage, and those of them that were refused.
    pub rots: u64,
    pub refusals: u64,
    /// Calls that were refused since there was no space, and went through when there was.
    pub refused_calls: u64,
    /// Writes that wrote less than asked.
    pub short_writes: u64,
    /// Recoveries that left out a newest segment that was not begun.
    pub left_out: u64,
    /// Recoveries that found bytes that are no record behind the last record.
    pub torn: u64,
    /// Of these, such as had something of the same segment survive behind.
    pub gaps: u64,
    /// Segments begun.
    pub segments: u64,
    /// Of these, such as are the first of a life.
    pub firsts: u64,
    /// Of these, such as took the slot of an earlier one.
    pub reuses: u64,
}

impl Counts {
    pub fn add(&mut self, other: &Counts) {
        self.states += other.states;
        self.nested += other.nested;
        self.kills += other.kills;
        self.between += other.between;
        self.failures += other.failures;
        self.closes += other.closes;
        self.operations += other.operations;
        self.rots += other.rots;
        self.refusals += other.refusals;
        self.refused_calls += other.refused_calls;
        self.short_writes += other.short_writes;
        self.left_out += other.left_out;
        self.torn += other.torn;
        self.gaps += other.gaps;
        self.segments += other.segments;
        self.firsts += other.firsts;
        self.reuses += other.reuses;
    }

    /// Counts the segments that are in `after` and were not in `before`.
    pub fn count_segments(&mut self, before: &Media, after: &Media) {
        let slots = after
            .names()
            .iter()
            .filter(|name| name.starts_with("slot-"))
            .count() as u64;
        let begun = newest_number(after).saturating_sub(newest_number(before));
        self.segments += begun;
        self.reuses += begun.saturating_sub(slots);
        self.firsts += u64::from(begun > 0 && has_first_since(after, newest_number(before)));
    }
}

/// The highest segment number that a header in this directory holds.
fn newest_number(media: &Media) -> u64 {
    let numbers = media.names().into_iter().filter_map(|name| {
        let content = media.content(&name).ok()?;
        let number = content.get(NUMBER_OFFSET..NUMBER_OFFSET + 8)?;
        let number = u64::from_le_bytes(number.try_into().ok()?);
        content.starts_with(b"idjsegmt").then_some(number)
    });
    numbers.max().unwrap_or(0)
}

/// Whether a segment above this number says where the one before was closed.
fn has_first_since(media: &Media, number: u64) -> bool {
    media.names().into_iter().any(|name| {
        let content = media.content(&name).unwrap_or_default();
        let at = |offset: usize| {
            let bytes = content.get(offset..offset + 8).unwrap_or(&[0; 8]);
            u64::from_le_bytes(bytes.try_into().unwrap_or_default())
        };
        content.starts_with(b"idjsegmt")
            && at(NUMBER_OFFSET) > number
            && at(PREVIOUS_END_OFFSET) > 0
    })
}

/// Where docs/format.md puts the number in a segment's header, and the end of the one before.
const NUMBER_OFFSET: usize = 48;
const PREVIOUS_END_OFFSET: usize = 80;

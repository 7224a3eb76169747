//! What a seed of the crash loop decides about disk and store, and what was looked at.

use idjournal::SyncPolicy;

use super::generator::Generator;
use super::operation::Profile;

/// What a seed decides about the disk and the store.
#[derive(Clone, Debug)]
pub struct Geometry {
    pub segment_bytes: u64,
    pub sector_bytes: usize,
    pub policy: SyncPolicy,
    pub profile: Profile,
}

impl Geometry {
    pub fn of(seed: u64) -> Geometry {
        let mut generator = Generator::of_part(seed, 2);
        let segment_bytes = [1024, 1024, 2048, 4096][generator.below(4)];
        let sector_bytes = [128, 256, 512][generator.below(3)];
        let policy = [SyncPolicy::Always, SyncPolicy::Manual][generator.below(2)];
        let settings = [2, 3, 7][generator.below(3)];
        let profile = Profile {
            caches: [1, 2, 6][generator.below(3)],
            ids: [3, 6, 14][generator.below(3)],
            settings,
            changes_settings: false,
            reopens: true,
        };
        Geometry {
            segment_bytes,
            sector_bytes,
            policy,
            profile,
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
    }
}

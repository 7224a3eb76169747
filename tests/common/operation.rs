//! One call of a test's script: how scripts are made, printed, and run on the model.

use super::claims::ClaimCall;
use super::generator::Generator;
use super::model::Model;
use super::recorded::{Answer, CACHES, PATTERNS, VALUES, XIDS, pool};
use super::said::{AtOpen, Said};

/// A call; `which` numbers are taken modulo what is open, and a call without a target does nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    Add {
        cache: usize,
        id: u8,
    },
    Submit {
        cache: usize,
        id: u8,
    },
    Reserve {
        cache: usize,
        id: u8,
        owner: u64,
    },
    Confirm {
        which: usize,
    },
    Release {
        which: usize,
    },
    Keep {
        which: usize,
    },
    Begin {
        is_skipping: bool,
        owner: u64,
    },
    TransactionAdd {
        which: usize,
        cache: usize,
        id: u8,
    },
    TransactionRemove {
        which: usize,
        cache: usize,
        id: u8,
    },
    Commit {
        which: usize,
    },
    RollBack {
        which: usize,
    },
    TransactionBookmark {
        which: usize,
        name: u8,
        value: u8,
    },
    Prepare {
        which: usize,
        id: u8,
    },
    /// Commits or rolls back what is prepared under this ID.
    Resolve {
        id: u8,
        is_commit: bool,
    },
    SetBookmark {
        name: u8,
        value: u8,
    },
    Remove {
        cache: usize,
        id: u8,
    },
    Clear {
        cache: usize,
    },
    Drop {
        address: usize,
    },
    SetCapacity {
        cache: usize,
        capacity: u64,
    },
    /// Sets what a pattern says, or takes it away.
    Configure {
        pattern: usize,
        said: Said,
    },
    Contains {
        cache: usize,
        id: u8,
    },
    State {
        cache: usize,
        id: u8,
    },
    /// Leases, claims taken up again, and time.
    Claim(ClaimCall),
    ConfirmWith {
        which: usize,
        value: u8,
    },
    Renew {
        cache: usize,
        id: u8,
    },
    /// So many steps of time, or none.
    SetMaxAge {
        cache: usize,
        age: Option<u64>,
    },
    /// Time goes on.
    Wait {
        steps: u64,
    },
    /// The wall clock is set, which shows with the next opening.
    Jump {
        steps: i64,
    },
    Compact,
    Sync,
    /// Ends all handles, after a `close` or without, and opens again.
    Reopen {
        is_closed: bool,
        settings: AtOpen,
    },
    /// Copies the store and looks into the copy.
    Backup,
}

/// What a script is made of.
#[derive(Clone, Debug)]
pub struct Profile {
    pub caches: usize,
    pub ids: usize,
    /// What the options say; reopening changes it if `changes_settings`.
    pub settings: AtOpen,
    pub changes_settings: bool,
    pub reopens: bool,
    pub drops: bool,
    /// Whether settings by pattern are changed live.
    pub configures: bool,
    /// Whether claims have leases.
    pub leases: bool,
    /// The share of calls that are about claims, beside those that every script has.
    pub claims: usize,
    /// Whether transactions are prepared and bookmarks set.
    pub prepares: bool,
    /// Whether there are ages, renewals, values and a clock that jumps.
    pub ages: bool,
    /// Whether patterns say more than capacities, those of the options too.
    pub patterns: bool,
    /// Whether the store is copied.
    pub copies: bool,
}

impl Operation {
    /// The next call of a script.
    pub fn generate(generator: &mut Generator, profile: &Profile) -> Operation {
        if profile.ages && generator.per_cent(25) {
            return Operation::of_age(generator, profile);
        }
        if profile.patterns && generator.per_cent(7) {
            return Operation::Configure {
                pattern: generator.below(PATTERNS.len()),
                said: Said::generate(generator, profile.ages, false),
            };
        }
        if profile.copies && generator.per_cent(2) {
            return Operation::Backup;
        }
        let cache = generator.below(profile.caches);
        let id = generator.below(profile.ids.min(pool().len())) as u8;
        let owner = 1 + generator.below(3) as u64;
        let which = generator.below(6);
        if profile.claims > 0 && generator.per_cent(profile.claims) {
            return match generator.below(10) {
                0 | 1 => Operation::Confirm { which },
                2 => Operation::Release { which },
                3 => Operation::Keep { which },
                _ => Operation::Claim(ClaimCall::generate(generator, (cache, id), owner)),
            };
        }
        if profile.prepares && generator.per_cent(22) {
            return Operation::generate_beside(generator, which);
        }
        match generator.below(1000) {
            0..250 => Operation::Add { cache, id },
            250..400 => Operation::Submit { cache, id },
            400..445 | 912..922 | 930..942 if profile.leases => {
                Operation::Claim(ClaimCall::generate(generator, (cache, id), owner))
            }
            400..460 => Operation::Reserve { cache, id, owner },
            460..500 => Operation::Confirm { which },
            500..515 => Operation::Release { which },
            515..520 => Operation::Keep { which },
            520..560 => Operation::Begin {
                is_skipping: generator.per_cent(60),
                owner,
            },
            560..700 => Operation::TransactionAdd { which, cache, id },
            700..735 => Operation::TransactionRemove { which, cache, id },
            735..770 => Operation::Commit { which },
            770..780 => Operation::RollBack { which },
            780..850 => Operation::Remove { cache, id },
            850..868 => Operation::Clear { cache },
            868..880 if profile.drops => Operation::Drop {
                address: generator.below(profile.caches.div_ceil(2)),
            },
            880..905 => Operation::SetCapacity {
                cache,
                capacity: generator.below(8) as u64,
            },
            905..912 if profile.configures => Operation::Configure {
                pattern: generator.below(PATTERNS.len()),
                said: Said::of_capacity(generator.per_cent(75).then(|| generator.below(8) as u64)),
            },
            905..930 => Operation::Contains { cache, id },
            930..955 => Operation::State { cache, id },
            955..960 => Operation::Compact,
            960..980 => Operation::Sync,
            _ if profile.reopens => {
                let mut settings = profile.settings;
                if profile.changes_settings && generator.per_cent(20) {
                    settings.capacity = generator.below(8) as u64;
                }
                if profile.changes_settings && profile.patterns && generator.per_cent(50) {
                    settings = settings.generate(generator, profile.ages);
                }
                Operation::Reopen {
                    is_closed: generator.per_cent(50),
                    settings,
                }
            }
            _ => Operation::Add { cache, id },
        }
    }

    /// The next call, if it is one about a bookmark or a prepared transaction.
    fn generate_beside(generator: &mut Generator, which: usize) -> Operation {
        let (name, value) = (generator.below(3) as u8, generator.below(256) as u8);
        let id = generator.below(usize::from(XIDS)) as u8;
        match generator.below(10) {
            0..2 => Operation::SetBookmark { name, value },
            2..4 => Operation::TransactionBookmark { which, name, value },
            4..7 => Operation::Prepare { which, id },
            kind => {
                let is_commit = kind < 9 || generator.per_cent(30);
                Operation::Resolve { id, is_commit }
            }
        }
    }

    /// A call that only scripts with ages have.
    fn of_age(generator: &mut Generator, profile: &Profile) -> Operation {
        let cache = generator.below(profile.caches);
        let id = generator.below(profile.ids.min(pool().len())) as u8;
        match generator.below(100) {
            0..25 => Operation::Wait {
                steps: 1 + generator.below(2) as u64,
            },
            25..40 => Operation::SetMaxAge {
                cache,
                age: [None, Some(1), Some(2), Some(3), Some(5)][generator.below(5)],
            },
            40..70 => Operation::Renew { cache, id },
            70..92 => Operation::ConfirmWith {
                which: generator.below(6),
                value: generator.below(VALUES) as u8,
            },
            _ => Operation::Jump {
                steps: [-20, -3, -1, 1, 2][generator.below(5)],
            },
        }
    }

    /// What the model answers.
    pub fn run_on(&self, model: &mut Model) -> Answer {
        model.begin_call();
        let (claims, open) = (model.reservations(), model.transactions());
        match *self {
            Operation::Add { cache, id } | Operation::Submit { cache, id } => model.add(cache, id),
            Operation::Reserve { cache, id, owner } => model.reserve(cache, id, owner, None),
            Operation::Confirm { which } if claims > 0 => model.confirm(which % claims, 0),
            Operation::ConfirmWith { which, value } if claims > 0 => {
                model.confirm(which % claims, value)
            }
            Operation::Renew { cache, id } => model.renew(cache, id),
            Operation::SetMaxAge { cache, age } => model.set_max_age(cache, age),
            Operation::Wait { steps } => model.wait(steps),
            Operation::Release { which } if claims > 0 => model.release(which % claims),
            Operation::Keep { which } if claims > 0 => model.keep(which % claims),
            Operation::Begin { is_skipping, owner } => model.begin(is_skipping, owner),
            Operation::TransactionAdd { which, cache, id } if open > 0 => {
                model.transaction_add(which % open, cache, id)
            }
            Operation::TransactionRemove { which, cache, id } if open > 0 => {
                model.transaction_remove(which % open, cache, id)
            }
            Operation::Commit { which } if open > 0 => model.commit(which % open),
            Operation::RollBack { which } if open > 0 => model.roll_back(which % open),
            Operation::TransactionBookmark { which, name, value } if open > 0 => {
                model.transaction_bookmark(which % open, name, value)
            }
            Operation::Prepare { which, id } if open > 0 => model.prepare(which % open, id),
            Operation::Resolve { id, is_commit } => model.resolve(id, is_commit),
            Operation::SetBookmark { name, value } => model.set_bookmark(name, value),
            Operation::Remove { cache, id } => model.remove(cache, id),
            Operation::Clear { cache } => model.clear(cache),
            Operation::Drop { address } => model.drop_address(address),
            Operation::SetCapacity { cache, capacity } => model.set_capacity(cache, capacity),
            Operation::Configure { pattern, said } => model.configure(pattern, said),
            Operation::Contains { cache, id } => model.contains(cache, id),
            Operation::State { cache, id } => model.state(cache, id),
            Operation::Claim(call) => call.run_on(model),
            Operation::Reopen { settings, .. } => {
                model.reopen(settings);
                Answer::Done
            }
            _ => Answer::Done,
        }
    }

    /// Runs it on the model after the store has answered; says what differs, if anything.
    ///
    /// A change that would make a transaction larger than a record may be refused: then it is not
    /// part of the transaction, or, at commit, nothing of it happens.
    pub fn agree(&self, model: &mut Model, from_store: &Answer) -> Result<(), String> {
        let open = model.transactions().max(1);
        if *from_store == Answer::TooLarge {
            match *self {
                Operation::TransactionAdd { which, .. }
                | Operation::TransactionBookmark { which, .. }
                | Operation::TransactionRemove { which, .. }
                    if model.transaction_bytes(which % open) + LARGEST_CHANGE > SURELY_FITS =>
                {
                    return Ok(());
                }
                Operation::Commit { which }
                    if model.transaction_bytes(which % open) > SURELY_FITS =>
                {
                    model.roll_back(which % open);
                    return Ok(());
                }
                Operation::Prepare { which, .. }
                    if model.transaction_bytes(which % open) + LARGEST_HEAD > SURELY_FITS =>
                {
                    model.roll_back(which % open);
                    return Ok(());
                }
                _ => return Err("over a limit, though it is small".to_owned()),
            }
        }
        if let (Operation::Reopen { settings, .. }, Answer::Reopened(now)) = (self, from_store) {
            model.reopen_at(settings, *now);
            model.begin_call();
            return Ok(());
        }
        if let Answer::Copied(copy) = from_store {
            return model.agree_with_copy(copy);
        }
        if let (Operation::Configure { pattern, said }, Answer::Refused) = (self, from_store)
            && model.may_refuse(*pattern, *said)
        {
            model.begin_call();
            return Ok(());
        }
        let from_model = self.run_on(model);
        if from_model == *from_store {
            return Ok(());
        }
        Err(format!(
            "the store answers {from_store:?}, the model {from_model:?}"
        ))
    }
}

/// A quarter of the smallest segment, less what frame, time and count of a transaction take.
const SURELY_FITS: usize = 256 - 16 - 12 - 7;
const LARGEST_CHANGE: usize = 57;
/// What a prepare has more than a transaction: owner, and an ID with its length.
const LARGEST_HEAD: usize = 8 + 4 + 6 * (XIDS as usize - 1);

/// A script as one line per call.
pub fn print(script: &[Operation]) -> String {
    let lines = script.iter().enumerate();
    lines
        .map(|(at, operation)| format!("  {at:3}: {operation:?}\n"))
        .collect()
}

const _: () = assert!(CACHES.len() == 6);

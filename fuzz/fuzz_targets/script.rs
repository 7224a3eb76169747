//! What the input of the fuzzer says: lives, calls, and which call of the disk fails.

use arbitrary::Arbitrary;

use crate::common::claims::ClaimCall;
use crate::common::operation::Operation;
use crate::common::recorded::{BOOKMARKS, CACHES, PATTERNS, VALUES, XIDS, pool};
use crate::common::said::{AtOpen, Persistence, Said};
use crate::common::simulated::{CallKind, Effect, Fault};

#[derive(Arbitrary, Debug)]
pub(crate) struct Script {
    pub(crate) segment: u8,
    pub(crate) sector: u8,
    pub(crate) capacity: u8,
    pub(crate) is_manual: bool,
    pub(crate) lives: Vec<Life>,
}

#[derive(Arbitrary, Debug)]
pub(crate) struct Life {
    pub(crate) fault: Option<Planned>,
    pub(crate) calls: Vec<Call>,
    pub(crate) end: End,
}

/// A call of the disk that fails: one kind, the n-th of it, once or from there on.
#[derive(Arbitrary, Debug)]
pub(crate) struct Planned {
    pub(crate) kind: u8,
    pub(crate) nth: u8,
    pub(crate) is_lasting: bool,
    pub(crate) effect: u8,
}

#[derive(Arbitrary, Debug)]
pub(crate) enum End {
    Close,
    Drop,
    Kill,
    /// A power cut, of which this seed decides what it leaves.
    Cut(u64),
    /// A kill, a recovery, and a power cut within it or after it.
    CutInRecovery(u64),
}

#[derive(Arbitrary, Clone, Debug)]
pub(crate) enum Call {
    Add(u8, u8),
    Submit(u8, u8),
    Reserve(u8, u8, u8),
    Confirm(u8),
    Release(u8),
    Keep(u8),
    Begin(bool, u8),
    TransactionAdd(u8, u8, u8),
    TransactionRemove(u8, u8, u8),
    Commit(u8),
    RollBack(u8),
    TransactionBookmark(u8, u8, u8),
    Prepare(u8, u8),
    Resolve(u8, bool),
    SetBookmark(u8, u8),
    Remove(u8, u8),
    Clear(u8),
    DropAddress(u8),
    SetCapacity(u8, u8),
    Contains(u8, u8),
    State(u8, u8),
    ConfirmWith(u8, u8),
    RenewId(u8, u8),
    SetMaxAge(u8, u8),
    Wait(u8),
    Jump(i8),
    Compact,
    Sync,
    Reopen(bool),
    /// Adds of all IDs to one cache, so that segments fill.
    Many(u8),
    /// Waits for all receipts so far, and for the disk if told so.
    Settle(bool),
    Lease(u8, u8, u8, u8),
    Renew(u8, u8),
    TakeUp(u8, u8, u8),
    Pass(u8),
    /// Gives a pattern a capacity, or takes it away.
    Configure(u8, Option<u8>),
    /// Sets what a pattern says, or takes it away.
    Set(u8, Setting),
    /// Opens again; if so, the options say this of a pattern from then on.
    ReopenWith(u8, Setting),
    /// Copies the store and looks into the copy.
    Backup,
}

/// What a pattern says.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub(crate) struct Setting {
    capacity: Option<u8>,
    age: Option<u8>,
    persistence: u8,
}

impl Setting {
    fn said(&self) -> Said {
        let age = self.age.map(|n| u64::from(n % 6));
        Said {
            capacity: self.capacity.map(|n| u64::from(n % 16)),
            age: age.map(|n| (n > 0).then_some(n)),
            persistence: [
                None,
                Some(Persistence::On),
                Some(Persistence::Off),
                Some(Persistence::OffEnding),
            ][usize::from(self.persistence % 4)],
        }
    }

    /// The same as options, which say nothing that another open would be refused for.
    fn at_open(&self, pattern: u8, capacity: u64) -> AtOpen {
        let mut at_open = AtOpen::from(capacity);
        let mut said = self.said();
        said.persistence = match said.persistence {
            None | Some(Persistence::On) => None,
            Some(_) => Some(Persistence::OffEnding),
        };
        at_open.patterns[usize::from(pattern) % PATTERNS.len()] = said;
        at_open
    }
}

impl Planned {
    pub(crate) fn fault(&self) -> Fault {
        let kinds = [
            CallKind::Write,
            CallKind::Sync,
            CallKind::SyncDirectory,
            CallKind::Create,
            CallKind::Rename,
            CallKind::Remove,
            CallKind::Open,
            CallKind::Read,
            CallKind::List,
            CallKind::Length,
        ];
        let kind = kinds[usize::from(self.kind) % kinds.len()];
        // EIO, ENOSPC, EMFILE; a short write.
        let effect = match (self.effect % 4, kind) {
            (3, CallKind::Write) => Effect::Short(1 + usize::from(self.nth) / 2),
            (number, _) => Effect::Fails([5, 28, 24, 5][usize::from(number)]),
        };
        Fault {
            kind,
            nth: 1 + u64::from(self.nth),
            is_lasting: self.is_lasting,
            effect,
        }
    }
}

pub(crate) enum Step {
    Call(Operation),
    /// Whether after a close, and whether with other options.
    Reopen(bool, Option<AtOpen>),
    Settle(bool),
}

impl Call {
    /// The steps of this call on a store with this capacity of new caches.
    pub(crate) fn operations(&self, capacity: u64) -> Vec<Step> {
        let cache = |number: u8| usize::from(number) % CACHES.len();
        let id = |number: u8| u8::try_from(usize::from(number) % pool().len()).unwrap_or(0);
        let which = usize::from;
        let one = match *self {
            Call::Add(c, i) => Operation::Add {
                cache: cache(c),
                id: id(i),
            },
            Call::Submit(c, i) => Operation::Submit {
                cache: cache(c),
                id: id(i),
            },
            Call::Reserve(c, i, o) => Operation::Reserve {
                cache: cache(c),
                id: id(i),
                owner: u64::from(o),
            },
            Call::Confirm(w) => Operation::Confirm { which: which(w) },
            Call::Release(w) => Operation::Release { which: which(w) },
            Call::Keep(w) => Operation::Keep { which: which(w) },
            Call::Begin(is_skipping, o) => Operation::Begin {
                is_skipping,
                owner: u64::from(o),
            },
            Call::TransactionAdd(w, c, i) => Operation::TransactionAdd {
                which: which(w),
                cache: cache(c),
                id: id(i),
            },
            Call::TransactionRemove(w, c, i) => Operation::TransactionRemove {
                which: which(w),
                cache: cache(c),
                id: id(i),
            },
            Call::Commit(w) => Operation::Commit { which: which(w) },
            Call::RollBack(w) => Operation::RollBack { which: which(w) },
            Call::TransactionBookmark(w, n, v) => Operation::TransactionBookmark {
                which: which(w),
                name: n % BOOKMARKS,
                value: v,
            },
            Call::Prepare(w, x) => Operation::Prepare {
                which: which(w),
                id: x % XIDS,
            },
            Call::Resolve(x, is_commit) => Operation::Resolve {
                id: x % XIDS,
                is_commit,
            },
            Call::SetBookmark(n, v) => Operation::SetBookmark {
                name: n % BOOKMARKS,
                value: v,
            },
            Call::Remove(c, i) => Operation::Remove {
                cache: cache(c),
                id: id(i),
            },
            Call::Clear(c) => Operation::Clear { cache: cache(c) },
            Call::DropAddress(a) => Operation::Drop {
                address: usize::from(a) % 3,
            },
            Call::SetCapacity(c, n) => Operation::SetCapacity {
                cache: cache(c),
                capacity: u64::from(n % 16),
            },
            Call::Configure(pattern, n) => Operation::Configure {
                pattern: usize::from(pattern) % PATTERNS.len(),
                said: Said::of_capacity(n.map(|n| u64::from(n % 16))),
            },
            Call::Set(pattern, setting) => Operation::Configure {
                pattern: usize::from(pattern) % PATTERNS.len(),
                said: setting.said(),
            },
            Call::Backup => Operation::Backup,
            Call::Contains(c, i) => Operation::Contains {
                cache: cache(c),
                id: id(i),
            },
            Call::State(c, i) => Operation::State {
                cache: cache(c),
                id: id(i),
            },
            Call::Lease(c, i, o, units) => Operation::Claim(ClaimCall::Lease {
                cache: cache(c),
                id: id(i),
                owner: u64::from(o),
                units: u64::from(units % 4),
            }),
            Call::Renew(w, units) => Operation::Claim(ClaimCall::Renew {
                which: which(w),
                units: u64::from(units % 4),
            }),
            Call::TakeUp(c, i, o) => Operation::Claim(ClaimCall::TakeUp {
                cache: cache(c),
                id: id(i),
                owner: u64::from(o),
            }),
            Call::Pass(units) => Operation::Claim(ClaimCall::Pass {
                units: u64::from(units % 4),
            }),
            Call::ConfirmWith(w, v) => Operation::ConfirmWith {
                which: which(w),
                value: u8::try_from(usize::from(v) % VALUES).unwrap_or(0),
            },
            Call::RenewId(c, i) => Operation::Renew {
                cache: cache(c),
                id: id(i),
            },
            Call::SetMaxAge(c, n) => Operation::SetMaxAge {
                cache: cache(c),
                age: (n % 6 > 0).then_some(u64::from(n % 6)),
            },
            Call::Wait(n) => Operation::Wait {
                steps: u64::from(n % 8),
            },
            Call::Jump(n) => Operation::Jump {
                steps: i64::from(n),
            },
            Call::Compact => Operation::Compact,
            Call::Sync => Operation::Sync,
            Call::Reopen(is_closed) => {
                return vec![Step::Settle(false), Step::Reopen(is_closed, None)];
            }
            Call::ReopenWith(pattern, setting) => {
                let at_open = setting.at_open(pattern, capacity);
                let is_closed = pattern % 2 == 0;
                return vec![Step::Settle(false), Step::Reopen(is_closed, Some(at_open))];
            }
            Call::Settle(is_synced) => return vec![Step::Settle(is_synced)],
            Call::Many(c) => {
                let ids = 0..u8::try_from(pool().len()).unwrap_or(u8::MAX);
                let add = |id| {
                    Step::Call(Operation::Add {
                        cache: cache(c),
                        id,
                    })
                };
                return ids.map(add).collect();
            }
        };
        vec![Step::Call(one)]
    }
}

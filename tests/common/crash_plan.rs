//! What a life of the crash loop meets beside power cuts: one planned fault of the disk.

use super::generator::Generator;
use super::simulated::{CallKind, Effect, Fault};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// A fault at some call of a life, once.
pub fn planned_fault(generator: &mut Generator) -> Fault {
    let few = 1 + generator.below(39);
    let (kind, most, effect) = [
        (CallKind::Sync, 60, Effect::Fails(EIO)),
        (CallKind::Sync, 15, Effect::Fails(EIO)),
        (CallKind::SyncDirectory, 4, Effect::Fails(EIO)),
        (CallKind::Write, 100, Effect::Fails(EIO)),
        (CallKind::Write, 100, Effect::Fails(ENOSPC)),
        (CallKind::Write, 30, Effect::Fails(ENOSPC)),
        (CallKind::Write, 100, Effect::Short(few)),
    ][generator.below(7)];
    Fault {
        kind,
        nth: 1 + generator.below(most) as u64,
        is_lasting: false,
        effect,
    }
}

//! How the changes of a transaction change caches, in the reference model.

use super::super::places::Places;
use super::Change;

/// Applies changes one by one, the adds that `is_new` is true for; returns where the ID of each
/// stands.
pub(super) fn apply(
    caches: &mut [Places],
    changes: &[Change],
    is_new: impl Fn(&Places, u8) -> bool,
) -> Vec<Option<u64>> {
    let lasts: Vec<u64> = caches.iter().map(|places| places.last).collect();
    let mut ordinals: Vec<Option<u64>> = Vec::new();
    let mut is_taken: Vec<bool> = Vec::new();
    for change in changes {
        let mut taken = None;
        is_taken.push(false);
        match *change {
            Change::Add { cache, id } if is_new(&caches[cache], id) => {
                // An own add that was pushed out stays so, also if others make the window larger.
                caches[cache].forget_place(id, lasts[cache] + 1);
                taken = caches[cache].append(id, 0);
                is_taken.pop();
                is_taken.push(true);
            }
            // A removal later in the transaction then means the place where the ID stands.
            Change::Add { cache, id } => taken = caches[cache].ordinal(id),
            Change::Remove { cache, ordinal } => caches[cache].blank(ordinal),
            Change::RemoveOwn {
                cache,
                change,
                only_taken,
            } => {
                if let Some(ordinal) = ordinals[change].filter(|_| !only_taken || is_taken[change])
                {
                    caches[cache].blank(ordinal);
                }
            }
            Change::Bookmark { .. } | Change::Gone => {}
        }
        ordinals.push(taken);
    }
    ordinals
}

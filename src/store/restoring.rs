//! Bookmarks and prepared transactions at the two ends of a life: found again, and ended where a
//! store is opened to end what it holds.

use std::collections::HashMap;
use std::sync::Arc;

use crate::claim::Claim;
use crate::error::{DamageReason, Error, Result};
use crate::hash::IdHasher;
use crate::mutant::{self, Mutant};
use crate::recovery::{Change, Prepared, Replayed};
use crate::store::address::Address;
use crate::store::extras::{Content, Ended, Extras, InDoubt};
use crate::store::in_doubt::{End, place_of};
use crate::store::registry::Registry;
use crate::store::shared::Shared;

impl Shared {
    /// Rolls back what is in doubt, and empties the bookmarks: what they say of IDs is over.
    pub(crate) fn end_extras(self: &Arc<Self>) -> Result<()> {
        let (in_doubt, bookmarks): (Vec<_>, Vec<_>) = {
            let extras = self.extras.lock();
            let bookmarks = extras.bookmarks.iter();
            let bookmarks = bookmarks.filter(|(_, bookmark)| !bookmark.value.is_empty());
            (
                extras.in_doubt.keys().cloned().collect(),
                bookmarks.map(|(name, _)| name.clone()).collect(),
            )
        };
        for transaction in in_doubt {
            let (_, _) = self.resolve_prepared(&transaction, None, End::RollBack)?;
        }
        for name in bookmarks {
            let ((), _) = self.set_bookmark(&name, &[])?;
        }
        Ok(())
    }

    /// Bookmarks and prepared transactions as recovery found them; these have their claims again.
    pub(crate) fn restore_extras(
        replayed: &mut Replayed,
        registry: &Registry,
        hasher: &IdHasher,
        ended: HashMap<u32, Ended>,
    ) -> Result<Extras> {
        let mut extras = Extras {
            bookmarks: std::mem::take(&mut replayed.bookmarks),
            committed: std::mem::take(&mut replayed.committed),
            configured: std::mem::take(&mut replayed.configured),
            ..Extras::default()
        };
        let found = std::mem::take(&mut replayed.prepared);
        let mut found: Vec<(Box<[u8]>, Prepared)> = found.into_iter().collect();
        found.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        for (transaction, prepared) in found {
            let Prepared {
                position,
                record_bytes,
                ..
            } = prepared;
            extras.restored += 1;
            let content = restore_content(prepared, registry, extras.restored)?;
            for number in content.numbers.iter().flatten() {
                extras.name(*number);
            }
            if !mutant::is(Mutant::PreparedNotPending) {
                restore_claims(&content, hasher);
            }
            let doubt = InDoubt {
                lasting_bytes: content.commit_bytes(transaction.len()).0,
                content: Arc::new(content),
                position,
                record_bytes,
            };
            extras.in_doubt.insert(transaction, doubt);
        }
        for (number, ended) in ended {
            extras.keep_name(number, ended);
        }
        Ok(extras)
    }
}

fn restore_content(prepared: Prepared, registry: &Registry, token: u64) -> Result<Content> {
    let mut places = HashMap::new();
    let (mut addresses, mut numbers): (Vec<Arc<Address>>, Vec<Option<u32>>) =
        (Vec::new(), Vec::new());
    for number in prepared.changes.iter().filter_map(Change::address) {
        if places.contains_key(&number) {
            continue;
        }
        let Some(address) = registry.by_number(number) else {
            let why = "a prepared transaction names an address whose name has another number";
            let (segment, offset) = (prepared.position.segment(), prepared.position.offset());
            return Err(Error::damaged(
                segment,
                offset,
                DamageReason::Malformed(why),
            ));
        };
        let place = u32::try_from(addresses.len()).unwrap_or(u32::MAX);
        places.insert(number, place);
        addresses.push(address);
        numbers.push(Some(number));
    }
    let place_of = |number| places.get(&number).copied().unwrap_or(u32::MAX);
    let changes = prepared.changes.into_iter();
    Ok(Content {
        owner: prepared.owner,
        time: prepared.time,
        token,
        addresses,
        numbers,
        changes: changes
            .map(|change| change.with_address(place_of))
            .collect(),
    })
}

fn restore_claims(content: &Content, hasher: &IdHasher) {
    for change in &content.changes {
        if let (Change::Add { id, .. }, Some(address)) =
            (change, content.addresses.get(place_of(change)))
        {
            let claim = Claim {
                owner: content.owner,
                token: content.token,
                journal_bytes: 0,
                lease_end: None,
            };
            let claims = &mut address.state.lock().claims;
            // An ID that it adds twice is claimed once.
            let _ = claims.claim(hasher.hash(id), id, claim);
        }
    }
}

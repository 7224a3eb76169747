//! What a plain add pays for what it does not use: nothing that can be measured.

use std::time::Duration;

use idjournal::{Cache, OnDuplicate, Owner, Reserve, Store};

use crate::ids::{Id, Source};
use crate::place::{Medium, Run};
use crate::rounds::{Rounds, Side};
use crate::row::Row;
use crate::work::{How, Work, add_all};
use crate::{Result, shown};

/// A store with all of it in use elsewhere must reach this share of one with as many plain IDs
/// there.
const SHARE: f64 = 0.95;
/// Longer than any run.
const LONG: Duration = Duration::from_secs(24 * 3600);

/// What the neighbours of the address that is measured hold.
#[derive(Clone, Copy)]
enum Neighbours {
    /// Plain IDs.
    Plain,
    /// About as many records of all that came after the plain add: IDs that expire, claims with
    /// leases, values, bookmarks, and a transaction in doubt.
    All,
}

impl Neighbours {
    fn settle(self, store: &Store) -> Result<()> {
        let mut source = Source::new(2);
        match self {
            Neighbours::Plain => {
                let plain = store.cache("aging")?;
                add_all(&plain, source.batch(1_000))?;
                let plain = store.cache("claimed")?;
                add_all(&plain, source.batch(700))
            }
            Neighbours::All => {
                let aging = store.cache("aging")?;
                aging.set_max_age(Some(LONG)).wait()?;
                add_all(&aging, source.batch(1_000))?;
                let claimed = store.cache("claimed")?;
                claim_all(&claimed, source.batch(1_000))?;
                for name in 0..100 {
                    store.set_bookmark(format!("source-{name}"), "128").wait()?;
                }
                let mut transaction = store.begin(OnDuplicate::Reject, Owner(2));
                for id in source.batch(100) {
                    let _ = transaction.add(&claimed, id)?;
                }
                let _ = transaction.prepare("in doubt").wait()?;
                Ok(())
            }
        }
    }
}

/// Claims each ID with a lease; every other one is confirmed, with a value.
fn claim_all(cache: &Cache, ids: &[Id]) -> Result<()> {
    for (count, id) in ids.iter().enumerate() {
        let Reserve::Reserved(claim) = cache.reserve_as(id, Owner(1), Some(LONG))? else {
            return Err("an ID of its own is not claimed".into());
        };
        if count % 2 == 0 {
            claim.keep();
        } else {
            let _ = claim.confirm_with("a stored reply").wait()?;
        }
    }
    Ok(())
}

/// Adds to a plain address, beside addresses of plain IDs and beside those that use all there is.
pub(crate) fn rows(run: &Run, window: u64) -> Result<Vec<Row>> {
    let (turn, mut rounds) = (run.turn(), Rounds::default());
    let mut directories = Vec::new();
    let mut sides_beside = |neighbours: Neighbours| -> Result<[Side; 2]> {
        let directory = run.directory(Medium::Memory)?;
        let options = How::MAPPED.options(window);
        let mut stored = Work::open(&directory.path().join("store"), window, options)?;
        directories.push(directory);
        let mut bare = Work::bare(window)?;
        neighbours.settle(&stored.store)?;
        neighbours.settle(&bare.store)?;
        let bare = rounds.side(move || bare.adds(turn));
        let stored = rounds.side(move || stored.adds(turn));
        Ok([bare, stored])
    };
    let plain = sides_beside(Neighbours::Plain)?;
    let beside = sides_beside(Neighbours::All)?;
    // Rounds are cheap here, and the sides lie near each other.
    rounds.run(3 * run.rounds())?;
    let kinds = ["bare", "tmpfs"]
        .into_iter()
        .zip(plain.into_iter().zip(beside));
    let rows = kinds.map(|(what, (plain, beside))| {
        let name = format!("adds beside all features, {}, {what}", shown(window));
        let limit = ("beside plain IDs", rounds.best(plain));
        Row::rate(&name, rounds.best(beside), limit, SHARE)
    });
    Ok(rows.collect())
}

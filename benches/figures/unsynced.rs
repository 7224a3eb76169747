//! Adds that do not wait for the disk, lookups, and transactions, beside the bare cache.

use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use crate::bare::{RECORD_BYTES, Segments, Writing, copies};
use crate::place::{Medium, Run};
use crate::rounds::{Rounds, Side};
use crate::row::{Row, Unit};
use crate::work::{How, Work};
use crate::{Result, shown};

/// The share of what the disk takes in synced segments that is enough on a disk.
const SHARE_OF_DISK: f64 = 0.7;
/// A positioned write may take this many times the bare call.
const CALLS: f64 = 1.2;

/// The share of the bare cache's rate that adds must reach.
pub(crate) fn share(window: u64) -> f64 {
    if window <= 100_000 { 0.5 } else { 0.4 }
}

/// A store that is measured, the directory it is in, and its side.
struct Contender {
    how: How,
    medium: Medium,
    side: Side,
}

/// Everything that is measured beside one bare cache.
struct Field<'a> {
    run: &'a Run,
    window: u64,
    rounds: Rounds<'a>,
    contenders: Vec<Contender>,
    directories: Vec<TempDir>,
}

impl<'a> Field<'a> {
    fn new(run: &'a Run, window: u64) -> Field<'a> {
        Field {
            run,
            window,
            rounds: Rounds::default(),
            contenders: Vec::new(),
            directories: Vec::new(),
        }
    }

    fn directory(&mut self, medium: Medium) -> Result<&Path> {
        self.directories.push(self.run.directory(medium)?);
        let last = self.directories.last().ok_or("no directory")?;
        Ok(last.path())
    }

    fn add(&mut self, how: How, medium: Medium) -> Result<()> {
        let (window, turn) = (self.window, self.run.turn());
        let directory = self.directory(medium)?.join("store");
        let mut work = Work::open(&directory, window, how.options(window))?;
        if work.store.stats().is_mapped != how.is_mapped() {
            return Err(format!("the store is not {}", how.name()).into());
        }
        let side = self.rounds.side(move || work.adds(turn));
        self.contenders.push(Contender { how, medium, side });
        Ok(())
    }

    fn rows(mut self) -> Result<Vec<Row>> {
        let (window, turn) = (self.window, self.run.turn());
        let mut bare = Work::bare(window)?;
        let bare = self.rounds.side(move || bare.adds(turn));
        let copying = self.rounds.side(|| Ok(copies(5)));
        let mut calls = Vec::new();
        for medium in [Medium::Memory, Medium::Disk] {
            let mut writing = Writing::usual(self.directory(medium)?)?;
            calls.push(self.rounds.side(move || writing.writes(turn)));
        }
        let mut segments = Segments::new(self.directory(Medium::Disk)?)?;
        let segments = self.rounds.side(move || segments.rate(turn));
        self.rounds.run(self.run.rounds())?;
        let best = |side| self.rounds.best(side);
        let disk = SHARE_OF_DISK * best(segments) / RECORD_BYTES as f64;
        let name = |what: &str| format!("{what}, window {}", shown(window));
        let mut rows = vec![
            Row::shown(&name("bare cache"), Unit::PerSecond, best(bare)),
            Row::shown(
                &name("the disk, synced segments"),
                Unit::BytesPerSecond,
                best(segments),
            ),
        ];
        for contender in &self.contenders {
            let Contender { how, medium, side } = *contender;
            let is_disk = medium == Medium::Disk;
            let (limit, least) = if how.is_mapped() {
                (("bare cache", best(bare)), share(window))
            } else {
                (
                    ("bare call", best(calls[usize::from(is_disk)])),
                    1.0 / CALLS,
                )
            };
            let name = format!("adds, {}, {}, {}", shown(window), medium.name(), how.name());
            let ours = best(side);
            rows.push(if is_disk && disk < least * limit.1 {
                let limit = ("the disk", disk / SHARE_OF_DISK);
                Row::rate(&name, ours, limit, SHARE_OF_DISK)
            } else {
                Row::rate(&name, ours, limit, least)
            });
            if medium == Medium::Memory && how.keeper {
                // The least that any engine does: what the cache takes, and what writing takes.
                let (what, writing) = if how.is_mapped() {
                    ("cache, then copy", best(copying))
                } else {
                    ("cache, then call", best(calls[0]))
                };
                let both = 1.0 / (1.0 / best(bare) + 1.0 / writing);
                let row = Row::shown("  the same", Unit::PerSecond, ours);
                rows.push(row.beside(what, both, ours / both));
            }
        }
        Ok(rows)
    }
}

pub(crate) fn rows(run: &Run, window: u64) -> Result<Vec<Row>> {
    let mut field = Field::new(run, window);
    field.add(How::MAPPED, Medium::Memory)?;
    field.add(How::POSITIONED, Medium::Memory)?;
    field.add(How::MAPPED, Medium::Disk)?;
    if !run.is_quick {
        field.add(How::ALONE, Medium::Memory)?;
        field.add(How::ALONE, Medium::Disk)?;
        field.add(How::POSITIONED, Medium::Disk)?;
    }
    field.rows()
}

/// Ten million IDs in one address.
pub(crate) fn ten_million(run: &Run) -> Result<Vec<Row>> {
    let mut field = Field::new(run, 10_000_000);
    field.add(How::MAPPED, Medium::Memory)?;
    field.rows()
}

/// Transactions, beside the same ones of the bare cache.
pub(crate) fn transactions(run: &Run, window: u64) -> Result<Vec<Row>> {
    let turn = run.turn();
    let mut rows = Vec::new();
    for size in [1, 16, 256] {
        let directory = run.directory(Medium::Memory)?;
        let mut rounds = Rounds::default();
        let mut bare = Work::bare(window)?;
        let path = directory.path().join("store");
        let mut ours = Work::open(&path, window, How::MAPPED.options(window))?;
        let bare = rounds.side(move || bare.transactions(turn, size));
        let ours = rounds.side(move || ours.transactions(turn, size));
        rounds.run(run.rounds())?;
        rows.push(Row::rate(
            &format!("adds in transactions of {size}, {}, tmpfs", shown(window)),
            rounds.best(ours),
            ("bare cache", rounds.best(bare)),
            share(window),
        ));
    }
    Ok(rows)
}

/// `state` of IDs that are not there.
pub(crate) fn lookups(run: &Run) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for window in [20_000, 1_000_000] {
        let directory = run.directory(Medium::Memory)?;
        let path = directory.path().join("store");
        let mut work = Work::open(&path, window, How::MAPPED.options(window))?;
        let mut rounds = Rounds::default();
        let side = rounds.side(move || work.lookups(Duration::from_millis(100)));
        rounds.run(run.rounds())?;
        let seconds = 1.0 / rounds.best(side);
        let name = format!("state of an absent ID, {}", shown(window));
        rows.push(if window == 20_000 {
            Row::at_most(&name, Unit::Seconds, seconds, 25e-9)
        } else {
            Row::shown(&name, Unit::Seconds, seconds)
        });
    }
    Ok(rows)
}

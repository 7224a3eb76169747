//! Start-up and memory, each in a process of its own.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{Advice, fadvise};

use crate::child::{self, Report, Task};
use crate::place::{Medium, Run};
use crate::row::{Row, Unit};
use crate::{Result, shown};

/// Memory per ID beside its bytes, and of an address beside its IDs.
const ID_BYTES: f64 = 36.0 + 24.0;
const ADDRESS_BYTES: f64 = 256.0;

/// So many full windows.
#[derive(Clone, Copy)]
struct Size {
    addresses: u64,
    window: u64,
    bound: Bound,
}

#[derive(Clone, Copy)]
enum Bound {
    IdsPerSecond(f64),
    Seconds(f64),
}

impl Size {
    fn ids(self) -> u64 {
        self.addresses * self.window
    }

    fn name(self) -> String {
        match self.addresses {
            1 => format!("one address of {}", shown(self.window)),
            count => format!("{} addresses of {}", shown(count), shown(self.window)),
        }
    }

    fn memory_bound(self) -> f64 {
        self.ids() as f64 * ID_BYTES + self.addresses as f64 * ADDRESS_BYTES
    }
}

pub(crate) fn rows(run: &Run) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let size = |addresses, window, bound| Size {
        addresses,
        window,
        bound,
    };
    let mut sizes = vec![
        size(100, 20_000, Bound::IdsPerSecond(1e7)),
        size(1, 1_000_000, Bound::Seconds(0.15)),
    ];
    if !run.is_quick {
        sizes.push(size(1, 10_000_000, Bound::Seconds(3.0)));
        sizes.push(size(100_000, 100, Bound::Seconds(2.0)));
    }
    for size in sizes {
        rows.extend(of(run, size)?);
    }
    Ok(rows)
}

fn of(run: &Run, size: Size) -> Result<Vec<Row>> {
    let scratch = run.directory(Medium::Disk)?;
    let directory = scratch.path().join("store");
    let filled = child::run(&Task::Fill {
        directory: directory.clone(),
        addresses: size.addresses,
        window: size.window,
    })?;
    let open = || -> Result<Report> {
        let report = child::run(&Task::Open {
            directory: directory.clone(),
            window: size.window,
        })?;
        if report.ids != size.ids() || filled.ids != size.ids() {
            return Err(format!("{} IDs instead of {}", report.ids, size.ids()).into());
        }
        Ok(report)
    };
    let mut best = open()?;
    for _ in 1..run.rounds() {
        let next = open()?;
        if next.seconds < best.seconds {
            best = next;
        }
    }
    let name = |what: &str| format!("{what}, {}", size.name());
    let opening = match size.bound {
        Bound::Seconds(most) => Row::at_most(&name("start-up"), Unit::Seconds, best.seconds, most),
        Bound::IdsPerSecond(least) => Row::at_least(
            &name("start-up, IDs"),
            Unit::PerSecond,
            size.ids() as f64 / best.seconds,
            least,
        ),
    };
    let memory = |what: &str, bytes: f64| {
        let each = bytes / size.ids() as f64;
        let most = size.memory_bound() / size.ids() as f64;
        Row::at_most(&name(what), Unit::Bytes, each, most)
    };
    let mut rows = vec![
        opening,
        memory("memory per ID", filled.memory_bytes),
        memory(
            "memory per ID, reopened",
            best.memory_bytes - filled.store_bytes,
        ),
    ];
    if size.window == 1_000_000 {
        rows.push(cold(&directory, &open)?);
    }
    Ok(rows)
}

/// Opening with nothing in the page cache, beside reading the same files so.
fn cold(directory: &Path, open: &dyn Fn() -> Result<Report>) -> Result<Row> {
    let files: Vec<PathBuf> = std::fs::read_dir(directory)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    let (mut buffer, mut bytes) = (vec![0; 1 << 20], 0);
    forget(&files)?;
    let began = Instant::now();
    for path in &files {
        let mut file = File::open(path)?;
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                read => bytes += read as u64,
            }
        }
    }
    let rate = bytes as f64 / began.elapsed().as_secs_f64();
    forget(&files)?;
    let report = open()?;
    // The reading alone of what the opening read.
    let reading = report.read_bytes as f64 / rate;
    let row = Row::shown(
        "start-up, a million IDs, cold",
        Unit::Seconds,
        report.seconds,
    );
    Ok(row.beside("reading the same", reading, reading / report.seconds))
}

fn forget(files: &[PathBuf]) -> Result<()> {
    for path in files {
        let file = File::open(path)?;
        file.sync_all()?;
        fadvise(&file, 0, None, Advice::DontNeed)?;
    }
    Ok(())
}

/// What an address costs that has no IDs, and what one with a few costs beside them.
pub(crate) fn idle(run: &Run) -> Result<Vec<Row>> {
    let addresses = 100_000;
    let mut rows = Vec::new();
    for (ids, has_handles, what) in [
        (0, true, "idle address, never added to, with its handle"),
        (
            4,
            true,
            "idle address of 4 IDs beside them, with its handle",
        ),
        (4, false, "idle address of 4 IDs beside them, no handle"),
    ] {
        let directory = run.directory(Medium::Memory)?;
        let report = child::run(&Task::Idle {
            directory: directory.path().join("store"),
            addresses,
            ids,
            has_handles,
        })?;
        if report.ids != addresses * ids {
            return Err(format!("{} IDs instead of {}", report.ids, addresses * ids).into());
        }
        let each = report.memory_bytes / addresses as f64 - ids as f64 * ID_BYTES;
        rows.push(Row::at_most(what, Unit::Bytes, each, ADDRESS_BYTES));
    }
    Ok(rows)
}

/// A clear of a million IDs.
pub(crate) fn clear(run: &Run) -> Result<Vec<Row>> {
    let directory = run.directory(Medium::Memory)?;
    let report = child::run(&Task::Clear {
        directory: directory.path().join("store"),
        window: 1_000_000,
    })?;
    let again = report.memory_again / report.memory_bytes;
    Ok(vec![
        Row::at_most(
            "clear of a million IDs, records",
            Unit::Records,
            report.records as f64,
            2.0,
        ),
        Row::shown(
            "clear of a million IDs, bytes",
            Unit::Bytes,
            report.record_bytes as f64,
        ),
        Row::shown("clear of a million IDs", Unit::Seconds, report.seconds),
        Row::at_most(
            "memory of another million after it, share",
            Unit::Share,
            again,
            0.1,
        ),
    ])
}

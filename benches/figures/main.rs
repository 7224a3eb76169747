//! Every figure that the engine is to reach, beside the limit that it is compared with.
//!
//! `cargo bench --bench figures` takes at most five minutes, with `-- --quick` one for the main
//! rows; the status is 1 if a figure falls short. docs/performance.md says what each row means.
//!
//! Sides that are compared are measured in turn, in several rounds. A bare loop runs before and
//! after all: if its two rates differ by 10 % or more, the run does not count. Only the public face
//! of the engine is used.

#![allow(clippy::print_stdout, reason = "printing is what this program is for")]

mod bare;
mod child;
mod crossing;
mod ids;
mod opening;
mod place;
mod rounds;
mod row;
mod space;
mod synced;
mod unsynced;
mod unused;
mod waking;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use serde_json::json;

use crate::place::{Run, load};
use crate::row::{Row, Unit};

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Result<T> = std::result::Result<T, Failure>;
type Measure = Box<dyn Fn(&Run) -> Result<Vec<Row>>>;

/// Measures every figure beside its limit.
#[derive(Parser)]
struct Arguments {
    /// Only the main rows, in about a minute
    #[arg(long)]
    quick: bool,
    /// JSON lines: the machine, the rows, and whether the run counts
    #[arg(long)]
    json: bool,
    /// Only the groups whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Which disk is measured [default: the directory for temporary files]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// A directory on tmpfs
    #[arg(long, default_value = "/dev/shm")]
    memory_dir: PathBuf,
    /// As cargo gives it
    #[arg(long, hide = true)]
    bench: bool,
    #[arg(long, hide = true)]
    task: Option<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.task {
        Some(task) => child::answer(task).map(|report| {
            println!("{report}");
            true
        }),
        None if !arguments.bench => {
            println!("nothing is measured: call it by `cargo bench --bench figures`");
            Ok(true)
        }
        None => measure(&arguments),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("failed: {error}");
            ExitCode::from(2)
        }
    }
}

/// A number as one reads it.
fn shown(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{},{:03}", number / 1_000, number % 1_000),
        _ if number.is_multiple_of(100_000) => {
            format!("{} M", number as f64 / 1e6)
        }
        _ => format!(
            "{},{:03},{:03}",
            number / 1_000_000,
            number / 1_000 % 1_000,
            number % 1_000
        ),
    }
}

/// The groups of rows, in order.
fn groups(is_quick: bool) -> Vec<(&'static str, Measure)> {
    let mut groups = Vec::new();
    let mut group = |name, rows: Measure| groups.push((name, rows));
    // First of all, before the disk is busy with what the others write.
    let windows: &[u64] = if is_quick {
        &[20_000]
    } else {
        &[20_000, 1_000_000]
    };
    for &window in windows {
        group("lone", Box::new(move |run| synced::lone(run, window)));
        group("threads", Box::new(move |run| synced::threads(run, window)));
        group(
            "flight",
            Box::new(move |run| synced::in_flight(run, window)),
        );
    }
    for window in [20_000, 1_000_000] {
        group("unsynced", Box::new(move |run| unsynced::rows(run, window)));
    }
    group("unused", Box::new(|run| unused::rows(run, 20_000)));
    if !is_quick {
        group("ten million", Box::new(unsynced::ten_million));
        group(
            "transactions",
            Box::new(|run| unsynced::transactions(run, 20_000)),
        );
    }
    group("lookups", Box::new(unsynced::lookups));
    group("opening", Box::new(opening::rows));
    group("idle", Box::new(opening::idle));
    for window in [20_000, 1_000_000] {
        group(
            "appended",
            Box::new(move |run| space::appended(run, window)),
        );
        group(
            "capacity",
            Box::new(move |run| crossing::capacity(run, window)),
        );
    }
    group("slowest", Box::new(crossing::slowest));
    group("mixed", Box::new(space::mixed));
    group("clear", Box::new(opening::clear));
    groups
}

/// Whether everything holds.
fn measure(arguments: &Arguments) -> Result<bool> {
    let disk = arguments.dir.clone().unwrap_or_else(std::env::temp_dir);
    let run = Run::new(arguments.quick, disk, arguments.memory_dir.clone())?;
    let began = Instant::now();
    let (machine, load_before) = (run.machine()?, load());
    let copies_before = bare::copies(25);
    if arguments.json {
        println!("{}", json!({ "machine": machine, "load": load_before }));
    } else {
        println!("{machine}; load {load_before:.2}\n\n{}", row::head());
    }
    let mut short = 0;
    let print = |row: &Row| {
        if arguments.json {
            println!("{}", row.json());
        } else {
            println!("{}", row.text());
        }
    };
    for (name, rows) in groups(arguments.quick) {
        if !name.contains(&arguments.only) {
            continue;
        }
        for row in rows(&run).map_err(|error| format!("{name}: {error}"))? {
            print(&row);
            short += usize::from(row.is_held() == Some(false));
        }
    }
    let copies_after = bare::copies(25);
    let share = copies_after.min(copies_before) / copies_after.max(copies_before);
    print(
        &Row::shown(
            "bare copy and checksum, after",
            Unit::PerSecond,
            copies_after,
        )
        .beside("before", copies_before, share),
    );
    let (counts, load_after) = (share > 0.9, load());
    let seconds = began.elapsed().as_secs_f64();
    if arguments.json {
        let end = json!({
            "short": short, "counts": counts, "load": load_after, "seconds": seconds,
        });
        println!("{end}");
    } else {
        let word = if counts { "counts" } else { "does not count" };
        println!("\n{short} short; the run {word}; {seconds:.0} s, load {load_after:.2}");
    }
    Ok(short == 0)
}

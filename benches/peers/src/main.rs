//! Measures idjournal beside what people use instead, at the same job: to remember the last n IDs
//! of each address, and to tell whether one is new.
//!
//! README.md in this directory says how each peer is set up, and what it cannot do.

mod charts;
mod grouped;
mod ids;
mod index;
mod kv;
mod measure;
mod peer;
mod peers;
mod plan;
mod reference;
mod ring;
mod run;
mod table;
mod task;
mod usage;
mod window;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use serde_json::json;

use crate::peer::{Failure, Result};
use crate::plan::{Mode, Wanted};

/// Measures idjournal beside what people use instead.
#[derive(Parser)]
struct Arguments {
    /// In about a minute: shorter parts, smaller windows
    #[arg(long)]
    quick: bool,
    /// Only this peer; may be given more than once
    #[arg(long, value_name = "NAME", value_parser = names())]
    peer: Vec<String>,
    /// Only this mode; may be given more than once
    #[arg(long, value_name = "NAME")]
    mode: Vec<Mode>,
    /// Where to work, which decides what disk is measured [default: the temporary directory]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Write all results here too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw charts into this directory
    #[arg(long, value_name = "DIR")]
    charts: Option<PathBuf>,
    /// The task of one process, as the runner gives it
    #[arg(long, hide = true)]
    task: Option<String>,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(peers::KINDS.iter().map(|kind| kind.name))
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.task {
        Some(task) => run::child(task).map(|()| true),
        None => measure_all(&arguments),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every task was done.
fn measure_all(arguments: &Arguments) -> Result<bool> {
    let directory = arguments.dir.clone().unwrap_or_else(std::env::temp_dir);
    std::fs::create_dir_all(&directory).map_err(|error| named(&directory, &error))?;
    let began = Instant::now();
    let wanted = Wanted {
        peers: &arguments.peer,
        modes: &arguments.mode,
        is_quick: arguments.quick,
        directory: &directory,
    };
    let (load_before, processors) = usage::load();
    let syncs_before = run::bare_syncs_per_second(&directory)?;
    println!("{processors} processors, load {load_before:.2}; {syncs_before:.0} bare syncs/s");
    let rows = run::all(&wanted)?;
    print!("{}", table::tables(&rows));
    let syncs_after = run::bare_syncs_per_second(&directory)?;
    let (load_after, _) = usage::load();
    let seconds = began.elapsed().as_secs_f64();
    println!("\n{seconds:.0} s, load {load_after:.2}; {syncs_after:.0} bare syncs/s");
    if let Some(path) = &arguments.json {
        let json = json!({
            "processors": processors,
            "load": [load_before, load_after],
            "bare_syncs_per_second": [syncs_before, syncs_after],
            "seconds": seconds,
            "rows": rows,
        });
        let json = serde_json::to_vec_pretty(&json)?;
        std::fs::write(path, json).map_err(|error| named(path, &error))?;
    }
    if let Some(directory) = &arguments.charts {
        charts::draw(&rows, directory)?;
    }
    Ok(rows.iter().all(|row| row.failure.is_none()))
}

fn named(path: &std::path::Path, error: &std::io::Error) -> Failure {
    format!("{}: {error}", path.display()).into()
}

//! `journal-filter`: writes the lines of standard input that were not seen before, and remembers
//! them.
//!
//! The lines of a batch are written first and remembered (committed) then. So after a kill at any
//! moment a rerun on the same input repeats at most the last batch and never loses a line; an
//! output that was cut by the kill may end inside a line. Exit status: 0 done, 2 stopped by an
//! error.

mod arguments;
mod caches;
mod config;
mod failure;
mod fields;
mod json;
mod lines;
mod output;
mod report;
mod run;
mod sinks;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arguments::Arguments;
use clap::Parser;
use failure::Failure;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match ignore_file_size_signal().and_then(|()| run::run(arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            report::print_failure(&failure);
            ExitCode::from(2)
        }
    }
}

/// Makes a write beyond a limit on file sizes an error; its signal would end the process.
fn ignore_file_size_signal() -> Result<(), Failure> {
    let raised = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, raised)
        .map(|_| ())
        .map_err(Failure::Signal)
}

//! `journal-dump`: shows what a journal holds, what lives in it, and whether it is sound.
//!
//! It never locks, writes, creates or renames anything. Exit status: 0 good, 1 damage was found,
//! 2 it could not be told.

mod arguments;
mod element;
mod failure;
mod json;
mod line;
mod output;
mod records;
mod settings;
mod stats;
mod time;
mod verify;

use std::process::ExitCode;

use arguments::{Arguments, View};
use failure::Failure;
use idjournal::Bytes;
use idjournal::inspect::{Finding, Inspection, Reason, Severity};
use output::Output;

const STATUS_DAMAGED: u8 = 1;
const STATUS_FAILED: u8 = 2;

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(error) => return output::print_usage(&error),
    };
    match run(&arguments) {
        Ok(false) => ExitCode::SUCCESS,
        Ok(true) => ExitCode::from(STATUS_DAMAGED),
        // Whoever reads the output has seen enough.
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            output::print_failure(&failure);
            ExitCode::from(STATUS_FAILED)
        }
    }
}

/// Whether there is damage.
fn run(arguments: &Arguments) -> Result<bool, Failure> {
    let mut inspection = Inspection::open(&arguments.dir)?;
    let mut output = Output::new();
    let (found, is_any) = match arguments.view {
        View::Records => records::show(&inspection, arguments, &mut output)?,
        View::Stats => stats::show(&mut inspection, arguments, &mut output)?,
        View::Verify => {
            let is_damaged = verify::show(&mut inspection, arguments, &mut output)?;
            output.finish()?;
            return Ok(is_damaged);
        }
    };
    output.finish()?;
    if let (Some(address), false) = (&arguments.address, is_any) {
        let address = Bytes::from(&*address.0);
        output::print(&match arguments.view {
            View::Stats => format!("no address {address} lives in this journal"),
            _ => format!("no record of this journal is of address {address}"),
        });
    }
    let all = || inspection.findings().iter().chain(&found);
    let is_told = |finding: &&Finding| {
        let is_incomplete = matches!(finding.reason, Reason::Moving | Reason::Overtaken);
        is_incomplete || finding.severity() == Severity::Damage
    };
    for finding in all().filter(is_told) {
        output::print(&finding.to_string());
    }
    Ok(all().any(|finding| finding.severity() == Severity::Damage))
}

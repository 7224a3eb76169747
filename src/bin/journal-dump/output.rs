//! Standard output, buffered, and lines on standard error. Only printable ASCII leaves here.

use std::error::Error;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::failure::Failure;
use crate::line::Line;

const BUFFER_BYTES: usize = 64 << 10;

/// Standard output.
pub(crate) struct Output {
    out: BufWriter<StdoutLock<'static>>,
}

impl Output {
    pub(crate) fn new() -> Output {
        let out = BufWriter::with_capacity(BUFFER_BYTES, io::stdout().lock());
        Output { out }
    }

    /// Writes the line and a newline; the line is empty then.
    pub(crate) fn line(&mut self, line: &mut Line) -> Result<(), Failure> {
        self.out.write_all(line.end()).map_err(Failure::Output)?;
        line.clear();
        Ok(())
    }

    /// Writes text that holds nothing but what this program says.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        writeln!(self.out, "{text}").map_err(Failure::Output)
    }

    /// Writes `value` as one line of JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        serde_json::to_writer(&mut self.out, value)
            .map_err(|error| Failure::Output(error.into()))?;
        self.out.write_all(b"\n").map_err(Failure::Output)
    }

    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.out.flush().map_err(Failure::Output)
    }
}

/// Prints `failure` and what caused it, as one line.
pub(crate) fn print_failure(failure: &dyn Error) {
    let mut text = failure.to_string();
    let mut source = failure.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    print(&text);
}

/// Prints one line; what a terminal could act on is escaped.
pub(crate) fn print(text: &str) {
    print_bytes(&format!("journal-dump: {}\n", escaped(text)));
}

/// Prints what is wrong with the command line, or the help that was asked for.
pub(crate) fn print_usage(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    let lines: Vec<String> = text.lines().map(escaped).collect();
    let text = lines.join("\n") + "\n";
    if error.use_stderr() {
        print_bytes(&text);
        return ExitCode::from(crate::STATUS_FAILED);
    }
    // A closed pipe is no error.
    let _ = io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

fn print_bytes(text: &str) {
    // If even this cannot be written, nobody is there to be told.
    let _ = io::stderr().write_all(text.as_bytes());
}

fn escaped(text: &str) -> String {
    let mut line = String::new();
    for character in text.chars() {
        match character {
            ' '..='~' => line.push(character),
            _ => line.extend(character.escape_default()),
        }
    }
    line
}

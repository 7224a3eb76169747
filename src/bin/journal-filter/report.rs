//! What standard error is told: progress, the summary, and why a run stopped.

use std::error::Error;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};

const DRAWS_PER_SECOND: u8 = 10;
const DRAW_EVERY: Duration = Duration::from_millis(1000 / DRAWS_PER_SECOND as u64);

/// What became of the lines of the batches that are done.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) read: u64,
    pub(crate) written: u64,
    pub(crate) duplicates: u64,
    pub(crate) bad: u64,
}

impl Counts {
    /// Counts also what `other` counts.
    pub(crate) fn add(&mut self, other: Counts) {
        self.read += other.read;
        self.written += other.written;
        self.duplicates += other.duplicates;
        self.bad += other.bad;
    }
}

/// Progress and summary of a run.
pub(crate) struct Report {
    begun: Instant,
    is_quiet: bool,
    duplicates_are: &'static str,
    bar: Option<ProgressBar>,
    drawn: Instant,
}

impl Report {
    /// Begins; `duplicates_are` is the word for what becomes of duplicates.
    pub(crate) fn new(is_quiet: bool, duplicates_are: &'static str) -> Report {
        // Lines that are typed or shown on the same terminal are progress enough.
        let lines_are_seen = io::stdin().is_terminal() || io::stdout().is_terminal();
        let is_shown = !is_quiet && io::stderr().is_terminal() && !lines_are_seen;
        let bar = is_shown.then(|| {
            let target = ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND);
            let bar = ProgressBar::with_draw_target(None, target);
            match ProgressStyle::with_template("{msg}") {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        let now = Instant::now();
        Report {
            begun: now,
            is_quiet,
            duplicates_are,
            bar,
            drawn: now,
        }
    }

    /// Shows `counts`, unless that was done a moment ago.
    pub(crate) fn progress(&mut self, counts: &Counts) {
        let Some(bar) = &self.bar else { return };
        if self.drawn.elapsed() < DRAW_EVERY {
            return;
        }
        self.drawn = Instant::now();
        bar.set_message(format!(
            "{} lines, {} lines/s, {} duplicates",
            HumanCount(counts.read),
            HumanCount(self.lines_per_second(counts)),
            HumanCount(counts.duplicates),
        ));
    }

    /// Takes the progress away and prints the summary.
    pub(crate) fn finish(self, counts: &Counts) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if self.is_quiet {
            return;
        }
        print(&format!(
            "{} lines read, {} written, {} duplicates {}, {} bad, {:.3} s, {} lines/s",
            counts.read,
            counts.written,
            counts.duplicates,
            self.duplicates_are,
            counts.bad,
            self.begun.elapsed().as_secs_f64(),
            self.lines_per_second(counts),
        ));
    }

    fn lines_per_second(&self, counts: &Counts) -> u64 {
        let microseconds = self.begun.elapsed().as_micros().max(1);
        let rate = u128::from(counts.read) * 1_000_000 / microseconds;
        u64::try_from(rate).unwrap_or(u64::MAX)
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
fn print(text: &str) {
    let mut line = String::from("journal-filter: ");
    for character in text.chars() {
        match character {
            ' '..='~' => line.push(character),
            _ => line.extend(character.escape_default()),
        }
    }
    line.push('\n');
    // If even this cannot be written, nobody is there to be told.
    let _ = io::stderr().write_all(line.as_bytes());
}

//! The command line, and what it means as plain values.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use idjournal::SyncPolicy;

use crate::json::Pointer;

const ABOUT: &str =
    "Write the lines of standard input that were not seen before, and remember them";

const AFTER_HELP: &str = "\
A line ends with a newline; a carriage return before it belongs to the line. Without an option that
says where the ID is, the whole line is the ID. Fields count from 1. JSON lines hold their ID and
address as a string or a number: a string stands for its decoded bytes, a number for its text as it
is written (so 1 and \"1\" are one ID, 1 and 1.0 are two). Of a name given twice the last counts.

The lines completed by one read of at most 64 KiB are a batch: written first, remembered then. After
a kill, run again on the same input: at most the last batch comes twice and no line is lost. An
output that was cut by the kill may end inside a line.

A bad line has no ID or address where one was said to be, is not JSON, is over 16 MiB, exceeds a
limit of the store, or has an ID that a prepared transaction holds. Progress is shown where standard
error is a terminal, unless lines are typed or shown on it too.

Exit status: 0 done (also when the reader of the output went away), 2 stopped by an error.";

/// The command line.
#[derive(Parser)]
#[command(name = "journal-filter", version, about = ABOUT, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// The directory that remembers; created if it is missing. It may be left out where TOML or
    /// JSON of --config names one (journal-directory)
    #[arg(long, value_name = "DIR", required_unless_present = "config")]
    pub(crate) dir: Option<PathBuf>,

    /// Settings: a broker.xml of Artemis, TOML or JSON, told by the ending of its name or by how it
    /// begins. What the command line says comes before what is said there
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// The address of all lines ("default" if nothing says where the address is)
    #[arg(long, value_name = "NAME", conflicts_with_all = ["address_field", "json_address"])]
    pub(crate) address: Option<OsString>,

    /// The address is the field of this number
    #[arg(long, value_name = "N", conflicts_with_all = ["json_address", "json_id"])]
    #[arg(value_parser = field_number)]
    pub(crate) address_field: Option<NonZeroUsize>,

    /// The ID is the field of this number
    #[arg(long, value_name = "N", conflicts_with_all = ["json_address", "json_id"])]
    #[arg(value_parser = field_number)]
    pub(crate) id_field: Option<NonZeroUsize>,

    /// The byte between fields, as itself, as \t or as \xNN (tab if not given)
    #[arg(long, value_name = "BYTE", conflicts_with_all = ["json_address", "json_id"])]
    #[arg(value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,

    /// Lines are JSON, and this pointer (as /a/b or /list/0) leads to the address
    #[arg(long, value_name = "POINTER", value_parser = Pointer::parse)]
    pub(crate) json_address: Option<Pointer>,

    /// Lines are JSON, and this pointer leads to the ID
    #[arg(long, value_name = "POINTER", value_parser = Pointer::parse)]
    pub(crate) json_id: Option<Pointer>,

    /// How many IDs to remember per address (20000 for a new store; else what the store has)
    #[arg(long, value_name = "N")]
    pub(crate) id_cache_size: Option<u64>,

    /// When what is remembered is sent to the disk: always (with each batch), manual (at the end;
    /// survives a kill of this process, not a power cut), or every so many milliseconds (always if
    /// neither this nor the settings say it)
    #[arg(long, value_name = "always|manual|MILLISECONDS")]
    #[arg(value_parser = sync_policy)]
    pub(crate) sync: Option<SyncPolicy>,

    /// Write every line, with NEW or DUP in front (BAD for a bad line that is passed), followed by
    /// the delimiter
    #[arg(long, conflicts_with = "duplicates")]
    pub(crate) mark: bool,

    /// Append the lines that were seen before to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) duplicates: Option<PathBuf>,

    /// What to do at a bad line
    #[arg(long, value_name = "stop|pass|skip", default_value = "stop")]
    pub(crate) bad_lines: BadLines,

    /// At most so many lines in a batch; what comes out does not depend on it
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) batch_lines: Option<NonZeroUsize>,

    /// No progress and no summary on standard error
    #[arg(long)]
    pub(crate) quiet: bool,
}

impl Arguments {
    /// The delimiter, also of the marks.
    pub(crate) fn delimiter(&self) -> u8 {
        self.delimiter.unwrap_or(b'\t')
    }
}

/// What to do at a bad line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BadLines {
    /// Stop there with its number; the lines before it are written and remembered
    Stop,
    /// Write it as it came, and do not remember it
    Pass,
    /// Leave it out, and count it
    Skip,
}

fn field_number(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "fields count from 1".to_owned())
}

fn positive(text: &str) -> Result<NonZeroUsize, String> {
    text.parse()
        .map_err(|_| "must be a number from 1 up".to_owned())
}

fn delimiter(text: &str) -> Result<u8, String> {
    let byte = match text.as_bytes() {
        [byte] => *byte,
        [b'\\', b't'] => b'\t',
        [b'\\', b'x', digits @ ..]
            if digits.len() == 2 && digits.iter().all(u8::is_ascii_hexdigit) =>
        {
            let digits = std::str::from_utf8(digits).unwrap_or_default();
            u8::from_str_radix(digits, 16).map_err(|error| error.to_string())?
        }
        _ => return Err("must be one byte, \\t or \\xNN".to_owned()),
    };
    if byte == b'\n' {
        return Err("a newline ends the line and cannot stand between fields".to_owned());
    }
    Ok(byte)
}

fn sync_policy(text: &str) -> Result<SyncPolicy, String> {
    match text {
        "always" => Ok(SyncPolicy::Always),
        "manual" => Ok(SyncPolicy::Manual),
        _ => match text.parse() {
            Ok(0) | Err(_) => Err("must be always, manual, or milliseconds from 1 up".to_owned()),
            Ok(milliseconds) => Ok(SyncPolicy::Interval(Duration::from_millis(milliseconds))),
        },
    }
}

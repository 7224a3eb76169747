//! The file of `--config`: which form it has, and what is wrong with it where.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use idjournal::{FileSettings, artemis};

use crate::failure::{Failure, shown};

const FILE_BYTES_MAX: u64 = 4 << 20;

/// Why a file gives no settings.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("cannot read it")]
    Read(#[source] std::io::Error),
    #[error("it has over {} MiB", FILE_BYTES_MAX >> 20)]
    TooLarge,
    #[error("{0}")]
    BrokerXml(artemis::BrokerXmlError),
    /// A fault of TOML or JSON, or of what it says.
    #[error("line {line}, column {column}: {what}")]
    At {
        line: usize,
        column: usize,
        what: String,
    },
    #[error(
        "it is an Artemis broker's and names the directory of that broker's journal; say --dir"
    )]
    DirectoryOfBroker,
    #[error("it names no journal-directory, and there is no --dir")]
    NoDirectory,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Xml,
    Json,
    Toml,
}

/// The settings that a file holds.
///
/// # Errors
///
/// [`Failure::Config`], also if neither the file nor `--dir`, as `has_directory` says, names a
/// directory for a store.
pub(crate) fn read(path: &Path, has_directory: bool) -> Result<FileSettings, Failure> {
    let failed = |fault: Fault| Failure::Config {
        file: shown(path),
        source: Box::new(fault),
    };
    let bytes = load(path).map_err(failed)?;
    let form = form(path, &bytes);
    let settings = match form {
        Form::Xml => artemis::read_broker_xml_with(&bytes, |name| std::env::var(name).ok())
            .map_err(Fault::BrokerXml),
        Form::Json => json(&bytes),
        Form::Toml => toml(&bytes),
    };
    let settings = settings.map_err(failed)?;
    match settings.journal_directory {
        _ if has_directory => Ok(settings),
        Some(_) if form == Form::Xml => Err(failed(Fault::DirectoryOfBroker)),
        None => Err(failed(Fault::NoDirectory)),
        Some(_) => Ok(settings),
    }
}

fn load(path: &Path) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(Fault::Read)?;
    let mut file = file.take(FILE_BYTES_MAX + 1);
    file.read_to_end(&mut bytes).map_err(Fault::Read)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Fault::TooLarge);
    }
    // Some editors begin a file with this mark.
    if bytes.starts_with("\u{feff}".as_bytes()) {
        bytes.drain(..3);
    }
    Ok(bytes)
}

/// By the ending of the name; where that says nothing, by how the text begins.
fn form(path: &Path, bytes: &[u8]) -> Form {
    let ending = path.extension().and_then(OsStr::to_str);
    let ending = ending.map(str::to_ascii_lowercase);
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    match (ending.as_deref(), first) {
        (Some("xml"), _) => Form::Xml,
        (Some("json"), _) => Form::Json,
        (Some("toml"), _) => Form::Toml,
        (_, Some(b'<')) => Form::Xml,
        (_, Some(b'{')) => Form::Json,
        _ => Form::Toml,
    }
}

fn json(bytes: &[u8]) -> Result<FileSettings, Fault> {
    serde_json::from_slice(bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let place = format!(" at line {line} column {column}");
        let what = error.to_string();
        let what = String::from(what.strip_suffix(&place).unwrap_or(&what));
        Fault::At { line, column, what }
    })
}

fn toml(bytes: &[u8]) -> Result<FileSettings, Fault> {
    let at = |before: &[u8], what: &str| {
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let last = before.rsplit(|byte| *byte == b'\n').next();
        let column = String::from_utf8_lossy(last.unwrap_or_default())
            .chars()
            .count()
            + 1;
        let what = String::from(what);
        Fault::At { line, column, what }
    };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        at(before, "not UTF-8")
    })?;
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        at(bytes.get(..start).unwrap_or_default(), error.message())
    })
}

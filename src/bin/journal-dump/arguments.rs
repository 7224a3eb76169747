//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use idjournal::Bytes;

const ABOUT: &str = "Show what a journal holds, what lives in it, and whether it is sound";

const AFTER_HELP: &str = "\
Nothing is ever locked, written, created or renamed, and the store may be in use meanwhile: shown is
a state that it passed through. Where it changes faster than it can be read, a note says so.

IDs, addresses and values are shown as text where all of their bytes are printable ASCII, else as 0x
and hex; in JSON they stand in a field whose name ends in _hex then. The flags of a record are: m it
holds a mark, w an add in the long form, c carried forward, e the end of a group.

Exit status: 0 good, 1 damage was found, 2 it could not be told.";

/// The words of the command line.
#[derive(Parser)]
#[command(name = "journal-dump", version, about = ABOUT, after_help = AFTER_HELP)]
#[command(override_usage = "journal-dump [OPTIONS] [VIEW] DIR")]
struct Words {
    /// The directory of the store, and before it what to show: records (if nothing is said): every
    /// record in order; stats: what lives, per address and per segment; verify: what is wrong, with
    /// its place
    #[arg(value_name = "[VIEW] DIR", required = true)]
    words: Vec<OsString>,

    /// Only what concerns this address: text, or 0x and hex (views records and stats)
    #[arg(long, value_name = "A")]
    #[arg(value_parser = OsStringValueParser::new().try_map(address))]
    address: Option<Address>,

    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

/// The command line.
pub(crate) struct Arguments {
    pub(crate) view: View,
    pub(crate) dir: PathBuf,
    pub(crate) address: Option<Address>,
    pub(crate) json: bool,
}

/// What to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// Every record in order
    Records,
    /// What lives, per address and per segment
    Stats,
    /// What is wrong, with its place
    Verify,
}

/// The bytes of an address.
#[derive(Clone)]
pub(crate) struct Address(pub(crate) Vec<u8>);

impl Arguments {
    pub(crate) fn parse(
        words: impl IntoIterator<Item = OsString>,
    ) -> Result<Arguments, clap::Error> {
        let Words {
            words,
            address,
            json,
        } = Words::try_parse_from(words)?;
        let wrong = |kind, text: &str| Words::command().error(kind, text);
        // One word alone is the directory, whatever its name.
        let (view, dir) = match &words[..] {
            [dir] => (None, dir),
            [view, dir] => (Some(view.as_encoded_bytes()), dir),
            _ => {
                let text = "there is one DIR, and at most one VIEW before it";
                return Err(wrong(ErrorKind::TooManyValues, text));
            }
        };
        let view = match view {
            None | Some(b"records") => View::Records,
            Some(b"stats") => View::Stats,
            Some(b"verify") => View::Verify,
            Some(other) => {
                let other = Bytes::from(other);
                let text = format!("VIEW is one of records, stats and verify, not {other}");
                return Err(wrong(ErrorKind::InvalidValue, &text));
            }
        };
        if address.is_some() && view == View::Verify {
            let text = "the view verify is of the whole store: it goes without --address";
            return Err(wrong(ErrorKind::ArgumentConflict, text));
        }
        let dir = PathBuf::from(dir);
        Ok(Arguments {
            view,
            dir,
            address,
            json,
        })
    }

    /// Whether an address of this name is to be shown.
    pub(crate) fn shows(&self, name: &[u8]) -> bool {
        self.address
            .as_ref()
            .is_none_or(|address| address.0 == name)
    }
}

fn address(text: OsString) -> Result<Address, String> {
    let bytes = text.as_encoded_bytes();
    let Some(digits) = bytes.strip_prefix(b"0x") else {
        return Ok(Address(bytes.to_vec()));
    };
    let pairs = digits.chunks(2).map(|pair| {
        let text = std::str::from_utf8(pair).ok();
        let text = text.filter(|_| pair.len() == 2 && pair.iter().all(u8::is_ascii_hexdigit));
        text.and_then(|text| u8::from_str_radix(text, 16).ok())
    });
    let bytes: Option<Vec<u8>> = pairs.collect();
    bytes
        .map(Address)
        .ok_or_else(|| String::from("behind 0x an even number of hexadecimal digits is wanted"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

    use super::*;

    #[test]
    fn the_command_line_is_consistent_and_the_view_may_be_left_out() {
        Words::command().debug_assert();
        let parse = |words: &[&str]| {
            let words = [&["journal-dump"], words].concat();
            Arguments::parse(words.into_iter().map(OsString::from))
        };
        let one = parse(&["stats"]).unwrap();
        assert!(one.view == View::Records && one.dir.as_os_str() == "stats");
        let two = parse(&["verify", "--json", "x"]).unwrap();
        assert!(two.view == View::Verify && two.dir.as_os_str() == "x" && two.json);
        assert!(parse(&["nothing", "x"]).is_err());
        assert!(parse(&[]).is_err());
        assert!(parse(&["verify", "x", "--address", "a"]).is_err());
    }

    #[test]
    fn an_address_is_text_or_hex() {
        assert_eq!(address("orders".into()).unwrap().0, b"orders");
        assert_eq!(address("0x1bFF".into()).unwrap().0, [0x1b, 0xff]);
        assert_eq!(address("0x".into()).unwrap().0, b"");
        assert!(address("0x1b5".into()).is_err());
        assert!(address("0x+1".into()).is_err());
    }
}

//! Sizes and durations as people write them in settings: `64MiB`, `10m`.
//!
//! Pure; every step is checked, so that no text, however long its number, gives a wrong one.

/// What a size is, for who wrote another.
pub(crate) const SIZE: &str =
    "a number of bytes such as 10485760, or of KiB, MiB or GiB such as \"64MiB\"";

/// What a duration is.
#[cfg(feature = "serde")]
pub(crate) const DURATION: &str =
    "a number with a unit of d, h, m, s, ms, us or ns such as \"10m\" or \"1h30m\"";

/// A number of bytes. K, M and G, with `B` or `iB` behind them or nothing, in capitals or not, are
/// powers of 1,024, as in Artemis.
pub(crate) fn parse_size(text: &str) -> Option<u64> {
    let (number, unit) = split_number(text.trim())?;
    let unit = unit.trim_start().to_ascii_lowercase();
    let shift = match unit.as_str() {
        "" | "b" => 0,
        "k" | "ki" | "kb" | "kib" => 10,
        "m" | "mi" | "mb" | "mib" => 20,
        "g" | "gi" | "gb" | "gib" => 30,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

/// The number that `text` begins with, and what is behind it.
fn split_number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit());
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    Some((digits.parse().ok()?, rest))
}

#[cfg(feature = "serde")]
pub(crate) mod text;

#[cfg(feature = "serde")]
pub(crate) use durations::{parse_duration, write_duration};

#[cfg(feature = "serde")]
mod durations {
    use std::time::Duration;

    use super::split_number;

    /// A duration in the smallest unit.
    type Nanoseconds = u128;

    /// Each unit and its nanoseconds, the longest first.
    const UNITS: [(&str, Nanoseconds); 7] = [
        ("d", 86_400_000_000_000),
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
        ("ns", 1),
    ];

    /// Numbers with units, longer units first, each once. A number without one is none, since
    /// nobody could tell seconds from milliseconds; but 0 is.
    pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
        let mut rest = text.trim();
        if rest == "0" {
            return Some(Duration::ZERO);
        }
        let (mut total, mut units): (Nanoseconds, &[(&str, Nanoseconds)]) = (0, &UNITS);
        loop {
            let (number, behind) = split_number(rest)?;
            let behind = behind.trim_start();
            let end = behind.find(|character: char| !character.is_ascii_alphabetic());
            let (unit, behind) = behind.split_at(end.unwrap_or(behind.len()));
            let at = units.iter().position(|(name, _)| *name == unit)?;
            let (_, nanoseconds) = units.get(at)?;
            // A u64 of days has no more than 111 bits.
            total += Nanoseconds::from(number) * nanoseconds;
            units = units.get(at + 1..)?;
            rest = behind.trim_start();
            if rest.is_empty() {
                break;
            }
        }
        let seconds = u64::try_from(total / 1_000_000_000).ok()?;
        let part = u32::try_from(total % 1_000_000_000).ok()?;
        Some(Duration::new(seconds, part))
    }

    /// The same as text, in the longest unit that says it exactly.
    pub(crate) fn write_duration(duration: Duration) -> String {
        let total = duration.as_nanos();
        let exact = |unit: &&(&str, Nanoseconds)| total.is_multiple_of(unit.1);
        match UNITS.iter().find(exact).filter(|_| total > 0) {
            Some((name, nanoseconds)) => format!("{}{name}", total / nanoseconds),
            None => String::from("0s"),
        }
    }
}

#[cfg(all(test, feature = "serde"))]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn sizes_are_read_as_artemis_reads_them() {
        let table = [
            ("0", 0),
            ("10485760", 10 << 20),
            ("10M", 10 << 20),
            (" 64MiB ", 64 << 20),
            ("64 mib", 64 << 20),
            ("100KB", 100 << 10),
            ("1ki", 1 << 10),
            ("7b", 7),
            ("2Gi", 2 << 30),
            ("18446744073709551615", u64::MAX),
        ];
        for (text, bytes) in table {
            assert_eq!(parse_size(text), Some(bytes), "{text}");
        }
        let wrong = [
            "", "M", "-1", "1.5M", "1T", "1 0M", "10MiBs", "0x10", "1e3", "+1",
        ];
        for text in wrong
            .into_iter()
            .chain(["18446744073709551616", "17179869184G"])
        {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }

    #[test]
    fn durations_are_read_and_written_without_loss() {
        let seconds = Duration::from_secs;
        let table = [
            ("10m", seconds(600), "10m"),
            ("1h30m", seconds(5400), "90m"),
            ("1h 30m", seconds(5400), "90m"),
            ("90 s", seconds(90), "90s"),
            ("36h", seconds(129_600), "36h"),
            ("2d", seconds(172_800), "2d"),
            ("250ms", Duration::from_millis(250), "250ms"),
            ("1s1ns", Duration::new(1, 1), "1000000001ns"),
            ("15us", Duration::from_micros(15), "15us"),
            ("0", Duration::ZERO, "0s"),
            ("0s", Duration::ZERO, "0s"),
            ("0m0s", Duration::ZERO, "0s"),
            (
                "18446744073709551615s",
                seconds(u64::MAX),
                "18446744073709551615s",
            ),
        ];
        for (text, duration, written) in table {
            assert_eq!(parse_duration(text), Some(duration), "{text}");
            assert_eq!(write_duration(duration), written, "{text}");
            assert_eq!(parse_duration(written), Some(duration), "{written}");
        }
        let wrong = [
            "", "10", "m", "-1s", "1.5h", "10M", "1m1h", "1m1m", "1s,1ms", "1 2s",
        ];
        for text in wrong
            .into_iter()
            .chain(["1w", "1sm", "18446744073709551615d", "1s 2"])
        {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}

//! Times as RFC 3339 shows them.

use idjournal::Ticks;

use crate::line::Line;

const DAY_MILLISECONDS: u64 = 24 * 60 * 60 * 1000;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: u64 = 719_468;
const ERA_DAYS: u64 = 146_097;

/// Writes `time` in UTC with hundredths of a second.
pub(crate) fn write(line: &mut Line, time: Ticks) {
    let milliseconds = time.milliseconds();
    let (year, month, day) = date(milliseconds / DAY_MILLISECONDS);
    let rest = milliseconds % DAY_MILLISECONDS;
    line.digits(year, 4);
    line.text("-");
    line.digits(month, 2);
    line.text("-");
    line.digits(day, 2);
    line.text("T");
    line.digits(rest / 3_600_000, 2);
    line.text(":");
    line.digits(rest / 60_000 % 60, 2);
    line.text(":");
    line.digits(rest / 1000 % 60, 2);
    line.text(".");
    line.digits(rest / 10 % 100, 2);
    line.text("Z");
}

/// The time as text.
pub(crate) fn text(time: Ticks) -> String {
    let mut line = Line::default();
    write(&mut line, time);
    String::from_utf8_lossy(line.end()).trim_end().to_owned()
}

/// Year, month and day of the day that comes `days` after 1970-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    // Years begin in March here, so that the leap day is the last of its year.
    let days = days.saturating_add(EPOCH_DAYS);
    let (era, day_of_era) = (days / ERA_DAYS, days % ERA_DAYS);
    let leaps = day_of_era / 1460 + day_of_era / (ERA_DAYS - 1);
    let year_of_era = (day_of_era + day_of_era / 36_524 - leaps) / 365;
    let year_days = 365 * year_of_era + year_of_era / 4 - year_of_era / 100;
    let day_of_year = day_of_era - year_days;
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let is_new_year = month_from_march >= 10;
    let month = if is_new_year {
        month_from_march - 9
    } else {
        month_from_march + 3
    };
    (era * 400 + year_of_era + u64::from(is_new_year), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times_are_shown_as_elsewhere() {
        let shown = [
            (0, "1970-01-01T00:00:00.00Z"),
            (95_180_448_000, "2000-02-29T06:08:00.00Z"),
            (95_186_880_001, "2000-03-01T00:00:00.01Z"),
            (170_905_535_999, "2024-02-27T17:35:59.99Z"),
            (410_244_480_000, "2100-01-01T00:00:00.00Z"),
        ];
        for (ticks, expected) in shown {
            assert_eq!(text(Ticks(ticks)), expected, "{ticks}");
        }
        assert!(text(Ticks(u64::MAX)).ends_with('Z'));
    }
}

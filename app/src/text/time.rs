//! Points in time as people write them. The server writes UTC; an island may say it locally.

use domain::schedule::Timestamp;

/// Year, month, day, hour, minute, second.
fn civil(at: Timestamp) -> (i64, i64, i64, i64, i64, i64) {
    let seconds = at.0.div_euclid(1000);
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days since 0000-03-01 make a year begin with March, so that a leap day is its last.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day, rest / 3600, rest / 60 % 60, rest % 60)
}

/// For `datetime` attributes: 2026-12-01T14:02:11Z.
pub fn iso(at: Timestamp) -> String {
    let (year, month, day, hour, minute, second) = civil(at);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The time of day: 14:02:11 UTC.
pub fn clock(at: Timestamp) -> String {
    let (_, _, _, hour, minute, second) = civil(at);
    format!("{hour:02}:{minute:02}:{second:02} UTC")
}

/// The time of day where it was or is today, else the day too; and whether it is the first.
pub fn near(at: Timestamp, now: Timestamp) -> (String, bool) {
    const DAY_MS: u64 = 86_400_000;
    let today = at.0.abs_diff(now.0) < DAY_MS / 2;
    (if today { clock(at) } else { day(at) }, today)
}

/// Day and time: 1 December 2026, 14:02 UTC.
pub fn day(at: Timestamp) -> String {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let (year, month, day, hour, minute, _) = civil(at);
    let name = usize::try_from(month - 1).ok().and_then(|place| MONTHS.get(place)).copied();
    format!("{day} {} {year}, {hour:02}:{minute:02} UTC", name.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_the_calendar_has_them() {
        let rows = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_796_133_731_999, "2026-12-01T14:02:11Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
            (-1000, "1969-12-31T23:59:59Z"),
        ];
        for (at, text) in rows {
            assert_eq!(iso(Timestamp(at)), text);
        }
        assert_eq!(clock(Timestamp(1_796_133_731_999)), "14:02:11 UTC");
        assert_eq!(day(Timestamp(1_796_133_731_999)), "1 December 2026, 14:02 UTC");
        let (now, hour) = (1_796_133_731_999, 3_600_000);
        let tomorrow = ("2 December 2026, 14:02 UTC".to_owned(), false);
        assert_eq!(near(Timestamp(now + 24 * hour), Timestamp(now)), tomorrow);
        let soon = ("15:02:11 UTC".to_owned(), true);
        assert_eq!(near(Timestamp(now + hour), Timestamp(now)), soon);
    }
}

//! Points in time as people write them. The server writes UTC; an island says them locally.

use domain::schedule::Timestamp;
use icu_calendar::Date;
use icu_datetime::{DateTimeFormatter, NoCalendarFormatter, fieldsets, input::Time};
use icu_locale_core::{Locale, locale};

use super::{Lang, say};

/// The language as the formatting library knows it. English is written the European way: day before
/// month, hours to 24.
pub(super) fn locale(lang: Lang) -> Locale {
    match lang {
        Lang::en => locale!("en-GB"),
        Lang::ru => locale!("ru"),
    }
}

/// Year, month, day, hour, minute, second.
fn civil(at: Timestamp) -> (i32, u8, u8, u8, u8, u8) {
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
    let small = |number: i64| u8::try_from(number).unwrap_or_default();
    let year = i32::try_from(year).unwrap_or_default();
    (year, small(month), small(day), small(rest / 3600), small(rest / 60 % 60), small(rest % 60))
}

/// For `datetime` attributes: 2026-12-01T14:02:11Z.
pub fn iso(at: Timestamp) -> String {
    let (year, month, day, hour, minute, second) = civil(at);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The time of day: 14:02:11 UTC.
pub fn clock(lang: Lang, at: Timestamp) -> String {
    let time = time_of_day(lang, at, true).unwrap_or_else(|| iso(at));
    say!(lang, frame.clock, time = time)
}

/// The time of day where it was or is today, else the day too; and whether it is the first.
pub fn near(lang: Lang, at: Timestamp, now: Timestamp) -> (String, bool) {
    const DAY_MS: u64 = 86_400_000;
    let today = at.0.abs_diff(now.0) < DAY_MS / 2;
    (if today { clock(lang, at) } else { day(lang, at) }, today)
}

/// Day and time: 1 December 2026, 14:02 UTC.
pub fn day(lang: Lang, at: Timestamp) -> String {
    match (date(lang, at), time_of_day(lang, at, false)) {
        (Some(date), Some(time)) => say!(lang, frame.day_and_time, date = date, time = time),
        _ => iso(at),
    }
}

/// The day alone: 1 December 2026, as UTC has it.
pub fn date_of(lang: Lang, at: Timestamp) -> String {
    date(lang, at).unwrap_or_else(|| iso(at))
}

fn date(lang: Lang, at: Timestamp) -> Option<String> {
    let (year, month, day, ..) = civil(at);
    let date = Date::try_new_iso(year, month, day).ok()?;
    let formatter = DateTimeFormatter::try_new(locale(lang).into(), fieldsets::YMD::long()).ok()?;
    Some(formatter.format(&date).to_string())
}

fn time_of_day(lang: Lang, at: Timestamp, seconds: bool) -> Option<String> {
    let (.., hour, minute, second) = civil(at);
    let time = Time::try_new(hour, minute, second, 0).ok()?;
    let fields = if seconds { fieldsets::T::hms() } else { fieldsets::T::hm() };
    let formatter = NoCalendarFormatter::try_new(locale(lang).into(), fields).ok()?;
    Some(formatter.format(&time).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: i64 = 1_796_133_731_999;

    #[test]
    fn times_are_written_as_the_calendar_has_them() {
        let rows = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (AT, "2026-12-01T14:02:11Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
            (-1000, "1969-12-31T23:59:59Z"),
        ];
        for (at, text) in rows {
            assert_eq!(iso(Timestamp(at)), text);
        }
    }

    #[test]
    fn times_are_said_as_the_language_says_them() {
        let hour = 3_600_000;
        let rows = [
            (Lang::en, "14:02:11 UTC", "1 December 2026, 14:02 UTC", "2 December 2026, 14:02 UTC"),
            (
                Lang::ru,
                "14:02:11 UTC",
                "1 декабря 2026 г., 14:02 UTC",
                "2 декабря 2026 г., 14:02 UTC",
            ),
        ];
        for (lang, time, today, tomorrow) in rows {
            let plain = |text: String| text.replace(['\u{a0}', '\u{202f}'], " ");
            assert_eq!(plain(clock(lang, Timestamp(AT))), time);
            assert_eq!(plain(day(lang, Timestamp(AT))), today);
            let (said, is_clock) = near(lang, Timestamp(AT + 24 * hour), Timestamp(AT));
            assert_eq!((plain(said), is_clock), (tomorrow.to_owned(), false));
            let (said, is_clock) = near(lang, Timestamp(AT + hour), Timestamp(AT));
            assert_eq!((plain(said).as_str(), is_clock), ("15:02:11 UTC", true));
        }
    }
}

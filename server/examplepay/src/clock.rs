//! Times as text.

/// A time as `2024-01-31T23:59:59Z`.
pub fn iso(ms: i64) -> String {
    let seconds = ms.div_euclid(1000);
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days are counted from March, in eras of 400 years: the leap day is then the last of a year.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// A time as RFC 3339 writes it, in milliseconds: `2024-01-31T23:59:59Z`, also with a fraction of
/// a second, and with an offset such as `-07:00`.
pub fn read(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let shape = (0..19).all(|place| match place {
        4 | 7 => bytes.get(place) == Some(&b'-'),
        10 => bytes.get(place) == Some(&b'T'),
        13 | 16 => bytes.get(place) == Some(&b':'),
        _ => bytes.get(place).is_some_and(u8::is_ascii_digit),
    });
    if !shape {
        return None;
    }
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    let shifted = year - i64::from(month <= 2);
    let (era, year_of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    let days =
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year - 719_468;
    let rest = text.get(19..)?;
    let (fraction, offset) = rest.split_at_checked(rest.find(['Z', '+', '-'])?)?;
    let fraction_ms: i64 = match fraction.strip_prefix('.') {
        None if fraction.is_empty() => 0,
        Some(digits) if !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit()) => {
            format!("{digits:0<3}").get(..3)?.parse().ok()?
        }
        _ => return None,
    };
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset_s(offset)?;
    Some(seconds * 1000 + fraction_ms)
}

/// How far ahead of UTC an offset is, in seconds.
fn offset_s(text: &str) -> Option<i64> {
    let (sign, digits) = text.split_at_checked(1)?;
    let ahead = match (sign, digits.split_once(':')) {
        ("Z", None) if digits.is_empty() => return Some(0),
        ("+" | "-", Some((hours, minutes))) if hours.len() == 2 && minutes.len() == 2 => {
            hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60
        }
        _ => return None,
    };
    Some(if sign == "-" { -ahead } else { ahead })
}

#[cfg(test)]
mod tests;

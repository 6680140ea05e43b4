//! Timestamps as files write them, without a calendar library: RFC 3339 text and epoch numbers.

use epitome_core::Time;

use crate::node::Node;

/// The moment a JSON value names: RFC 3339 text, or milliseconds (or, when small, seconds) since 1970.
pub(super) fn time(node: Node<'_>) -> Option<Time> {
    if let Ok(Some(text)) = node.string() {
        return rfc3339(&text);
    }
    let number: f64 =
        node.raw().parse().ok().filter(|number: &f64| number.is_finite() && number.abs() < 1e15)?;
    // Seconds reach this size in the year 5138, milliseconds passed it in 1973.
    let milliseconds = if number.abs() < 1e11 { number * 1000.0 } else { number };
    Some(Time(milliseconds as i64))
}

/// The moment that `text` names, as in `2026-02-03T06:17:55.580Z` or `2026-02-03 07:17:55+01:00`.
pub fn rfc3339(text: &str) -> Option<Time> {
    let bytes = text.as_bytes();
    let separated = [(4, b"-"), (7, b"-"), (10, b"Tt "), (13, b":"), (16, b":")] as [(usize, &[u8]); 5];
    if !separated.iter().all(|(at, allowed)| bytes.get(*at).is_some_and(|byte| allowed.contains(byte))) {
        return None;
    }
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !(1..=12).contains(&month) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    let length = days_since_1970(next.0, next.1, 1) - days_since_1970(year, month, 1);
    if !(1..=length).contains(&day) {
        return None;
    }
    let (millisecond, zone) = fraction(text.get(19..)?)?;
    let seconds =
        (days_since_1970(year, month, day) * 24 + hour) * 3600 + minute * 60 + second - offset(zone)?;
    Some(Time(seconds * 1000 + millisecond))
}

fn fraction(rest: &str) -> Option<(i64, &str)> {
    let Some(digits) = rest.strip_prefix('.') else { return Some((0, rest)) };
    let end = digits.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    let (digits, zone) = digits.split_at(end);
    let milliseconds =
        digits.bytes().chain([b'0'; 3]).take(3).fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    (!digits.is_empty()).then_some((milliseconds, zone))
}

// Some tools write local time without a zone; read as UTC it is at least in order with its neighbours.
fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "" | "Z" | "z") {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

// Days in the proleptic Gregorian calendar, counted in years that start in March.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Span;

    #[test]
    fn timestamps_as_files_write_them() {
        let cases = [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2026-02-03T06:17:55.580Z", Some(1_770_099_475_580)),
            ("2026-02-03T07:17:55.58+01:00", Some(1_770_099_475_580)),
            ("2026-02-03 06:17:55.5801234", Some(1_770_099_475_580)),
            ("2024-02-29T23:59:60-00:30", Some(1_709_253_000_000)),
            ("1969-12-31T23:59:59.999Z", Some(-1)),
            ("2026-13-03T06:17:55Z", None),
            ("2026-02-29T06:17:55Z", None),
            ("2026-12-31T06:17:55Z", Some(1_798_697_875_000)),
            ("2026-12-32T06:17:55Z", None),
            ("2026-04-31T06:17:55Z", None),
            ("2026-02-03", None),
            ("2026-02-03T06:17:55.Z", None),
            ("2026-02-03T06:17:55+1:xx", None),
            ("2026-02-0\u{e9}T06:17:55Z", None),
        ];
        for (text, expected) in cases {
            assert_eq!(rfc3339(text).map(|time| time.0), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_milliseconds_or_seconds() {
        let read = |json: &str| time(Node::new(json, Span { start: 0, end: json.len() })).map(|time| time.0);
        assert_eq!(read("1763681581544"), Some(1_763_681_581_544));
        assert_eq!(read("1763681581.5"), Some(1_763_681_581_500));
        assert_eq!(read("\"1970-01-01T00:00:01Z\""), Some(1000));
        assert_eq!(read("1e400"), None);
        assert_eq!(read("null"), None);
    }
}

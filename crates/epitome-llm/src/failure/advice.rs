//! What a server advises about another attempt: `Retry-After` in seconds or as a date, and what providers add to it.

use std::time::{Duration, SystemTime};

/// Advice about another attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Advice {
    /// How long to wait before it.
    pub retry_after: Option<Duration>,
    /// Whether to make one at all.
    pub should_retry: Option<bool>,
}

/// Nobody means more than this.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

impl Advice {
    /// The advice in the headers of a reply; names are asked for in small letters.
    pub fn of_headers<'h>(header: impl Fn(&str) -> Option<&'h str>, now: SystemTime) -> Self {
        let milliseconds = header("retry-after-ms").and_then(|value| duration(value, 0.001));
        let seconds =
            || header("retry-after").and_then(|value| duration(value, 1.0).or_else(|| until(value, now)));
        let should_retry = match header("x-should-retry").map(str::trim) {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        };
        Self { retry_after: milliseconds.or_else(seconds), should_retry }
    }

    /// The advice in a folded message: `please try again in 1.5s`.
    pub(super) fn in_text(text: &str) -> Self {
        let wait = text.split("try again in ").nth(1).and_then(spoken);
        Self { retry_after: wait, should_retry: None }
    }

    /// This advice, and the other where this one says nothing.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            retry_after: self.retry_after.or(other.retry_after),
            should_retry: self.should_retry.or(other.should_retry),
        }
    }
}

fn duration(value: &str, unit: f64) -> Option<Duration> {
    let seconds = value.trim().parse::<f64>().ok()? * unit;
    let seconds = (seconds >= 0.0).then_some(seconds)?.min(LONGEST.as_secs_f64());
    Duration::try_from_secs_f64(seconds).ok()
}

// `20s`, `1.2s`, `6m0s`, `500ms`, `2 seconds`.
fn spoken(text: &str) -> Option<Duration> {
    let mut rest = text.trim_start();
    let mut sum = None;
    for _ in 0..3 {
        let end = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let (number, after) = rest.split_at_checked(end)?;
        let after = after.trim_start();
        let unit: String = after.chars().take_while(char::is_ascii_alphabetic).collect();
        let seconds = match unit.as_str() {
            "ms" | "milliseconds" => 0.001,
            "s" | "second" | "seconds" => 1.0,
            "m" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            _ => break,
        };
        let Some(part) = duration(number.trim_end_matches('.'), seconds) else { break };
        sum = Some(sum.unwrap_or(Duration::ZERO).saturating_add(part).min(LONGEST));
        rest = after.get(unit.len()..)?;
    }
    sum
}

// The time until a date such as `Sun, 06 Nov 1994 08:49:37 GMT`.
fn until(value: &str, now: SystemTime) -> Option<Duration> {
    let seconds = date(value)?;
    let now = now.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(Duration::from_secs(seconds).saturating_sub(now).min(LONGEST))
}

// Seconds since 1970.
fn date(value: &str) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let (_, value) = value.split_once(',')?;
    let mut words = value.split_whitespace();
    let day: u64 = words.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = words.next()?.to_ascii_lowercase();
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let year: u64 = words.next()?.parse().ok().filter(|year| (1970..10_000).contains(year))?;
    let mut time = words.next()?.split(':').map(|part| part.parse::<u64>().ok().filter(|part| *part < 61));
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    Some(((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second)
}

// Days since 1970 of a date of the Gregorian calendar; years begin in March, so that leap days come last.
fn days(year: u64, month: u64, day: u64) -> u64 {
    const MARCH_0000_TO_1970: u64 = 719_468;
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_years = year * 365 + year / 4 - year / 100 + year / 400;
    of_years + (month * 153 + 2) / 5 + day - 1 - MARCH_0000_TO_1970
}

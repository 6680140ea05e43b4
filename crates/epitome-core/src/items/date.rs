//! Dates and times of day.

use super::Kind;
use super::bytes::{at, before, class, digits, lower, run};
use super::scan::{Chunk, Reading, ends_here};

/// The date or time that begins with this digit.
pub(super) fn read(bytes: &[u8], start: usize) -> Option<Reading> {
    let first = digits(bytes, start);
    let end = match first - start {
        4 => iso(bytes, start),
        1 | 2 if before(bytes, start) != b':' => {
            clock(bytes, start).or_else(|| numeric(bytes, start)).or_else(|| day_first(bytes, start))
        }
        _ => None,
    }?;
    Some(Reading::new(Kind::Date, start, end))
}

/// The date that begins with the name of a month: "May 16, 2024", "May 2024".
pub(super) fn month_first(bytes: &[u8], chunk: Chunk) -> Option<Reading> {
    let gap = chunk.end + usize::from(at(bytes, chunk.end) == b'.');
    if at(bytes, gap) != b' ' || !at(bytes, gap + 1).is_ascii_digit() {
        return None;
    }
    month(bytes.get(chunk.start..chunk.end)?)?;
    let day = digits(bytes, gap + 1);
    let end = match day - gap - 1 {
        1 | 2 => {
            let end = ordinal(bytes, day);
            let comma = end + usize::from(at(bytes, end) == b',');
            year(bytes, comma).unwrap_or(end)
        }
        4 => day,
        _ => return None,
    };
    ends_here(bytes, end).then(|| Reading::new(Kind::Date, chunk.start, end))
}

fn two_digits(bytes: &[u8], start: usize, most: u32) -> Option<usize> {
    let (tens, ones) = (digit(bytes, start)?, digit(bytes, start + 1)?);
    (tens * 10 + ones <= most && !at(bytes, start + 2).is_ascii_digit()).then_some(start + 2)
}

fn digit(bytes: &[u8], place: usize) -> Option<u32> {
    char::from(at(bytes, place)).to_digit(10)
}

// 2024-05-16, 2024-05, 2024/05/16, with a time behind a T.
fn iso(bytes: &[u8], start: usize) -> Option<usize> {
    let sign = at(bytes, start + 4);
    if !matches!(sign, b'-' | b'/') {
        return None;
    }
    let month = two_digits(bytes, start + 5, 12)?;
    let day = (at(bytes, month) == sign).then(|| two_digits(bytes, month + 1, 31)).flatten();
    let Some(day) = day else { return (sign == b'-' && ends_here(bytes, month)).then_some(month) };
    let time = matches!(at(bytes, day), b'T' | b't').then(|| hours(bytes, day + 1)).flatten();
    Some(time.map_or(day, |end| zone(bytes, end)))
}

fn zone(bytes: &[u8], end: usize) -> usize {
    match at(bytes, end) {
        b'Z' => end + 1,
        b'+' | b'-' => {
            let hours = two_digits(bytes, end + 1, 14);
            let minutes =
                hours.filter(|end| at(bytes, *end) == b':').and_then(|end| two_digits(bytes, end + 1, 59));
            minutes.or(hours).unwrap_or(end)
        }
        _ => end,
    }
}

// 15:30, 15:30:00, 15:30:00.123
fn hours(bytes: &[u8], start: usize) -> Option<usize> {
    let hour = digits(bytes, start);
    if hour - start > 2 || at(bytes, hour) != b':' {
        return None;
    }
    let minute = two_digits(bytes, hour + 1, 59)?;
    let second = (at(bytes, minute) == b':').then(|| two_digits(bytes, minute + 1, 60)).flatten();
    let Some(second) = second else { return (at(bytes, minute) != b':').then_some(minute) };
    Some(if at(bytes, second) == b'.' { digits(bytes, second + 1).max(second) } else { second })
}

// 15:30, 5 pm, 5:30 PM
fn clock(bytes: &[u8], start: usize) -> Option<usize> {
    let exact = hours(bytes, start);
    let end = exact.unwrap_or_else(|| digits(bytes, start));
    let gap = end + usize::from(at(bytes, end) == b' ');
    let half = matches!(at(bytes, gap), b'a' | b'p' | b'A' | b'P')
        && matches!(at(bytes, gap + 1), b'm' | b'M')
        && ends_here(bytes, gap + 2);
    if half { Some(gap + 2) } else { exact.filter(|end| ends_here(bytes, *end)) }
}

// 05/16/2024, 16.05.2024
fn numeric(bytes: &[u8], start: usize) -> Option<usize> {
    let first = digits(bytes, start);
    let sign = at(bytes, first);
    let second = digits(bytes, first + 1);
    let third = digits(bytes, second + 1);
    let shaped = matches!(sign, b'/' | b'.' | b'-')
        && at(bytes, second) == sign
        && matches!(second - first, 2 | 3)
        && third - second == 5;
    shaped.then_some(third)
}

// "16 May 2024", "16. Mai", "16th of May", "16 de mayo de 2024"
fn day_first(bytes: &[u8], start: usize) -> Option<usize> {
    let day = ordinal(bytes, digits(bytes, start));
    let mut gap = day + usize::from(at(bytes, day) == b'.');
    for link in [&b" of"[..], b" de"] {
        if bytes.get(gap..).is_some_and(|rest| rest.starts_with(link)) {
            gap += link.len();
        }
    }
    if at(bytes, gap) != b' ' {
        return None;
    }
    let end = run(bytes, gap + 1, |byte| class(byte) != 0 && byte.is_ascii_alphabetic() || byte >= 0x80);
    month(bytes.get(gap + 1..end)?)?;
    let spanish = bytes.get(end..).is_some_and(|rest| rest.starts_with(b" de "));
    Some(year(bytes, if spanish { end + 3 } else { end }).unwrap_or(end))
}

fn ordinal(bytes: &[u8], end: usize) -> usize {
    let suffix = bytes.get(end..end + 2).unwrap_or_default();
    if matches!(suffix, b"st" | b"nd" | b"rd" | b"th") { end + 2 } else { end }
}

fn year(bytes: &[u8], gap: usize) -> Option<usize> {
    let end = digits(bytes, gap + 1);
    (at(bytes, gap) == b' ' && end - gap == 5 && ends_here(bytes, end)).then_some(end)
}

/// The number of a month by its name.
pub(super) fn month(name: &[u8]) -> Option<u32> {
    let letters = lower::<10>(name)?;
    Some(match letters.get(..name.len())? {
        b"january" | b"jan" | b"januar" | b"janvier" | b"enero" => 1,
        b"february" | b"feb" | b"februar" | b"f\xc3\xa9vrier" | b"febrero" => 2,
        b"march" | b"mar" | b"m\xc3\xa4rz" | b"mars" | b"marzo" => 3,
        b"april" | b"apr" | b"avril" | b"abril" => 4,
        b"may" | b"mai" | b"mayo" => 5,
        b"june" | b"jun" | b"juni" | b"juin" | b"junio" => 6,
        b"july" | b"jul" | b"juli" | b"juillet" | b"julio" => 7,
        b"august" | b"aug" | b"ao\xc3\xbbt" | b"agosto" => 8,
        b"september" | b"sep" | b"sept" | b"septembre" | b"septiembre" => 9,
        b"october" | b"oct" | b"oktober" | b"okt" | b"octobre" | b"octubre" => 10,
        b"november" | b"nov" | b"novembre" | b"noviembre" => 11,
        b"december" | b"dec" | b"dezember" | b"dez" | b"d\xc3\xa9cembre" | b"diciembre" => 12,
        _ => return None,
    })
}

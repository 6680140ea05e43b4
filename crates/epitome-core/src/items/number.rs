//! What begins with a digit: amounts, versions, addresses, ids.

use super::bytes::{LOWER, UPPER, at, before, class, digits, is_word, lower, run};
use super::scan::{Chunk, Reading, ends_here};
use super::{Kind, date, path};

/// From this many digits on a number is not counted with.
const ID_DIGITS: usize = 9;

/// What stands at a digit.
pub(super) fn read(bytes: &[u8], chunk: Chunk) -> Reading {
    let start = chunk.start;
    if chunk.has(LOWER | UPPER)
        && let Some(found) = path::digit_first(bytes, chunk)
    {
        return found;
    }
    date::read(bytes, start)
        .or_else(|| id(bytes, start))
        .or_else(|| dotted(bytes, start))
        .unwrap_or_else(|| amount(bytes, start))
}

// Letters among the digits that are no unit (commits, orders), three groups of digits or more (phone numbers).
fn id(bytes: &[u8], start: usize) -> Option<Reading> {
    let number = digits(bytes, start);
    let word = run(bytes, start, |byte| is_word(byte) || byte == b'_');
    let end = run(bytes, start, |byte| is_word(byte) || matches!(byte, b'_' | b'-'));
    let end = (start..end).rev().find(|place| at(bytes, *place) != b'-').map_or(end, |place| place + 1);
    let letters = bytes.get(number..word).unwrap_or_default();
    let mixed = letters.iter().any(|byte| !byte.is_ascii_digit() && *byte != b'_')
        && with_unit(bytes, number_end(bytes, start)) < word;
    let groups = bytes.get(start..end).unwrap_or_default().split(|byte| *byte == b'-');
    let grouped = groups.clone().count() >= 3
        && groups.clone().all(|group| !group.is_empty() && group.iter().all(u8::is_ascii_hexdigit))
        && groups.map(<[u8]>::len).sum::<usize>() >= 7;
    (mixed || grouped).then(|| Reading::new(Kind::Id, start, end))
}

// Three groups of digits are a version, four an address.
fn dotted(bytes: &[u8], start: usize) -> Option<Reading> {
    let mut end = digits(bytes, start);
    let mut groups = 1;
    while at(bytes, end) == b'.' && at(bytes, end + 1).is_ascii_digit() {
        end = digits(bytes, end + 1);
        groups += 1;
    }
    match groups {
        0..=2 => None,
        4 => Some(Reading::new(Kind::Id, start, end)),
        _ => Some(Reading::new(Kind::Version, start, version_end(bytes, end))),
    }
}

/// Where a version ends, its suffix included: `1.2.3-rc.1`.
pub(super) fn version_end(bytes: &[u8], end: usize) -> usize {
    let suffixed = class(at(bytes, end)) & (LOWER | UPPER) != 0
        || at(bytes, end) == b'-' && class(at(bytes, end + 1)) & (LOWER | UPPER) != 0;
    if !suffixed {
        return end;
    }
    let suffix = run(bytes, end, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'));
    (end..suffix).rev().find(|place| at(bytes, *place).is_ascii_alphanumeric()).map_or(end, |place| place + 1)
}

fn amount(bytes: &[u8], start: usize) -> Reading {
    let end = with_unit(bytes, number_end(bytes, start));
    let plain = digits(bytes, start) == end;
    let start = start - currency(bytes, start);
    let kind = if plain && end - start >= ID_DIGITS { Kind::Id } else { Kind::Number };
    Reading::new(kind, start, end)
}

// Digits with the signs that group them, decimals and an exponent.
fn number_end(bytes: &[u8], start: usize) -> usize {
    let mut end = grouped(bytes, start);
    if at(bytes, end) == b'.' && at(bytes, end + 1).is_ascii_digit() {
        end = digits(bytes, end + 1);
    }
    if matches!(at(bytes, end), b'e' | b'E') {
        let sign = usize::from(matches!(at(bytes, end + 1), b'+' | b'-'));
        let exponent = digits(bytes, end + 1 + sign);
        if exponent > end + 1 + sign && ends_here(bytes, exponent) {
            end = exponent;
        }
    }
    end
}

fn grouped(bytes: &[u8], start: usize) -> usize {
    let mut end = digits(bytes, start);
    while at(bytes, end) == b'_' && at(bytes, end + 1).is_ascii_digit() {
        end = digits(bytes, end + 1);
    }
    // In a list the comma stands between numbers; that this is one shows in what stands around it.
    if end - start > 3 || matches!(before(bytes, start), b',' | b'[' | b'{' | b':') {
        return end;
    }
    let mut grouped = end;
    while at(bytes, grouped) == b',' && digits(bytes, grouped + 1) == grouped + 4 {
        grouped += 4;
    }
    let listed = matches!(at(bytes, grouped), b',' | b']' | b'}') && at(bytes, grouped + 1) != b' ';
    if listed { end } else { grouped }
}

// What is written to a number without a space.
fn with_unit(bytes: &[u8], end: usize) -> usize {
    if at(bytes, end) == b'%' {
        return end + 1;
    }
    let unit = run(bytes, end, is_word);
    let letters = bytes.get(end..unit).unwrap_or_default();
    let known =
        lower::<4>(letters).is_some_and(|lower| is_unit(lower.get(..letters.len()).unwrap_or_default()));
    if known && ends_here(bytes, unit) { unit } else { end }
}

#[rustfmt::skip]
fn is_unit(letters: &[u8]) -> bool {
    matches!(
        letters,
        b"s" | b"ms" | b"us" | b"ns" | b"m" | b"min" | b"mins" | b"h" | b"hr" | b"hrs" | b"d" | b"w" | b"y"
        | b"sec" | b"secs" | b"k" | b"b" | b"kb" | b"mb" | b"gb" | b"tb" | b"pb" | b"kib" | b"mib" | b"gib"
        | b"tib" | b"bit" | b"bits" | b"bn" | b"px" | b"em" | b"rem" | b"pt" | b"vh" | b"vw" | b"fps"
        | b"dpi" | b"x" | b"hz" | b"khz" | b"mhz" | b"ghz" | b"v" | b"kw" | b"kwh" | b"mah" | b"g" | b"kg"
        | b"mg" | b"lb" | b"lbs" | b"oz" | b"l" | b"ml" | b"mm" | b"cm" | b"km" | b"ft" | b"st" | b"nd"
        | b"rd" | b"th" | b"in" | b"mi" | b"mph" | b"kmh" | b"eur" | b"usd"
    )
}

// How many bytes before a number are its currency.
fn currency(bytes: &[u8], start: usize) -> usize {
    let head = bytes.get(..start).unwrap_or_default();
    ["$", "€", "£", "¥", "₹"].iter().find(|sign| head.ends_with(sign.as_bytes())).map_or(0, |sign| sign.len())
}

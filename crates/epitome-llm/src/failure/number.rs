//! Numbers of tokens as people and servers write them: `200000`, `200,000`, `128k`, `1.5M`.

/// The number that `text` begins with, and what follows it. A number of bytes is none of tokens.
pub(super) fn leading(text: &str) -> Option<(u64, &str)> {
    let (mut number, mut rest) = grouped(text)?;
    let after_point = rest.strip_prefix('.').and_then(digits);
    let (scale, after_scale) = scale(after_point.map_or(rest, |(_, rest)| rest));
    if scale > 1 {
        number = number
            .checked_mul(scale)?
            .checked_add(after_point.map_or(0, |(part, _)| part_of(part, scale)))?;
        rest = after_scale;
    }
    (!is_bytes(rest)).then_some((number, rest))
}

// Digits, with separators between groups of three.
fn grouped(text: &str) -> Option<(u64, &str)> {
    let (first, mut rest) = digits(text)?;
    let mut all = first.to_owned();
    while let Some((group, after)) = rest.strip_prefix([',', '_', '\'']).and_then(digits) {
        if group.len() != 3 || all.len() > 18 {
            break;
        }
        all.push_str(group);
        rest = after;
    }
    Some((all.parse().ok()?, rest))
}

fn digits(text: &str) -> Option<(&str, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    (end > 0).then(|| text.split_at(end))
}

fn scale(text: &str) -> (u64, &str) {
    let mut characters = text.chars();
    let scale = match characters.next() {
        Some('k' | 'K') => 1_000,
        Some('m' | 'M') => 1_000_000,
        _ => return (1, text),
    };
    let rest = characters.as_str();
    if rest.starts_with(|next: char| next.is_alphanumeric()) { (1, text) } else { (scale, rest) }
}

// `.5` of a thousand.
fn part_of(digits: &str, scale: u64) -> u64 {
    let mut unit = scale;
    let mut sum = 0;
    for digit in digits.bytes() {
        unit /= 10;
        sum += u64::from(digit - b'0') * unit;
    }
    sum
}

fn is_bytes(rest: &str) -> bool {
    let unit = rest.trim_start().to_ascii_lowercase();
    ["bytes", "byte", "kb", "mb", "gb", "kib", "mib"].iter().any(|name| {
        unit.strip_prefix(name).is_some_and(|after| !after.starts_with(|next: char| next.is_alphanumeric()))
    })
}

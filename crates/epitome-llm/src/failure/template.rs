//! Sentences with holes: `prompt is too long: {requested} tokens > {limit} maximum`.
//!
//! `{limit}`, `{requested}` and `{output}` stand for numbers, `…` for anything. What stands between two `…` is found as
//! early as possible, which finds a match wherever there is one, in time that is linear in the text.

use super::number;

/// The numbers that a sentence tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) limit: Option<u64>,
    pub(super) requested: Option<u64>,
    pub(super) output: Option<u64>,
}

/// The text as templates expect it: small letters, single blanks, plain apostrophes, not too long.
pub(super) fn folded(text: &str) -> String {
    const LONGEST: usize = 4_000;
    let start: String = text.chars().take(LONGEST).collect();
    let plain = start.replace(['\u{2019}', '\u{2018}'], "'").to_ascii_lowercase();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The numbers in the folded text where it holds a sentence of this form.
pub(super) fn find(template: &str, text: &str) -> Option<Numbers> {
    let mut numbers = Numbers::default();
    let mut rest = text;
    for part in template.split('…') {
        rest = find_part(part, rest, &mut numbers)?;
    }
    Some(numbers)
}

// The text behind the first place where the part stands.
fn find_part<'t>(part: &str, text: &'t str, numbers: &mut Numbers) -> Option<&'t str> {
    let head = part.split('{').next().unwrap_or_default();
    for (at, _) in text.match_indices(head) {
        let mut found = *numbers;
        if let Some(rest) = stands(part, text.get(at..)?, &mut found) {
            *numbers = found;
            return Some(rest);
        }
    }
    None
}

// The text behind the part where it stands at the beginning.
fn stands<'t>(part: &str, text: &'t str, numbers: &mut Numbers) -> Option<&'t str> {
    let mut pieces = part.split('{');
    let mut rest = text.strip_prefix(pieces.next()?)?;
    for piece in pieces {
        let (hole, literal) = piece.split_once('}')?;
        let (number, after) = number::leading(rest)?;
        match hole {
            "limit" => numbers.limit = Some(number),
            "requested" => numbers.requested = Some(number),
            _ => numbers.output = Some(number),
        }
        rest = after.strip_prefix(literal)?;
    }
    Some(rest)
}

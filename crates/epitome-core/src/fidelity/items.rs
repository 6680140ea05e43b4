//! Items: paths, identifiers, ids, numbers, dates, URLs and names of errors in a text.
//!
//! Deliberately simple, and nothing that the summariser or its check use: whoever sets the questions must not be whoever
//! answers them.

use std::ops::Range;

/// Marks that stand around items and never in them.
const APART: &str = "\"'`<>()[]{},;|=\\*&^!?“”‘’«»…→";
/// Marks that an item does not begin with.
const BEFORE: &[char] = &[':', '-', '#', '+', '$', '@', '%'];
/// Marks that an item does not end with.
const AFTER: &[char] = &['.', ':', '-', '#', '+', '%', '$', '@', '~', '/'];
/// Digits from which on a bare number tells something.
const TELLING_DIGITS: usize = 3;

/// Where the items of a text stand, in bytes, in order and apart from each other.
pub(super) fn items(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for chunk in split(text, 0..text.len(), char::is_whitespace) {
        let mut rest = chunk;
        while let Some(url) = url(text, rest.clone()) {
            pieces(text, rest.start..url.start, &mut found);
            rest.start = url.end;
            found.push(url);
        }
        pieces(text, rest, &mut found);
    }
    found
}

fn pieces(text: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    for piece in split(text, range, |mark| APART.contains(mark)) {
        let piece = trimmed(text, piece);
        let word = slice(text, &piece);
        if is_path(word) || is_date(word) {
            found.push(piece);
            continue;
        }
        for part in split(text, piece, |mark| matches!(mark, '/' | ':')) {
            let part = trimmed(text, part);
            if is_telling(slice(text, &part)) {
                found.push(part);
            }
        }
    }
}

fn slice<'t>(text: &'t str, range: &Range<usize>) -> &'t str {
    text.get(range.clone()).unwrap_or_default()
}

fn split(text: &str, range: Range<usize>, apart: impl Fn(char) -> bool) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = range.start;
    for (at, mark) in slice(text, &range).char_indices().filter(|(_, mark)| apart(*mark)) {
        let at = range.start + at;
        parts.push(start..at);
        start = at + mark.len_utf8();
    }
    parts.push(start..range.end);
    parts.retain(|part| !part.is_empty());
    parts
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let word = slice(text, &range);
    let from = word.trim_start_matches(BEFORE);
    let start = range.start + (word.len() - from.len());
    start..start + from.trim_end_matches(AFTER).len()
}

fn url(text: &str, chunk: Range<usize>) -> Option<Range<usize>> {
    let word = slice(text, &chunk);
    let scheme = ["https://", "http://"].iter().filter_map(|scheme| word.find(scheme)).min()?;
    let rest = word.get(scheme..)?;
    let end = rest.find(|mark| "\"'`<>()[]{}|\\".contains(mark)).unwrap_or(rest.len());
    let url = rest.get(..end)?.trim_end_matches(['.', ',', ';', ':', '!', '?', '*']);
    let start = chunk.start + scheme;
    // A bare scheme is no URL, but it must be stepped over.
    Some(start..start + url.len().max(rest.find("//")? + 2))
}

fn is_path(word: &str) -> bool {
    let parts: Vec<&str> = word.split('/').collect();
    let named = |part: &&str| part.chars().any(char::is_alphabetic);
    let rooted = ["/", "./", "../", "~/"].iter().any(|root| word.starts_with(root));
    let is_file = parts.last().is_some_and(|last| has_extension(last));
    parts.len() > 1 && parts.iter().any(named) && (rooted || is_file || parts.len() > 2)
}

fn has_extension(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=5).contains(&extension.len())
            && extension.chars().all(|letter| letter.is_ascii_alphanumeric())
            && extension.chars().any(|letter| letter.is_ascii_alphabetic())
    })
}

// 2024-05-20, 2024-05-20T15:00:00, 15:00:00.
fn is_date(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let marks = word.bytes().filter(|byte| matches!(byte, b'-' | b':')).count();
    let allowed = |byte: u8| byte.is_ascii_digit() || b"-:.+TZ".contains(&byte);
    digits >= 4
        && marks >= 1
        && word.bytes().all(allowed)
        && word.starts_with(|first: char| first.is_ascii_digit())
}

fn is_telling(word: &str) -> bool {
    is_number(word) || is_name(word)
}

fn is_number(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let fraction = word.contains('.') && digits >= 2;
    word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && (digits >= TELLING_DIGITS || fraction)
}

// What nobody would write in a sentence: parts joined by marks, letters with digits, capitals inside.
fn is_name(word: &str) -> bool {
    let letters = word.chars().filter(|letter| letter.is_alphabetic()).count();
    let digits = word.chars().any(|letter| letter.is_ascii_digit());
    if letters == 0 || word.chars().count() < 3 {
        return false;
    }
    let humps = word
        .chars()
        .zip(word.chars().skip(1))
        .any(|(left, right)| left.is_lowercase() && right.is_uppercase());
    let hyphens = word.matches('-').count();
    word.contains('_') || word.contains('@') || digits || humps || is_dotted(word) || hyphens > 1
}

fn is_dotted(word: &str) -> bool {
    let mut parts = word.split('.');
    word.contains('.') && word.len() >= 4 && parts.all(|part| !part.is_empty())
}

//! Places where both vocabularies split text whatever stands before and after.
//!
//! A byte-pair tokenizer first splits text into pieces and then merges within each piece. If no piece
//! can contain two adjacent characters, the text may be cut between them and counted in two parts.
//!
//! The pieces of o200k and cl100k are, in order of preference (`L` letter, `N` number, `M` mark):
//!
//! 1. a word: at most one character that is no line break, `L` or `N`, then letters (o200k: and marks),
//!    then perhaps a contraction (`'s`, `'ll`, …); in cl100k a contraction also stands alone
//! 2. one to three `N`
//! 3. a space or none, then characters that are neither white space, `L` nor `N`, then line breaks
//!    (o200k: and slashes)
//! 4. white space that ends in line breaks
//! 5. white space that no other character follows, so that a word may take the last one along
//!
//! Hence, for adjacent characters `a` and `b`, no piece contains `ab` where
//!
//! * exactly one of the two is `N`: only rule 2 admits numbers, and nothing else;
//! * `b` is white space and `a` is `L`: white space follows only what is not a letter;
//! * `b` is white space but no line break and `a` is not white space: only rules 4 and 5 have such a `b`
//!   anywhere but first, and they have no such `a`;
//! * `a` is a line break and `b` is neither white space nor a slash: after a line break rules 3 and 4 admit
//!   only line breaks, slashes and white space, and rule 1 does not admit one;
//! * `a` is `L` and `b` is none of `L`, `M` and apostrophe: a word goes on only with those.
//!
//! A cut must not change the pieces to its left either. Only rule 5 looks beyond its piece, and it
//! matters only where `a` is white space and `b` is not. There `a` is a line break, and rule 4, which is
//! preferred, has taken everything up to the cut; or `b` is `N`, where the cut would change the piece on the
//! left, so such places are left out.
//!
//! Letters and marks are known here only where no table is needed (ASCII, and the caseless letters of
//! Chinese, Japanese and Korean). What is not known is never a boundary; that costs time, not truth.

use std::ops::RangeInclusive;

/// The last boundary of `text` in `range`, which counts bytes; never at the start or end of the text.
pub(super) fn last(text: &str, range: RangeInclusive<usize>) -> Option<usize> {
    let start = floor(text, *range.start());
    let end = floor(text, *range.end());
    let mut after = text.get(end..)?.chars().next();
    for (offset, before) in text.get(..end)?.char_indices().rev() {
        let cut = offset + before.len_utf8();
        if cut < start {
            return None;
        }
        if after.is_some_and(|after| splits(before, after)) {
            return Some(cut);
        }
        after = Some(before);
    }
    None
}

/// The first boundary in `text` after byte `start`.
pub(super) fn first(text: &str, start: usize) -> Option<usize> {
    let start = floor(text, start);
    let mut chars = text.get(start..)?.char_indices();
    let (_, mut before) = chars.next()?;
    for (offset, after) in chars {
        if splits(before, after) {
            return Some(start + offset);
        }
        before = after;
    }
    None
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Number,
    LineBreak,
    Space,
    Apostrophe,
    Slash,
    /// ASCII and CJK punctuation and controls: neither letter, number, mark nor white space.
    Other,
    /// Not white space; anything else.
    Unknown,
}

fn class(c: char) -> Class {
    match c {
        'a'..='z' | 'A'..='Z' => Class::Letter,
        '0'..='9' => Class::Number,
        '\r' | '\n' => Class::LineBreak,
        '\'' => Class::Apostrophe,
        '/' => Class::Slash,
        c if c.is_whitespace() => Class::Space,
        '\0'..='\x7f' => Class::Other,
        c if is_caseless_letter(c) => Class::Letter,
        // 、 。 brackets, and the full-width forms of ASCII punctuation.
        '\u{3001}'
        | '\u{3002}'
        | '\u{3008}'..='\u{3011}'
        | '\u{ff01}'..='\u{ff0f}'
        | '\u{ff1a}'..='\u{ff20}' => Class::Other,
        _ => Class::Unknown,
    }
}

/// Kana, the ideographs of Unicode 1.1 and the syllables of Hangul: category Lo in every version since.
pub(super) fn is_caseless_letter(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{3094}' | '\u{30a1}'..='\u{30fa}' | '\u{4e00}'..='\u{9fa5}' | '\u{ac00}'..='\u{d7a3}')
}

/// Whether text is always split between these two characters.
fn splits(before: char, after: char) -> bool {
    use Class::{Apostrophe, Letter, LineBreak, Number, Slash, Space, Unknown};
    match (class(before), class(after)) {
        (Number, Number) => false,
        (Space, Number) => false,
        // An unknown character may itself be a number.
        (Number, Unknown) | (Unknown, Number) => false,
        (Number, _) | (_, Number) => true,
        (Letter, Letter | Apostrophe | Unknown) => false,
        (Letter, _) => true,
        (Space | LineBreak, Space) => false,
        (_, Space) => true,
        (LineBreak, after) => !matches!(after, LineBreak | Slash),
        _ => false,
    }
}

//! Units: the smallest stretches of text that are quoted or left out. Lines, sentences of prose, pieces of long lines.

use std::hash::{Hash, Hasher};
use std::ops::Range;

use super::parts::{Part, Voice};
use super::quick::QuickHasher;

/// A stretch of a part's text.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) part: usize,
    pub(super) span: Range<usize>,
    /// Words and signs.
    pub(super) length: u32,
    /// What it will cost in tokens, about.
    pub(super) cost: f32,
    /// The same for the same text, white space aside.
    pub(super) key: u64,
}

/// Longer sentences are no prose.
const LONG_SENTENCE: usize = 600;
/// Longer lines are cut into pieces.
const LONG_LINE: usize = 100;
/// About how long the pieces are.
const PIECE: usize = 50;

/// The units of a part, in their order. They cover all of it but white space.
pub(super) fn split(part: &Part<'_>, number: usize, units: &mut Vec<Unit>) {
    let prose = matches!(part.voice, Voice::User | Voice::Agent);
    let mut start = 0;
    for line in part.text.split_inclusive('\n') {
        let span = start..start + line.len();
        start = span.end;
        if line.trim().is_empty() {
            continue;
        }
        let mut push = |span: Range<usize>| units.extend(unit(part, number, span));
        match (prose, line.len() > LONG_LINE) {
            (true, _) => {
                sentences(line, span.start, &mut |span: Range<usize>| match span.len() > LONG_SENTENCE {
                    true => pieces(part.text.get(span.clone()).unwrap_or_default(), span.start, &mut push),
                    false => push(span),
                })
            }
            (false, true) => pieces(line, span.start, &mut push),
            (false, false) => push(span),
        }
    }
}

fn unit(part: &Part<'_>, number: usize, span: Range<usize>) -> Option<Unit> {
    let text = part.text.get(span.clone())?;
    let end = span.start + text.trim_end().len();
    let text = text.trim_end();
    if text.is_empty() {
        return None;
    }
    let mut hasher = QuickHasher::default();
    for word in text.split_ascii_whitespace() {
        word.hash(&mut hasher);
    }
    let length = lexemes(text.as_bytes());
    let cost = text.len() as f32 * part.density + 1.0;
    Some(Unit { part: number, span: span.start..end, length, cost, key: hasher.finish() })
}

// Runs of letters and digits, and signs.
fn lexemes(text: &[u8]) -> u32 {
    let mut inside = 0;
    let mut count = 0;
    for byte in text {
        let Class { letter, seen } = CLASSES[usize::from(*byte)];
        count += u32::from(seen & !(letter & inside) & 1);
        inside = letter;
    }
    count
}

/// What a byte is, each as one or nothing: part of a word, anything but white space.
#[derive(Clone, Copy)]
struct Class {
    letter: u8,
    seen: u8,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class { letter: 0, seen: 0 }; 256];
    let mut byte = 0;
    while byte < 256 {
        let sign = byte as u8;
        let letter = sign.is_ascii_alphanumeric() || sign == b'_' || sign >= 0x80;
        classes[byte] = Class { letter: letter as u8, seen: !sign.is_ascii_whitespace() as u8 };
        byte += 1;
    }
    classes
};

fn sentences(line: &str, offset: usize, push: &mut impl FnMut(Range<usize>)) {
    let bytes = line.as_bytes();
    let mut start = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let next = bytes.get(at + 1).copied().unwrap_or(b' ');
        let ended = match byte {
            b'.' | b'!' | b'?' => next.is_ascii_whitespace(),
            // 。！？ as UTF-8 ends in these bytes; what comes before is checked on the text.
            0x80..=0xBF => line.get(..=at).is_some_and(|so_far| so_far.ends_with(['。', '！', '？'])),
            _ => false,
        };
        if ended {
            push(offset + start..offset + at + 1);
            start = at + 1;
        }
    }
    if start < line.len() {
        push(offset + start..offset + line.len());
    }
}

// Long lines are mostly data: they are cut behind commas and brackets, and where there are none, between words.
fn pieces(line: &str, offset: usize, push: &mut impl FnMut(Range<usize>)) {
    let mut start = 0;
    for (at, letter) in line.char_indices() {
        let end = at + letter.len_utf8();
        let length = end - start;
        let cuts = match letter {
            ',' | ';' | '}' | ']' => length >= PIECE,
            ' ' => length >= 2 * PIECE,
            _ => length >= 4 * PIECE,
        };
        if cuts {
            push(offset + start..offset + end);
            start = end;
        }
    }
    if start < line.len() {
        push(offset + start..offset + line.len());
    }
}

//! The walk over a text: words and the signs that join them, most of which are nothing and are left at once.

use super::bytes::{FOREIGN, LOWER, SLASH, UPPER, at, before, class, is_word, run};
use super::{Found, Kind, date, number, path, url, word};

/// Longer runs without a space are data, not names.
const LONGEST: usize = 256;

/// The items of a text: see [`super::find`].
#[derive(Clone, Debug)]
pub struct Items<'t> {
    text: &'t str,
    at: usize,
    /// Up to here a slash ends a word: what stands there is no path.
    unslashed: usize,
}

/// A stretch that may be an item.
#[derive(Clone, Copy)]
pub(super) struct Chunk {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The classes of all its bytes.
    pub(super) mask: u8,
    /// Whether it stands in backticks by itself.
    pub(super) quoted: bool,
}

/// What a chunk turned out to be, and where to go on.
pub(super) struct Reading {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl<'t> Items<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0, unslashed: 0 }
    }

    // Passes what can begin no word: spaces, brackets, quotes, and escapes as JSON and most languages write them.
    fn skip(&mut self, bytes: &[u8]) {
        while let Some(byte) = bytes.get(self.at) {
            if *byte == b'\\' {
                while at(bytes, self.at) == b'\\' {
                    self.at += 1;
                }
                // The letter of `\n` belongs to no word.
                if matches!(at(bytes, self.at), b'n' | b'r' | b't') {
                    self.at += 1;
                }
                continue;
            }
            // A byte inside a letter can only be what is left of one that begins no word.
            let rest = (0x80..=0xbf).contains(byte);
            if class(*byte) == 0 || rest || (*byte == b'/' && self.at < self.unslashed) {
                self.at += 1;
            } else {
                return;
            }
        }
    }

    fn chunk(&self, bytes: &[u8]) -> Chunk {
        let start = self.at;
        let slash = if start < self.unslashed { SLASH } else { 0 };
        let (mut end, mut mask) = (start, 0);
        // A number may be read from a chunk many times over, so a chunk is never longer than can be an item.
        while let Some(byte) = bytes.get(end) {
            let class = class(*byte);
            if class == 0 || class == slash || end - start > LONGEST {
                break;
            }
            mask |= class;
            end += 1;
        }
        let quoted = before(bytes, start) == b'`' && matches!(at(bytes, end), b'`' | b'(');
        Chunk { start, end, mask, quoted }
    }

    // What stands at a chunk; `None` where it is nothing, the walk then goes on behind it or inside it.
    fn read(&mut self, bytes: &[u8], chunk: Chunk) -> Option<Reading> {
        let first = at(bytes, chunk.start);
        if at(bytes, chunk.end) == b':' {
            if let Some(found) = url::read(bytes, chunk) {
                return Some(found);
            }
            if let Some(found) = path::windows(bytes, chunk) {
                return Some(found);
            }
        }
        if first.is_ascii_digit() {
            return Some(number::read(bytes, chunk));
        }
        if chunk.mask & !(LOWER | UPPER | FOREIGN) == 0 && !chunk.quoted {
            return self.read_letters(bytes, chunk);
        }
        if let Some(start) = number_inside(bytes, chunk) {
            return Some(number::read(bytes, Chunk { start, ..chunk }));
        }
        if chunk.mask & SLASH != 0 {
            let found = path::read(bytes, chunk);
            if found.is_none() {
                self.unslashed = chunk.end;
                self.at = chunk.start;
            }
            return found;
        }
        word::read(bytes, chunk)
    }

    fn read_letters(&self, bytes: &[u8], chunk: Chunk) -> Option<Reading> {
        if chunk.mask & UPPER == 0 {
            return (at(bytes, chunk.end) == b':').then(|| word::joined(bytes, chunk)).flatten();
        }
        date::month_first(bytes, chunk).or_else(|| word::read(bytes, chunk))
    }
}

// Where a number begins behind signs that are no part of it: `$5`, `-3`, `~10`, `.5`, `..10`.
fn number_inside(bytes: &[u8], chunk: Chunk) -> Option<usize> {
    let start =
        (chunk.start..chunk.end).find(|place| !matches!(at(bytes, *place), b'.' | b'-' | b'~' | b'$'))?;
    (start > chunk.start && at(bytes, start).is_ascii_digit()).then_some(start)
}

impl<'t> Iterator for Items<'t> {
    type Item = Found<'t>;

    fn next(&mut self) -> Option<Found<'t>> {
        let bytes = self.text.as_bytes();
        loop {
            self.skip(bytes);
            let chunk = self.chunk(bytes);
            if chunk.end == chunk.start {
                return None;
            }
            // Most of any text: a word of small letters, perhaps with a capital before it.
            let plain = chunk.mask & !(LOWER | FOREIGN) == 0;
            if plain && !chunk.quoted && at(bytes, chunk.end) != b':' {
                self.at = chunk.end;
                continue;
            }
            self.at = chunk.end;
            if chunk.end - chunk.start > LONGEST {
                self.at = run(bytes, chunk.end, |byte| class(byte) != 0);
                continue;
            }
            let Some(Reading { kind, start, end }) = self.read(bytes, chunk) else { continue };
            self.at = end.max(chunk.start + 1);
            let short = kind == Kind::Url || end - start <= LONGEST;
            if let Some(text) = self.text.get(start..end).filter(|_| short) {
                return Some(Found { kind, text, span: start..end });
            }
        }
    }
}

impl Chunk {
    /// The same without the signs that end a sentence or join nothing.
    pub(super) fn trimmed(self, bytes: &[u8]) -> Self {
        let mut end = self.end;
        while end > self.start && matches!(at(bytes, end - 1), b'.' | b'-' | b'@' | b'#' | b'$' | b'~') {
            end -= 1;
        }
        Self { end, ..self }
    }

    /// Whether it contains a byte of one of these classes.
    pub(super) fn has(&self, classes: u8) -> bool {
        self.mask & classes != 0
    }

    /// Whether it has a letter.
    pub(super) fn has_letter(&self) -> bool {
        self.has(LOWER | UPPER | FOREIGN)
    }
}

impl Reading {
    pub(super) fn new(kind: Kind, start: usize, end: usize) -> Self {
        Self { kind, start, end }
    }
}

/// Whether no word goes on at this place.
pub(super) fn ends_here(bytes: &[u8], place: usize) -> bool {
    !is_word(at(bytes, place)) && at(bytes, place) != b'_'
}

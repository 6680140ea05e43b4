//! The walk over a text: words and the signs that join them, most of which are nothing and are left at once.

use std::ops::Range;

use super::bytes::{
    DIGIT, FOREIGN, GAPS, Gap, LOWER, SLASH, UPPER, at, before, class, is_word, run, small_letters,
};
use super::{Found, Kind, date, number, path, url, word};

/// Longer runs without a space are data, not names.
const LONGEST: usize = 256;

/// The items of a text: see [`super::find`].
#[derive(Clone, Debug)]
pub struct Items<'t>(Walk<'t, false>);

/// What the walk over a text comes by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    /// What kind of item it is; nothing where it is a word, or a letter of a script that parts no words.
    pub(crate) kind: Option<Kind>,
    /// Where it begins.
    pub(crate) start: usize,
    /// Where it ends.
    pub(crate) end: usize,
}

impl Token {
    fn word(Range { start, end }: Range<usize>) -> Self {
        Self { kind: None, start, end }
    }

    /// The item, where it is one.
    pub(crate) fn item<'t>(&self, text: &'t str) -> Option<Found<'t>> {
        let Self { kind, start, end } = *self;
        Some(Found { kind: kind?, text: text.get(start..end)?, span: start..end })
    }
}

/// The walk over a text, with the words between the items or without them.
#[derive(Clone, Debug)]
pub(crate) struct Walk<'t, const WORDS: bool> {
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
        Self(Walk::new(text))
    }
}

impl<'t, const WORDS: bool> Walk<'t, WORDS> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, at: 0, unslashed: 0 }
    }

    // Passes what can begin no word: spaces, brackets, quotes, and escapes as JSON and most languages write them.
    #[inline(always)]
    fn skip(&mut self, bytes: &[u8]) {
        while let Some(byte) = bytes.get(self.at) {
            match GAPS[usize::from(*byte)] {
                Gap::GoesOn => self.at += 1,
                Gap::Ends => return,
                Gap::Perhaps => {
                    if self.begins(bytes, *byte) {
                        return;
                    }
                }
            }
        }
    }

    // Whether a word begins at a byte that may mean other things; if not, they are passed.
    fn begins(&mut self, bytes: &[u8], byte: u8) -> bool {
        match byte {
            b'\\' => {
                self.at = run(bytes, self.at, |byte| byte == b'\\');
                // The letter of `\n` belongs to no word.
                self.at += usize::from(matches!(at(bytes, self.at), b'n' | b'r' | b't'));
                return false;
            }
            b'/' if self.at >= self.unslashed => return true,
            // Signs of these scripts begin with E3 80.
            0xe3..=0xed if WORDS && (byte != 0xe3 || at(bytes, self.at + 1) != 0x80) => return true,
            _ => {}
        }
        self.at += 1;
        false
    }

    #[inline(always)]
    fn chunk(&self, bytes: &[u8]) -> Chunk {
        let start = self.at;
        let (mut end, mut mask) = (start, 0);
        // A number may be read from a chunk many times over, so a chunk is never longer than can be an item.
        for byte in bytes.get(start..).unwrap_or_default().iter().take(LONGEST + 1) {
            let class = class(*byte);
            if class == 0 {
                break;
            }
            mask |= class;
            end += 1;
        }
        let mut chunk = Chunk { start, end, mask, quoted: false };
        if mask & SLASH != 0 && start < self.unslashed {
            chunk = chunk.up_to(bytes, run(bytes, start, |byte| byte != b'/'));
        }
        chunk.quoted = before(bytes, start) == b'`' && matches!(at(bytes, chunk.end), b'`' | b'(');
        chunk
    }

    // The next chunk, and what it is.
    fn step(&mut self, bytes: &[u8]) -> Option<Token> {
        let chunk = self.chunk(bytes);
        if chunk.end == chunk.start {
            // A letter of a script that parts no words; all of them take three bytes.
            let letter = self.at..self.at + 3;
            self.at = letter.end;
            return (WORDS && letter.end <= bytes.len()).then(|| Token::word(letter));
        }
        self.at = chunk.end;
        if chunk.end - chunk.start > LONGEST {
            self.at = run(bytes, chunk.end, |byte| class(byte) != 0);
            return None;
        }
        if let Some(Reading { kind, start, end }) = self.read(bytes, chunk) {
            self.at = end.max(chunk.start + 1);
            let short = kind == Kind::Url || end - start <= LONGEST;
            return short.then_some(Token { kind: Some(kind), start, end });
        }
        let word = if WORDS && self.at == chunk.end { chunk.word(bytes) } else { None };
        word.map(Token::word)
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
            return read_letters(bytes, chunk);
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
}

fn read_letters(bytes: &[u8], chunk: Chunk) -> Option<Reading> {
    if chunk.mask & UPPER == 0 {
        return word::joined(bytes, chunk);
    }
    date::month_first(bytes, chunk).or_else(|| word::read(bytes, chunk))
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
        let text = self.0.text;
        self.0.by_ref().find_map(|token| token.item(text))
    }
}

impl<const WORDS: bool> Iterator for Walk<'_, WORDS> {
    type Item = Token;

    #[inline]
    fn next(&mut self) -> Option<Token> {
        let bytes = self.text.as_bytes();
        loop {
            self.skip(bytes);
            // Most of any text: a word of small letters that nothing is joined to.
            let end = self.at + small_letters(bytes, self.at);
            let alone = !matches!(before(bytes, self.at), b'`')
                && class(at(bytes, end)) == 0
                && at(bytes, end) != b':';
            if end > self.at && alone {
                let word = self.at..end;
                self.at = end;
                if WORDS {
                    return Some(Token::word(word));
                }
                continue;
            }
            if self.at >= bytes.len() {
                return None;
            }
            if let Some(token) = self.step(bytes) {
                return Some(token);
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

    // The same, but shorter.
    fn up_to(self, bytes: &[u8], end: usize) -> Self {
        let short = bytes.get(self.start..end).unwrap_or_default();
        Self { end, mask: short.iter().fold(0, |mask, byte| mask | class(*byte)), ..self }
    }

    // The word in it, without signs around it.
    fn word(self, bytes: &[u8]) -> Option<Range<usize>> {
        if self.mask & !(LOWER | UPPER | DIGIT | FOREIGN) == 0 {
            return Some(self.start..self.end);
        }
        let start = run(bytes, self.start, |byte| class(byte) != 0 && !is_word(byte));
        let end = run(bytes, start, |byte| is_word(byte) || matches!(byte, b'_' | b'-'));
        (start < end && end <= self.end).then_some(start..end)
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

//! Private keys in their armour, whole or cut short, also inside a string where line ends are escaped.

use std::ops::Range;

use memchr::memmem;

use super::anchors::{Anchors, prepared};
use super::{Found, Kind, Text};

/// A line of a key; what is shorter may be a word.
const LINE: usize = 24;

/// How far a key is followed.
const LONGEST: usize = 16 << 10;

/// How many bytes of words an armour's line has at most: `-----BEGIN ENCRYPTED PRIVATE KEY-----`.
const LONGEST_TITLE: usize = 40;

/// What the armour of each has.
static TITLE: Anchors = Anchors::new(|| prepared(["PRIVATE KEY"]));

/// The words that stand above an encrypted key.
const HEADERS: &[&[u8]] = &[b"Proc-Type", b"4", b"ENCRYPTED", b"DEK-Info", b"Version", b"Comment"];

/// Finds keys that are opened, then ends of keys that were cut off before.
pub(super) fn find(text: &Text<'_>, found: &mut Vec<Found>) {
    // Hardly any text has one.
    if !TITLE.occur(text.bytes) {
        return;
    }
    let mut done = 0;
    for at in memmem::find_iter(text.bytes, b"-----BEGIN ") {
        let key = title(text, at, b"-----BEGIN ").and_then(|body| opened(text, at, body));
        if let Some(span) = key.filter(|_| at >= done) {
            done = span.end;
            found.push(Found { span, kind: Kind::PrivateKey });
        }
    }
    let mut done = 0;
    for at in memmem::find_iter(text.bytes, b"-----END ") {
        let key = title(text, at, b"-----END ").and_then(|end| Some(closed(text, done, at)?..end));
        found.extend(key.map(|span| Found { span, kind: Kind::PrivateKey }));
        done = at;
    }
}

// Where the line of the armour ends, if it is that of a private key.
fn title(text: &Text<'_>, at: usize, opening: &[u8]) -> Option<usize> {
    let start = at + opening.len();
    let words = text.slice(start..text.bytes.len().min(start + LONGEST_TITLE));
    let end = memmem::find(words, b"-----")?;
    memmem::find(words.get(..end)?, b"PRIVATE KEY").map(|_| start + end + b"-----".len())
}

fn opened(text: &Text<'_>, at: usize, body: usize) -> Option<Range<usize>> {
    let limit = text.bytes.len().min(body + LONGEST);
    let mut end = None;
    let mut pieces = Pieces { text, at: body, limit };
    while let Some(piece) = pieces.next() {
        if text.from(piece.start).starts_with(b"-----END ") {
            let close = end.and_then(|_| title(text, piece.start, b"-----END "));
            return close.or(end).map(|end| at..end);
        }
        if is_line(text.slice(piece.clone())) {
            end = Some(piece.end);
        } else if !is_header(text, &piece) && !ends_key(text, &pieces) {
            break;
        } else if end.is_some() {
            end = Some(piece.end);
        }
    }
    end.map(|end| at..end)
}

// The last line of a key may be short.
fn ends_key(text: &Text<'_>, pieces: &Pieces<'_, '_>) -> bool {
    let next = Pieces { text, ..*pieces }.next();
    next.is_some_and(|next| text.from(next.start).starts_with(b"-----END "))
}

// The start of the lines before the end of a key.
fn closed(text: &Text<'_>, done: usize, at: usize) -> Option<usize> {
    let mut start = None;
    let mut lines = Pieces { text, at: done.max(at.saturating_sub(LONGEST)), limit: at };
    while let Some(piece) = lines.next() {
        let short = ends_key(text, &lines) && is_base64(text.slice(piece.clone()));
        if is_line(text.slice(piece.clone())) {
            start = start.or(Some(piece.start));
        } else if !short && !is_header(text, &piece) {
            start = None;
        }
    }
    start
}

fn is_line(piece: &[u8]) -> bool {
    piece.len() >= LINE && is_base64(piece)
}

fn is_base64(piece: &[u8]) -> bool {
    piece.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
}

// What starts the cipher is in hexadecimal digits; line numbers, as tools print them, are passed over as well.
fn is_header(text: &Text<'_>, piece: &Range<usize>) -> bool {
    let piece = text.slice(piece.clone());
    HEADERS.contains(&piece)
        || piece.iter().all(u8::is_ascii_hexdigit)
        || memmem::find(piece, b"-CBC").is_some()
}

/// The pieces of a key between what separates its lines: white space, escapes, and the quotes of source code.
struct Pieces<'a, 'b> {
    text: &'a Text<'b>,
    at: usize,
    limit: usize,
}

impl Iterator for Pieces<'_, '_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Self::Item> {
        let separates = |byte: u8| byte.is_ascii_whitespace() || b"\"',:|>".contains(&byte);
        while self.at < self.limit {
            match self.text.byte(self.at)? {
                b'\\' => {
                    self.at +=
                        1 + usize::from(matches!(self.text.byte(self.at + 1), Some(b'n' | b'r' | b't')))
                }
                byte if separates(byte) => self.at += 1,
                _ => break,
            }
        }
        let rest = self.text.slice(self.at..self.limit);
        let length = rest.iter().position(|byte| separates(*byte) || *byte == b'\\').unwrap_or(rest.len());
        let piece = self.at..self.at + length;
        self.at += length;
        (length > 0).then_some(piece)
    }
}

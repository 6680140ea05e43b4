//! The sentences of a text, with their places.
//!
//! Code, quoted mail, tables, tags and diffs hold none. A line that was only wrapped goes on in the next one.

use std::ops::Range;

/// A longer sentence is a list without an end, or no sentence.
const LONGEST: usize = 600;
/// A line at least this long may have been wrapped.
const WRAPPED: usize = 50;

/// A sentence and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence<'t> {
    /// The sentence, with the sign that ends it.
    pub text: &'t str,
    /// Where it stands.
    pub span: Range<usize>,
}

/// The sentences of a text: see [`sentences`].
#[derive(Clone, Debug)]
pub struct Sentences<'t> {
    text: &'t str,
    at: usize,
    fenced: bool,
    /// What is left of the paragraph at hand.
    open: Range<usize>,
}

/// The sentences of a text, in their order.
pub fn sentences(text: &str) -> Sentences<'_> {
    Sentences { text, at: 0, fenced: false, open: 0..0 }
}

impl<'t> Iterator for Sentences<'t> {
    type Item = Sentence<'t>;

    fn next(&mut self) -> Option<Sentence<'t>> {
        loop {
            if self.open.is_empty() {
                self.open = self.paragraph()?;
            }
            let rest = self.text.get(self.open.clone()).unwrap_or_default();
            let end = sentence_end(rest);
            let start = self.open.start;
            self.open.start += end;
            let said = rest.get(..end).unwrap_or_default();
            let trimmed = said.trim_start();
            let start = start + said.len() - trimmed.len();
            let trimmed = trimmed.trim_end();
            if trimmed.chars().any(char::is_alphabetic) {
                return Some(Sentence { text: trimmed, span: start..start + trimmed.len() });
            }
        }
    }
}

impl Sentences<'_> {
    // The next lines that belong together, without the sign of a list before them.
    fn paragraph(&mut self) -> Option<Range<usize>> {
        let mut found: Option<Range<usize>> = None;
        loop {
            let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty());
            let Some(rest) = rest else { return found };
            let length = rest.find('\n').map_or(rest.len(), |at| at + 1);
            let line = rest.get(..length).unwrap_or_default();
            let said = line.trim();
            let fence = said.starts_with("```") || said.starts_with("~~~");
            let goes_on = !fence && !self.fenced && is_prose(said);
            if let Some(open) = &mut found {
                let before = self.text.get(open.clone()).unwrap_or_default();
                if !goes_on || !wraps(before) || opens_anew(said) {
                    return found;
                }
                open.end = self.at + length;
            } else if goes_on {
                let indent = line.len() - line.trim_start().len();
                found = Some(self.at + indent + marker(said)..self.at + length);
            }
            if fence {
                self.fenced = !self.fenced;
            }
            self.at += length;
        }
    }
}

fn is_prose(line: &str) -> bool {
    if line.is_empty()
        || line.starts_with(['>', '<', '|', '+', '@', '$', '»', '{', '}', '='])
        || line.starts_with("//")
    {
        return false;
    }
    // Of a line of code, signs are a great part.
    let (mut letters, mut signs) = (0_usize, 0_usize);
    for byte in line.bytes().take(200) {
        letters += usize::from(byte.is_ascii_alphabetic() || byte >= 0x80);
        signs += usize::from(SIGNS[usize::from(byte)]);
    }
    letters > 1 && signs * 6 <= letters && !matches!(line.as_bytes().last(), Some(b'{' | b';' | b'}'))
}

const SIGNS: [bool; 256] = {
    let mut table = [false; 256];
    let signs = b"(){}[]=;<>|&\\*";
    let mut at = 0;
    while at < signs.len() {
        table[signs[at] as usize] = true;
        at += 1;
    }
    table
};

// Whether a line could go on in the next: it is long and no sign ends it.
fn wraps(paragraph: &str) -> bool {
    let line = paragraph.trim_end();
    let last = line.rsplit('\n').next().unwrap_or_default();
    last.len() >= WRAPPED
        && paragraph.len() < LONGEST
        && !line.ends_with(['.', '!', '?', ':', ';', '。', '！', '？', '：'])
}

fn opens_anew(line: &str) -> bool {
    marker(line) > 0 || line.starts_with('#')
}

// How long the sign of a list or a heading before a line is.
fn marker(line: &str) -> usize {
    if line.starts_with(|letter: char| letter.is_alphabetic()) {
        return 0;
    }
    let bare = line.trim_start_matches(['#', '-', '*', '•', '–', '·', ' ', '\t']);
    let signs = line.len() - bare.len();
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let rest = bare.get(digits..).unwrap_or_default();
    let numbered = (1..=2).contains(&digits) && (rest.starts_with(". ") || rest.starts_with(") "));
    match (signs, numbered) {
        (_, true) => signs + digits + 2,
        // A word may begin with a sign: --flag, *bold*.
        (1.., false) if line.get(..signs).is_some_and(|before| before.ends_with([' ', '\t'])) => signs,
        _ => 0,
    }
}

fn sentence_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut ticked = false;
    for (at, byte) in bytes.iter().enumerate() {
        let closes = || bytes.get(at + 1).is_none_or(u8::is_ascii_whitespace) && !ticked;
        match byte {
            b'`' => ticked = !ticked,
            b'\n' => ticked = false,
            b'!' | b'?' if closes() => return at + 1,
            b'.' if closes() && !is_abbreviation(text.get(..at).unwrap_or_default()) => return at + 1,
            // 。 ！ ？
            0xe3 | 0xef
                if matches!(
                    bytes.get(at..at + 3),
                    Some(b"\xe3\x80\x82" | b"\xef\xbc\x81" | b"\xef\xbc\x9f")
                ) =>
            {
                return at + 3;
            }
            _ if at >= LONGEST && byte.is_ascii_whitespace() => return at,
            _ => {}
        }
    }
    text.len()
}

// A dot behind "e.g", "z.B", "vs", a single letter or the number of a list ends nothing.
fn is_abbreviation(before: &str) -> bool {
    let word =
        before.rsplit(|letter: char| letter.is_whitespace() || letter == '(').next().unwrap_or_default();
    let short = word.chars().count() == 1 && word.chars().all(char::is_alphabetic) && word != "I";
    short
        || matches!(
            word,
            "e.g"
                | "i.e"
                | "z.B"
                | "d.h"
                | "vs"
                | "etc"
                | "bzw"
                | "Dr"
                | "Mr"
                | "Ms"
                | "Mrs"
                | "St"
                | "No"
                | "Nr"
                | "p.ex"
                | "cf"
        )
}

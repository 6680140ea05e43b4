//! A sentence as it is judged: its words in lower case with their places, and the cues among them.

use std::ops::Range;

use super::cues::{self, Cue};
use crate::items::{self, Found};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Voice {
    User,
    Agent,
}

/// Who speaks, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Speech {
    pub(super) voice: Voice,
    pub(super) form: Form,
}

/// How something is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// In so few words that somebody wrote them for this conversation.
    Talk,
    /// At such length that most of it was pasted; only what is said outright counts.
    Document,
}

/// A word of a sentence.
#[derive(Clone, Debug)]
pub(super) struct Word {
    /// In lower case, without the signs around it.
    pub(super) low: String,
    /// Where it stands in the sentence.
    pub(super) span: Range<usize>,
    /// Whether it begins with a capital.
    pub(super) capital: bool,
    /// Whether a sign behind it ends a part of the sentence.
    pub(super) closes: bool,
}

/// A cue and the words that it is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) cue: Cue,
    pub(super) words: Range<usize>,
}

/// A sentence taken apart.
#[derive(Clone, Debug)]
pub(super) struct Said<'t> {
    pub(super) text: &'t str,
    pub(super) words: Vec<Word>,
    pub(super) hits: Vec<Hit>,
    pub(super) items: Vec<Found<'t>>,
}

impl<'t> Said<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let words = words(text);
        let hits = cues::hits(text, &words);
        Self { text, words, hits, items: items::find(text).collect() }
    }

    pub(super) fn has(&self, cue: Cue) -> bool {
        self.hits.iter().any(|hit| hit.cue == cue)
    }

    pub(super) fn first(&self, cue: Cue) -> Option<&Hit> {
        self.hits.iter().find(|hit| hit.cue == cue)
    }

    /// Whether the sentence, or a part of it, begins with this word; politeness does not count.
    pub(super) fn opens(&self, at: usize) -> bool {
        const BEFORE: [&str; 13] = [
            "please", "but", "and", "also", "ok", "okay", "so", "then", "bitte", "aber", "mais", "pero", "y",
        ];
        match at.checked_sub(1).and_then(|before| self.words.get(before)) {
            None => true,
            Some(before) => before.closes || BEFORE.contains(&before.low.as_str()),
        }
    }

    pub(super) fn low(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| word.low.as_str())
    }

    /// The words of this stretch, in lower case.
    pub(super) fn lows(&self, range: Range<usize>) -> impl Iterator<Item = &str> {
        self.words.get(range).unwrap_or_default().iter().map(|word| word.low.as_str())
    }

    /// Where the text begins that stands behind a word.
    pub(super) fn behind(&self, at: usize) -> usize {
        self.words.get(at).map_or(self.text.len(), |word| word.span.end)
    }

    /// Whether it is written in a script without spaces between words.
    pub(super) fn is_unspaced(&self) -> bool {
        self.text.chars().any(is_unspaced)
    }
}

/// A letter of Chinese or Japanese.
pub(super) fn is_unspaced(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
}

fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut at = 0;
    for part in text.split(char::is_whitespace) {
        let start = at;
        at += part.len()
            + text.get(at + part.len()..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        let bare = part.trim_start_matches(|letter: char| !letter.is_alphanumeric());
        let from = start + part.len() - bare.len();
        let bare = bare.trim_end_matches(|letter: char| !letter.is_alphanumeric());
        let tail = text.get(from + bare.len()..start + part.len()).unwrap_or_default();
        let closes = tail.contains([',', ';', ':', ')', '—', '–', '，', '、', '：']);
        if bare.is_empty() {
            // A dash that stands alone parts what is around it.
            if let Some(last) =
                words.last_mut().filter(|_| !part.is_empty() && !part.contains(['&', '+', '=']))
            {
                last.closes = true;
            }
            continue;
        }
        let low = bare.chars().map(|letter| if letter == '’' { '\'' } else { letter });
        words.push(Word {
            low: low.flat_map(char::to_lowercase).collect(),
            span: from..from + bare.len(),
            capital: bare.starts_with(char::is_uppercase),
            closes,
        });
    }
    words
}

//! Reading a text for a query: how well it answers, and which piece of it to show.

use std::collections::HashMap;
use std::ops::Range;

use super::fold::{fold, is_word};
use super::query::{Query, Term};
use super::terms::{Run, runs};
use crate::model::Snippet;

/// Texts are read so far; what lies behind is found, but neither ranked nor shown.
const READ: usize = 256 * 1024;
/// How much of a text is shown, and how much of it before what was asked for.
const SHOWN: usize = 220;
const BEFORE: usize = 60;
/// Terms of one text that are highlighted.
const HIGHLIGHTS: usize = 32;

/// A text that was read for a query.
pub(crate) struct Reading<'t> {
    text: &'t str,
    folded: String,
    /// For each byte of the folded text, where its letter stands in the text.
    origins: Vec<u32>,
}

impl<'t> Reading<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        let text = cut(text, READ);
        let mut folded = String::with_capacity(text.len());
        let mut origins = Vec::with_capacity(text.len() + 1);
        for (at, letter) in text.char_indices() {
            folded.extend(fold(letter));
            origins.resize(folded.len(), at as u32);
        }
        origins.push(text.len() as u32);
        Self { text, folded, origins }
    }

    /// Whether all phrases and paths of the query stand in the text.
    pub(crate) fn answers(&self, query: &Query) -> bool {
        let (found, asked) = query.needles_in(&self.folded);
        found == asked
    }

    /// How often each term occurs, and how many words there are.
    pub(crate) fn counts(&self, terms: &[Term]) -> (Vec<u32>, usize) {
        let mut counts = vec![0; terms.len()];
        let mut words = 0;
        let is_plain = |term: &Term| !term.prefix && term.text.chars().all(is_word);
        let (plain, other): (Vec<_>, Vec<_>) = terms.iter().enumerate().partition(|(_, term)| is_plain(term));
        let plain: HashMap<&str, usize> =
            plain.into_iter().map(|(place, term)| (term.text.as_str(), place)).collect();
        let mut note = |place: usize| counts.iter_mut().skip(place).take(1).for_each(|count| *count += 1);
        for (_, run) in runs(&self.folded) {
            words += 1;
            if let Run::Word(word) = run {
                let parts = word.split('_').filter(|part| part.len() < word.len());
                std::iter::once(word)
                    .chain(parts)
                    .filter_map(|part| plain.get(part))
                    .for_each(|at| note(*at));
            }
            other.iter().filter(|(_, term)| occurs(term, run)).for_each(|(place, _)| note(*place));
        }
        (counts, words)
    }

    /// How many phrases and paths of the query stand in the text.
    pub(crate) fn needles(&self, query: &Query) -> usize {
        query.needles_in(&self.folded).0
    }

    /// The piece of the text around what was asked for first.
    pub(crate) fn snippet(&self, query: &Query, terms: &[Term]) -> Snippet {
        let mut places = query.needle_places(&self.folded);
        if places.is_empty() {
            let matching = runs(&self.folded).filter(|(_, run)| terms.iter().any(|term| occurs(term, *run)));
            places.extend(matching.take(HIGHLIGHTS).map(|(start, run)| start..start + length(run)));
        }
        places.sort_by_key(|place| place.start);
        places.truncate(HIGHLIGHTS);
        let places: Vec<Range<usize>> = places.into_iter().map(|place| self.origin(place)).collect();
        let first = places.first().map_or(0, |place| place.start);
        let start = floor(self.text, first.saturating_sub(BEFORE));
        let end = floor(self.text, (start + SHOWN).min(self.text.len()));
        let mut snippet = Snippet::default();
        if start > 0 {
            snippet.text.push('…');
        }
        let shift = snippet.text.len();
        let piece = self.text.get(start..end).unwrap_or_default();
        snippet.text.extend(piece.chars().map(|letter| if letter.is_control() { ' ' } else { letter }));
        if end < self.text.len() {
            snippet.text.push('…');
        }
        let shown = places.iter().filter(|place| place.start >= start && place.end <= end);
        snippet.highlights =
            shown.map(|place| place.start - start + shift..place.end - start + shift).collect();
        snippet.highlights.dedup();
        snippet
    }

    fn origin(&self, place: Range<usize>) -> Range<usize> {
        let at = |byte: usize| self.origins.get(byte).map_or(self.text.len(), |at| *at as usize);
        at(place.start)..at(place.end)
    }
}

fn length(run: Run<'_>) -> usize {
    match run {
        Run::Word(text) | Run::Dense(text) => text.len(),
    }
}

// The folded text has lost its capitals, so that of identifiers only whole ones and parts between underscores are seen.
fn occurs(term: &Term, run: Run<'_>) -> bool {
    let same = |word: &str| if term.prefix { word.starts_with(&term.text) } else { word == term.text };
    match run {
        Run::Word(word) => same(word) || word.len() > term.text.len() && word.split('_').any(same),
        Run::Dense(letters) => letters.contains(&term.text),
    }
}

fn cut(text: &str, most: usize) -> &str {
    text.get(..floor(text, most.min(text.len()))).unwrap_or(text)
}

// The nearest boundary between letters at or before a byte.
fn floor(text: &str, byte: usize) -> usize {
    (0..=byte).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, query: &str, expected: &str) {
        let query = Query::parse(query).unwrap();
        let snippet = Reading::of(text).snippet(&query, &query.terms());
        let mut shown = snippet.text.clone();
        for place in snippet.highlights.iter().rev() {
            shown.insert(place.end, ']');
            shown.insert(place.start, '[');
        }
        assert_eq!(shown, expected);
    }

    #[test]
    fn terms_are_counted_as_they_are_found() {
        let query = Query::parse("http parse_http pars* 検索 none").unwrap();
        let (counts, words) = Reading::of("HTTP, parse_http and parser 全文検索").counts(&query.terms());
        assert_eq!((counts, words), (vec![2, 1, 2, 1, 0], 5));
    }

    #[test]
    fn snippets_show_what_was_asked_for() {
        check("Fix the Café in src/Main.rs, please", "cafe", "Fix the [Café] in src/Main.rs, please");
        check("Fix the Café in src/Main.rs, please", "src/main.rs", "Fix the Café in [src/Main.rs], please");
        check("one\ntwo three two", "two", "one [two] three [two]");
        check("call parse_http now", "http", "call [parse_http] now");
        check("全文検索エンジン", "検索", "[全文検索エンジン]");
        let long = format!("{} needle {}", "a b ".repeat(100), "c d ".repeat(100));
        let query = Query::parse("needle").unwrap();
        let snippet = Reading::of(&long).snippet(&query, &query.terms());
        assert!(snippet.text.starts_with('…') && snippet.text.ends_with('…'));
        assert_eq!(&snippet.text[snippet.highlights[0].clone()], "needle");
    }
}

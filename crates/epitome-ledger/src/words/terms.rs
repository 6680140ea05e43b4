//! Terms: what stands in the index for a text, the same on both databases.
//!
//! A run of letters, digits and underscores is a term as a whole and in its parts (`parse_http`, `parse`, `http`;
//! `camelCase` is `camelcase`, `camel`, `case`). Scripts without spaces are indexed by pairs of letters. What stands between
//! runs is not indexed; a path is found by its runs, and by looking at the text.

use std::collections::BTreeSet;

use super::fold::{fold, is_dense, is_word};

/// Longer runs are hashes and encodings that nobody types.
const LONGEST: usize = 64;
/// More terms than this of one text are not indexed: the databases set limits to what a row can hold.
const MOST: usize = 40_000;

/// A stretch of text that yields terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Run<'t> {
    /// Letters, digits and underscores.
    Word(&'t str),
    /// Letters of a script without spaces.
    Dense(&'t str),
}

/// The runs of a text, in order, with where they begin.
pub(crate) fn runs(text: &str) -> impl Iterator<Item = (usize, Run<'_>)> {
    let mut rest = text.char_indices().peekable();
    std::iter::from_fn(move || {
        while let Some((start, first)) = rest.next() {
            let dense = is_dense(first);
            if !dense && !is_word(first) {
                continue;
            }
            let mut end = start + first.len_utf8();
            while let Some((at, letter)) =
                rest.next_if(|(_, letter)| if dense { is_dense(*letter) } else { is_word(*letter) })
            {
                end = at + letter.len_utf8();
            }
            let run = text.get(start..end)?;
            return Some((start, if dense { Run::Dense(run) } else { Run::Word(run) }));
        }
        None
    })
}

/// All terms of a text.
pub(crate) fn terms(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, run) in runs(text) {
        match run {
            Run::Word(word) if word.len() <= LONGEST => words(word, &mut found),
            Run::Word(_) => {}
            Run::Dense(letters) => found.extend(pairs(letters)),
        }
        if found.len() >= MOST {
            break;
        }
    }
    found
}

/// The term of a whole word; nothing for a single letter, which every text has.
pub(crate) fn whole(word: &str) -> Option<String> {
    let term: String = word.chars().filter_map(fold).collect();
    (word.len() <= LONGEST && term.len() > 1).then_some(term)
}

/// The pairs of neighbouring letters; a single letter by itself.
pub(crate) fn pairs(letters: &str) -> Vec<String> {
    let letters: Vec<char> = letters.chars().collect();
    if letters.len() < 2 {
        return vec![letters.iter().collect()];
    }
    letters.windows(2).map(|pair| pair.iter().collect()).collect()
}

fn words(word: &str, found: &mut BTreeSet<String>) {
    // Most words are like this, and have no parts.
    if word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
        if word.len() > 1 && !found.contains(word) {
            found.insert(word.to_owned());
        }
        return;
    }
    let mut whole_word = whole(word);
    let mut count = 0;
    for part in parts(word) {
        count += 1;
        if part.len() == word.len() {
            break;
        }
        found.extend(whole(part));
    }
    // A lone word between underscores is its part already.
    found.extend(whole_word.take_if(|_| count > 0));
}

// Splits at underscores and where a capital follows a small letter.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    word.split('_').flat_map(camels).filter(|part| !part.is_empty())
}

fn camels(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut small) = (0, false);
    for (at, letter) in word.char_indices() {
        if small && letter.is_uppercase() {
            parts.extend(word.get(start..at));
            start = at;
        }
        small = letter.is_lowercase();
    }
    parts.extend(word.get(start..));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(terms(text).into_iter().collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn terms_are_what_people_type() {
        check("see src/main.rs", &["main", "rs", "see", "src"]);
        check("error[E0382]: moved", &["e0382", "error", "moved"]);
        check("parse_http_head", &["head", "http", "parse", "parse_http_head"]);
        check("camelCase HTTPServer", &["camel", "camelcase", "case", "httpserver"]);
        check("Café 検索エンジン x", &["cafe", "エン", "ジン", "ンジ", "検索", "索エ"]);
        check("__init__", &["__init__", "init"]);
        check(&"f".repeat(65), &[]);
        check("", &[]);
    }
}

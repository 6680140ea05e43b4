//! When two entries say the same.

use std::collections::{HashMap, HashSet};

/// A text without case, punctuation and markup: what two spellings of one entry share.
pub(super) fn key(text: &str) -> String {
    let mut key = String::with_capacity(text.len());
    for word in words(text) {
        if !key.is_empty() {
            key.push(' ');
        }
        key.extend(word.chars().flat_map(char::to_lowercase));
    }
    if key.is_empty() { text.trim().to_owned() } else { key }
}

/// The path in an entry about a file, which may be followed by words about it.
pub(super) fn path_key(text: &str) -> String {
    let line = text.split('\n').next().unwrap_or_default().trim();
    let quoted = line.strip_prefix('`').and_then(|rest| rest.split_once('`')).map(|(path, _)| path);
    let bare = || {
        let ends = [": ", " - ", " – ", " — ", " ("];
        ends.iter().filter_map(|end| line.split_once(end)).map(|(path, _)| path).min_by_key(|path| path.len())
    };
    quoted.or_else(bare).unwrap_or(line).trim().trim_start_matches("./").to_owned()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Entries among which one that says nearly the same can be found.
#[derive(Default)]
pub(super) struct Similar {
    /// How many stems each entry has.
    sizes: Vec<usize>,
    by_stem: HashMap<String, Vec<usize>>,
}

impl Similar {
    pub(super) fn to<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut found = Self::default();
        for text in texts {
            let stems = stems(text);
            let number = found.sizes.len();
            found.sizes.push(stems.len());
            for stem in stems {
                found.by_stem.entry(stem).or_default().push(number);
            }
        }
        found
    }

    /// The number of the entry that says most nearly the same, if one does: "implement the parser" and
    /// "Implemented parser" are the same piece of work.
    pub(super) fn nearest(&self, text: &str) -> Option<usize> {
        let stems = stems(text);
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for number in stems.iter().filter_map(|stem| self.by_stem.get(stem)).flatten() {
            *shared.entry(*number).or_default() += 1;
        }
        // Most of the shorter one, and at least half of what both say.
        let similar = |number: usize, common: usize| {
            let size = self.sizes.get(number).copied().unwrap_or_default();
            let (fewer, all) = (size.min(stems.len()), size + stems.len() - common);
            common * 5 >= fewer * 4 && common * 2 >= all
        };
        let candidates = shared.into_iter().filter(|(number, common)| similar(*number, *common));
        candidates
            .max_by_key(|(number, common)| (*common, std::cmp::Reverse(*number)))
            .map(|(number, _)| number)
    }
}

// Words without endings and without those that carry no meaning.
fn stems(text: &str) -> HashSet<String> {
    const FILLERS: [&str; 14] =
        ["the", "a", "an", "and", "to", "of", "for", "in", "on", "with", "is", "are", "now", "all"];
    let lower = words(text).map(str::to_lowercase).filter(|word| !FILLERS.contains(&word.as_str()));
    lower.map(|word| stem(&word).to_owned()).collect()
}

fn stem(word: &str) -> &str {
    const SHORTEST: usize = 3;
    let endings = ["ing", "ed", "es", "s", "e"];
    let cut = endings.iter().find_map(|ending| word.strip_suffix(ending));
    cut.filter(|stem| stem.chars().count() >= SHORTEST).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_work_in_other_words_is_found() {
        let done = Similar::to(["Implemented parser", "Wrote tests for the lexer", "Fixed CI"]);
        let cases = [
            ("Implement the parser", Some(0)),
            ("implementing parser", Some(0)),
            ("Write docs for the lexer", None),
            ("Fix CI", Some(2)),
            ("Fix the flaky login test on CI for Windows", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(done.nearest(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_path_is_found_in_what_is_said_of_it() {
        for text in
            ["src/a.rs", "`src/a.rs`: new", "src/a.rs - parser", "./src/a.rs (created)", "src/a.rs — x: y"]
        {
            assert_eq!(path_key(text), "src/a.rs", "{text:?}");
        }
    }
}

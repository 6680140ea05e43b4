//! What people type into a search, and whether a text answers it.

use super::fold::{folded, is_word};
use super::terms::{Run, pairs, runs, whole};
use crate::error::{LedgerError, Result};

/// A term that the index is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) text: String,
    /// Whether longer terms that begin so will do.
    pub(crate) prefix: bool,
}

/// One thing that must occur.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Clause {
    terms: Vec<Term>,
    /// What must stand in the text as it is, where the terms alone do not say enough.
    needle: Option<Needle>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Needle {
    text: String,
    prefix: bool,
}

/// A query, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Query(Vec<Clause>);

impl Query {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let clauses: Vec<Clause> = pieces(text).into_iter().map(clause).collect();
        if clauses.iter().all(|clause| clause.terms.is_empty()) {
            return Err(LedgerError::BadRequest(format!("no word to search for in {text:?}")));
        }
        Ok(Self(clauses))
    }

    /// All terms, each once.
    pub(crate) fn terms(&self) -> Vec<Term> {
        let mut terms: Vec<Term> = Vec::new();
        for term in self.0.iter().flat_map(|clause| &clause.terms) {
            if !terms.contains(term) {
                terms.push(term.clone());
            }
        }
        terms
    }

    /// Whether the terms are not enough, so that the text must be looked at.
    pub(crate) fn needs_text(&self) -> bool {
        self.0.iter().any(|clause| clause.needle.is_some())
    }

    /// How many of the phrases and paths stand in a folded text; all of them, where there are none.
    pub(crate) fn needles_in(&self, folded: &str) -> (usize, usize) {
        let needles: Vec<&Needle> = self.0.iter().filter_map(|clause| clause.needle.as_ref()).collect();
        (needles.iter().filter(|needle| needle.places(folded).next().is_some()).count(), needles.len())
    }

    /// Where the phrases and paths stand in a folded text.
    pub(crate) fn needle_places(&self, folded: &str) -> Vec<std::ops::Range<usize>> {
        self.0
            .iter()
            .filter_map(|clause| clause.needle.as_ref())
            .flat_map(|needle| needle.places(folded))
            .collect()
    }
}

impl Needle {
    fn places<'t>(&'t self, text: &'t str) -> impl Iterator<Item = std::ops::Range<usize>> + 't {
        let opens = self.text.chars().next().is_some_and(is_word);
        let closes = self.text.chars().next_back().is_some_and(is_word) && !self.prefix;
        text.match_indices(&self.text).map(|(start, found)| start..start + found.len()).filter(move |place| {
            let before = text.get(..place.start).and_then(|text| text.chars().next_back());
            let after = text.get(place.end..).and_then(|text| text.chars().next());
            !(opens && before.is_some_and(is_word) || closes && after.is_some_and(is_word))
        })
    }
}

// Words apart by spaces, and phrases between quotes.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    for (number, part) in text.split('"').enumerate() {
        if number % 2 == 1 {
            pieces.push(part);
        } else {
            pieces.extend(part.split_whitespace());
        }
    }
    pieces.retain(|piece| !piece.trim().is_empty());
    pieces
}

fn clause(piece: &str) -> Clause {
    let piece = piece.trim();
    let (piece, prefix) = piece.strip_suffix('*').map_or((piece, false), |stem| (stem, true));
    let found: Vec<Run<'_>> = runs(piece).map(|(_, run)| run).collect();
    let mut terms = Vec::new();
    for (number, run) in found.iter().enumerate() {
        let prefix = prefix && number + 1 == found.len();
        match run {
            Run::Word(word) => terms.extend(whole(word).map(|text| Term { text, prefix })),
            Run::Dense(letters) => {
                let single = letters.chars().nth(1).is_none();
                terms.extend(pairs(letters).into_iter().map(|text| Term { text, prefix: single }));
            }
        }
    }
    let enough = match found.as_slice() {
        [Run::Word(word)] => word.len() == piece.len() && terms.len() == 1,
        [Run::Dense(letters)] => letters.len() == piece.len() && letters.chars().count() <= 2,
        _ => false,
    };
    // Punctuation by itself is nobody's wish.
    let needle = (!enough && !found.is_empty()).then(|| Needle { text: folded(piece), prefix });
    Clause { terms, needle }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, terms: &[&str], text: &str, answers: bool) {
        let query = Query::parse(query).unwrap();
        let shown = |term: Term| format!("{}{}", term.text, if term.prefix { "*" } else { "" });
        assert_eq!(query.terms().into_iter().map(shown).collect::<Vec<_>>(), terms);
        let (found, asked) = query.needles_in(&folded(text));
        assert_eq!(found == asked, answers, "{query:?} in {text:?}");
    }

    #[test]
    fn queries_are_understood() {
        check("E0382 snake_case", &["e0382", "snake_case"], "", true);
        check("src/main.rs", &["src", "main", "rs"], "see ./src/main.rs:7", true);
        check("src/main.rs", &["src", "main", "rs"], "src/main.rsx and main/src.rs", false);
        check("\"to be\" or", &["to", "be", "or"], "To  be? to be", true);
        check("\"to be\"", &["to", "be"], "to bee", false);
        check("compac*", &["compac*"], "", true);
        check("src/ma*", &["src", "ma*"], "src/main.rs", true);
        check("検索エ", &["検索", "索エ"], "検索エンジン", true);
        check("検", &["検*"], "", true);
        check("Café", &["cafe"], "", true);
        check("C++ code", &["code"], "c++ code", true);
        assert!(Query::parse("  + ").is_err());
    }
}

//! The questions that a cut asks, and how a context answers them.

use std::collections::HashSet;

use serde::Serialize;

use super::context::Context;
use super::finder::{Finder, Places};
use super::lexer::{lex, lines};
use super::reading::{Passage, Reading};
use super::runs::{self, runs};
use super::score::{Scores, Tally};
use super::sentences::normalized;
use super::uses::{NEAR, Uses};

/// What the agent goes on to use of the part before a cut, although nothing behind the cut gave it back first.
#[derive(Clone, Debug)]
pub struct Exam {
    uses: Uses,
    runs: Vec<(u64, String)>,
    constraints: Vec<String>,
}

/// What a context does not hold of what is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// Single items.
    pub items: Vec<String>,
    /// Two items that stood together.
    pub pairs: Vec<(String, String)>,
    /// Eight tokens in a row.
    pub runs: Vec<String>,
    /// The user's sentences.
    pub constraints: Vec<String>,
}

impl Reading {
    /// The questions that a cut before this message asks.
    pub fn exam(&self, cut: usize) -> Exam {
        let (before, after) = self.parted(cut);
        Exam {
            uses: Uses::of(&self.system, before, after),
            runs: runs::asked(&self.system, before, after),
            constraints: self.constraints(cut),
        }
    }
}

impl Exam {
    /// How much a context holds of what is asked for.
    pub fn score(&self, context: &Context) -> Scores {
        let seen = Seen::of(context, &self.uses.finder);
        Scores {
            items: Tally::of(&self.uses.items, |(item, _)| seen.has_item(*item)),
            pairs: Tally::of(&self.uses.pairs, |pair| seen.has_pair(*pair)),
            runs: Tally::of(&self.runs, |(run, _)| seen.runs.contains(run)),
            constraints: Tally::of(&self.constraints, |sentence| seen.says(sentence)),
        }
    }

    /// The items asked for that stand in these passages.
    pub(super) fn known_in<'p>(&self, passages: impl Iterator<Item = &'p Passage>) -> Finder {
        let mut places = self.uses.finder.places();
        passages.for_each(|passage| places.note(&self.uses.finder, &passage.tokens));
        let known = self.uses.items.iter().filter(|(item, _)| !places.of(*item).is_empty());
        let mut finder = Finder::default();
        for (_, words) in known {
            finder.insert(&lex(words, 0));
        }
        finder
    }

    /// What a context does not hold of what is asked for.
    pub fn lost(&self, context: &Context) -> Lost {
        let Uses { items, pairs, finder } = &self.uses;
        let seen = Seen::of(context, finder);
        let mut names = vec![""; finder.len()];
        for (item, words) in items {
            if let Some(name) = names.get_mut(*item) {
                *name = words;
            }
        }
        let name = |item: usize| names.get(item).copied().unwrap_or_default().to_owned();
        let lost_items = items.iter().filter(|(item, _)| !seen.has_item(*item));
        let lost_pairs = pairs.iter().filter(|pair| !seen.has_pair(**pair));
        let lost_runs = self.runs.iter().filter(|(run, _)| !seen.runs.contains(run));
        let lost_constraints = self.constraints.iter().filter(|sentence| !seen.says(sentence));
        Lost {
            items: lost_items.map(|(item, _)| name(*item)).collect(),
            pairs: lost_pairs.map(|(left, right)| (name(*left), name(*right))).collect(),
            runs: lost_runs.map(|(_, words)| words.clone()).collect(),
            constraints: lost_constraints.cloned().collect(),
        }
    }
}

/// A context made ready for questions.
pub(super) struct Seen {
    places: Places,
    runs: HashSet<u64>,
    /// The texts with single spaces, a line each.
    plain: String,
}

impl Seen {
    pub(super) fn of(context: &Context, finder: &Finder) -> Self {
        let mut seen = Self { places: finder.places(), runs: HashSet::new(), plain: String::new() };
        let mut line = 0;
        for text in &context.texts {
            let tokens = lex(text, line);
            line += lines(text);
            seen.places.note(finder, &tokens);
            seen.runs.extend(runs(&tokens).map(|(_, run)| run));
            seen.plain.push_str(&normalized(text));
            seen.plain.push('\n');
        }
        seen
    }

    pub(super) fn has_item(&self, item: usize) -> bool {
        !self.places.of(item).is_empty()
    }

    fn has_pair(&self, pair: (usize, usize)) -> bool {
        self.places.together(pair, NEAR)
    }

    pub(super) fn says(&self, sentence: &str) -> bool {
        self.plain.contains(sentence)
    }
}

//! The questions that a cut asks, and how a context answers them.

use std::collections::{HashMap, HashSet};

use super::constraints::normalized;
use super::context::Context;
use super::finder::Finder;
use super::lexer::{Token, lex, lines};
use super::reading::{Passage, Reading};
use super::runs::runs;
use super::score::{Scores, Tally};
use super::texts::Voice;

/// How many lines apart two items may be to stand together.
const NEAR: usize = 3;
/// How many items further on in a text an item is still paired with.
const REACH: usize = 16;

/// What the agent goes on to use of the part before a cut, although nothing behind the cut gave it back first.
#[derive(Clone, Debug)]
pub struct Exam {
    finder: Finder,
    items: Vec<usize>,
    pairs: Vec<(usize, usize)>,
    runs: Vec<u64>,
    constraints: Vec<String>,
}

impl Reading {
    /// The questions that a cut before this message asks.
    pub fn exam(&self, cut: usize) -> Exam {
        let (before, after) = self.parted(cut);
        let uses = Uses::of(&self.system, before, after);
        let mut seen = HashSet::new();
        let constraints = before.iter().flatten().flat_map(|passage| &passage.constraints);
        let constraints = constraints.filter(|sentence| seen.insert(sentence.as_str())).cloned().collect();
        let (items, pairs) = uses.items_and_pairs(after);
        Exam { items, pairs, runs: asked_runs(&self.system, before, after), constraints, finder: uses.finder }
    }
}

impl Exam {
    /// What a context still holds of what is asked for.
    pub fn score(&self, context: &Context) -> Scores {
        let mut line = 0;
        let mut places = vec![Vec::new(); self.finder.len()];
        let mut present = HashSet::new();
        let mut plain = String::new();
        for text in &context.texts {
            let tokens = lex(text, line);
            line += lines(text);
            note(&self.finder, &tokens, &mut places);
            present.extend(runs(&tokens));
            plain.push_str(&normalized(text));
            plain.push('\n');
        }
        let at = |item: &usize| places.get(*item).map_or(&[][..], Vec::as_slice);
        Scores {
            items: Tally::of(&self.items, |item| !at(item).is_empty()),
            pairs: Tally::of(&self.pairs, |(left, right)| are_near(at(left), at(right))),
            runs: Tally::of(&self.runs, |run| present.contains(run)),
            constraints: Tally::of(&self.constraints, |sentence| plain.contains(sentence.as_str())),
        }
    }
}

/// The items that the agent uses behind a cut, and what is known of them.
struct Uses {
    finder: Finder,
    /// Where they stand before the cut, by lines.
    before: Vec<Vec<usize>>,
    /// Whether the operator's words hold them.
    standing: Vec<Vec<usize>>,
}

impl Uses {
    fn of(system: &[Passage], before: &[Vec<Passage>], after: &[Vec<Passage>]) -> Self {
        let mut finder = Finder::default();
        for passage in after.iter().flatten() {
            for item in passage.items.iter().filter_map(|item| passage.tokens.get(item.clone())) {
                finder.insert(item);
            }
        }
        let mut uses =
            Self { before: vec![Vec::new(); finder.len()], standing: vec![Vec::new(); finder.len()], finder };
        before.iter().flatten().for_each(|passage| note(&uses.finder, &passage.tokens, &mut uses.before));
        system.iter().for_each(|passage| note(&uses.finder, &passage.tokens, &mut uses.standing));
        uses
    }

    fn items_and_pairs(&self, after: &[Vec<Passage>]) -> (Vec<usize>, Vec<(usize, usize)>) {
        let known =
            |places: &[Vec<usize>], item: usize| places.get(item).is_some_and(|lines| !lines.is_empty());
        // What an item must not be to be asked for: unknown before the cut, the operator's, or given back.
        let mut settled: Vec<bool> = (0..self.finder.len())
            .map(|item| !known(&self.before, item) || known(&self.standing, item))
            .collect();
        let (mut items, mut pairs) = (HashMap::new(), HashMap::new());
        for passage in after.iter().flatten() {
            if passage.is_supplied() {
                self.finder.find(&passage.tokens, |item, _| {
                    if let Some(settled) = settled.get_mut(item) {
                        *settled = true;
                    }
                });
                continue;
            }
            let used = self.used(passage, &settled);
            for (at, (item, line)) in used.iter().enumerate() {
                let order = items.len();
                items.entry(*item).or_insert(order);
                for (other, other_line) in used.iter().skip(at + 1).take(REACH) {
                    let pair = (*item.min(other), *item.max(other));
                    if pair.0 != pair.1 && other_line - line <= NEAR && self.stood_together(pair) {
                        let order = pairs.len();
                        pairs.entry(pair).or_insert(order);
                    }
                }
            }
        }
        (in_order(items), in_order(pairs))
    }

    // The items of a passage that only the part before the cut can have told the agent, with their lines.
    fn used(&self, passage: &Passage, settled: &[bool]) -> Vec<(usize, usize)> {
        let place = |item: &std::ops::Range<usize>| {
            let tokens = passage.tokens.get(item.clone())?;
            let number = self.finder.number(tokens)?;
            let open = settled.get(number) == Some(&false);
            open.then_some((number, tokens.first()?.line))
        };
        passage.items.iter().filter_map(place).collect()
    }

    fn stood_together(&self, (left, right): (usize, usize)) -> bool {
        let at = |item: usize| self.before.get(item).map_or(&[][..], Vec::as_slice);
        are_near(at(left), at(right))
    }
}

fn in_order<T: Ord>(numbered: HashMap<T, usize>) -> Vec<T> {
    let mut all: Vec<(usize, T)> = numbered.into_iter().map(|(thing, order)| (order, thing)).collect();
    all.sort_unstable();
    all.into_iter().map(|(_, thing)| thing).collect()
}

fn note(finder: &Finder, tokens: &[Token], places: &mut [Vec<usize>]) {
    finder.find(tokens, |item, line| {
        if let Some(lines) = places.get_mut(item).filter(|lines| lines.last() != Some(&line)) {
            lines.push(line);
        }
    });
}

/// Whether any two of these ascending lines are near each other.
fn are_near(left: &[usize], right: &[usize]) -> bool {
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    while let (Some(one), Some(other)) = (left.peek(), right.peek()) {
        if one.abs_diff(**other) <= NEAR {
            return true;
        }
        if one < other {
            left.next()
        } else {
            right.next()
        };
    }
    false
}

// The runs that the agent types into calls behind the cut and can only know from before it.
fn asked_runs(system: &[Passage], before: &[Vec<Passage>], after: &[Vec<Passage>]) -> Vec<u64> {
    let typed: HashSet<u64> =
        of_voice(after, Voice::Call).flat_map(|passage| runs(&passage.tokens)).collect();
    let known = before.iter().flatten().flat_map(|passage| runs(&passage.tokens));
    let mut open: HashSet<u64> = known.filter(|run| typed.contains(run)).collect();
    for run in system.iter().flat_map(|passage| runs(&passage.tokens)) {
        open.remove(&run);
    }
    let mut asked = Vec::new();
    for passage in after.iter().flatten() {
        let found = runs(&passage.tokens).filter(|run| open.remove(run));
        match passage.voice {
            Voice::Call => asked.extend(found),
            _ if passage.is_supplied() => found.for_each(drop),
            _ => {}
        }
    }
    asked
}

fn of_voice(messages: &[Vec<Passage>], voice: Voice) -> impl Iterator<Item = &Passage> {
    messages.iter().flatten().filter(move |passage| passage.voice == voice)
}

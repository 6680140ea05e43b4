//! The items that the agent uses behind a cut and can only know from before it, alone and in pairs.

use std::collections::HashSet;
use std::ops::Range;

use super::finder::{Finder, Places};
use super::reading::Passage;

/// How many lines apart two items may be to stand together.
pub(super) const NEAR: usize = 3;
/// How many items further on in a text an item is still paired with.
const REACH: usize = 16;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    pub(super) finder: Finder,
    /// The items, by their numbers in the finder, in the order in which the agent uses them.
    pub(super) items: Vec<(usize, String)>,
    /// The pairs, by numbers in the finder.
    pub(super) pairs: Vec<(usize, usize)>,
}

impl Uses {
    pub(super) fn of(system: &[Passage], before: &[Vec<Passage>], after: &[Vec<Passage>]) -> Self {
        let mut finder = Finder::default();
        for passage in after.iter().flatten() {
            for item in passage.items.iter().filter_map(|item| passage.tokens.get(item.clone())) {
                finder.insert(item);
            }
        }
        let (mut told, mut standing) = (finder.places(), finder.places());
        before.iter().flatten().for_each(|passage| told.note(&finder, &passage.tokens));
        system.iter().for_each(|passage| standing.note(&finder, &passage.tokens));
        let closed = (0..finder.len()).map(|item| told.of(item).is_empty() || !standing.of(item).is_empty());
        let closed = closed.collect();
        let mut walk = Walk::new(&finder, told, closed);
        after.iter().flatten().for_each(|passage| walk.pass(passage));
        let Walk { items, pairs, .. } = walk;
        Self { items, pairs, finder }
    }
}

/// A walk through what comes after the cut.
struct Walk<'f> {
    finder: &'f Finder,
    /// Where the items stand before the cut.
    told: Places,
    /// Whether an item is not to be asked for: unknown before the cut, the operator's, or given back.
    closed: Vec<bool>,
    asked: HashSet<usize>,
    paired: HashSet<(usize, usize)>,
    items: Vec<(usize, String)>,
    pairs: Vec<(usize, usize)>,
}

/// An item that the agent uses: its number, its tokens and its line.
type Use = (usize, Range<usize>, usize);

impl<'f> Walk<'f> {
    fn new(finder: &'f Finder, told: Places, closed: Vec<bool>) -> Self {
        let (asked, paired) = Default::default();
        Self { finder, told, closed, asked, paired, items: Vec::new(), pairs: Vec::new() }
    }

    fn pass(&mut self, passage: &Passage) {
        if passage.is_supplied() {
            self.close(passage);
            return;
        }
        let used = self.used(passage);
        for (number, item, _) in &used {
            if self.asked.insert(*number) {
                self.items.push((*number, passage.words(item.clone()).to_owned()));
            }
        }
        for pair in self.pairs(&used) {
            if self.paired.insert(pair) {
                self.pairs.push(pair);
            }
        }
    }

    fn close(&mut self, passage: &Passage) {
        self.finder.find(&passage.tokens, |item, _| {
            if let Some(closed) = self.closed.get_mut(item) {
                *closed = true;
            }
        });
    }

    // The items of a passage that only the part before the cut can have told.
    fn used(&self, passage: &Passage) -> Vec<Use> {
        let open = |item: &Range<usize>| {
            let tokens = passage.tokens.get(item.clone())?;
            let number = self.finder.number(tokens)?;
            let open = self.closed.get(number) == Some(&false);
            open.then_some((number, item.clone(), tokens.first()?.line))
        };
        passage.items.iter().filter_map(open).collect()
    }

    fn pairs(&self, used: &[Use]) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for (at, (item, _, line)) in used.iter().enumerate() {
            for (other, _, other_line) in used.iter().skip(at + 1).take(REACH) {
                let pair = (*item.min(other), *item.max(other));
                if item != other && other_line - line <= NEAR && self.told.together(pair, NEAR) {
                    pairs.push(pair);
                }
            }
        }
        pairs
    }
}

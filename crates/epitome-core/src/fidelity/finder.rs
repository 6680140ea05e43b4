//! Finds many items in a text at once: a tree of their tokens, walked from every token of the text.

use std::collections::HashMap;

use super::lexer::Token;

/// A tree of items.
#[derive(Clone, Debug, Default)]
pub(super) struct Finder {
    steps: HashMap<(usize, u64), usize>,
    /// The item that ends at a node.
    ends: Vec<Option<usize>>,
    items: usize,
}

impl Finder {
    /// The number of the item with these tokens, which becomes known if it is not.
    pub(super) fn insert(&mut self, item: &[Token]) -> usize {
        let mut node = 0;
        self.ends.resize(self.ends.len().max(1), None);
        for token in item {
            let next = self.ends.len();
            node = *self.steps.entry((node, token.hash)).or_insert(next);
            if node == next {
                self.ends.push(None);
            }
        }
        let next = self.items;
        match self.ends.get_mut(node) {
            Some(end) => {
                let number = *end.get_or_insert(next);
                self.items = self.items.max(number + 1);
                number
            }
            None => next,
        }
    }

    /// The number of the item with these tokens, if it is known.
    pub(super) fn number(&self, item: &[Token]) -> Option<usize> {
        let node = item.iter().try_fold(0, |node, token| self.steps.get(&(node, token.hash)).copied())?;
        self.ends.get(node).copied().flatten()
    }

    /// How many items are known.
    pub(super) fn len(&self) -> usize {
        self.items
    }

    /// No item anywhere yet.
    pub(super) fn places(&self) -> Places {
        Places { lines: vec![Vec::new(); self.items] }
    }

    /// Calls `each` with every item in a text and the line it stands on.
    ///
    /// Tokens are whole words, so an item is found between the borders of words only; inside it nothing may be spaced.
    pub(super) fn find(&self, tokens: &[Token], mut each: impl FnMut(usize, usize)) {
        for (at, first) in tokens.iter().enumerate() {
            let mut node = 0;
            for token in tokens.get(at..).unwrap_or_default() {
                if node != 0 && !token.glued {
                    break;
                }
                let Some(next) = self.steps.get(&(node, token.hash)) else { break };
                node = *next;
                if let Some(Some(item)) = self.ends.get(node) {
                    each(*item, first.line);
                }
            }
        }
    }
}

/// Where items stand, by their numbers in a finder.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// The lines of each item, ascending.
    lines: Vec<Vec<usize>>,
}

impl Places {
    /// Takes note of the items in a text that stands behind those noted before.
    pub(super) fn note(&mut self, finder: &Finder, tokens: &[Token]) {
        finder.find(tokens, |item, line| {
            if let Some(lines) = self.lines.get_mut(item).filter(|lines| lines.last() != Some(&line)) {
                lines.push(line);
            }
        });
    }

    /// The lines on which an item stands.
    pub(super) fn of(&self, item: usize) -> &[usize] {
        self.lines.get(item).map_or(&[], Vec::as_slice)
    }

    /// Whether two items stand within so many lines of each other anywhere.
    pub(super) fn together(&self, (left, right): (usize, usize), near: usize) -> bool {
        let (mut left, mut right) = (self.of(left).iter().peekable(), self.of(right).iter().peekable());
        while let (Some(one), Some(other)) = (left.peek(), right.peek()) {
            if one.abs_diff(**other) <= near {
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
}

//! What stays the same while a plan is fitted: the path, its cuts and pins, and how to count.

use std::ops::Range;

use super::super::cuts::{Cuts, unseen};
use super::super::plan::Limits;
use super::super::resume;
use super::super::segment::Compaction;
use crate::message::Message;
use crate::outline::{Entry, Outline};
use crate::prune::{Count, Mark, PathSizes, Subject, THINKING_REMOVED, is_only_thinking};
use crate::tokens::MESSAGE_OVERHEAD;
use crate::units::Tokens;

/// What one short summary and the words around it take.
const LEAST: Tokens = Tokens(256);
/// What the words at either end of a pinned stretch take.
const AROUND_PINS: Tokens = Tokens(32);

pub(crate) struct Ground<'g> {
    pub(crate) path: &'g [Entry],
    pub(crate) messages: &'g [Message],
    pub(crate) budget: Tokens,
    pub(crate) previous: Option<&'g Compaction>,
    pub(crate) count: &'g dyn Count,
    pub(crate) cuts: Cuts,
    /// What must be kept beside the leading system messages, in order.
    pub(crate) pinned: Vec<Range<usize>>,
    pub(crate) minimum: Tokens,
    /// From here on the model has seen nothing, and is to see it whole.
    pub(super) unseen: usize,
    request: Option<usize>,
}

impl<'g> Ground<'g> {
    pub(crate) fn of(
        path: &'g [Entry],
        messages: &'g [Message],
        limits: &Limits<'g>,
        count: &'g dyn Count,
    ) -> Self {
        let cuts = Cuts::of(path);
        let pinned = behind_leading(&cuts, limits.pins);
        let minimum = minimum(path, &pinned);
        let Limits { budget, previous, .. } = *limits;
        let (request, unseen) = (resume::last_request(path, messages), protected(path, budget));
        Self { path, messages, budget, previous, count, cuts, pinned, minimum, unseen, request }
    }

    /// The same with another budget, which somebody asked for.
    pub(crate) fn within(self, budget: Tokens) -> Self {
        Self { budget, unseen: protected(self.path, budget), ..self }
    }

    /// The same with another budget, in which there is room for what the model has not seen.
    pub(crate) fn with_room(self, budget: Tokens) -> Self {
        Self { budget, unseen: unseen(self.path), ..self }
    }

    /// Makes the budget larger.
    pub(crate) fn widen(&mut self, budget: Tokens) {
        self.budget = budget;
    }

    pub(super) fn is_pinned(&self, message: usize) -> bool {
        self.pinned_from(message).next().is_some_and(|stretch| stretch.contains(&message))
    }

    /// The pinned stretches that do not end before this message.
    pub(super) fn pinned_from(&self, message: usize) -> impl Iterator<Item = &Range<usize>> {
        let first = self.pinned.partition_point(|stretch| stretch.end <= message);
        self.pinned.get(first..).unwrap_or_default().iter()
    }

    /// What a person said last.
    pub(super) fn request(&self) -> Option<usize> {
        self.request
    }

    /// What a message costs as it is; leading system messages are counted apart.
    pub(super) fn cost(&self, message: usize) -> Tokens {
        let behind = self.path.get(message).filter(|_| message >= self.cuts.leading());
        behind.map_or(Tokens::ZERO, |entry| most(&entry.outline))
    }

    /// What a block costs under a mark, or as it is.
    pub(super) fn block_cost(&self, message: usize, block: usize, mark: Option<(Mark, &str)>) -> Tokens {
        let Some(outline) = self.path.get(message).and_then(|entry| entry.outline.blocks.get(block)) else {
            return Tokens::ZERO;
        };
        let Some((mark, speaker)) = mark else { return outline.tokens };
        let subject = Subject { message, block, speaker, outline };
        PathSizes::new(self.messages, self.count).tokens(&subject, mark)
    }
}

// What the model has not seen yet is not to take more than half of what there is for everything.
fn protected(path: &[Entry], budget: Tokens) -> usize {
    let from = unseen(path);
    let tokens: Tokens = path.get(from..).unwrap_or_default().iter().map(|entry| entry.outline.tokens).sum();
    if tokens.0 > budget.0 / 2 { path.len() } else { from }
}

pub(super) fn minimum_budget(path: &[Entry], pins: &[usize]) -> Tokens {
    minimum(path, &behind_leading(&Cuts::of(path), pins))
}

fn minimum(path: &[Entry], pinned: &[Range<usize>]) -> Tokens {
    let stretch = |stretch: &Range<usize>| {
        let messages = path.get(stretch.clone()).unwrap_or_default();
        AROUND_PINS + messages.iter().map(|entry| most(&entry.outline)).sum()
    };
    LEAST + pinned.iter().map(stretch).sum()
}

fn behind_leading(cuts: &Cuts, pins: &[usize]) -> Vec<Range<usize>> {
    let behind = cuts.pinned(pins).into_iter().map(|pinned| pinned.start.max(cuts.leading())..pinned.end);
    behind.filter(|pinned| !pinned.is_empty()).collect()
}

// A word may have to stand for a message of nothing but thinking.
fn most(outline: &Outline) -> Tokens {
    if is_only_thinking(outline) {
        outline.tokens.max(MESSAGE_OVERHEAD + Tokens(THINKING_REMOVED.len() as u64))
    } else {
        outline.tokens
    }
}

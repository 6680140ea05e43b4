//! The stretches that a model is asked for: which are told, which wait, and when the model has proved to be of no use.

use std::collections::VecDeque;

use super::form::Unfit;

/// So many answers in a row that are of no use are enough to leave a model alone.
const PATIENCE: usize = 2;

/// What came of the stretches so far.
pub(super) struct Stretches {
    texts: Vec<Option<String>>,
    waiting: VecDeque<usize>,
    /// The latest ones, in a row, whose answers are of no use.
    useless: Vec<usize>,
    /// What was wrong last.
    unfit: Option<Unfit>,
    /// The endpoint that is asked first.
    first: usize,
    is_given_up: bool,
}

impl Stretches {
    /// Those that are told already, and those that are not.
    pub(super) fn new(texts: Vec<Option<String>>) -> Self {
        let waiting = (0..).zip(&texts).filter(|(_, text)| text.is_none()).map(|(at, _)| at).collect();
        Self { texts, waiting, useless: Vec::new(), unfit: None, first: 0, is_given_up: false }
    }

    /// How many are told.
    pub(super) fn told(&self) -> usize {
        self.texts.iter().flatten().count()
    }

    /// The next one to ask for, and the endpoint to ask first.
    pub(super) fn next(&mut self) -> Option<(usize, usize)> {
        if self.is_given_up {
            return None;
        }
        self.waiting.pop_front().map(|at| (at, self.first))
    }

    /// The endpoint to ask first from now on.
    pub(super) fn first(&self) -> usize {
        self.first
    }

    /// An answer is of use.
    pub(super) fn heard(&mut self) {
        self.useless.clear();
    }

    /// This one is told.
    pub(super) fn tell(&mut self, at: usize, told: String) {
        if let Some(text) = self.texts.get_mut(at) {
            *text = Some(told);
        }
        self.heard();
    }

    /// What the endpoint at this place answered about this one is of no use; `next` is the endpoint behind it, where there is one.
    ///
    /// `true` where that is asked from now on, for what the one before it could not tell as well.
    pub(super) fn refuse(&mut self, at: usize, place: usize, unfit: Unfit, next: Option<usize>) -> bool {
        self.unfit = Some(unfit);
        if place < self.first {
            // It was on its way when the endpoint was left.
            self.waiting.push_back(at);
            return false;
        }
        self.useless.push(at);
        if self.useless.len() < PATIENCE {
            return false;
        }
        let Some(next) = next else {
            self.is_given_up = true;
            return false;
        };
        self.first = next;
        self.waiting.extend(self.useless.drain(..));
        true
    }

    /// The texts, and what was wrong where some are missing. Without any there is only that.
    pub(super) fn end(self) -> Result<(Vec<Option<String>>, Option<Unfit>), Unfit> {
        match self.unfit {
            Some(unfit) if self.texts.iter().all(Option::is_none) => Err(unfit),
            unfit => Ok((self.texts, unfit)),
        }
    }
}

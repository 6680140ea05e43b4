//! Scores: of so many things asked for, so many are there.

use std::ops::AddAssign;

use serde::Serialize;

/// How many things were asked for, and how many were there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Asked for.
    pub asked: usize,
    /// There.
    pub kept: usize,
}

impl Tally {
    pub(super) fn of<T>(asked: &[T], kept: impl Fn(&T) -> bool) -> Self {
        Self { asked: asked.len(), kept: asked.iter().filter(|thing| kept(thing)).count() }
    }

    /// The share that was there; nothing where nothing was asked for.
    pub fn share(&self) -> Option<f64> {
        (self.asked > 0).then(|| self.kept as f64 / self.asked as f64)
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.asked += other.asked;
        self.kept += other.kept;
    }
}

/// The four columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Scores {
    /// Single items.
    pub items: Tally,
    /// Two items that stand together.
    pub pairs: Tally,
    /// Eight tokens in a row.
    pub runs: Tally,
    /// Sentences in which the user said what must or must not be done.
    pub constraints: Tally,
}

impl Scores {
    /// The columns, in order.
    pub fn columns(&self) -> [Tally; 4] {
        [self.items, self.pairs, self.runs, self.constraints]
    }
}

impl AddAssign for Scores {
    fn add_assign(&mut self, other: Self) {
        self.items += other.items;
        self.pairs += other.pairs;
        self.runs += other.runs;
        self.constraints += other.constraints;
    }
}

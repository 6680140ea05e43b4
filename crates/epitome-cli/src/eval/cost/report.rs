//! What replays came to: a row a session, sums, and the goals.

use std::time::Duration;

use epitome_core::Tokens;
use epitome_core::cost::Bill;
use serde::Serialize;

use super::contender::Contender;
use super::goals::{self, Goal};
use super::replay::Replayed;
use super::script::Script;

/// Sessions beyond this are long.
pub(super) const LONG: Tokens = Tokens(50_000);

/// All that was measured.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) threshold: Tokens,
    pub(super) sessions: Vec<Row>,
    /// The sums over all sessions.
    pub(super) all: Vec<Cell>,
    /// The sums over long sessions, if there are any.
    pub(super) long: Vec<Cell>,
    /// Calls beyond the window, of those contenders that promise to stay within it.
    pub(super) overflows: u64,
    pub(super) goals: Vec<Goal>,
    #[serde(skip)]
    pub(super) waits: Vec<Duration>,
    #[serde(skip)]
    pub(super) background: Vec<Duration>,
}

/// A session, or the sum of some.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) session: String,
    pub(super) model: String,
    /// Tokens of the whole session, as the model counts them.
    pub(super) tokens: Tokens,
    pub(super) contenders: Vec<Cell>,
}

/// What a contender made of it.
#[derive(Clone, Serialize)]
pub(super) struct Cell {
    pub(super) contender: &'static str,
    /// Calls before which something was compacted or pruned.
    pub(super) changes: u64,
    #[serde(flatten)]
    pub(super) bill: Bill,
    /// The cost of input and summaries relative to that of sending everything.
    pub(super) of_full: f64,
    /// The same with the output.
    pub(super) of_full_with_output: f64,
}

impl Row {
    pub(super) fn of(script: &Script, played: &[Replayed]) -> Self {
        let figures = played.iter().map(|played| (played.waits.len() as u64, played.bill));
        Self {
            session: script.name.clone(),
            model: script.model.clone(),
            tokens: script.tokens(),
            contenders: cells(figures.collect()),
        }
    }

    /// What one of the contenders made of it.
    pub(super) fn cell(&self, contender: Contender) -> Option<&Cell> {
        self.contenders.get(contender.place())
    }
}

impl Report {
    pub(super) fn new(threshold: Tokens) -> Self {
        Self {
            threshold,
            sessions: Vec::new(),
            all: Vec::new(),
            long: Vec::new(),
            overflows: 0,
            goals: Vec::new(),
            waits: Vec::new(),
            background: Vec::new(),
        }
    }

    /// Takes a session over.
    pub(super) fn add(&mut self, row: Row, played: &[Replayed]) {
        for (contender, played) in Contender::ALL.into_iter().zip(played) {
            if contender.keeps_within() {
                self.overflows += played.bill.overflows;
                self.waits.extend(&played.waits);
                self.background.extend(&played.background);
            }
        }
        self.sessions.push(row);
    }

    /// Adds everything up and says which goals are met.
    pub(super) fn judged(mut self) -> Self {
        self.all = sum(self.sessions.iter());
        self.long = sum(self.sessions.iter().filter(|row| row.tokens > LONG));
        self.waits.sort_unstable();
        self.background.sort_unstable();
        self.goals = goals::of(&self);
        self
    }
}

fn sum<'r>(rows: impl Iterator<Item = &'r Row>) -> Vec<Cell> {
    let mut sums: Vec<(u64, Bill)> = Vec::new();
    for row in rows {
        sums.resize(row.contenders.len(), (0, Bill::default()));
        for (sum, cell) in sums.iter_mut().zip(&row.contenders) {
            sum.0 += cell.changes;
            sum.1.add(&cell.bill);
        }
    }
    cells(sums)
}

fn cells(figures: Vec<(u64, Bill)>) -> Vec<Cell> {
    let full = figures.first().map(|(_, bill)| *bill).unwrap_or_default();
    let share = |part: epitome_core::cost::Money, whole: epitome_core::cost::Money| {
        let whole = whole.as_micros();
        if whole > 0.0 { part.as_micros() / whole } else { 1.0 }
    };
    let cell = |(contender, (changes, bill)): (Contender, (u64, Bill))| Cell {
        contender: contender.as_str(),
        changes,
        of_full: share(bill.sent(), full.sent()),
        of_full_with_output: share(bill.total(), full.total()),
        bill,
    };
    Contender::ALL.into_iter().zip(figures).map(cell).collect()
}

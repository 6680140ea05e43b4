//! What is known of how a model bills, for all its conversations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::line::{Horizon, Line, Measure};
use super::load::Load;
use crate::models;

/// A reply that was billed this many times what it shows holds reasoning that nobody sees.
const HIDDEN: f64 = 1.5;
/// Tokens by which a reply may exceed its estimate without holding reasoning.
const HIDDEN_SLACK: f64 = 50.0;

/// Values to start from, before a model has been seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// Tokens billed for a token of o200k.
    pub ratio: f64,
    /// Tokens that frame a message or a tool result.
    pub message: f64,
    /// Tokens that frame a tool call.
    pub call: f64,
}

/// How sure a calibration is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Confidence {
    /// Calls it was learned from.
    pub samples: u32,
    /// By what share the last estimates of added text missed, on average.
    pub spread: f64,
}

/// Calibrations by model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Calibration {
    models: BTreeMap<String, ModelCalibration>,
}

impl Calibration {
    /// What is known of this model; the start values if nothing is.
    pub fn of(&self, model: &str) -> ModelCalibration {
        self.models.get(model).cloned().unwrap_or_else(|| ModelCalibration::new(models::start(model)))
    }

    /// Every model that something is known of.
    pub fn models(&self) -> impl Iterator<Item = (&str, &ModelCalibration)> {
        self.models.iter().map(|(name, model)| (name.as_str(), model))
    }

    /// Takes what is known of a model from elsewhere, as from an earlier run, in the place of what was known here.
    pub fn put(&mut self, model: impl Into<String>, known: ModelCalibration) {
        self.models.insert(model.into(), known);
    }

    pub(super) fn learn(&mut self, model: &str, lesson: impl FnOnce(&mut ModelCalibration)) {
        let entry = self.models.entry(model.to_owned());
        lesson(entry.or_insert_with(|| ModelCalibration::new(models::start(model))));
    }
}

/// Whether reasoning is sent back, by the evidence so far: a single call does not overturn it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Keeping(i8);

impl Default for Keeping {
    fn default() -> Self {
        Self(Self::SURE)
    }
}

impl Keeping {
    const SURE: i8 = 2;

    pub(super) fn keeps(self) -> bool {
        self.0 > 0
    }

    pub(super) fn learn(&mut self, kept: bool) {
        self.0 = (self.0 + if kept { 1 } else { -1 }).clamp(1 - Self::SURE, Self::SURE);
    }
}

/// What is known of how a model bills.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelCalibration {
    /// What is added, lately.
    recent: Line,
    /// What is added, all in all.
    lasting: Line,
    /// What the model says.
    reply: Line,
    /// Whether reasoning stays in the context while tools are called.
    pub(super) in_loop: Keeping,
    /// Whether it stays when the user speaks again.
    pub(super) across: Keeping,
    samples: u32,
    spread: f64,
}

impl ModelCalibration {
    /// A calibration that has seen nothing.
    pub fn new(start: Start) -> Self {
        Self {
            recent: Line::new(start.ratio, start.message, Horizon::Next),
            lasting: Line::new(start.ratio, start.message, Horizon::Sum),
            reply: Line::new(start.ratio, start.call, Horizon::Sum),
            in_loop: Keeping::default(),
            across: Keeping::default(),
            samples: 0,
            spread: 0.0,
        }
    }

    /// Tokens billed for a token of o200k, all in all.
    pub fn ratio(&self) -> f64 {
        self.lasting.ratio()
    }

    /// How sure it is.
    pub fn confidence(&self) -> Confidence {
        Confidence { samples: self.samples, spread: self.spread }
    }

    /// What this would be billed if it were added now.
    pub(super) fn added(&self, load: Load) -> f64 {
        self.recent.billed(load.said) + self.reply.billed(load.replied) + self.thought(load.thought)
    }

    /// What this is billed as part of a context.
    pub(super) fn context(&self, load: Load) -> f64 {
        self.lasting.billed(load.said) + self.reply.billed(load.replied) + self.thought(load.thought)
    }

    pub(super) fn thought(&self, counted: f64) -> f64 {
        self.reply.billed(Measure { counted, items: 0.0 })
    }

    /// The part of a reply's bill that its visible content does not explain.
    pub(super) fn hidden(&self, load: Load, output: f64) -> f64 {
        let visible = self.reply.billed(load.replied);
        let excess = output - visible;
        if load.thought > 0.0 || output > visible * HIDDEN + HIDDEN_SLACK { excess.max(0.0) } else { 0.0 }
    }

    /// Learns from what was added between two calls.
    pub(super) fn learn_added(&mut self, said: Measure, billed: f64) {
        let estimate = self.recent.billed(said);
        let miss = ((billed - estimate) / billed.max(1.0)).abs().min(1.0);
        self.spread += Horizon::Next.alpha() * (miss - self.spread);
        self.samples = self.samples.saturating_add(1);
        self.recent.learn(said, billed);
        self.lasting.learn(said, billed);
    }

    /// Learns from a reply that was received whole.
    pub(super) fn learn_reply(&mut self, load: Load, output: f64) {
        let whole = Measure { counted: load.replied.counted + load.thought, items: load.replied.items };
        if output <= self.reply.billed(whole) * HIDDEN + HIDDEN_SLACK {
            self.reply.learn(whole, output);
        }
    }
}

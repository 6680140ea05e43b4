//! How good the estimates are: recorded calls with their real usage, estimated as if they were still to come.

use std::collections::BTreeMap;

use serde::Serialize;

use super::gauge::Gauge;
use super::model::Calibration;
use crate::message::{Message, Role};
use crate::outline::Outline;
use crate::tokens::{CharsPerFour, Counter};
use crate::units::Chars;

/// Calls of a model in a conversation before its estimates are scored.
const WARM_UP: usize = 5;

/// What happened in a recorded conversation, in order.
#[derive(Clone, Copy, Debug)]
pub enum ReplayEvent<'a> {
    /// A message was added. If it is the model's and has `meta.usage` and `meta.model`, it answers a call.
    Message(&'a Message),
    /// The context was replaced by these messages, as by a compaction. None of them answers a call.
    Rewritten(&'a [Message]),
}

/// Median and 95th percentile of relative errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Errors {
    /// The median.
    pub median: f64,
    /// The 95th percentile.
    pub p95: f64,
}

impl Errors {
    fn of(samples: &[f64]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |percent: usize| sorted.get(sorted.len() * percent / 100).copied().unwrap_or_default();
        Self { median: at(50), p95: at(95) }
    }
}

/// How far off the estimates for a model were.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelRow {
    /// The model as the transcript names it.
    pub model: String,
    /// Calls with usage.
    pub calls: usize,
    /// Calls that were scored: those after the fifth of their conversation.
    pub scored: usize,
    /// Errors of the estimate that is anchored on the call before.
    pub next_call: Errors,
    /// Errors of the estimate without anchor.
    pub whole_context: Errors,
    /// Errors of four characters a token.
    pub chars_per_four: Errors,
}

/// Errors by model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayTable {
    models: BTreeMap<String, Samples>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Samples {
    calls: usize,
    next_call: Vec<f64>,
    whole_context: Vec<f64>,
    chars_per_four: Vec<f64>,
}

impl ReplayTable {
    /// Takes in the errors of another conversation.
    pub fn merge(&mut self, other: ReplayTable) {
        for (model, samples) in other.models {
            let mine = self.models.entry(model).or_default();
            mine.calls += samples.calls;
            mine.next_call.extend(samples.next_call);
            mine.whole_context.extend(samples.whole_context);
            mine.chars_per_four.extend(samples.chars_per_four);
        }
    }

    /// A row for each model, by name.
    pub fn rows(&self) -> Vec<ModelRow> {
        let row = |(model, samples): (&String, &Samples)| ModelRow {
            model: model.clone(),
            calls: samples.calls,
            scored: samples.whole_context.len(),
            next_call: Errors::of(&samples.next_call),
            whole_context: Errors::of(&samples.whole_context),
            chars_per_four: Errors::of(&samples.chars_per_four),
        };
        self.models.iter().map(row).collect()
    }
}

/// Estimates every call of one conversation, learning from each only after it was estimated.
///
/// It starts from nothing but the models' start values, so the order of conversations does not matter.
pub fn replay<'a>(events: impl IntoIterator<Item = ReplayEvent<'a>>, counter: &Counter) -> ReplayTable {
    let mut replay = Replay::default();
    for event in events {
        match event {
            ReplayEvent::Message(message) => replay.message(message, counter),
            ReplayEvent::Rewritten(messages) => replay.rewritten(messages, counter),
        }
    }
    replay.table
}

#[derive(Default)]
struct Replay {
    calibration: Calibration,
    gauge: Gauge,
    chars: Chars,
    table: ReplayTable,
}

impl Replay {
    fn message(&mut self, message: &Message, counter: &Counter) {
        let outline = Outline::of(message, counter, 0);
        match (message.role, &message.meta.usage, &message.meta.model) {
            (Role::Assistant, Some(usage), Some(model)) => {
                self.score(model, usage.total_input().0 as f64);
                self.gauge.observe(&mut self.calibration, model, usage, &outline);
            }
            _ => self.gauge.push(&outline),
        }
        self.chars += chars(&outline);
    }

    fn rewritten(&mut self, messages: &[Message], counter: &Counter) {
        self.gauge.reset();
        self.chars = Chars::ZERO;
        for message in messages {
            let outline = Outline::of(message, counter, 0);
            self.gauge.push(&outline);
            self.chars += chars(&outline);
        }
    }

    fn score(&mut self, model: &str, billed: f64) {
        if billed == 0.0 {
            return;
        }
        let samples = self.table.models.entry(model.to_owned()).or_default();
        samples.calls += 1;
        if samples.calls <= WARM_UP {
            return;
        }
        let error = |estimate: f64| (estimate - billed).abs() / billed;
        if let Some(next) = self.gauge.next_call(&self.calibration, model) {
            samples.next_call.push(error(next.0 as f64));
        }
        let whole = self.gauge.whole_context(&self.calibration, model);
        samples.whole_context.push(error(whole.0 as f64));
        samples.chars_per_four.push(error((self.chars.0 / CharsPerFour::CHARS) as f64));
    }
}

fn chars(outline: &Outline) -> Chars {
    outline.blocks.iter().map(|block| block.chars).sum()
}

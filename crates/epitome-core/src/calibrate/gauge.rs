//! One conversation's estimates: follows what is in the context, and learns from each call's usage.

use serde::{Deserialize, Serialize};

use super::load::{Load, opens_exchange};
use super::model::{Calibration, Keeping, ModelCalibration};
use crate::message::{BlockKind, Role, Usage};
use crate::outline::Outline;
use crate::units::Tokens;

/// A call that is billed less than this share of what was expected had its input cut.
const TRUNCATED: f64 = 0.6;
/// A reply that was billed less than this share of what it shows was cut off before its bill was complete.
const CUT_OFF: f64 = 0.5;
/// Differences below this many tokens do not tell whether reasoning was sent back.
const TELLING: f64 = 32.0;

/// What a call's usage was good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// It was compared with the estimate and learned from.
    Learned,
    /// It is the first of its conversation, or of its model; estimates are anchored on it.
    Anchored,
    /// The provider reported nothing, as for an aborted call or by many local servers.
    Missing,
    /// It repeats the usage of the call before, though the context has grown.
    Stale,
    /// The provider counted far less than was sent: it cut the input.
    Truncated,
}

/// Follows one conversation.
///
/// Tell it every message that enters the context with [`push`](Self::push), every call that came back with
/// [`observe`](Self::observe), and [`reset`](Self::reset) it when the context is rewritten.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gauge {
    /// Everything in the context but the last reply and what followed it.
    settled: Load,
    /// Reasoning in `settled` that was there when the user last spoke.
    old_thought: f64,
    /// The last reply, which is settled once it is known which of its calls were answered.
    reply: Option<Reply>,
    /// What was said after the last reply.
    added: Load,
    /// Whether the user spoke after the last reply.
    exchange_opened: bool,
    anchor: Option<Anchor>,
    offset: Offset,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Reply {
    /// All but its tool calls.
    spoken: Load,
    calls: Vec<Call>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Call {
    id: String,
    load: Load,
    answered: bool,
}

impl Reply {
    /// What of it is sent back: a call without a result is refused by every provider, so clients drop it.
    fn kept(&self) -> Load {
        let mut load = self.spoken;
        self.calls.iter().filter(|call| call.answered).for_each(|call| load.add(call.load));
        load
    }

    fn whole(&self) -> bool {
        self.calls.iter().all(|call| call.answered)
    }
}

/// The last call whose usage can be trusted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Anchor {
    model: String,
    usage: Usage,
    /// Reasoning that was billed since the user last spoke, and is still in the context.
    hidden: f64,
}

/// What a call holds beside the messages, in o200k tokens, so that it survives a change of model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Offset {
    sum: f64,
    weight: f64,
}

impl Offset {
    /// Weight that is left of an observation after one more: prompts and tools change seldom.
    const KEPT: f64 = 0.995;

    fn tokens(self) -> f64 {
        if self.weight > 0.0 { (self.sum / self.weight).max(0.0) } else { 0.0 }
    }

    /// The smaller the context, the better it shows the offset.
    fn learn(&mut self, rest: f64, context: f64) {
        let weight = (200.0 + 0.1 * context).powi(-2);
        self.sum = self.sum * Self::KEPT + weight * rest;
        self.weight = self.weight * Self::KEPT + weight;
    }
}

/// What the next call's input is, by how the reply before it is taken.
struct Expected {
    tokens: f64,
    /// Without the reasoning that may have been dropped; equal where there was none.
    without_reasoning: f64,
    keeps: bool,
    /// Whether the last reply's bill is complete, so that the rest of the increment is what was added.
    exact: bool,
}

impl Gauge {
    /// A message enters the context.
    pub fn push(&mut self, outline: &Outline) {
        if outline.role == Role::Assistant {
            // Whatever it was billed, the anchor does not know it.
            self.anchor = None;
            self.take_reply(outline);
            return;
        }
        for block in outline.blocks.iter().filter(|block| block.kind == BlockKind::ToolResult) {
            let id = block.tool.as_ref().map(|tool| tool.id.as_str());
            let calls = self.reply.iter_mut().flat_map(|reply| &mut reply.calls);
            calls.filter(|call| Some(call.id.as_str()) == id).for_each(|call| call.answered = true);
        }
        self.exchange_opened |= opens_exchange(outline);
        self.added.add(Load::said(outline));
    }

    /// The context is rewritten: what follows is pushed anew. What was learned stays.
    pub fn reset(&mut self) {
        *self = Self { offset: self.offset, ..Self::default() };
    }

    /// The input of a call made now, anchored on the last one; nothing without such an anchor.
    pub fn next_call(&self, calibration: &Calibration, model: &str) -> Option<Tokens> {
        let expected = self.expected(&calibration.of(model), model)?;
        Some(round(if expected.keeps { expected.tokens } else { expected.without_reasoning }))
    }

    /// The input of a call made now, counted from nothing.
    pub fn whole_context(&self, calibration: &Calibration, model: &str) -> Tokens {
        let model = calibration.of(model);
        round(self.context(&model) + self.offset.tokens() * model.ratio())
    }

    /// A call with this context came back: learns from its usage, then takes the reply into the context.
    ///
    /// Usage of zero teaches nothing, and an empty reply does not enter the context.
    pub fn observe(
        &mut self,
        calibration: &mut Calibration,
        model: &str,
        usage: &Usage,
        reply: &Outline,
    ) -> Verdict {
        let verdict = self.judge(calibration, model, usage);
        match verdict {
            Verdict::Learned | Verdict::Anchored => {
                self.learn(calibration, model, usage);
                let hidden = self.carried_hidden(&calibration.of(model));
                self.anchor = Some(Anchor { model: model.to_owned(), usage: *usage, hidden });
            }
            // The anchor is not where the context now ends, and nothing says where that is.
            Verdict::Stale | Verdict::Truncated => self.anchor = None,
            Verdict::Missing => {}
        }
        match verdict {
            Verdict::Missing if reply.blocks.is_empty() => {}
            Verdict::Missing => self.push(reply),
            _ => self.take_reply(reply),
        }
        verdict
    }

    fn judge(&self, calibration: &Calibration, model: &str, usage: &Usage) -> Verdict {
        let billed = usage.total_input().0 as f64;
        if billed == 0.0 {
            return Verdict::Missing;
        }
        let Some(expected) = self.expected(&calibration.of(model), model) else { return Verdict::Anchored };
        let grown = self.added != Load::default();
        if grown && self.anchor.as_ref().is_some_and(|anchor| anchor.usage == *usage) {
            Verdict::Stale
        } else if billed < TRUNCATED * expected.without_reasoning.min(expected.tokens) {
            Verdict::Truncated
        } else {
            Verdict::Learned
        }
    }

    fn learn(&mut self, calibration: &mut Calibration, model: &str, usage: &Usage) {
        let billed = usage.total_input().0 as f64;
        let expected = self.expected(&calibration.of(model), model);
        let output = self.anchor.as_ref().map_or(0.0, |anchor| anchor.usage.output.0 as f64);
        calibration.learn(model, |model| {
            let Some(expected) = expected.filter(|expected| expected.exact) else { return };
            self.learn_keeping(model, &expected, billed);
            let keeps = self.keeping(model).keeps();
            let before = if keeps { expected.tokens } else { expected.without_reasoning };
            let added = billed - (before - model.added(self.added));
            if added > 0.0 {
                model.learn_added(self.added.said, added);
            }
            if let Some(reply) = &self.reply {
                model.learn_reply(reply.kept(), output);
            }
        });
        let model = calibration.of(model);
        let context = self.context(&model);
        self.offset.learn((billed - context) / model.ratio(), context);
    }

    /// Whether reasoning is sent back shows wherever there was enough of it.
    fn learn_keeping(&self, model: &mut ModelCalibration, expected: &Expected, billed: f64) {
        let dropped = expected.tokens - expected.without_reasoning;
        let (with, without) = ((billed - expected.tokens).abs(), (billed - expected.without_reasoning).abs());
        if dropped < TELLING || (with - without).abs() < dropped / 2.0 {
            return;
        }
        let keeping = if self.exchange_opened { &mut model.across } else { &mut model.in_loop };
        keeping.learn(with < without);
    }

    fn expected(&self, model: &ModelCalibration, name: &str) -> Option<Expected> {
        let anchor = self.anchor.as_ref().filter(|anchor| anchor.model == name)?;
        let output = anchor.usage.output.0 as f64;
        let kept = self.reply.as_ref().map(Reply::kept).unwrap_or_default();
        let shown = model.added(kept);
        let exact = self.reply.as_ref().is_some_and(Reply::whole) && output >= CUT_OFF * shown;
        let before = anchor.usage.total_input().0 as f64;
        let tokens = before + if exact { output } else { shown } + model.added(self.added);
        let hidden = if exact { model.hidden(kept, output) } else { 0.0 };
        let dropped = if self.exchange_opened { anchor.hidden + hidden } else { hidden };
        let keeps = self.keeping(model).keeps();
        Some(Expected { tokens, without_reasoning: tokens - dropped, keeps, exact })
    }

    fn keeping(&self, model: &ModelCalibration) -> Keeping {
        if self.exchange_opened { model.across } else { model.in_loop }
    }

    /// Reasoning that the call just made still carried and that the user's next words may remove.
    fn carried_hidden(&self, model: &ModelCalibration) -> f64 {
        let (Some(anchor), Some(reply)) = (&self.anchor, &self.reply) else { return 0.0 };
        if self.exchange_opened || !model.in_loop.keeps() {
            return 0.0;
        }
        anchor.hidden + model.hidden(reply.kept(), anchor.usage.output.0 as f64)
    }

    /// The bill of the messages alone.
    fn context(&self, model: &ModelCalibration) -> f64 {
        let mut load = self.settled;
        load.add(self.reply.as_ref().map(Reply::kept).unwrap_or_default());
        load.add(self.added);
        let old = if self.exchange_opened { load.thought } else { self.old_thought };
        if !model.in_loop.keeps() {
            load.thought = 0.0;
        } else if !model.across.keeps() {
            load.thought -= old;
        }
        model.context(load)
    }

    fn take_reply(&mut self, outline: &Outline) {
        self.settle();
        self.reply = Some(read_reply(outline));
    }

    /// The last reply and what followed it become part of the rest.
    fn settle(&mut self) {
        self.settled.add(self.reply.take().map(|reply| reply.kept()).unwrap_or_default());
        self.settled.add(std::mem::take(&mut self.added));
        if std::mem::take(&mut self.exchange_opened) {
            self.old_thought = self.settled.thought;
        }
    }
}

fn read_reply(outline: &Outline) -> Reply {
    let mut reply = Reply::default();
    for block in &outline.blocks {
        let load = Load::replied(block);
        match &block.tool {
            Some(tool) if block.kind == BlockKind::ToolUse => {
                reply.calls.push(Call { id: tool.id.clone(), load, answered: false });
            }
            _ => reply.spoken.add(load),
        }
    }
    reply
}

fn round(tokens: f64) -> Tokens {
    Tokens(tokens.max(0.0).round() as u64)
}

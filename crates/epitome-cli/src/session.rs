//! A transcript made ready for decisions: its messages outlined, its threads as paths, its model found.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use epitome_core::calibrate::{Calibration, Gauge};
use epitome_core::cost::Tariff;
use epitome_core::models::{Model, ThinkingBinding, Warning, WindowGuard};
use epitome_core::profile::Rewritten;
use epitome_core::prune::{self, Budget, MessageSizes, Plan, Size, ThinkingRule};
use epitome_core::tokens::Counter;
use epitome_core::{Block, Entry, Message, Outline, Role, Tokens};
use epitome_wire::check::{self, Severity, Violation};
use epitome_wire::files::{Format, Thread, ThreadKind, Transcript};

use crate::settings::Settings;

/// The unit of amounts that are meant for no model in particular.
pub(crate) const OUR_UNIT: &str = "o200k";

/// A transcript and the outlines of its messages.
pub(crate) struct Session {
    /// The file, and the session's id where a file holds several.
    pub(crate) name: String,
    /// What was read.
    pub(crate) transcript: Transcript,
    /// The model it was held with, or the one that was asked for.
    pub(crate) model: Model,
    /// Whether any model was named.
    pub(crate) names_model: bool,
    /// Whether the user asked for that model, so that amounts are meant in its tokens.
    asks_for_model: bool,
    /// What had to be assumed of it.
    warning: Option<String>,
    /// Whether something is known of it: its tokens and its prices.
    is_known: bool,
    /// The system prompt and the tools, which stand outside the messages.
    pub(crate) fixed: Size,
    outlines: Vec<Arc<Outline>>,
    counter: Counter,
    /// The model's tokens for one of ours, learned from the session's own usage where it carries any.
    ratio: f64,
}

impl Session {
    /// Outlines a transcript's messages.
    pub(crate) fn new(path: &Path, transcript: Transcript, model: Option<&str>, settings: &Settings) -> Self {
        let replied =
            || transcript.main().iter().rev().find_map(|at| transcript.messages[*at].meta.model.as_deref());
        let named = model.or(transcript.model.as_deref()).or_else(replied);
        let found = settings.models.get(named.unwrap_or_default());
        let counter = found.model.counter();
        let outline = |(message, layout): (&Message, &epitome_wire::Layout)| {
            Arc::new(layout.outline(message, &counter))
        };
        let outlines: Vec<_> = transcript.messages.iter().zip(&transcript.layouts).map(outline).collect();
        let system = transcript.system.as_ref().map_or(Tokens::ZERO, |system| counter.message(system));
        let tools = transcript.tools.as_ref().map_or("", |tools| tools.as_str());
        let fixed = Size { tokens: system + counter.text(tools), bytes: bytes_beside(&transcript) };
        let name = match &transcript.id {
            Some(id) if transcript.format == Format::Conversations => format!("{}#{id}", path.display()),
            _ => path.display().to_string(),
        };
        let names_model = named.is_some();
        let is_known = !matches!(found.warning, Some(Warning::Unknown { .. }));
        let warning = found.warning.filter(|_| names_model).map(|warning| said(&warning, settings));
        let ratio = model
            .map_or_else(|| learned_ratio(&transcript, &outlines), |_| None)
            .unwrap_or(found.model.start.ratio);
        let asks_for_model = model.is_some();
        let model = found.model;
        Self {
            name,
            model,
            names_model,
            asks_for_model,
            warning,
            is_known,
            fixed,
            outlines,
            counter,
            ratio,
            transcript,
        }
    }

    /// The messages that a thread is made of, outlined.
    pub(crate) fn path(&self, thread: &Thread) -> Vec<Entry> {
        let entry = |at: usize| Entry {
            outline: Arc::clone(&self.outlines[at]),
            time: self.transcript.messages[at].meta.time,
        };
        self.transcript.path(thread).into_iter().map(entry).collect()
    }

    /// What counts its messages.
    pub(crate) fn counter(&self) -> &Counter {
        &self.counter
    }

    /// The model's own tokens for one of ours.
    pub(crate) fn ratio(&self) -> f64 {
        self.ratio
    }

    /// How many of the model's own tokens this many of ours are, where a model is named.
    pub(crate) fn model_tokens(&self, tokens: Tokens) -> Option<Tokens> {
        self.names_model.then(|| Tokens((tokens.0 as f64 * self.ratio).round() as u64))
    }

    /// A budget of the user's in our tokens: it is meant in those of the model that was asked for, if one was.
    pub(crate) fn budget(&self, budget: Tokens) -> Tokens {
        match self.budget_unit() {
            OUR_UNIT => budget,
            _ => Tokens((budget.0 as f64 / self.ratio) as u64),
        }
    }

    /// The unit of the user's budgets: nobody knows the tokens of an unknown model, so then it is ours.
    pub(crate) fn budget_unit(&self) -> &str {
        if self.asks_for_model && self.is_known { &self.model.id } else { OUR_UNIT }
    }

    /// The model's window in our tokens, where a model is named.
    pub(crate) fn counted_window(&self) -> Option<Tokens> {
        self.names_model.then(|| Tokens((self.model.window.0 as f64 / self.ratio) as u64))
    }

    /// What our tokens cost, where a model is named whose prices are known.
    pub(crate) fn tariff(&self) -> Option<Tariff> {
        let is_priced = self.names_model && self.is_known && self.model.price.input > 0.0;
        is_priced.then(|| Tariff::of_counted(&self.model, self.ratio))
    }

    /// Whether the model's thinking is bound to what stands before it.
    pub(crate) fn thinking_rule(&self) -> ThinkingRule {
        match self.model.thinking {
            ThinkingBinding::Prefix if self.names_model => ThinkingRule::Bound,
            _ => ThinkingRule::Free,
        }
    }

    /// What could not be read.
    pub(crate) fn damaged(&self) -> Vec<String> {
        self.transcript.damage.iter().map(ToString::to_string).collect()
    }

    /// What the provider billed for the last call of the main thread, input and output.
    pub(crate) fn billed(&self) -> Option<Tokens> {
        let usage = |at: &usize| {
            self.transcript.messages[*at].meta.usage.filter(|usage| usage.total_input() > Tokens::ZERO)
        };
        self.transcript.main().iter().rev().find_map(usage).map(|usage| usage.total_input() + usage.output)
    }

    /// The compactions that the main thread went through, by places in it.
    pub(crate) fn rewritten(&self) -> Vec<Rewritten> {
        let path = self.transcript.main();
        let place = |number: usize| path.iter().position(|at| *at == number);
        let rewritten = self.transcript.compactions.iter().filter_map(|compaction| {
            let at = place(compaction.position)?;
            Some(Rewritten { at, from: compaction.first_kept.and_then(place).unwrap_or(at) })
        });
        rewritten.collect()
    }

    /// What had to be assumed of the model that the user asked for.
    pub(crate) fn assumed(&self) -> Option<&str> {
        self.warning.as_deref().filter(|_| self.asks_for_model)
    }

    /// What the user should know of the model: that it is unknown, or that its window is small.
    pub(crate) fn warnings(&self) -> Vec<String> {
        if !self.names_model {
            return Vec::new();
        }
        let window = match WindowGuard::default().check(&self.model) {
            Err(error) => Some(error.to_string()),
            Ok(room) if room.is_small => {
                Some(format!("the context window of {} is small: {:#} tokens", self.model.id, room.window))
            }
            Ok(_) => None,
        };
        self.warning.clone().into_iter().chain(window).collect()
    }

    /// What is sent before the conversation of the main thread: system prompt, tools, leading system messages.
    pub(crate) fn beside(&self) -> Size {
        let leading = |entry: &&Entry| matches!(entry.outline.role, Role::System | Role::Developer);
        self.with_fixed(self.main_path().iter().take_while(leading))
    }

    /// All that is sent of the main thread.
    pub(crate) fn sent(&self) -> Size {
        self.with_fixed(self.main_path().iter())
    }

    fn with_fixed<'e>(&self, entries: impl Iterator<Item = &'e Entry>) -> Size {
        entries.fold(self.fixed, |Size { tokens, bytes }, Entry { outline, .. }| Size {
            tokens: tokens + outline.tokens,
            bytes: bytes + outline.bytes,
        })
    }

    /// The messages of the main thread, outlined.
    pub(crate) fn main_path(&self) -> Vec<Entry> {
        self.main().map(|main| self.path(main)).unwrap_or_default()
    }

    /// The tokens of all messages of all threads.
    pub(crate) fn tokens(&self) -> Tokens {
        self.outlines.iter().map(|outline| outline.tokens).sum()
    }

    /// The main thread.
    pub(crate) fn main(&self) -> Option<&Thread> {
        self.transcript.threads.iter().find(|thread| thread.kind == ThreadKind::Main)
    }

    /// What a provider would refuse in these messages.
    ///
    /// Warnings are for those about to send a request: that a recorded session ends with the assistant's words, or in the
    /// middle of a tool call, is in the nature of sessions.
    pub(crate) fn violations(&self, messages: &[Message]) -> Vec<Violation> {
        let request = matches!(self.transcript.format, Format::Anthropic | Format::Chat | Format::Responses);
        let mut found = check::check(self.transcript.dialect, self.transcript.system.as_ref(), messages);
        found.retain(|violation| request || violation.severity() == Severity::Error);
        found
    }

    /// The messages of a thread; mostly those of the file, which then need no copy.
    pub(crate) fn messages(&self, thread: &Thread) -> Cow<'_, [Message]> {
        let (path, all) = (self.transcript.path(thread), &self.transcript.messages);
        if path.iter().copied().eq(0..all.len()) {
            return Cow::Borrowed(all);
        }
        path.into_iter().map(|at| all[at].clone()).collect()
    }

    /// Plans what to prune from one thread.
    pub(crate) fn plan(
        &self,
        path: &[Entry],
        messages: &[Message],
        settings: &Settings,
        budget: Budget,
    ) -> Plan {
        let mut sizes = MessageSizes::new(messages, |text: &str| self.counter.text(text));
        prune::plan(path, &settings.values.prune, budget, &mut sizes, self.thinking_rule())
    }
}

// What is assumed, and what may have been meant.
fn said(warning: &Warning, settings: &Settings) -> String {
    match warning {
        Warning::Unknown { id, .. } => {
            let similar = settings.models.similar(id, 3);
            let way_out = match similar.is_empty() {
                true => "[models.NAME] in epitome.toml adds one".to_owned(),
                false => format!("did you mean {}?", similar.join(", ")),
            };
            format!("{warning}, and no price is known; {way_out}")
        }
        alike => alike.to_string(),
    }
}

// What the session's own model billed for what we count, if its replies say so.
fn learned_ratio(transcript: &Transcript, outlines: &[Arc<Outline>]) -> Option<f64> {
    let mut calibration = Calibration::default();
    let mut gauge = Gauge::default();
    let mut last = None;
    for at in transcript.main() {
        let (meta, outline) = (&transcript.messages[*at].meta, &outlines[*at]);
        if transcript.compactions.iter().any(|compaction| compaction.position == *at) {
            gauge.reset();
        }
        match (&meta.usage, &meta.model) {
            (Some(usage), Some(model)) if outline.role == Role::Assistant => {
                gauge.observe(&mut calibration, model, usage, outline);
                last = Some(model);
            }
            _ => gauge.push(outline),
        }
    }
    last.map(|model| calibration.of(model).ratio())
}

// What is sent beside the messages. All of a request body is sent; of a session's log only the system prompt and the tools.
fn bytes_beside(transcript: &Transcript) -> usize {
    let is_body = matches!(
        transcript.format,
        Format::Anthropic | Format::Chat | Format::Responses | Format::Messages | Format::Conversations
    );
    if is_body {
        let records = transcript.layouts.iter().flat_map(|layout| &layout.records);
        return transcript.text.len().saturating_sub(records.map(|record| record.len()).sum());
    }
    let text = |block: &Block| prune::text_of(block).map_or(0, |text| prune::json_bytes(&text));
    let system = transcript.system.iter().flat_map(|system| &system.blocks).map(text).sum::<usize>();
    system + transcript.tools.as_ref().map_or(0, |tools| tools.as_str().len())
}

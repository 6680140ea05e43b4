//! A transcript as a script: what is said to the model before each call, what it answers, and when.

use std::path::Path;

use epitome::Context;
use epitome_core::cost::Tariff;
use epitome_core::tokens::Counter;
use epitome_core::{Message, Role, Time, Tokens, prune};
use epitome_wire::files::Transcript;
use epitome_wire::{Dialect, decode_message, encode_expressible};

use crate::args::EvalCost;
use crate::session::Session;
use crate::settings::Settings;

/// The model whose prices are taken where a session names none that is known.
pub(super) const ASSUMED: &str = "claude-sonnet-4.5";

/// Something as it is sent: a message as its dialect writes it, or what stands beside all messages.
pub(super) struct Said {
    pub(super) text: String,
    /// In our unit.
    pub(super) tokens: Tokens,
}

impl Said {
    fn beside(text: String, counter: &Counter) -> Self {
        Self { tokens: counted(&text, counter), text }
    }
}

/// A call of the model.
pub(super) struct Call {
    /// When it is made.
    pub(super) at: Time,
    /// What is said since the last one.
    pub(super) input: Vec<Said>,
    /// When it is answered.
    pub(super) answered: Time,
    /// The answer.
    pub(super) reply: Vec<Said>,
}

/// A conversation, call by call.
pub(super) struct Script {
    pub(super) name: String,
    pub(super) dialect: Dialect,
    /// The model that is called, by its name in the table.
    pub(super) model: String,
    pub(super) window: Tokens,
    pub(super) tariff: Tariff,
    /// The model's tokens for one of ours.
    pub(super) ratio: f64,
    pub(super) tools: Said,
    pub(super) system: Said,
    pub(super) calls: Vec<Call>,
    pub(super) damaged: Vec<String>,
    counter: Counter,
}

impl Script {
    /// Reads the main thread of a transcript. Summaries that its tool wrote are left out: what is replayed is what was said.
    pub(super) fn of(
        path: &Path,
        transcript: Transcript,
        arguments: &EvalCost,
        settings: &Settings,
    ) -> anyhow::Result<Self> {
        let mut session = Session::new(path, transcript, arguments.model.as_deref(), settings);
        if session.tariff().is_none() {
            session = Session::new(path, session.transcript, Some(ASSUMED), settings);
        }
        let transcript = &session.transcript;
        let system = transcript.system.as_ref().map(words).unwrap_or_default();
        let tools = transcript.tools.as_ref().map_or("", |tools| tools.as_str()).to_owned();
        let counter = session.counter();
        Ok(Self {
            name: session.name.clone(),
            dialect: transcript.dialect,
            model: session.model.id.to_string(),
            window: arguments.window.unwrap_or(session.model.window),
            tariff: Tariff::of(&session.model),
            ratio: session.ratio(),
            tools: Said::beside(tools, counter),
            system: Said::beside(system, counter),
            counter: *counter,
            calls: calls(transcript, counter, arguments)?,
            damaged: session.damaged(),
        })
    }

    /// Tokens of the whole conversation and what stands beside it, in the model's unit.
    pub(super) fn tokens(&self) -> Tokens {
        let said = self.calls.iter().flat_map(|call| call.input.iter().chain(&call.reply));
        self.billed(self.tools.tokens + self.system.tokens + said.map(|said| said.tokens).sum())
    }

    /// What is said to the model beside all messages, where a summary belongs to it.
    pub(super) fn system_with(&self, context: &Context) -> Said {
        Said::beside(context.system_with(&self.system.text), &self.counter)
    }

    /// The model's tokens for so many of ours.
    pub(super) fn billed(&self, tokens: Tokens) -> Tokens {
        Tokens((tokens.0 as f64 * self.ratio).round() as u64)
    }
}

fn calls(transcript: &Transcript, counter: &Counter, arguments: &EvalCost) -> anyhow::Result<Vec<Call>> {
    let is_summary = |at: &usize| transcript.compactions.iter().any(|summary| summary.position == *at);
    let path = transcript.main().iter().filter(|at| !is_summary(at));
    let messages: Vec<&Message> = path.filter_map(|at| transcript.messages.get(*at)).collect();
    let gap = i64::try_from(arguments.gap.saturating_mul(1_000)).unwrap_or(i64::MAX);
    let (mut calls, mut input, mut now) = (Vec::new(), Vec::new(), Time(0));
    for run in messages.chunk_by(|left, right| is_reply(left) == is_reply(right)) {
        let said: Vec<Said> = run
            .iter()
            .map(|message| said(message, transcript, counter))
            .collect::<anyhow::Result<Vec<_>>>()?
            .into_iter()
            .flatten()
            .collect();
        let time = run.iter().filter_map(|message| message.meta.time).max();
        if !run.first().is_some_and(|first| is_reply(first)) {
            now = time.unwrap_or(Time(now.0.saturating_add(gap))).max(now);
            input.extend(said);
        } else if calls.is_empty() && input.is_empty() {
            // The model greets: nothing was sent before that.
            input.extend(said);
        } else {
            let at = now;
            now = time.unwrap_or(now).max(now);
            calls.push(Call { at, input: std::mem::take(&mut input), answered: now, reply: said });
        }
    }
    Ok(calls)
}

fn is_reply(message: &Message) -> bool {
    message.role == Role::Assistant
}

fn said(message: &Message, transcript: &Transcript, counter: &Counter) -> anyhow::Result<Vec<Said>> {
    let (dialect, bare) = (transcript.dialect, transcript.notation().bare(message.clone()));
    let counted = |json: String| {
        let (message, layout) = decode_message(dialect, &json)?;
        Ok(Said { tokens: layout.outline(&message, counter).tokens, text: json })
    };
    encode_expressible(dialect, &bare)?.into_iter().map(counted).collect()
}

fn counted(text: &str, counter: &Counter) -> Tokens {
    if text.is_empty() { Tokens::ZERO } else { counter.text(text) }
}

fn words(message: &Message) -> String {
    let texts: Vec<_> = message.blocks.iter().filter_map(prune::text_of).collect();
    texts.join("\n")
}

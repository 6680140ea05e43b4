//! From the bytes of a reply to an answer, whole or event by event, in three dialects.

mod anthropic;
mod chat;
mod responses;

use epitome_core::{Tokens, Usage};
use epitome_wire::Dialect;
use epitome_wire::sse::Event;
use serde_json::Value;

use crate::call::{Answer, Ending};
use crate::failure::{Begun, Failure, Kind};
use crate::summary::counter;

/// An answer that is being read.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    dialect: Dialect,
    text: String,
    usage: Option<Usage>,
    ending: Option<Ending>,
    model: String,
    /// Whether there was an event that tells of no failure.
    is_begun: bool,
    is_done: bool,
}

impl Reading {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            text: String::new(),
            usage: None,
            ending: None,
            model: String::new(),
            is_begun: false,
            is_done: false,
        }
    }

    /// Reads a body that came all at once.
    pub(crate) fn whole(mut self, body: &[u8]) -> Result<Answer, Failure> {
        let json: Value = serde_json::from_slice(body).map_err(|error| not_json(body, &error))?;
        self.check(&json)?;
        let is_read = match self.dialect {
            Dialect::Anthropic => anthropic::whole(&mut self, &json),
            Dialect::Responses => responses::whole(&mut self, &json),
            _ => chat::whole(&mut self, &json),
        };
        is_read.ok_or_else(|| Failure::new(Kind::Garbage, "the reply holds no message"))?;
        Ok(self.answer())
    }

    /// Reads an event. What it does not know it passes over.
    pub(crate) fn event(&mut self, event: &Event) -> Result<(), Failure> {
        if event.data.trim() == "[DONE]" {
            self.is_done = true;
            return Ok(());
        }
        if let Some(failure) = Failure::of_event(&event.data) {
            return Err(failure);
        }
        let json: Value =
            serde_json::from_str(&event.data).map_err(|error| not_json(event.data.as_bytes(), &error))?;
        self.check(&json)?;
        self.is_begun = true;
        match self.dialect {
            Dialect::Anthropic => anthropic::event(self, &json),
            Dialect::Responses => responses::event(self, &json),
            _ => chat::event(self, &json),
        }
        Ok(())
    }

    /// Whether nothing more is to come.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Whether the model has said why it stopped.
    pub(crate) fn is_ended(&self) -> bool {
        self.is_done || self.ending.is_some()
    }

    /// Whether the model has begun to answer.
    pub(crate) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// What is to be paid for where it ends here.
    pub(crate) fn begun(&self) -> Begun {
        Begun { usage: self.usage, said: counter().text(&self.text) }
    }

    /// The answer, if the stream was whole when it ended.
    pub(crate) fn end(self) -> Result<Answer, Failure> {
        if self.is_ended() {
            return Ok(self.answer());
        }
        let told = format!("the stream ended after {} bytes of text", self.text.len());
        Err(Failure::new(Kind::Cut, &told).begun(self.begun()))
    }

    fn check(&self, json: &Value) -> Result<(), Failure> {
        let failure = if self.dialect == Dialect::Chat { chat::failure(json) } else { None };
        failure.map_or(Ok(()), Err)
    }

    fn answer(self) -> Answer {
        Answer {
            text: without_thoughts(&self.text).to_owned(),
            usage: self.usage,
            ending: self.ending.unwrap_or(Ending::Whole),
            model: self.model,
        }
    }

    fn named(&mut self, model: &Value) {
        if let Some(model) = model.as_str() {
            model.clone_into(&mut self.model);
        }
    }
}

fn not_json(body: &[u8], error: &serde_json::Error) -> Failure {
    const SHOWN: usize = 4_096;
    let start = String::from_utf8_lossy(body.get(..SHOWN).unwrap_or(body));
    Failure::new(Kind::Garbage, &format!("no JSON ({error}): {start}"))
}

fn count(usage: &Value, key: &str) -> Option<Tokens> {
    usage.get(key).and_then(Value::as_u64).map(Tokens)
}

/// What OpenAI's dialects bill: what the cache served is part of the input.
fn billed(usage: &Value, input: &str, output: &str, details: &str) -> Option<Usage> {
    let all = count(usage, input)?;
    let part = |key: &str| usage.get(details).and_then(|details| count(details, key)).unwrap_or_default();
    let (cache_read, cache_write) = (part("cached_tokens"), part("cache_write_tokens"));
    let input = all.saturating_sub(cache_read).saturating_sub(cache_write);
    Some(Usage { input, cache_read, cache_write, output: count(usage, output).unwrap_or_default() })
}

// Servers of one's own put what a model thought before what it says. Where the prompt opened the thought, only its end shows.
fn without_thoughts(text: &str) -> &str {
    if let Some(thought) = text.trim_start().strip_prefix("<think>") {
        return thought.split_once("</think>").map_or("", |(_, said)| said.trim_start());
    }
    let mut ends = text.match_indices("</think>").map(|(at, end)| (at, at + end.len()));
    // A text that speaks of the mark has it within a line, or opens what it closes.
    let is_end = |(at, end): &(usize, usize)| {
        let (before, after) = (text.get(..*at).unwrap_or_default(), text.get(*end..).unwrap_or_default());
        !before.contains("<think>") && (after.is_empty() || after.starts_with(['\n', '\r']))
    };
    ends.find(is_end).and_then(|(_, end)| text.get(end..)).map_or(text, str::trim_start)
}

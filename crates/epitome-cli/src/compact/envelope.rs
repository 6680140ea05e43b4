//! What a program pipes in: a request body or the messages alone, and a budget; what it gets back.

use epitome_core::Tokens;
use epitome_wire::files::Format;
use epitome_wire::json;

use super::report::Report;
use crate::args::parse_tokens;
use crate::fail::failure;

/// One JSON object on stdin that holds messages.
///
/// Its answer holds the messages and the report. All else that a request needs (system prompt, tools, model) is the
/// caller's to keep: it is counted, and never changed.
pub(super) struct Envelope {
    /// The field that holds the messages: `messages`, or `input` of a Responses request.
    field: &'static str,
    /// What the messages should fit in.
    pub(super) budget: Option<Tokens>,
}

impl Envelope {
    /// Reads what is beside the messages; `None` where this is no object with messages, but a file.
    pub(super) fn read(text: &str) -> anyhow::Result<Option<Self>> {
        let has = |key| member(text, key).is_some();
        let field = if has("messages") { "messages" } else { "input" };
        // A trajectory may have messages, too; its history is what counts.
        if !has(field) || has("history") {
            return Ok(None);
        }
        let budget = member(text, "budget").filter(|budget| *budget != "null").map(budget).transpose()?;
        Ok(Some(Self { field, budget }))
    }

    /// The format, where the field alone tells it.
    pub(super) fn format(&self) -> Option<Format> {
        (self.field == "input").then_some(Format::Responses)
    }

    /// The answer: the compacted messages, and what was done to them.
    pub(super) fn answer(&self, text: &str, report: &Report) -> anyhow::Result<String> {
        let messages = member(text, self.field).ok_or_else(|| failure("the messages are gone", ""))?;
        Ok(format!("{{\"{}\":{messages},\"report\":{}}}\n", self.field, serde_json::to_string(report)?))
    }
}

// The value of `key`. Of duplicates the last counts, as for whoever reads the messages.
fn member<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let span = json::value(text).ok()?;
    let members: Vec<_> = json::members(text, span).collect::<Result<_, _>>().ok()?;
    members.into_iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.of(text))
}

// A number of tokens, or an amount as --budget takes it.
fn budget(raw: &str) -> anyhow::Result<Tokens> {
    let tokens = match serde_json::from_str(raw)? {
        serde_json::Value::String(amount) => parse_tokens(&amount).ok(),
        serde_json::Value::Number(number) => number
            .as_f64()
            .filter(|amount| (0.5..1e15).contains(amount))
            .map(|amount| Tokens(amount.round() as u64)),
        _ => None,
    };
    let raw: String = raw.chars().take(40).collect();
    tokens
        .ok_or_else(|| failure(format!("the budget {raw} is no number of tokens"), "write 20000 or \"20k\""))
}

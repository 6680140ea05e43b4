//! The request that was sent last. A summary that is asked for behind it is served from the provider's cache.

use epitome_core::{Message, Role, Tokens};
use epitome_wire::{Dialect, decode_message};
use serde_json::Value;

use super::job::counter;
use crate::call::{Call, Prefix};

/// A request as it was sent, and what it comes to.
#[derive(Clone, Debug)]
pub(super) struct Live {
    prefix: Prefix,
    pub(super) size: Tokens,
    /// Whether the user spoke last, where two messages of one speaker in a row may be refused.
    wants_answer: bool,
    /// Whether the model must call a tool, so that it would not write.
    pub(super) wants_call: bool,
    /// So much the model thinks before it answers, where it was told to.
    thoughts: Option<Tokens>,
}

impl Live {
    /// This request, in the API of whoever got it.
    pub(super) fn new(prefix: Prefix, dialect: Dialect) -> Self {
        let count = counter();
        let mut size: Tokens = prefix.system.iter().chain(&prefix.tools).map(|json| count.text(json)).sum();
        let mut last = None;
        for json in &prefix.messages {
            let message = decode_message(dialect, json).ok().map(|(message, _)| message);
            size += message.as_ref().map_or_else(|| count.text(json), |message| count.message(message));
            last = message.map(|message| message.role);
        }
        let wants_answer = dialect == Dialect::Anthropic && last == Some(Role::User);
        let field = |name: &str| {
            let json = prefix.fields.iter().find(|(field, _)| field == name).map(|(_, json)| json.as_str());
            json.and_then(|json| serde_json::from_str::<Value>(json).ok()).unwrap_or_default()
        };
        let (wants_call, thoughts) = (is_forced(&field("tool_choice")), thoughts(&field("thinking")));
        Self { prefix, size, wants_answer, wants_call, thoughts }
    }

    /// A call behind it.
    pub(super) fn asks(&self, mut call: Call) -> Call {
        if self.wants_answer {
            call.messages.insert(0, Message::text(Role::Assistant, "(interrupted)"));
        }
        if let Some(thoughts) = self.thoughts {
            // Whoever thinks strays as it likes, and what it thinks is output.
            call.temperature = None;
            call.max_output += thoughts;
        }
        call.behind(self.prefix.clone())
    }
}

// Whether a choice of tools leaves the model no other choice than to call one.
fn is_forced(choice: &Value) -> bool {
    let kind = choice.as_str().or_else(|| choice["mode"].as_str()).or_else(|| choice["type"].as_str());
    !matches!(kind, None | Some("auto" | "none"))
}

// What a model may think where it was told to, in the words of Anthropic; other APIs do not count it apart.
fn thoughts(thinking: &Value) -> Option<Tokens> {
    match thinking["type"].as_str() {
        None | Some("disabled") => None,
        Some(_) => Some(Tokens(thinking["budget_tokens"].as_u64().unwrap_or_default())),
    }
}

//! The provider dialects, and how to tell which one a body or a message is written in.

use std::fmt;

use crate::json::{Kind, Span, elements, members, string};

/// A provider protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
}

/// Fields of a body that only Anthropic has; look-alikes of OpenAI know `top_k` and `thinking`, too.
const ANTHROPIC_FIELDS: [&str; 5] =
    ["system", "anthropic_version", "stop_sequences", "context_management", "mcp_servers"];

/// Fields of a body that only Chat Completions has.
const CHAT_FIELDS: [&str; 14] = [
    "max_completion_tokens",
    "n",
    "frequency_penalty",
    "presence_penalty",
    "logprobs",
    "top_logprobs",
    "logit_bias",
    "response_format",
    "stream_options",
    "functions",
    "function_call",
    "parallel_tool_calls",
    "reasoning_effort",
    "seed",
];

/// Block types that only Anthropic has.
const ANTHROPIC_BLOCKS: [&str; 8] = [
    "tool_use",
    "tool_result",
    "thinking",
    "redacted_thinking",
    "image",
    "document",
    "server_tool_use",
    "compaction",
];

impl Dialect {
    /// All of them.
    pub const ALL: [Dialect; 3] = [Dialect::Anthropic, Dialect::Chat, Dialect::Responses];

    /// The dialect of a request body, told by its shape; `None` if it has neither messages nor input.
    ///
    /// Tools and messages tell best, then fields that only one dialect has. Plain text in a body without any
    /// is the same in Anthropic's dialect and Chat Completions; then the model's name decides.
    pub fn detect(body: &str) -> Option<Dialect> {
        let start = crate::json::value(body).ok()?;
        let mut messages = None;
        let mut input = false;
        let mut claude = false;
        let (mut by_tools, mut by_field) = (None, None);
        for member in members(body, start) {
            let (key, span) = member.ok()?;
            match &*key {
                "messages" => messages = Some(span),
                "input" => input = true,
                "model" => claude = string(body, span).is_ok_and(|model| model.contains("claude")),
                "tools" => by_tools = by_tools.or_else(|| of_tools(body, span)),
                key if ANTHROPIC_FIELDS.contains(&key) => by_field = by_field.or(Some(Dialect::Anthropic)),
                key if CHAT_FIELDS.contains(&key) => by_field = by_field.or(Some(Dialect::Chat)),
                _ => {}
            }
        }
        let Some(messages) = messages.filter(|span| Kind::of(span.of(body)) == Some(Kind::Array)) else {
            return input.then_some(Dialect::Responses);
        };
        let by_messages = || {
            elements(body, messages).map_while(Result::ok).find_map(|span| Self::of_message(span.of(body)))
        };
        let by_model = || if claude { Dialect::Anthropic } else { Dialect::Chat };
        Some(by_tools.or_else(by_messages).or(by_field).unwrap_or_else(by_model))
    }

    /// The dialect of one message where it tells; `None` where it could be Anthropic as well as Chat.
    pub fn of_message(message: &str) -> Option<Dialect> {
        let span = crate::json::value(message).ok()?;
        let (mut role, mut kind, mut content, mut calls) = (None, None, None, false);
        for member in members(message, span) {
            let (key, span) = member.ok()?;
            match &*key {
                "role" => role = string(message, span).ok(),
                "type" => kind = string(message, span).ok(),
                "content" => content = Some(span),
                "tool_calls" | "tool_call_id" | "function_call" => calls = true,
                _ => {}
            }
        }
        if calls || matches!(role.as_deref(), Some("tool" | "function" | "developer")) && kind.is_none() {
            return Some(Dialect::Chat);
        }
        if role.is_none() && kind.is_some() {
            return Some(Dialect::Responses);
        }
        let content = content.filter(|span| Kind::of(span.of(message)) == Some(Kind::Array))?;
        elements(message, content).map_while(Result::ok).find_map(|part| {
            let kind = type_of(message, part)?;
            match kind.as_str() {
                kind if ANTHROPIC_BLOCKS.contains(&kind) => Some(Dialect::Anthropic),
                "image_url" | "file" => Some(Dialect::Chat),
                "input_text" | "output_text" | "input_image" | "input_file" => Some(Dialect::Responses),
                _ => None,
            }
        })
    }
}

// A Chat tool wraps its schema in `function`; an Anthropic one has it as `input_schema`.
fn of_tools(body: &str, tools: Span) -> Option<Dialect> {
    elements(body, tools).map_while(Result::ok).find_map(|tool| {
        members(body, tool).map_while(Result::ok).find_map(|(key, _)| match &*key {
            "input_schema" => Some(Dialect::Anthropic),
            "function" => Some(Dialect::Chat),
            _ => None,
        })
    })
}

fn type_of(text: &str, object: Span) -> Option<String> {
    let member = members(text, object).map_while(Result::ok).find(|(key, _)| key == "type");
    member.and_then(|(_, span)| string(text, span).ok()).map(|kind| kind.into_owned())
}

impl fmt::Display for Dialect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Dialect::Anthropic => "anthropic",
            Dialect::Chat => "chat",
            Dialect::Responses => "responses",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_tells_its_dialect() {
        let cases = [
            (r#"{"system":"s","messages":[]}"#, Some(Dialect::Anthropic)),
            (r#"{"system":"s","messages":[{"role":"tool","tool_call_id":"1"}]}"#, Some(Dialect::Chat)),
            (
                r#"{"model":"claude-x","max_tokens":1,"messages":[{"role":"user","content":"a"}]}"#,
                Some(Dialect::Anthropic),
            ),
            (r#"{"model":"gpt-x","messages":[{"role":"user","content":"a"}]}"#, Some(Dialect::Chat)),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}"#,
                Some(Dialect::Anthropic),
            ),
            (
                r#"{"messages":[{"role":"user","content":"a"},{"role":"tool","tool_call_id":"1"}]}"#,
                Some(Dialect::Chat),
            ),
            (
                r#"{"model":"claude-x","tools":[{"type":"function","function":{}}],"messages":[]}"#,
                Some(Dialect::Chat),
            ),
            (r#"{"tools":[{"name":"a","input_schema":{}}],"messages":[]}"#, Some(Dialect::Anthropic)),
            (r#"{"input":"hello"}"#, Some(Dialect::Responses)),
            (r#"{"input":[]}"#, Some(Dialect::Responses)),
            (r#"{"prompt":"x"}"#, None),
            (r#"[1]"#, None),
            (r#"{"messages":"#, None),
        ];
        for (body, dialect) in cases {
            assert_eq!(Dialect::detect(body), dialect, "{body}");
        }
    }
}

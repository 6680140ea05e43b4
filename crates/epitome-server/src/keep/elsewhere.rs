//! Conversations that a provider holds, or makes smaller itself: what is sent is then no whole conversation, or must stay as it is.

use epitome::Dialect;
use epitome::wire::Body;
use serde_json::Value;

/// What a call says of a conversation that its provider holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Elsewhere {
    /// The name of what stands before it; nothing where the call holds all of it.
    pub(super) behind: Option<String>,
    /// The name of the conversation that goes on with whatever comes of it.
    pub(super) conversation: Option<String>,
}

impl Elsewhere {
    /// What a body says of it; nothing where the conversation is its client's own.
    pub(super) fn of(body: &Body<'_>) -> Option<Self> {
        let field = |name: &str| {
            let value = body.field(name).filter(|value| *value != "null")?;
            Some(serde_json::from_str(value).unwrap_or(Value::Null))
        };
        let reply = |id: &Value| id.as_str().map(reply);
        match body.dialect() {
            Dialect::Anthropic => {
                let thread = field("thread");
                let behind = thread.as_ref().and_then(|thread| reply(&thread["previous_message_id"]));
                let is_held = thread.is_some() || field("compaction").is_some() || edits(body);
                is_held.then_some(Self { behind, conversation: None })
            }
            Dialect::Responses => {
                let (before, conversation) = (field("previous_response_id"), field("conversation"));
                let id =
                    conversation.as_ref().and_then(|given| given.as_str().or_else(|| given["id"].as_str()));
                let name = id.map(|id| format!("conversation {id}"));
                let behind = before.as_ref().and_then(reply).or_else(|| name.clone());
                let is_held = before.is_some() || conversation.is_some() || edits(body);
                is_held.then_some(Self { behind, conversation: name })
            }
            _ => None,
        }
    }
}

/// The name of a reply.
pub(super) fn reply(id: &str) -> String {
    format!("reply {id}")
}

/// Whether later calls may name the reply to this one in place of what was said.
pub(super) fn may_be_followed(body: &Body<'_>) -> bool {
    match body.dialect() {
        Dialect::Anthropic => body.field("thread").is_some_and(|thread| thread != "null"),
        Dialect::Responses => body.field("store") != Some("false"),
        _ => false,
    }
}

/// Whether its client has the provider leave out a part of what is sent before the model sees it: then the bill is for less.
pub(super) fn may_be_edited(body: &Body<'_>) -> bool {
    let is_set = |name: &str| body.field(name).is_some_and(|value| value != "null");
    match body.dialect() {
        Dialect::Anthropic => is_set("context_management"),
        Dialect::Responses => is_set("context_management") || body.field("truncation") == Some("\"auto\""),
        // OpenRouter's word for it.
        _ => body.field("transforms").is_some_and(|transforms| transforms.contains("middle-out")),
    }
}

fn edits(body: &Body<'_>) -> bool {
    body.field("context_management").is_some_and(|edits| edits.contains("compact"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_elsewhere_is_told() {
        use Dialect::{Anthropic, Chat, Responses};
        let of = |behind: Option<&str>, conversation: Option<&str>| {
            Some(Elsewhere {
                behind: behind.map(str::to_owned),
                conversation: conversation.map(str::to_owned),
            })
        };
        let conversation = Some("conversation conv_1");
        let cases = [
            (Chat, r#"{"messages":[],"conversation":"x"}"#, None, false),
            (Anthropic, r#"{"messages":[]}"#, None, false),
            (Anthropic, r#"{"messages":[],"thread":null}"#, None, false),
            (Anthropic, r#"{"messages":[],"thread":{"type":"create"}}"#, of(None, None), true),
            (
                Anthropic,
                r#"{"messages":[],"thread":{"type":"continue","previous_message_id":"msg_1"}}"#,
                of(Some("reply msg_1"), None),
                true,
            ),
            (Anthropic, r#"{"messages":[],"compaction":{"type":"summarize"}}"#, of(None, None), false),
            (
                Anthropic,
                r#"{"messages":[],"context_management":{"edits":[{"type":"compact_20260112"}]}}"#,
                of(None, None),
                false,
            ),
            (Responses, r#"{"input":"x"}"#, None, true),
            (Responses, r#"{"input":"x","store":false}"#, None, false),
            (Responses, r#"{"previous_response_id":"resp_1"}"#, of(Some("reply resp_1"), None), true),
            (Responses, r#"{"conversation":"conv_1"}"#, of(conversation, conversation), true),
            (Responses, r#"{"conversation":{"id":"conv_1"}}"#, of(conversation, conversation), true),
        ];
        for (dialect, body, held, followed) in cases {
            let body = Body::scan(dialect, body).unwrap();
            assert_eq!(Elsewhere::of(&body), held, "{}", body.text());
            assert_eq!(may_be_followed(&body), followed, "{}", body.text());
        }
    }

    #[test]
    fn what_a_provider_may_leave_out_is_told() {
        use Dialect::{Anthropic, Chat, Responses};
        let clearing =
            r#"{"messages":[],"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}}"#;
        let cases = [
            (Anthropic, r#"{"messages":[]}"#, false),
            (Anthropic, r#"{"messages":[],"context_management":null}"#, false),
            (Anthropic, clearing, true),
            (Responses, r#"{"input":"x","truncation":"disabled"}"#, false),
            (Responses, r#"{"input":"x","truncation":"auto"}"#, true),
            (Responses, r#"{"input":"x","context_management":[{"type":"compaction"}]}"#, true),
            (Chat, r#"{"messages":[],"transforms":[]}"#, false),
            (Chat, r#"{"messages":[],"transforms":["middle-out"]}"#, true),
        ];
        for (dialect, body, expected) in cases {
            assert_eq!(may_be_edited(&Body::scan(dialect, body).unwrap()), expected, "{body}");
        }
    }
}

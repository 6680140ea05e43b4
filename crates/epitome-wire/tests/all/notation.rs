//! Conversations in one line: `u:ask a:call#1 t:ok#1 u:next`.
//!
//! Words are messages: a role (`s`ystem, `d`eveloper, `u`ser, `a`ssistant, `t`ool), a colon, and blocks joined
//! by `+`. A block is
//!
//! | written | means |
//! |---|---|
//! | `word` | a text; `_` is the empty one |
//! | `word@` | a text with a cache breakpoint |
//! | `word#1` | from the assistant a call of tool `word` with id 1, from others the result of call 1 |
//! | `!word#1` | the same the wrong way round |
//! | `word$1` / `word=1` | call and result of a tool that the provider runs |
//! | `~word` / `~~word` | thinking / redacted thinking |
//! | `^word` | a provider's compaction item |

use epitome_core::{Block, Message, Opaque, RawJson, Role, Text, Thinking, ToolResult, ToolUse};

/// The messages that `line` writes down.
pub(crate) fn conversation(line: &str) -> Vec<Message> {
    line.split_whitespace().map(message).collect()
}

fn message(word: &str) -> Message {
    let (role, blocks) = word.split_once(':').unwrap_or_else(|| panic!("no role in {word:?}"));
    let role = match role {
        "s" => Role::System,
        "d" => Role::Developer,
        "u" => Role::User,
        "a" => Role::Assistant,
        "t" => Role::Tool,
        other => panic!("no such role: {other:?}"),
    };
    let blocks =
        blocks.split('+').filter(|block| !block.is_empty()).map(|written| block(role, written)).collect();
    Message::new(role, blocks)
}

fn block(role: Role, written: &str) -> Block {
    let opaque =
        |kind: &str, word: &str| Opaque { kind: kind.into(), raw: RawJson::new(format!("\"{word}\"")) };
    if let Some(word) = written.strip_prefix("~~") {
        return Block::RedactedThinking(opaque("redacted_thinking", word));
    }
    if let Some(word) = written.strip_prefix('~') {
        return Block::Thinking(Thinking {
            text: word.into(),
            signature: Some(format!("signed-{word}")),
            extra: vec![],
        });
    }
    if let Some(word) = written.strip_prefix('^') {
        return Block::Compaction(opaque("compaction", word));
    }
    if let Some((name, id)) = written.split_once('$') {
        return Block::ServerToolUse(call(name, id));
    }
    if let Some((word, id)) = written.split_once('=') {
        return Block::ServerToolResult(result(word, id));
    }
    if let Some((word, id)) = written.split_once('#') {
        let swapped = word.strip_prefix('!');
        return match (role == Role::Assistant) != swapped.is_some() {
            true => Block::ToolUse(call(swapped.unwrap_or(word), id)),
            false => Block::ToolResult(result(swapped.unwrap_or(word), id)),
        };
    }
    if let Some(word) = written.strip_suffix('@') {
        let extra = vec![("cache_control".into(), RawJson::new(r#"{"type":"ephemeral"}"#))];
        return Block::Text(Text { text: word.into(), extra });
    }
    Block::text(if written == "_" { "" } else { written })
}

fn call(name: &str, id: &str) -> ToolUse {
    ToolUse { id: id.into(), name: name.into(), input: "{}".into(), extra: vec![] }
}

fn result(word: &str, id: &str) -> ToolResult {
    let content = if word.is_empty() { vec![] } else { vec![Block::text(word)] };
    ToolResult { call_id: id.into(), name: None, content, is_error: false, extra: vec![] }
}

//! Small parts of spec 008.1 v4 around a conversation that has been compacted.

use crate::message::{Block, Message, Role};

/// How many messages are shown to those who reflect on a conversation.
pub const HISTORY_MESSAGES: usize = 20;

/// A conversation as readable text for reflection: the summary of what came before, then the last messages.
///
/// Messages without text, and those of the operator, are not told.
pub fn history_text(summary: Option<&str>, messages: &[Message]) -> String {
    let told: Vec<String> = messages.iter().rev().filter_map(told).take(HISTORY_MESSAGES).collect();
    let before = summary.filter(|summary| !summary.is_empty());
    let before = before.map(|summary| format!("[Previous context summary]\n{summary}\n"));
    let lines: Vec<String> = before.into_iter().chain(told.into_iter().rev()).collect();
    lines.join("\n\n")
}

fn told(message: &Message) -> Option<String> {
    let speaker = match message.role {
        Role::User => "User",
        Role::Assistant => "Assistant",
        Role::System | Role::Developer | Role::Tool => return None,
    };
    let texts: Vec<&str> = message.blocks.iter().filter_map(text).collect();
    (!texts.is_empty()).then(|| format!("{speaker}: {}", texts.join("\n")))
}

fn text(block: &Block) -> Option<&str> {
    match block {
        Block::Text(text) => Some(text.text.as_str()).filter(|text| !text.is_empty()),
        _ => None,
    }
}

/// Lets go of what was noted for turns that are no longer shown: two messages make a turn, and one note stays.
pub fn keep_turn_contexts<T>(recent_messages: usize, contexts: &mut Vec<T>) {
    let keep = (recent_messages / 2).max(1);
    contexts.drain(..contexts.len().saturating_sub(keep));
}

//! Ids of tool calls and results, which every dialect wants unique.

use std::collections::HashSet;

use epitome_core::{Block, Message, Role, ToolResult, ToolUse};

use super::rule::{Rule, Violation};

/// The tool calls of a message, provider-run ones left out.
pub(super) fn calls(message: &Message) -> impl Iterator<Item = &ToolUse> {
    message.blocks.iter().filter_map(|block| match block {
        Block::ToolUse(call) => Some(call),
        _ => None,
    })
}

/// The tool results of a message, provider-run ones left out.
pub(super) fn results(message: &Message) -> impl Iterator<Item = &ToolResult> {
    message.blocks.iter().filter_map(|block| match block {
        Block::ToolResult(result) => Some(result),
        _ => None,
    })
}

/// Reports ids that are used twice in `messages`, the first of which is message number `first`.
pub(super) fn check_unique(first: usize, messages: &[Message], found: &mut Vec<Violation>) {
    let (mut called, mut answered) = (HashSet::new(), HashSet::new());
    for (at, message) in (first..).zip(messages) {
        for call in calls(message) {
            if !called.insert(call.id.as_str()) {
                found.push(Violation::new(
                    Rule::DuplicateToolUse,
                    at,
                    format!("id {} was used before", call.id),
                ));
            }
        }
        for result in results(message) {
            if !answered.insert(result.call_id.as_str()) {
                let detail = format!("call {} was answered before", result.call_id);
                found.push(Violation::new(Rule::DuplicateToolResult, at, detail));
            }
        }
    }
}

/// Reports calls outside assistant messages and results outside messages of `result_role`.
pub(super) fn check_roles(messages: &[Message], result_role: Role, found: &mut Vec<Violation>) {
    for (at, message) in messages.iter().enumerate() {
        if message.role != Role::Assistant && calls(message).next().is_some() {
            let detail = format!("a tool call in a message of role {}", message.role);
            found.push(Violation::new(Rule::BlockInWrongRole, at, detail));
        }
        if message.role != result_role && results(message).next().is_some() {
            let detail = format!("a tool result in a message of role {}", message.role);
            found.push(Violation::new(Rule::BlockInWrongRole, at, detail));
        }
    }
}

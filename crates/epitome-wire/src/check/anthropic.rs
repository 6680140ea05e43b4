//! Rules of Anthropic Messages.

use epitome_core::{Block, Fields, Message, Role};

use super::pairing::{calls, check_roles, check_unique, results};
use super::rule::{Rule, Violation};

const MAX_MESSAGES: usize = 100_000;
const MAX_BREAKPOINTS: usize = 4;

pub(super) fn check(system: Option<&Message>, messages: &[Message], found: &mut Vec<Violation>) {
    if messages.len() > MAX_MESSAGES {
        let detail = format!("{} messages, at most {MAX_MESSAGES} are taken", messages.len());
        found.push(Violation::new(Rule::TooManyMessages, MAX_MESSAGES, detail));
    }
    check_order(messages, found);
    check_unique(0, messages, found);
    check_roles(messages, Role::User, found);
    for at in 0..messages.len() {
        check_pairs(messages, at, found);
    }
    for (at, message) in messages.iter().enumerate() {
        check_server_tools(message, at, at + 1 == messages.len(), found);
        check_content(message, at, at + 1 == messages.len(), found);
    }
    check_breakpoints(system, messages, found);
}

fn check_order(messages: &[Message], found: &mut Vec<Violation>) {
    // A system message inside the conversation takes no turn of its own: alternation is looked at around it.
    let mut last_turn: Option<Role> = None;
    for (at, message) in messages.iter().enumerate() {
        match message.role {
            Role::System if last_turn == Some(Role::User) => continue,
            Role::System => {
                let detail = "a system message may only stand after a user turn";
                found.push(Violation::new(Rule::SystemNotAfterUser, at, detail));
                continue;
            }
            Role::User | Role::Assistant => {}
            other => {
                let detail = format!("role {other} does not exist in this dialect");
                found.push(Violation::new(Rule::RoleNotInDialect, at, detail));
                continue;
            }
        }
        match last_turn {
            None if message.role != Role::User => {
                let detail = format!("the conversation starts with role {}", message.role);
                found.push(Violation::new(Rule::FirstMessageNotUser, at, detail));
            }
            Some(last) if last == message.role => {
                let detail = format!("two messages of role {last} in a row");
                found.push(Violation::new(Rule::RolesDoNotAlternate, at, detail));
            }
            _ => {}
        }
        last_turn = Some(message.role);
    }
    if last_turn == Some(Role::Assistant) {
        let detail = "the conversation ends with an assistant message, which Claude 4.6 and later refuse";
        found.push(Violation::new(Rule::TrailingAssistant, messages.len() - 1, detail));
    }
}

fn check_pairs(messages: &[Message], at: usize, found: &mut Vec<Violation>) {
    let Some(message) = messages.get(at) else { return };
    let turns = |message: &&Message| message.role != Role::System;
    let next = messages.iter().skip(at + 1).find(turns);
    for call in calls(message) {
        let Some(next) = next else {
            found.push(Violation::new(
                Rule::ToolUsePending,
                at,
                format!("call {} has no result yet", call.id),
            ));
            continue;
        };
        if !results(next).any(|result| result.call_id == call.id) {
            let detail = format!("call {} ({}) has no result in the next message", call.id, call.name);
            found.push(Violation::new(Rule::ToolUseUnanswered, at, detail));
        }
    }
    let previous = messages.iter().take(at).rev().find(turns);
    for result in results(message) {
        if !previous.is_some_and(|previous| calls(previous).any(|call| call.id == result.call_id)) {
            let detail = format!("call {} is not in the previous message", result.call_id);
            found.push(Violation::new(Rule::ToolResultOrphan, at, detail));
        }
    }
    let first_other = message.blocks.iter().position(|block| !matches!(block, Block::ToolResult(_)));
    let last_result = message.blocks.iter().rposition(|block| matches!(block, Block::ToolResult(_)));
    if let (Some(other), Some(result)) = (first_other, last_result)
        && other < result
    {
        let detail = format!("block {other} stands before the tool result in block {result}");
        found.push(Violation::new(Rule::ToolResultsNotFirst, at, detail));
    }
}

// A provider-run call may stay open only where the provider paused the turn, which is at the very end.
fn check_server_tools(message: &Message, at: usize, last: bool, found: &mut Vec<Violation>) {
    for (place, block) in message.blocks.iter().enumerate() {
        match block {
            Block::ServerToolUse(call) if !last => {
                let answered = message.blocks.iter().skip(place + 1).any(
                    |block| matches!(block, Block::ServerToolResult(result) if result.call_id == call.id),
                );
                if !answered {
                    let detail = format!("call {} ({}) has no result after it", call.id, call.name);
                    found.push(Violation::new(Rule::ServerToolUnanswered, at, detail));
                }
            }
            Block::ServerToolResult(result) => {
                let called =
                    message.blocks.iter().take(place).any(
                        |block| matches!(block, Block::ServerToolUse(call) if call.id == result.call_id),
                    );
                if !called {
                    let detail = format!("call {} does not stand before it", result.call_id);
                    found.push(Violation::new(Rule::ServerToolResultOrphan, at, detail));
                }
            }
            _ => {}
        }
    }
}

fn check_content(message: &Message, at: usize, last: bool, found: &mut Vec<Violation>) {
    // The one message that may be empty is a final assistant message.
    if message.blocks.is_empty() && !(last && message.role == Role::Assistant) {
        found.push(Violation::new(Rule::EmptyContent, at, "the message has no content"));
    }
    for (place, block) in message.blocks.iter().enumerate() {
        if has_empty_text(block) {
            found.push(Violation::new(
                Rule::EmptyText,
                at,
                format!("block {place} holds text without a word"),
            ));
        }
    }
}

fn has_empty_text(block: &Block) -> bool {
    match block {
        Block::Text(text) => text.text.trim().is_empty(),
        // An empty result is fine, an empty text block inside one is not, unless it is all there is: then
        // it may have been a bare string, which is.
        Block::ToolResult(result) => result.content.len() > 1 && result.content.iter().any(has_empty_text),
        _ => false,
    }
}

fn check_breakpoints(system: Option<&Message>, messages: &[Message], found: &mut Vec<Violation>) {
    let mut set: usize = system.map_or(0, |system| system.blocks.iter().map(breakpoints).sum());
    for (at, message) in messages.iter().enumerate() {
        let before = set;
        set += message.blocks.iter().map(breakpoints).sum::<usize>();
        if before <= MAX_BREAKPOINTS && set > MAX_BREAKPOINTS {
            let detail = format!(
                "the {}th cache breakpoint, at most {MAX_BREAKPOINTS} are taken",
                MAX_BREAKPOINTS + 1
            );
            found.push(Violation::new(Rule::TooManyCacheBreakpoints, at, detail));
        }
    }
}

fn breakpoints(block: &Block) -> usize {
    let set = |extra: &Fields| {
        extra.iter().filter(|(key, value)| key == "cache_control" && value.as_str() != "null").count()
    };
    match block {
        Block::Text(text) => set(&text.extra),
        Block::ToolUse(call) | Block::ServerToolUse(call) => set(&call.extra),
        Block::ToolResult(result) | Block::ServerToolResult(result) => {
            set(&result.extra) + result.content.iter().map(breakpoints).sum::<usize>()
        }
        Block::Image(media) | Block::Document(media) => set(&media.extra),
        _ => 0,
    }
}

//! Rules of OpenAI Responses, where calls and results pair by id over any distance.

use std::collections::HashMap;

use epitome_core::{Block, Message, Role};

use super::pairing::{calls, check_roles, check_unique, results};
use super::rule::{Rule, Violation};

pub(super) fn check(messages: &[Message], found: &mut Vec<Violation>) {
    check_unique(0, messages, found);
    check_roles(messages, Role::Tool, found);
    check_pairs(messages, found);
    check_reasoning(messages, found);
    for (at, message) in messages.iter().enumerate() {
        if message.blocks.is_empty() {
            found.push(Violation::new(Rule::EmptyContent, at, "the item has no content"));
        }
    }
}

fn check_pairs(messages: &[Message], found: &mut Vec<Violation>) {
    let mut open: HashMap<&str, usize> = HashMap::new();
    let mut called: HashMap<&str, usize> = HashMap::new();
    for (at, message) in messages.iter().enumerate() {
        for call in calls(message) {
            open.insert(&call.id, at);
            called.insert(&call.id, at);
        }
        for result in results(message) {
            open.remove(result.call_id.as_str());
            if !called.contains_key(result.call_id.as_str()) {
                let detail = format!("call {} does not stand before it", result.call_id);
                found.push(Violation::new(Rule::ToolResultOrphan, at, detail));
            }
        }
    }
    // Calls of the last turn may still run; once the user speaks again, they never will be answered.
    let last_input = messages.iter().rposition(|message| message.role != Role::Assistant);
    for (id, at) in open {
        let over = last_input.is_some_and(|last| last > at);
        let rule = if over { Rule::ToolUseUnanswered } else { Rule::ToolUsePending };
        found.push(Violation::new(rule, at, format!("call {id} has no output item")));
    }
    found.sort_by(|left, right| (left.message, &left.detail).cmp(&(right.message, &right.detail)));
}

fn check_reasoning(messages: &[Message], found: &mut Vec<Violation>) {
    let blocks: Vec<(usize, Role, &Block)> = messages
        .iter()
        .enumerate()
        .flat_map(|(at, message)| message.blocks.iter().map(move |block| (at, message.role, block)))
        .collect();
    for (place, (at, _, block)) in blocks.iter().enumerate() {
        if !matches!(block, Block::Thinking(_) | Block::RedactedThinking(_)) {
            continue;
        }
        let led_to = blocks.get(place + 1).filter(|(_, role, _)| *role == Role::Assistant);
        if led_to.is_none() {
            let detail = "a reasoning item without the call or message it led to";
            found.push(Violation::new(Rule::ReasoningWithoutItem, *at, detail));
        }
    }
}

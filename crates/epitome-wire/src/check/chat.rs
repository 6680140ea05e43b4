//! Rules of OpenAI Chat Completions.

use std::collections::HashSet;

use epitome_core::{Message, Role};

use super::pairing::{calls, check_roles, check_unique, results};
use super::rule::{Rule, Violation};

pub(super) fn check(messages: &[Message], found: &mut Vec<Violation>) {
    check_unique_per_turn(messages, found);
    check_roles(messages, Role::Tool, found);
    check_pairs(messages, found);
    for (at, message) in messages.iter().enumerate() {
        if message.blocks.is_empty() {
            found.push(Violation::new(
                Rule::EmptyContent,
                at,
                "the message has neither content nor tool calls",
            ));
        }
    }
}

// Some models number their calls anew in every reply, so ids need to differ only within one reply.
fn check_unique_per_turn(messages: &[Message], found: &mut Vec<Violation>) {
    let mut start = 0;
    for end in 1..=messages.len() {
        if messages.get(end).is_some_and(|message| message.role == Role::Tool) {
            continue;
        }
        check_unique(start, messages.get(start..end).unwrap_or_default(), found);
        start = end;
    }
}

// Calls are answered by the run of tool messages that follows directly; a tool message answers the
// assistant message that opened its run.
fn check_pairs(messages: &[Message], found: &mut Vec<Violation>) {
    let mut open: Option<(usize, HashSet<&str>)> = None;
    for (at, message) in messages.iter().enumerate() {
        if message.role == Role::Tool {
            for result in results(message) {
                if !open.as_ref().is_some_and(|(_, ids)| ids.contains(result.call_id.as_str())) {
                    let detail = format!("call {} is not in the assistant message before it", result.call_id);
                    found.push(Violation::new(Rule::ToolResultOrphan, at, detail));
                }
            }
            continue;
        }
        if let Some((caller, ids)) = open.take() {
            report_open(messages, (caller, at), &ids, Rule::ToolUseUnanswered, found);
        }
        if message.role == Role::Assistant {
            open = Some((at, calls(message).map(|call| call.id.as_str()).collect()));
        }
    }
    if let Some((caller, ids)) = open {
        report_open(messages, (caller, messages.len()), &ids, Rule::ToolUsePending, found);
    }
}

fn report_open(
    messages: &[Message],
    (caller, end): (usize, usize),
    ids: &HashSet<&str>,
    rule: Rule,
    found: &mut Vec<Violation>,
) {
    let run = messages.get(caller + 1..end).unwrap_or_default();
    let answered: HashSet<&str> =
        run.iter().flat_map(results).map(|result| result.call_id.as_str()).collect();
    let mut open: Vec<&&str> = ids.difference(&answered).collect();
    open.sort_unstable();
    for id in open {
        found.push(Violation::new(rule, caller, format!("call {id} has no tool message after it")));
    }
}

//! Translated blocks into the messages that the target dialect wants.

use epitome_core::{Block, Message, Role};

use super::loss::{Loss, Lost};
use super::{Conversation, Converted, Step};
use crate::dialect::Dialect;

/// Groups steps into messages of the dialect `to`.
pub(super) fn group(
    system: Vec<Block>,
    mut steps: Vec<Step>,
    from: Dialect,
    to: Dialect,
    losses: Vec<Loss>,
) -> Converted {
    if from == Dialect::Responses {
        steps = merge(steps, |before, next| before == Role::Assistant && next == Role::Assistant);
    }
    let mut out = Converted { conversation: Conversation::default(), losses };
    match to {
        Dialect::Anthropic => anthropic(system, steps, &mut out),
        Dialect::Chat => chat(system, steps, &mut out),
        Dialect::Responses => responses(system, steps, &mut out),
    }
    out
}

// Joins neighbours whose roles belong together.
fn merge(steps: Vec<Step>, together: impl Fn(Role, Role) -> bool) -> Vec<Step> {
    let mut merged: Vec<Step> = Vec::with_capacity(steps.len());
    for step in steps {
        match merged.last_mut() {
            Some(last) if together(last.role, step.role) => last.blocks.extend(step.blocks),
            _ => merged.push(step),
        }
    }
    merged
}

fn some_system(blocks: Vec<Block>) -> Option<Message> {
    (!blocks.is_empty()).then(|| Message::new(Role::System, blocks))
}

fn text_of(block: &Block) -> Option<&str> {
    match block {
        Block::Text(text) => Some(&text.text),
        _ => None,
    }
}

fn is_result(block: &Block) -> bool {
    matches!(block, Block::ToolResult(_))
}

fn anthropic(system: Vec<Block>, mut steps: Vec<Step>, out: &mut Converted) {
    // Tool results are the user's, and instructions may only follow a user message.
    let mut previous = None;
    for step in &mut steps {
        step.role = match step.role {
            Role::Assistant => Role::Assistant,
            Role::System | Role::Developer if previous == Some(Role::User) => Role::System,
            Role::System | Role::Developer => {
                out.losses.push(Loss { message: step.index, what: Lost::Role });
                Role::User
            }
            _ => Role::User,
        };
        previous = Some(step.role);
    }
    let steps = merge(steps, |before, next| before == next);
    out.conversation.system = some_system(system);
    out.conversation.messages = steps
        .into_iter()
        .map(|step| {
            let (results, others): (Vec<_>, Vec<_>) = step.blocks.into_iter().partition(is_result);
            Message::new(step.role, results.into_iter().chain(others).collect())
        })
        .collect();
}

fn chat(system: Vec<Block>, steps: Vec<Step>, out: &mut Converted) {
    out.conversation.messages.extend(some_system(system));
    let mut moved: Vec<Block> = Vec::new();
    for step in steps {
        let (results, mut others): (Vec<_>, Vec<_>) = step.blocks.into_iter().partition(is_result);
        for mut block in results {
            if let Block::ToolResult(result) = &mut block {
                let content = std::mem::take(&mut result.content);
                let (texts, media): (Vec<_>, Vec<_>) =
                    content.into_iter().partition(|part| matches!(part, Block::Text(_)));
                result.content = texts;
                if !media.is_empty() {
                    out.losses.push(Loss { message: step.index, what: Lost::Place });
                }
                moved.extend(media);
            }
            out.conversation.messages.push(Message::new(Role::Tool, vec![block]));
        }
        if others.is_empty() {
            continue;
        }
        if !moved.is_empty() {
            let media = std::mem::take(&mut moved);
            match step.role {
                Role::User | Role::Tool => drop(others.splice(0..0, media)),
                _ => out.conversation.messages.push(Message::new(Role::User, media)),
            }
        }
        if step.role == Role::Assistant {
            let (texts, calls): (Vec<_>, Vec<_>) =
                others.iter().cloned().partition(|block| !matches!(block, Block::ToolUse(_)));
            let ordered: Vec<_> = texts.into_iter().chain(calls).collect();
            if ordered != others {
                out.losses.push(Loss { message: step.index, what: Lost::Order });
            }
            others = ordered;
        }
        let role = if step.role == Role::Tool { Role::User } else { step.role };
        out.conversation.messages.push(Message::new(role, others));
    }
    if !moved.is_empty() {
        out.conversation.messages.push(Message::new(Role::User, moved));
    }
}

fn responses(system: Vec<Block>, steps: Vec<Step>, out: &mut Converted) {
    // `instructions` is one string.
    let texts: Vec<_> = system.iter().filter_map(text_of).collect();
    if !texts.is_empty() {
        out.conversation.system = Some(Message::text(Role::System, texts.join("\n\n")));
    }
    let items = &mut out.conversation.messages;
    for step in steps {
        let mut run = Vec::new();
        for block in step.blocks {
            let role = match &block {
                Block::ToolUse(_) => Role::Assistant,
                Block::ToolResult(_) => Role::Tool,
                _ => {
                    run.push(block);
                    continue;
                }
            };
            flush(&mut run, step.role, items);
            items.push(Message::new(role, vec![block]));
        }
        flush(&mut run, step.role, items);
    }
}

fn flush(run: &mut Vec<Block>, role: Role, items: &mut Vec<Message>) {
    if !run.is_empty() {
        let role = if role == Role::Tool { Role::User } else { role };
        items.push(Message::new(role, std::mem::take(run)));
    }
}

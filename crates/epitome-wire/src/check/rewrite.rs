//! Rules about editing history that was sent before: what must come back as it was.

use std::collections::{HashMap, HashSet};

use epitome_core::{Block, ContentHash, Message};

use super::rule::{Rule, Violation};
use crate::dialect::Dialect;

/// The rules that turning `before` into `after` breaks; `message` in them counts in `after`.
///
/// Messages may have been dropped, replaced and edited. Thinking blocks are followed by their content: they
/// may all be gone, or gone together with the oldest messages, but never altered and never thinned out.
/// Chat Completions has no thinking of its own; sessions in its shape that carry signed thinking are held
/// to the same rules. Responses binds reasoning to the item after it, which [`check`](super::check) sees to.
pub fn check_rewrite(dialect: Dialect, before: &[Message], after: &[Message]) -> Vec<Violation> {
    let mut found = Vec::new();
    check_compactions(before, after, &mut found);
    check_thinking(dialect, before, after, &mut found);
    found.sort_by_key(|violation| violation.message);
    found
}

fn check_compactions(before: &[Message], after: &[Message], found: &mut Vec<Violation>) {
    let kept: HashSet<&str> = opaque(after).collect();
    for lost in opaque(before).filter(|raw| !kept.contains(raw)) {
        let detail = format!("a compaction item of {} bytes is gone", lost.len());
        found.push(Violation::new(Rule::CompactionLost, 0, detail));
    }
}

fn opaque(messages: &[Message]) -> impl Iterator<Item = &str> {
    messages.iter().flat_map(|message| &message.blocks).filter_map(|block| match block {
        Block::Compaction(item) => Some(item.raw.as_str()),
        _ => None,
    })
}

fn check_thinking(dialect: Dialect, before: &[Message], after: &[Message], found: &mut Vec<Violation>) {
    let (old, new) = (thinking(before), thinking(after));
    let Some((last_at, last)) = new.last() else { return };

    let mut rest = old.iter();
    for (at, block) in &new {
        if !rest.any(|(_, original)| original == block) {
            let detail = "a thinking block that was not there before, or not in this order";
            found.push(Violation::new(Rule::ThinkingModified, *at, detail));
            return;
        }
    }
    if dialect == Dialect::Responses {
        return;
    }
    if old.last().is_some_and(|(_, latest)| latest != last) {
        let detail = "the latest thinking block is gone while earlier ones are kept";
        found.push(Violation::new(Rule::LatestThinkingChanged, *last_at, detail));
    }
    let is_suffix = old.iter().rev().zip(new.iter().rev()).all(|((_, old), (_, new))| old == new);
    if !is_suffix || stripped_some(before, after) {
        let detail = format!("{} of {} thinking blocks are left", new.len(), old.len());
        found.push(Violation::new(Rule::ThinkingRemovedFromMiddle, *last_at, detail));
    }
    if dialect == Dialect::Anthropic {
        check_prefix(before, after, found);
    }
}

// The first edited place must have no thinking behind it, or models that bind thinking refuse it.
fn check_prefix(before: &[Message], after: &[Message], found: &mut Vec<Violation>) {
    let same =
        before.iter().zip(after).take_while(|(old, new)| old.blocks == new.blocks && old.role == new.role);
    let edited = same.count();
    if edited == before.len() {
        return;
    }
    let bound =
        after.iter().enumerate().skip(edited).find(|(_, message)| message.blocks.iter().any(is_thinking));
    if let Some((at, _)) = bound {
        let detail = format!("history was edited from message {edited} on, before this thinking block");
        found.push(Violation::new(Rule::ThinkingBehindEditedPrefix, at, detail));
    }
}

// Whether some message is still there but without the thinking that it had: there are fewer that say the
// same after thinking, and more that say it without.
fn stripped_some(before: &[Message], after: &[Message]) -> bool {
    let (old, new) = (sayings(before), sayings(after));
    old.iter()
        .any(|(rest, old)| new.get(rest).is_some_and(|new| new.thought < old.thought && new.bare > old.bare))
}

// How often the same is said, after thinking and without.
#[derive(Default)]
struct Saying {
    thought: usize,
    bare: usize,
}

fn sayings(messages: &[Message]) -> HashMap<ContentHash, Saying> {
    let mut sayings: HashMap<ContentHash, Saying> = HashMap::new();
    for message in messages {
        let Some(rest) = rest_of(message) else { continue };
        let saying = sayings.entry(rest).or_default();
        match message.blocks.iter().any(is_thinking) {
            true => saying.thought += 1,
            false => saying.bare += 1,
        }
    }
    sayings
}

fn rest_of(message: &Message) -> Option<ContentHash> {
    let rest: Vec<&Block> = message.blocks.iter().filter(|block| !is_thinking(block)).collect();
    (!rest.is_empty()).then(|| ContentHash::of(format!("{:?} {rest:?}", message.role).as_bytes()))
}

fn thinking(messages: &[Message]) -> Vec<(usize, &Block)> {
    let blocks = messages
        .iter()
        .enumerate()
        .flat_map(|(at, message)| message.blocks.iter().map(move |block| (at, block)));
    blocks.filter(|(_, block)| is_thinking(block)).collect()
}

fn is_thinking(block: &Block) -> bool {
    matches!(block, Block::Thinking(_) | Block::RedactedThinking(_))
}

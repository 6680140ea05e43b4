//! Where the tokens of a conversation go: by role, kind of block and tool, the largest results, the growth per turn.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::message::{BlockKind, Role};
use crate::outline::{BlockOutline, Entry};
use crate::turn::{ToolNames, exchanges, turns};
use crate::units::{Chars, Tokens};

/// How many of the largest tool results a profile names.
const LARGEST: usize = 10;

/// The tokens of a conversation, broken down.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Profile {
    /// Messages.
    pub messages: usize,
    /// Model calls.
    pub turns: usize,
    /// Plain user messages and what they set off.
    pub exchanges: usize,
    /// All tokens, structural overhead included.
    pub tokens: Tokens,
    /// Bytes on the wire.
    pub bytes: usize,
    /// By who speaks, largest first; results of tools count as `tool` in every dialect.
    pub by_role: Vec<Share<Role>>,
    /// By kind of block, largest first.
    pub by_kind: Vec<Share<BlockKind>>,
    /// By tool, largest first.
    pub by_tool: Vec<ToolShare>,
    /// The largest tool results, largest first.
    pub largest: Vec<LargeResult>,
    /// Tokens that frame messages and belong to no block.
    pub framing: Tokens,
    /// The size of the context at each model call.
    pub growth: Vec<Tokens>,
}

/// A compaction that the path already went through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The message that carries the summary.
    pub at: usize,
    /// The oldest message that stayed in the context beside it; the summary itself where none did.
    pub from: usize,
}

/// One part of the whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share<Of> {
    /// Of what.
    pub of: Of,
    /// How many blocks.
    pub blocks: usize,
    /// Their tokens.
    pub tokens: Tokens,
}

/// What one tool takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ToolShare {
    /// The tool.
    pub name: String,
    /// How often it was called.
    pub calls: usize,
    /// Tokens of its calls.
    pub call_tokens: Tokens,
    /// Tokens of its results.
    pub result_tokens: Tokens,
    /// How many results reported failure.
    pub errors: usize,
}

/// A large tool result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LargeResult {
    /// Its message's number, from 0.
    pub message: usize,
    /// The tool.
    pub tool: String,
    /// Its tokens.
    pub tokens: Tokens,
    /// Its length.
    pub chars: Chars,
}

impl Profile {
    /// The profile of a conversation; `rewritten` are the compactions it went through, in order.
    pub fn of(path: &[Entry], rewritten: &[Rewritten]) -> Self {
        let mut names = ToolNames::default();
        let mut profile = Profile { messages: path.len(), ..Profile::default() };
        let mut roles: BTreeMap<Role, Share<Role>> = BTreeMap::new();
        let mut kinds: BTreeMap<BlockKind, Share<BlockKind>> = BTreeMap::new();
        let mut tools: BTreeMap<&str, ToolShare> = BTreeMap::new();
        for (at, entry) in path.iter().enumerate() {
            profile.tokens += entry.outline.tokens;
            profile.bytes += entry.outline.bytes;
            names.learn(&entry.outline);
            for block in &entry.outline.blocks {
                add(&mut roles, speaker(entry.outline.role, block), block);
                add(&mut kinds, block.kind, block);
                if block.tool.is_none() {
                    continue;
                }
                let name = names.of(block).unwrap_or("unknown");
                let share = tools.entry(name).or_default();
                match block.kind {
                    BlockKind::ToolUse | BlockKind::ServerToolUse => {
                        share.calls += 1;
                        share.call_tokens += block.tokens;
                    }
                    _ => {
                        share.result_tokens += block.tokens;
                        share.errors += usize::from(block.is_error);
                        profile.largest.push(LargeResult {
                            message: at,
                            tool: name.to_owned(),
                            tokens: block.tokens,
                            chars: block.chars,
                        });
                    }
                }
            }
        }
        profile.largest.sort_by_key(|result| (std::cmp::Reverse(result.tokens), result.message));
        profile.largest.truncate(LARGEST);
        profile.by_role = largest_first(roles.into_values());
        profile.by_kind = largest_first(kinds.into_values());
        profile.by_tool =
            tools.into_iter().map(|(name, share)| ToolShare { name: name.to_owned(), ..share }).collect();
        profile.by_tool.sort_by_key(|share| std::cmp::Reverse(share.call_tokens + share.result_tokens));
        let blocks: Tokens = profile.by_kind.iter().map(|share| share.tokens).sum();
        profile.framing = profile.tokens - blocks;
        profile.growth = growth(path, rewritten);
        profile.turns = profile.growth.len();
        profile.exchanges = exchanges(path.iter().map(|entry| &*entry.outline)).len();
        profile
    }
}

// What each call was sent: everything up to its input, after a compaction only from what that kept. A last input without
// reply is a call about to be made.
fn growth(path: &[Entry], rewritten: &[Rewritten]) -> Vec<Tokens> {
    let sums = path.iter().scan(Tokens::ZERO, |sum, entry| {
        *sum += entry.outline.tokens;
        Some(*sum)
    });
    let sums: Vec<Tokens> = std::iter::once(Tokens::ZERO).chain(sums).collect();
    let up_to = |message: usize| sums.get(message).copied().unwrap_or_default();
    let mut rewritten = rewritten.iter().peekable();
    let mut start = 0;
    let mut sizes = Vec::new();
    for turn in turns(path.iter().map(|entry| &*entry.outline)) {
        while let Some(passed) = rewritten.next_if(|next| next.at < turn.input.end) {
            start = passed.from;
        }
        sizes.push(up_to(turn.input.end) - up_to(start));
    }
    sizes
}

fn speaker(role: Role, block: &BlockOutline) -> Role {
    match block.kind {
        BlockKind::ToolResult => Role::Tool,
        _ => role,
    }
}

fn add<Of: Ord + Copy>(shares: &mut BTreeMap<Of, Share<Of>>, of: Of, block: &BlockOutline) {
    let share = shares.entry(of).or_insert(Share { of, blocks: 0, tokens: Tokens::ZERO });
    share.blocks += 1;
    share.tokens += block.tokens;
}

fn largest_first<Of>(shares: impl Iterator<Item = Share<Of>>) -> Vec<Share<Of>> {
    let mut shares: Vec<_> = shares.collect();
    shares.sort_by_key(|share| std::cmp::Reverse(share.tokens));
    shares
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::message::Message;
    use crate::outline::Outline;
    use crate::tokens::{CharsPerFour, Counter, ImagePricing};

    #[test]
    fn the_context_grows_until_it_is_compacted() {
        let counter = Counter::new(&CharsPerFour, ImagePricing::Anthropic);
        let roles = [Role::User, Role::Assistant].into_iter().cycle();
        let entry = |role| Message::text(role, "x".repeat(24));
        let entry = |role| Entry { outline: Arc::new(Outline::of(&entry(role), &counter, 1)), time: None };
        let path: Vec<Entry> = roles.take(8).map(entry).collect();
        let growth = |rewritten: &[Rewritten]| {
            let profile = Profile::of(&path, rewritten);
            assert_eq!((profile.turns, profile.tokens, profile.framing), (4, Tokens(80), Tokens(32)));
            profile.growth.iter().map(|size| size.0).collect::<Vec<_>>()
        };
        assert_eq!(growth(&[]), [10, 30, 50, 70]);
        assert_eq!(growth(&[Rewritten { at: 4, from: 4 }]), [10, 30, 10, 30]);
        assert_eq!(growth(&[Rewritten { at: 4, from: 3 }]), [10, 30, 20, 40]);
    }
}

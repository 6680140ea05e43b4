//! Turns, exchanges and tool pairs: how a flat list of messages hangs together.
//!
//! It only reads the structure. Whether the structure is legal on some wire is not decided here: calls
//! without result and results without call are reported, not repaired.

mod waiting;

use std::collections::HashMap;
use std::ops::Range;

use self::waiting::Waiting;
use crate::message::{BlockKind, Role};
use crate::outline::{BlockOutline, Outline};

/// Where a block stands: its message's number in the path, its own number in the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The message.
    pub message: usize,
    /// The block.
    pub block: usize,
}

/// One model call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// What went in since the call before.
    pub input: Range<usize>,
    /// What came out: the assistant's messages; empty where the call is still to be made.
    pub output: Range<usize>,
}

/// Groups messages into turns, which tile the path.
///
/// Consecutive assistant messages are one output: dialects that write every item of a reply on its own
/// (OpenAI Responses) still made one call.
pub fn turns<'a>(path: impl IntoIterator<Item = &'a Outline>) -> Vec<Turn> {
    let mut turns = Vec::new();
    let mut open = Turn { input: 0..0, output: 0..0 };
    for (at, outline) in path.into_iter().enumerate() {
        let replied = !open.output.is_empty();
        if outline.role == Role::Assistant {
            open.output.end = at + 1;
        } else {
            if replied {
                turns.push(std::mem::replace(&mut open, Turn { input: at..at, output: at..at }));
            }
            open.input.end = at + 1;
            open.output = at + 1..at + 1;
        }
    }
    if !open.input.is_empty() || !open.output.is_empty() {
        turns.push(open);
    }
    turns
}

/// Groups messages into exchanges: from a plain user message to the next one.
///
/// What stands before the first plain user message belongs to no exchange.
pub fn exchanges<'a>(path: impl IntoIterator<Item = &'a Outline>) -> Vec<Range<usize>> {
    let mut exchanges: Vec<Range<usize>> = Vec::new();
    for (at, outline) in path.into_iter().enumerate() {
        if is_plain_user_message(outline) {
            exchanges.push(at..at + 1);
        } else if let Some(open) = exchanges.last_mut() {
            open.end = at + 1;
        }
    }
    exchanges
}

/// Whether a person speaks: a user message that carries no tool result.
pub fn is_plain_user_message(outline: &Outline) -> bool {
    outline.role == Role::User && !carries_results(outline)
}

/// Whether a program speaks in the user's name: a text that stands in one element, as in
/// `<environment_context>…</environment_context>`. Nobody types that.
pub fn is_framed(text: &str) -> bool {
    let inside = text.trim().strip_prefix('<').and_then(|text| text.strip_suffix('>'));
    let Some((tag, rest)) = inside.and_then(|inside| inside.split_once('>')) else { return false };
    let name = tag.split_whitespace().next().unwrap_or_default();
    let is_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | ':');
    let closes = rest.rsplit_once("</").is_some_and(|(_, closed)| closed == name);
    !name.is_empty() && name.chars().all(is_name) && closes
}

/// Whether the message answers tool calls: it comes from the client and carries a tool result.
pub fn is_tool_result_message(outline: &Outline) -> bool {
    matches!(outline.role, Role::User | Role::Tool) && carries_results(outline)
}

fn carries_results(outline: &Outline) -> bool {
    outline.blocks.iter().any(|block| block.kind == BlockKind::ToolResult)
}

/// A tool call and its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolPair {
    /// The call.
    pub call: Place,
    /// Its result.
    pub result: Place,
}

/// Which tool results answer which calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolPairs {
    /// Calls with their results, by the results' order.
    pub pairs: Vec<ToolPair>,
    /// Calls without result.
    pub unanswered: Vec<Place>,
    /// Results without call, and second results of one call.
    pub orphans: Vec<Place>,
}

/// Pairs tool calls with their results, parallel calls and the provider's own tools included.
///
/// Where an id is used again, a result answers the latest call with that id.
pub fn tool_pairs<'a>(path: impl IntoIterator<Item = &'a Outline>) -> ToolPairs {
    let mut found = ToolPairs::default();
    let mut waiting = Waiting::default();
    for (message, outline) in path.into_iter().enumerate() {
        for (block, content) in outline.blocks.iter().enumerate() {
            let (Some(tool), place) = (&content.tool, Place { message, block }) else { continue };
            let Some((side, end)) = side(content.kind) else { continue };
            let key = (tool.id.as_str(), side);
            match end {
                End::Call => found.unanswered.extend(waiting.add(key, place)),
                End::Result => match waiting.take(key) {
                    Some(call) => found.pairs.push(ToolPair { call, result: place }),
                    None => found.orphans.push(place),
                },
            }
        }
    }
    found.unanswered.extend(waiting.rest());
    found.unanswered.sort_unstable();
    found
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Side {
    Client,
    Server,
}

enum End {
    Call,
    Result,
}

fn side(kind: BlockKind) -> Option<(Side, End)> {
    match kind {
        BlockKind::ToolUse => Some((Side::Client, End::Call)),
        BlockKind::ToolResult => Some((Side::Client, End::Result)),
        BlockKind::ServerToolUse => Some((Side::Server, End::Call)),
        BlockKind::ServerToolResult => Some((Side::Server, End::Result)),
        _ => None,
    }
}

/// The names of tools by the ids of their calls, learned while a path is walked from its start.
///
/// A result mostly says only which call it answers; its tool's name stands at the call.
#[derive(Debug, Default)]
pub struct ToolNames<'a> {
    by_call: HashMap<&'a str, &'a str>,
}

impl<'a> ToolNames<'a> {
    /// Takes note of the calls in a message.
    pub fn learn(&mut self, outline: &'a Outline) {
        for block in &outline.blocks {
            if let (BlockKind::ToolUse | BlockKind::ServerToolUse, Some(tool)) = (block.kind, &block.tool)
                && let Some(name) = &tool.name
            {
                self.by_call.insert(&tool.id, name);
            }
        }
    }

    /// The name of the tool that a block calls or answers.
    pub fn of(&self, block: &'a BlockOutline) -> Option<&'a str> {
        let tool = block.tool.as_ref()?;
        tool.name.as_deref().or_else(|| self.by_call.get(tool.id.as_str()).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outline::ToolRef;
    use crate::units::{Chars, Tokens};

    // "u" user, "s" system, "a" assistant, "t" tool; then the blocks: "+id" a call, "-id" a result.
    fn path(notation: &str) -> Vec<Outline> {
        notation
            .split_whitespace()
            .map(|message| {
                let (role, blocks) = message.split_at(1);
                let role = match role {
                    "u" => Role::User,
                    "s" => Role::System,
                    "t" => Role::Tool,
                    _ => Role::Assistant,
                };
                let blocks = blocks.split_inclusive(|c: char| c.is_ascii_alphanumeric()).map(tool_block);
                Outline { role, tokens: Tokens(1), bytes: 1, blocks: blocks.collect() }
            })
            .collect()
    }

    fn tool_block(notation: &str) -> BlockOutline {
        let (sign, id) = notation.split_at(1);
        let call = sign == "+";
        BlockOutline {
            kind: if call { BlockKind::ToolUse } else { BlockKind::ToolResult },
            tool: Some(ToolRef { id: id.to_owned(), name: call.then(|| format!("tool-{id}")) }),
            tokens: Tokens(1),
            chars: Chars(1),
            bytes: 3,
            has_media: false,
            is_error: false,
            recall: None,
            error_tail: Chars::ZERO,
            pruned: None,
        }
    }

    #[test]
    fn turns_tile_the_path() {
        type InAndOut = (Range<usize>, Range<usize>);
        let cases: &[(&str, &[InAndOut])] = &[
            ("", &[]),
            ("u", &[(0..1, 1..1)]),
            ("a", &[(0..0, 0..1)]),
            ("s u a", &[(0..2, 2..3)]),
            ("u a+1 u-1 a u", &[(0..1, 1..2), (2..3, 3..4), (4..5, 5..5)]),
            ("u a a+1 a+2 t-1 t-2 a", &[(0..1, 1..4), (4..6, 6..7)]),
        ];
        for (notation, expected) in cases {
            let found: Vec<_> =
                turns(&path(notation)).into_iter().map(|turn| (turn.input, turn.output)).collect();
            assert_eq!(&found, expected, "{notation}");
        }
    }

    #[test]
    fn exchanges_run_from_a_plain_user_message_to_the_next() {
        let cases: &[(&str, &[Range<usize>])] =
            &[("", &[]), ("s a", &[]), ("s u a+1 u-1 a u a", &[1..5, 5..7]), ("u u a", &[0..1, 1..3])];
        for (notation, expected) in cases {
            assert_eq!(&exchanges(&path(notation)), expected, "{notation}");
        }
    }

    #[test]
    fn calls_and_results_are_paired_by_id() {
        let place = |message, block| Place { message, block };
        let pair = |call, result| ToolPair { call, result };
        let parallel = tool_pairs(&path("u a+1+2 u-2-1 a"));
        assert_eq!(parallel.pairs, [pair(place(1, 1), place(2, 0)), pair(place(1, 0), place(2, 1))]);
        assert!(parallel.unanswered.is_empty() && parallel.orphans.is_empty());

        let broken = tool_pairs(&path("u-9 a+1+2 t-1 t-1"));
        assert_eq!(broken.pairs, [pair(place(1, 0), place(2, 0))]);
        assert_eq!(broken.unanswered, [place(1, 1)]);
        assert_eq!(broken.orphans, [place(0, 0), place(3, 0)]);

        let reused = tool_pairs(&path("a+1 t-1 a+1 t-1 a+1 a+1"));
        assert_eq!(
            reused.pairs,
            [pair(place(0, 0), place(1, 0)), pair(place(2, 0), place(3, 0))],
            "an id that is used again starts a new pair"
        );
        assert_eq!(reused.unanswered, [place(4, 0), place(5, 0)]);
    }

    #[test]
    fn many_calls_find_their_results_in_any_order() {
        let calls: String = ('a'..='z').map(|id| format!("+{id}")).collect();
        let answered = || ('a'..='z').rev().filter(|id| *id != 'c');
        let results: String = answered().map(|id| format!("-{id}")).collect();
        let found = tool_pairs(&path(&format!("a{calls} a+d u{results}")));
        let call = |id: char| match id {
            'd' => Place { message: 1, block: 0 },
            _ => Place { message: 0, block: ('a'..id).count() },
        };
        let result = |block| Place { message: 2, block };
        let pairs = answered().enumerate().map(|(at, id)| ToolPair { call: call(id), result: result(at) });
        assert_eq!(found.pairs, pairs.collect::<Vec<_>>());
        assert_eq!(found.unanswered, [Place { message: 0, block: 2 }, Place { message: 0, block: 3 }]);
        assert!(found.orphans.is_empty());
    }

    #[test]
    fn a_result_takes_its_tools_name_from_the_call() {
        let path = path("a+1+2 u-2-3");
        let mut names = ToolNames::default();
        path.iter().for_each(|outline| names.learn(outline));
        assert_eq!(names.of(&path[1].blocks[0]), Some("tool-2"));
        assert_eq!(names.of(&path[1].blocks[1]), None);
    }
}

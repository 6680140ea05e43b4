//! The properties of a legal cut, by name and one function each.

use std::fmt;

use super::structure::Structure;

/// A property that a cut must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CutRule {
    /// Something stands on both sides of it, leading system messages not counted.
    BothSides,
    /// No tool call is parted from its result, be they parallel or yet to come.
    ToolPair,
    /// A reply that is written as several messages stays whole.
    WholeReply,
    /// It does not fall beside a provider's compaction item.
    CompactionItem,
    /// A tool loop that carries thinking is not cut inside: its thinking stays or goes together.
    ThinkingLoop,
    /// It falls before a plain user message, or before a reply inside an exchange.
    TurnStart,
    /// What is kept does not start with the assistant.
    AssistantFirst,
    /// It falls before a plain user message.
    ExchangeStart,
}

impl CutRule {
    /// What every cut must have, in the order in which it is checked.
    pub const ALL: &[CutRule] = &[
        CutRule::BothSides,
        CutRule::ToolPair,
        CutRule::WholeReply,
        CutRule::CompactionItem,
        CutRule::ThinkingLoop,
        CutRule::TurnStart,
        CutRule::AssistantFirst,
        CutRule::ExchangeStart,
    ];

    /// What a cut inside an exchange must have. The assistant may come first, as the view puts the summary of the
    /// exchange's earlier turns in the user's place before it.
    pub const INSIDE: &[CutRule] = &[
        CutRule::BothSides,
        CutRule::ToolPair,
        CutRule::WholeReply,
        CutRule::CompactionItem,
        CutRule::ThinkingLoop,
        CutRule::TurnStart,
    ];

    /// Whether a cut before message `at` lacks the property.
    pub(super) fn breaks(self, path: &Structure, at: usize) -> bool {
        match self {
            CutRule::BothSides => leaves_a_side_empty(path, at),
            CutRule::ToolPair => path.place(at).in_pair,
            CutRule::WholeReply => path.place(at).in_reply,
            CutRule::CompactionItem => path.place(at).at_item,
            CutRule::ThinkingLoop => path.place(at).in_thinking_loop,
            CutRule::TurnStart => !(path.place(at).before_exchange || path.place(at).before_assistant),
            CutRule::AssistantFirst => path.place(at).before_assistant,
            CutRule::ExchangeStart => !path.place(at).before_exchange,
        }
    }
}

impl fmt::Display for CutRule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            CutRule::BothSides => "nothing stands on one side of the cut",
            CutRule::ToolPair => "the cut parts a tool call from its result",
            CutRule::WholeReply => "the cut parts the messages of one reply",
            CutRule::CompactionItem => "the cut falls beside a provider's compaction item",
            CutRule::ThinkingLoop => "the cut falls inside a tool loop that carries thinking",
            CutRule::TurnStart => "the cut falls before no turn",
            CutRule::AssistantFirst => "the assistant would speak first",
            CutRule::ExchangeStart => "the cut falls before no plain user message",
        })
    }
}

/// The first property that a cut lacks.
pub(super) fn check(path: &Structure, at: usize) -> Result<(), CutRule> {
    first_broken(CutRule::ALL, path, at)
}

/// The first property that a cut inside an exchange lacks.
pub(super) fn check_turn(path: &Structure, at: usize) -> Result<(), CutRule> {
    first_broken(CutRule::INSIDE, path, at)
}

fn first_broken(rules: &[CutRule], path: &Structure, at: usize) -> Result<(), CutRule> {
    rules.iter().find(|rule| rule.breaks(path, at)).map_or(Ok(()), |rule| Err(*rule))
}

fn leaves_a_side_empty(path: &Structure, at: usize) -> bool {
    at <= path.leading || at >= path.length
}

//! The notations in which single messages are kept apart from their file.

use epitome_core::{Block, Message};

use super::format::Format;
use crate::dialect::Dialect;

/// How a message that is kept by itself is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Notation {
    /// A message of Anthropic Messages.
    Anthropic,
    /// A message of OpenAI Chat Completions.
    Chat,
    /// An item of OpenAI Responses.
    Responses,
    /// Lines of a Claude Code session.
    ClaudeCode,
    /// Lines of a pi session.
    Pi,
    /// Lines of a Codex rollout.
    Codex,
    /// An entry of the history of a SWE-agent trajectory.
    SweAgent,
}

impl Notation {
    /// All of them.
    pub const ALL: [Notation; 7] = [
        Notation::Anthropic,
        Notation::Chat,
        Notation::Responses,
        Notation::ClaudeCode,
        Notation::Pi,
        Notation::Codex,
        Notation::SweAgent,
    ];

    /// The number under which it is stored. It never changes; zero is nobody's.
    pub fn number(self) -> u8 {
        match self {
            Notation::Anthropic => 1,
            Notation::Chat => 2,
            Notation::Responses => 3,
            Notation::ClaudeCode => 4,
            Notation::Pi => 5,
            Notation::Codex => 6,
            Notation::SweAgent => 7,
        }
    }

    /// The notation that is stored under this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Notation::ALL.into_iter().find(|notation| notation.number() == number)
    }

    /// The notation of messages of this dialect.
    pub fn of_dialect(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Anthropic => Notation::Anthropic,
            Dialect::Chat => Notation::Chat,
            Dialect::Responses => Notation::Responses,
        }
    }

    /// The notation of the messages of a file.
    pub(super) fn of_file(format: Format, dialect: Dialect) -> Self {
        match format {
            Format::ClaudeCode => Notation::ClaudeCode,
            Format::Pi => Notation::Pi,
            Format::Codex => Notation::Codex,
            Format::SweAgent => Notation::SweAgent,
            _ => Notation::of_dialect(dialect),
        }
    }

    /// Whether messages in it are written as a provider's dialect writes them.
    pub fn is_plain(self) -> bool {
        Dialect::ALL.into_iter().any(|dialect| Self::of_dialect(dialect) == self)
    }

    /// A message in it as a provider would have it. What the file of another tool says beside it is the tool's own business,
    /// and SWE-agent names the call that a result answers only there.
    #[must_use]
    pub fn bare(self, mut message: Message) -> Message {
        if self.is_plain() {
            return message;
        }
        let named = message.extra.iter().find(|(name, _)| name.as_str() == "tool_call_ids");
        let ids: Vec<String> =
            named.and_then(|(_, ids)| serde_json::from_str(ids.as_str()).ok()).unwrap_or_default();
        for block in &mut message.blocks {
            if let (Block::ToolResult(result), Some(id)) = (block, ids.first())
                && result.call_id.is_empty()
            {
                result.call_id = id.as_str().into();
            }
        }
        message.extra.clear();
        message
    }

    /// The dialect whose rules messages in it follow.
    pub fn dialect(self) -> Dialect {
        match self {
            Notation::Anthropic | Notation::ClaudeCode => Dialect::Anthropic,
            Notation::Responses | Notation::Codex => Dialect::Responses,
            Notation::Chat | Notation::Pi | Notation::SweAgent => Dialect::Chat,
        }
    }

    /// The format of a file of nothing but messages in it.
    pub fn format(self) -> Format {
        match self {
            Notation::Anthropic | Notation::Chat => Format::Messages,
            Notation::Responses => Format::Responses,
            Notation::ClaudeCode => Format::ClaudeCode,
            Notation::Pi => Format::Pi,
            Notation::Codex => Format::Codex,
            Notation::SweAgent => Format::SweAgent,
        }
    }

    /// Whether messages in it are lines of a file, so that each may bring lines along that are no messages.
    pub(super) fn is_lines(self) -> bool {
        matches!(self, Notation::ClaudeCode | Notation::Pi | Notation::Codex)
    }
}

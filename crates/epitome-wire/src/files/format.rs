//! The kinds of file that can be read.

use std::fmt;
use std::str::FromStr;

/// A kind of transcript file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Format {
    /// A request body of Anthropic Messages.
    Anthropic,
    /// A request body of OpenAI Chat Completions.
    Chat,
    /// A request body of OpenAI Responses.
    Responses,
    /// A JSON array of messages, or an object that holds one under `messages`.
    Messages,
    /// One message a line.
    MessagesJsonl,
    /// One conversation a line: objects with `messages` (or Responses' `input`).
    Conversations,
    /// A Claude Code session.
    ClaudeCode,
    /// A pi session, linear or tree.
    Pi,
    /// A Codex rollout.
    Codex,
    /// A SWE-agent trajectory.
    SweAgent,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 10] = [
        Format::Anthropic,
        Format::Chat,
        Format::Responses,
        Format::Messages,
        Format::MessagesJsonl,
        Format::Conversations,
        Format::ClaudeCode,
        Format::Pi,
        Format::Codex,
        Format::SweAgent,
    ];

    /// Its name, as `--format` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Format::Anthropic => "anthropic",
            Format::Chat => "chat",
            Format::Responses => "responses",
            Format::Messages => "messages",
            Format::MessagesJsonl => "messages-jsonl",
            Format::Conversations => "conversations",
            Format::ClaudeCode => "claude-code",
            Format::Pi => "pi",
            Format::Codex => "codex",
            Format::SweAgent => "swe-agent",
        }
    }

    /// Whether its tool appends to the file of a session, line by line, while the session goes on.
    pub fn is_appended_to(self) -> bool {
        matches!(self, Format::ClaudeCode | Format::Pi | Format::Codex)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

/// The name is no format's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such format: {0:?} (one of {names})", names = Format::ALL.map(Format::name).join(", "))]
pub struct BadFormat(String);

impl FromStr for Format {
    type Err = BadFormat;

    fn from_str(name: &str) -> Result<Self, BadFormat> {
        Format::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| BadFormat(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        let error = "claud".parse::<Format>().unwrap_err().to_string();
        assert!(error.starts_with("no such format: \"claud\" (one of anthropic, chat,"), "{error}");
    }
}

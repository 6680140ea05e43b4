//! The rules by name, and what breaking one looks like.

use std::fmt;

use serde::Serialize;

/// A rule of a provider's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Rule {
    /// A conversation has at least one message.
    NoMessages,
    /// Anthropic takes at most 100,000 messages.
    TooManyMessages,
    /// Anthropic's first message is the user's.
    FirstMessageNotUser,
    /// User and assistant take turns.
    RolesDoNotAlternate,
    /// A system message inside an Anthropic conversation follows a user turn.
    SystemNotAfterUser,
    /// The dialect has no such role inside the conversation.
    RoleNotInDialect,
    /// Calls are the assistant's, results the other side's.
    BlockInWrongRole,
    /// A tool call is answered in the very next place where results may stand.
    ToolUseUnanswered,
    /// The conversation ends on a tool call that still waits for its result.
    ToolUsePending,
    /// A tool result answers a call that stands where the dialect looks for it.
    ToolResultOrphan,
    /// Tool results come before all other blocks of their message.
    ToolResultsNotFirst,
    /// A call of a provider-run tool is followed by its result in the same message.
    ServerToolUnanswered,
    /// A result of a provider-run tool follows its call in the same message.
    ServerToolResultOrphan,
    /// No two tool calls share an id.
    DuplicateToolUse,
    /// A tool call is answered once.
    DuplicateToolResult,
    /// Text blocks are not empty.
    EmptyText,
    /// Messages have content.
    EmptyContent,
    /// The last message is not the assistant's: Claude 4.6 and later refuse to continue it.
    TrailingAssistant,
    /// At most four cache breakpoints are set in one request.
    TooManyCacheBreakpoints,
    /// A Responses reasoning item is directly followed by the item that it led to.
    ReasoningWithoutItem,
    /// A thinking block that is sent back is sent back as it came.
    ThinkingModified,
    /// Thinking blocks stay or go together: none is taken out from between others.
    ThinkingRemovedFromMiddle,
    /// The latest assistant message keeps its thinking blocks unless all are stripped.
    LatestThinkingChanged,
    /// Thinking blocks of newer Claude models are bound to everything before them.
    ThinkingBehindEditedPrefix,
    /// A provider's compaction item stands for history that exists nowhere else.
    CompactionLost,
}

/// Whether breaking a rule is always refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Some models, or some moments, allow it.
    Warning,
    /// The provider refuses the request.
    Error,
}

impl Rule {
    /// Whether breaking it is always refused.
    pub fn severity(self) -> Severity {
        match self {
            Rule::ToolUsePending | Rule::TrailingAssistant | Rule::ThinkingBehindEditedPrefix => {
                Severity::Warning
            }
            _ => Severity::Error,
        }
    }

    /// Its name as people read it.
    pub fn name(self) -> &'static str {
        match self {
            Rule::NoMessages => "no-messages",
            Rule::TooManyMessages => "too-many-messages",
            Rule::FirstMessageNotUser => "first-message-not-user",
            Rule::RolesDoNotAlternate => "roles-do-not-alternate",
            Rule::SystemNotAfterUser => "system-not-after-user",
            Rule::RoleNotInDialect => "role-not-in-dialect",
            Rule::BlockInWrongRole => "block-in-wrong-role",
            Rule::ToolUseUnanswered => "tool-use-unanswered",
            Rule::ToolUsePending => "tool-use-pending",
            Rule::ToolResultOrphan => "tool-result-orphan",
            Rule::ToolResultsNotFirst => "tool-results-not-first",
            Rule::ServerToolUnanswered => "server-tool-unanswered",
            Rule::ServerToolResultOrphan => "server-tool-result-orphan",
            Rule::DuplicateToolUse => "duplicate-tool-use",
            Rule::DuplicateToolResult => "duplicate-tool-result",
            Rule::EmptyText => "empty-text",
            Rule::EmptyContent => "empty-content",
            Rule::TrailingAssistant => "trailing-assistant",
            Rule::TooManyCacheBreakpoints => "too-many-cache-breakpoints",
            Rule::ReasoningWithoutItem => "reasoning-without-item",
            Rule::ThinkingModified => "thinking-modified",
            Rule::ThinkingRemovedFromMiddle => "thinking-removed-from-middle",
            Rule::LatestThinkingChanged => "latest-thinking-changed",
            Rule::ThinkingBehindEditedPrefix => "thinking-behind-edited-prefix",
            Rule::CompactionLost => "compaction-lost",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The message that breaks it: its place in the conversation (for a rewrite: in the one after it).
    pub message: usize,
    /// What exactly is wrong, as a fragment.
    pub detail: String,
}

impl Violation {
    pub(super) fn new(rule: Rule, message: usize, detail: impl Into<String>) -> Self {
        Self { rule, message, detail: detail.into() }
    }

    /// Whether it is always refused.
    pub fn severity(&self) -> Severity {
        self.rule.severity()
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "message {}: {} ({})", self.message, self.rule, self.detail)
    }
}

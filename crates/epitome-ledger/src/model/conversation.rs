//! Conversations as the tables of other designs hold them, with the text of their messages. SQL sees the same rows as views,
//! without the text, which is packed.

use std::fmt;

use epitome_core::{Time, Tokens};

use super::id::{SessionId, TenantId};

/// Where a conversation stands: a row of `conversation_state`, one for a tenant's agent and its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationState {
    /// The session.
    pub id: SessionId,
    /// Whose it is.
    pub tenant_id: TenantId,
    /// The agent that holds the conversation.
    pub agent_id: String,
    /// What the agent calls the session; its id where it has no name.
    pub session_id: String,
    /// The summaries that stand for what is not shown.
    pub summary: Option<String>,
    /// The messages that are shown, as a JSON array of their bodies, as they were written. Pruned ones are whole; a body that
    /// is no JSON stands there as a string.
    pub messages: String,
    /// The number of turns.
    pub turn_count: u64,
    /// The number of compactions.
    pub compaction_count: u64,
    /// Tokens of all messages, hidden ones included.
    pub total_tokens_estimated: Tokens,
    /// When it began.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// How far something has gone from the conversation as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tier {
    /// As it was.
    Message,
    /// The summary of a topic.
    Topic,
    /// The summary of topics.
    Bulk,
}

impl fmt::Display for Tier {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Tier::Message => "message",
            Tier::Topic => "topic",
            Tier::Bulk => "bulk",
        })
    }
}

/// A piece of what a conversation shows: a row of `conversation_history`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryRow {
    /// Its id: `SESSION/ORDINAL`, or `SESSION/TIER/ORDINAL` of the first message that a summary stands for.
    pub id: String,
    /// Whose it is.
    pub tenant_id: TenantId,
    /// The session.
    pub conversation_id: SessionId,
    /// Where it takes place; empty where that was not told.
    pub platform: String,
    /// What it is.
    pub tier: Tier,
    /// The message as it was written, or the text of the summary.
    pub content: String,
    /// Its tokens: counted for a message, estimated for a summary.
    pub token_count: Tokens,
    /// Its place in the conversation: the ordinal of the message, or of the first that a summary stands for.
    pub sequence: u64,
    /// When it was recorded.
    pub created_at: Time,
    /// When a topic or bulk was sealed.
    pub sealed_at: Option<Time>,
}

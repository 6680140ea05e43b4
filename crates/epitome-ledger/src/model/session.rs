//! Sessions: where a conversation stands, and what it is called.

use epitome_core::{Time, Tokens};

use super::chain::ChainHash;
use super::id::{SessionId, TurnId};

/// A session to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// Its id.
    pub id: SessionId,
    /// The agent that holds the conversation.
    pub agent: String,
    /// What people call it.
    pub label: Option<String>,
    /// Where it takes place.
    pub platform: Option<String>,
    /// Where on the platform.
    pub channel: Option<String>,
    /// The name under which the agent's own world knows it; one session an agent has it.
    pub external: Option<String>,
    /// How many tokens its context may have.
    pub token_limit: Option<Tokens>,
    /// When it was opened; the ledger's clock where it is not told.
    pub time: Option<Time>,
}

impl NewSession {
    /// A session of an agent, with nothing else said about it.
    pub fn of(agent: impl Into<String>) -> Self {
        Self {
            id: SessionId::generate(),
            agent: agent.into(),
            label: None,
            platform: None,
            channel: None,
            external: None,
            token_limit: None,
            time: None,
        }
    }
}

/// Where a session left another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The session it left.
    pub session: SessionId,
    /// The last turn that both have.
    pub turn: TurnId,
    /// The number of messages that both have.
    pub messages: u64,
}

/// A session as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The agent that holds the conversation.
    pub agent: String,
    /// What people call it.
    pub label: Option<String>,
    /// Where it takes place.
    pub platform: Option<String>,
    /// Where on the platform.
    pub channel: Option<String>,
    /// The name under which the agent's own world knows it.
    pub external: Option<String>,
    /// Where it left another session.
    pub origin: Option<Origin>,
    /// The turn it stands on; none where nothing was said.
    pub head: Option<TurnId>,
    /// The number of turns on its path.
    pub turns: u64,
    /// The number of messages on its path.
    pub messages: u64,
    /// The number of compactions on its path.
    pub compactions: u64,
    /// The hash of its path.
    pub chain: ChainHash,
    /// Tokens of all messages on its path, as counted when they were recorded.
    pub tokens_total: Tokens,
    /// Tokens of the context as it was last sent or compacted.
    pub tokens_used: Tokens,
    /// How many tokens its context may have.
    pub token_limit: Option<Tokens>,
    /// When it was opened.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
}

/// Which sessions are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Only of this agent.
    pub agent: Option<String>,
    /// Only those with this in their label, in capitals or not.
    pub label: Option<String>,
    /// Only of this platform.
    pub platform: Option<String>,
    /// Only of this channel.
    pub channel: Option<String>,
}

//! Where the beginning of a conversation is known from.

use super::chain::ChainHash;
use super::id::{SessionId, TurnId};
use super::session::NewSession;
use super::turn::NewTurn;

/// The longest beginning of a conversation that a tenant has recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPrefix {
    /// How many of its messages are recorded.
    pub messages: u64,
    /// Where they are, the latest session first; never empty.
    pub places: Vec<PrefixPlace>,
}

/// A place where the last known message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixPlace {
    /// The session that recorded it. Sessions that were forked behind it have it on their path, too.
    pub session: SessionId,
    /// The turn that it belongs to.
    pub turn: TurnId,
    /// Whether it is the last message of its turn, so that the path can go on from there.
    pub ends_turn: bool,
    /// Whether the session stands right behind it.
    pub at_head: bool,
}

/// A session to be opened for a conversation that was looked for and not found, or found in part.
#[derive(Clone, Debug, PartialEq)]
pub struct Opening {
    /// The turn of another session that it goes on from.
    pub at: Option<TurnId>,
    /// The session.
    pub session: NewSession,
    /// Its first turns.
    pub turns: Vec<NewTurn>,
    /// The chain hashes of all messages of the conversation, as far as the writer has them.
    pub chains: Vec<ChainHash>,
    /// What was recorded of them when the writer looked.
    pub known: Option<KnownPrefix>,
}

//! Messages as they are handed in, and as they come back.

use epitome_core::{ContentHash, RecallId, Role, Time, Tokens};

use super::chain::ChainHash;
use super::id::SessionId;

/// Which notation a body is in. The ledger keeps the number and gives it no meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Notation(pub u8);

/// A message to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage {
    /// Who speaks.
    pub role: Role,
    /// The whole message as it was written; it comes back byte for byte.
    pub body: Vec<u8>,
    /// The notation of the body.
    pub notation: Notation,
    /// The hash of the message's canonical form, by which the same conversation is recognised.
    pub digest: ContentHash,
    /// Its size as counted when it was recorded.
    pub tokens: Tokens,
    /// The ids of the texts in it, by which each can be recalled.
    pub recalls: Vec<RecallId>,
}

impl NewMessage {
    /// A message that is its own canonical form.
    pub fn new(role: Role, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let digest = ContentHash::of(&body);
        Self { role, body, notation: Notation::default(), digest, tokens: Tokens::ZERO, recalls: Vec::new() }
    }

    /// The same, of this many tokens.
    #[must_use]
    pub fn with_tokens(self, tokens: Tokens) -> Self {
        Self { tokens, ..self }
    }
}

/// Which record of its turn a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Record {
    /// What went into the call.
    Input,
    /// What came out of it.
    Reply,
    /// What came out of it before it was cut off.
    CutOff,
}

/// A message of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMessage {
    /// Its place on the path: the number of messages before it.
    pub ordinal: u64,
    /// The number of its turn on the path.
    pub turn: u64,
    /// Who speaks.
    pub role: Role,
    /// Which record of the turn it belongs to.
    pub record: Record,
    /// The message as it was written.
    pub body: Vec<u8>,
    /// The notation of the body.
    pub notation: Notation,
    /// The hash of the path up to it.
    pub chain: ChainHash,
    /// Its size as counted when it was recorded.
    pub tokens: Tokens,
    /// When its record was made: the turn of what went in, the reply of what came out.
    pub time: Time,
}

/// A message that holds the text of a recall id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recalled {
    /// The session that recorded it.
    pub session: SessionId,
    /// The message.
    pub message: StoredMessage,
}

//! Searching: what is asked, and what is found.

use std::ops::Range;

use epitome_core::knowledge::Kind;
use epitome_core::{Role, Time};

use super::id::{FindingId, SessionId, TurnId};
use super::knowledge::FindingState;

/// Where to look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// In everything that the tenant has.
    #[default]
    Tenant,
    /// In all sessions of an agent.
    Agent(String),
    /// On the path of a session, what it shares with others included.
    Session(SessionId),
}

/// What comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// What was recorded last. Everything asked for must occur.
    #[default]
    Newest,
    /// What fits best. Where too little holds everything asked for, what holds some of it is found, too.
    Best,
}

/// A search.
///
/// Words, `"phrases"`, prefixes (`compac*`), identifiers and paths as people type them (`src/main.rs`, `E0382`). Case and
/// accents do not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// What is asked for.
    pub query: String,
    /// Where to look.
    pub scope: Scope,
    /// What comes first.
    pub order: Order,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Where it is.
    pub found: Found,
    /// When it was recorded or happened.
    pub time: Time,
    /// A piece of the text around what was asked for.
    pub snippet: Snippet,
    /// How well it fits: larger is better; zero where nothing was ranked.
    pub score: f64,
    /// What each term asked for adds to the score, in their order; empty where nothing was ranked.
    pub shares: Vec<f64>,
}

/// Where something was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Found {
    /// In a message.
    Message {
        /// The session that recorded it.
        session: SessionId,
        /// Its turn.
        turn: TurnId,
        /// Its place on the path.
        ordinal: u64,
        /// Who speaks.
        role: Role,
    },
    /// In the summaries of a compaction.
    Summary {
        /// The session that recorded it.
        session: SessionId,
        /// The compaction.
        turn: TurnId,
    },
    /// In what was learnt.
    Finding {
        /// Its id.
        id: FindingId,
        /// What it is.
        kind: Kind,
        /// What became of it.
        state: FindingState,
        /// The session that recorded the message which says it.
        session: SessionId,
        /// The turn of that message.
        turn: TurnId,
        /// The place of that message on the path.
        ordinal: u64,
    },
    /// In an event of a channel.
    Event {
        /// Its number.
        number: u64,
        /// Where it happened.
        platform: String,
        /// Where on the platform.
        channel: String,
    },
}

/// A piece of text with what was asked for in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The piece; an ellipsis stands where the text goes on.
    pub text: String,
    /// What was asked for: byte ranges of the piece.
    pub highlights: Vec<Range<usize>>,
}

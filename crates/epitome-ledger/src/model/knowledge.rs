//! Knowledge: what was learnt from conversations. Findings are appended; what becomes of them is marked.

use std::fmt;

use epitome_core::Time;
use epitome_core::knowledge::Kind;

use super::id::{FindingId, SessionId, TurnId};

/// A finding to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFinding {
    /// Its id; one that is handed in twice is recorded once.
    pub id: FindingId,
    /// What it is.
    pub kind: Kind,
    /// What it is about.
    pub subject: String,
    /// What was said.
    pub text: String,
    /// The message of the session's path that says it.
    pub message: u64,
    /// The finding whose place it takes.
    pub supersedes: Option<FindingId>,
    /// When it was learnt; the ledger's clock where it is not told.
    pub time: Option<Time>,
}

/// A finding as it was recorded, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedFinding {
    /// Its id.
    pub id: FindingId,
    /// What it is.
    pub kind: Kind,
    /// The agent that learnt it.
    pub agent: String,
    /// What it is about.
    pub subject: String,
    /// What was said.
    pub text: String,
    /// The session that recorded the message which says it.
    pub session: SessionId,
    /// The turn of that message.
    pub turn: TurnId,
    /// The place of that message on the path.
    pub message: u64,
    /// The finding whose place it took.
    pub supersedes: Option<FindingId>,
    /// What became of it.
    pub state: FindingState,
    /// When it was learnt.
    pub time: Time,
}

/// What somebody says of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FindingMark {
    /// It is right.
    Confirmed,
    /// It is wrong, or nobody's business.
    Rejected,
    /// It is no longer the case.
    Superseded,
}

/// What became of a finding: what was marked last, and whether another one took its place.
///
/// A finding that was rejected takes nothing's place, and a preference that nobody confirmed does not take the place of one
/// that somebody did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FindingState {
    /// It counts.
    Current,
    /// It is a preference that nobody has confirmed yet.
    Review,
    /// Somebody confirmed it.
    Confirmed,
    /// Somebody rejected it.
    Rejected,
    /// Another one took its place, or somebody said that it is no longer the case.
    Superseded,
}

impl FindingState {
    /// The states of what counts, confirmed or not.
    pub const COUNTING: [FindingState; 3] =
        [FindingState::Current, FindingState::Review, FindingState::Confirmed];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            FindingState::Current => "current",
            FindingState::Review => "review",
            FindingState::Confirmed => "confirmed",
            FindingState::Rejected => "rejected",
            FindingState::Superseded => "superseded",
        }
    }
}

impl fmt::Display for FindingState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

/// Which findings are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindingFilter {
    /// Only those that this agent learnt.
    pub agent: Option<String>,
    /// Only those of messages on the path of this session; whether one took another's place is seen from there, too.
    pub session: Option<SessionId>,
    /// Only of this kind.
    pub kind: Option<Kind>,
    /// Only in one of these states; all where none is named.
    pub states: Vec<FindingState>,
}

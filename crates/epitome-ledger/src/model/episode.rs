//! Episodes: the stretches of a conversation that compactions closed.

use std::ops::Range;

use epitome_core::Time;

use super::id::{SessionId, TurnId};

/// An episode to be closed. It begins where the one before it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEpisode {
    /// The compaction that closes it.
    pub compaction: TurnId,
    /// The first message of the path that no longer belongs to it.
    pub end: u64,
    /// What it was about.
    pub title: Option<String>,
}

/// An episode of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Episode {
    /// Its number on the path, from zero.
    pub number: u64,
    /// Its messages.
    pub messages: Range<u64>,
    /// What it was about.
    pub title: Option<String>,
    /// The session that recorded the compaction which closed it.
    pub session: SessionId,
    /// That compaction.
    pub compaction: TurnId,
    /// When it began.
    pub opened: Time,
    /// When it was closed.
    pub closed: Time,
}

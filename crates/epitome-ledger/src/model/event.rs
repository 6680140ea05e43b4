//! Events: what happened on the channels outside. They are never compacted.

use epitome_core::Time;

use super::id::TurnId;

/// An event to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    /// Where it happened.
    pub platform: String,
    /// Where on the platform.
    pub channel: String,
    /// The platform's own id of it; one that is handed in twice is recorded once.
    pub external: String,
    /// When it happened.
    pub time: Time,
    /// What happened, as the platform told it; it comes back byte for byte.
    pub payload: Vec<u8>,
    /// The turns that it led to.
    pub turns: Vec<TurnId>,
}

/// An event as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its number in the ledger, by which it can be linked to turns.
    pub number: u64,
    /// Where it happened.
    pub platform: String,
    /// Where on the platform.
    pub channel: String,
    /// The platform's own id of it.
    pub external: String,
    /// When it happened.
    pub time: Time,
    /// What happened, as the platform told it.
    pub payload: Vec<u8>,
    /// The turns that it led to.
    pub turns: Vec<TurnId>,
}

/// Which events are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Only of this platform.
    pub platform: Option<String>,
    /// Only of this channel.
    pub channel: Option<String>,
}

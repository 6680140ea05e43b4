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
    /// The platform's own id of it. What is handed in twice is recorded once; what is told otherwise is another version.
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
    /// Which telling of it this is, counted from one: platforms let people change what they said.
    pub version: u64,
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
    /// Only those with this id of the platform.
    pub external: Option<String>,
    /// Which versions of each.
    pub versions: Versions,
}

/// Which versions of events are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Versions {
    /// What each was told to be last.
    #[default]
    Newest,
    /// All that was ever told.
    All,
}

/// What became of an event that was handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventReceipt {
    /// Its number in the ledger, by which it can be linked to turns.
    pub number: u64,
    /// Which telling of it that is, counted from one.
    pub version: u64,
    /// Whether it was known.
    pub novelty: Novelty,
}

/// Whether something was known before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Novelty {
    /// Nothing was known of it.
    New,
    /// It was known otherwise; both are kept.
    Changed,
    /// It was known as it is.
    Known,
}

//! Purging: the one way in which something leaves a ledger, and what remains of it.

use epitome_core::Time;

use super::id::SessionId;

/// What is to be purged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purge {
    /// A session. What forks of it stand on is kept until they are purged, too.
    Session(SessionId),
    /// All sessions and events of the tenant.
    Tenant,
    /// Sessions in which nothing was said since, and events from before. A turn that carries a time of its own is as old as that.
    OlderThan(Time),
}

/// Who purges, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warrant {
    /// Who.
    pub actor: String,
    /// Why.
    pub reason: String,
}

/// What a purge left behind: that it happened, and how much went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// Who purged, and why.
    pub warrant: Warrant,
    /// What: `session`, `tenant` or `older-than`.
    pub scope: String,
    /// Which: a session's id, a time in milliseconds, or nothing.
    pub subject: String,
    /// Sessions that went.
    pub sessions: u64,
    /// Turns that went.
    pub turns: u64,
    /// Messages that went.
    pub messages: u64,
    /// Events that went.
    pub events: u64,
    /// Bodies that went, as nobody else uses them.
    pub bodies: u64,
    /// Their bytes, as they were written.
    pub bytes: u64,
    /// When.
    pub time: Time,
}

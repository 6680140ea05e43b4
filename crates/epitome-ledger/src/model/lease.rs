//! Leases: who may write to a session for a while.

use epitome_core::Time;

use super::id::SessionId;

/// The right to compact a session for a while, and what keeps writers apart who agree to take it first.
///
/// The fence grows each time the lease changes hands. Whoever writes with an older one is refused, so that a process that
/// slept through the end of its lease does no harm when it wakes up. One that nobody took since is as good as before, also when
/// it has ended: what its holder knows of the session still holds.
///
/// Without a fence, turns, replies and notes are recorded whoever holds the lease, because no message may wait for a
/// summary; that they go where their writer believes to stand is what [`Expect`](super::Expect) sees to. A
/// compaction, or the undoing of one, is refused as [`LedgerError::Leased`](crate::LedgerError::Leased) while somebody holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The session.
    pub session: SessionId,
    /// Who holds it.
    pub holder: String,
    /// What to write with.
    pub fence: u64,
    /// When it ends, by the database's clock.
    pub until: Time,
}

//! Leases: who may write to a session for a while.

use epitome_core::Time;

use super::id::SessionId;

/// The right to write to a session for a while.
///
/// The fence grows each time the lease changes hands. Whoever writes with an older one is refused, so that a process that
/// slept through the end of its lease does no harm when it wakes up.
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

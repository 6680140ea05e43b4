//! How a ledger is opened.

use crate::shared::Clock;

/// What may be done with a ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Everything. A SQLite file that cannot be written to is opened all the same; what would write is refused.
    #[default]
    ReadWrite,
    /// Nothing is recorded. What another process acknowledged before it died is put in its place, and a SQLite file of an earlier
    /// version is brought to the present one, where that can be done.
    ReadOnly,
}

/// How a ledger is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// What may be done with it.
    pub access: Access,
    /// Where it takes the time from, but for leases on PostgreSQL, where the server's clock is the only one that all share.
    pub clock: Clock,
    /// How many can read at the same time on SQLite.
    pub readers: usize,
    /// How large a SQLite file may grow; writes beyond it are refused as on a full disk.
    pub max_bytes: Option<u64>,
    /// How many connections there are to PostgreSQL at most.
    pub connections: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            access: Access::default(),
            clock: Clock::system(),
            readers: 4,
            max_bytes: None,
            connections: 16,
        }
    }
}

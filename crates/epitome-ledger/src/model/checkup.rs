//! What a check of the whole ledger found.

use std::fmt;

/// What was looked at, and what is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkup {
    /// Sessions looked at.
    pub sessions: u64,
    /// Turns looked at.
    pub turns: u64,
    /// Messages looked at.
    pub messages: u64,
    /// Bodies looked at.
    pub bodies: u64,
    /// Events looked at.
    pub events: u64,
    /// What is wrong; nothing was repaired.
    pub findings: Vec<Finding>,
    /// What is not wrong, and still worth knowing.
    pub notes: Vec<Finding>,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// With what.
    pub subject: String,
    /// What.
    pub problem: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.subject, self.problem)
    }
}

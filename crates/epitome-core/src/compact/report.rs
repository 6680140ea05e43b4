//! What a compaction did, in figures and words.

use std::ops::Range;

use serde::Serialize;

use super::budget::Component;
use super::segment::Level;
use crate::checkpoint::Drift;
use crate::cost::Verdict;
use crate::pressure::{Pressure, Trigger};
use crate::units::Tokens;

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// The conversation was compacted.
    Compacted,
    /// Nothing had to be done, or nothing could be.
    Nothing,
    /// The result would not have been smaller.
    Refused,
}

/// What a compaction did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The strategy.
    pub strategy: &'static str,
    /// What came of it.
    pub decision: Decision,
    /// Why, in words.
    pub reason: String,
    /// What it was due to.
    pub trigger: Option<Trigger>,
    /// Where the conversation stood before.
    pub pressure: Pressure,
    /// Tokens that the conversation may have.
    pub budget: Tokens,
    /// What is sent beside the conversation: leading system messages, and what stands outside the path.
    pub fixed: Tokens,
    /// Tokens of the conversation before.
    pub tokens_before: Tokens,
    /// Tokens of the conversation after; in a dry run the most that it can have.
    pub tokens_after: Tokens,
    /// By how much the budget is exceeded after, where one was asked for or a threshold demands it.
    pub shortfall: Tokens,
    /// What became of each stretch.
    pub segments: Vec<Stretch>,
    /// What each component of the request may take and takes.
    pub components: Vec<Component>,
    /// Whether it pays for itself, where prices are known.
    pub verdict: Option<Verdict>,
    /// What became of the entries of the checkpoint that a new one replaces.
    pub drift: Option<Drift>,
    /// What else there is to say.
    pub notes: Vec<String>,
}

/// What became of a stretch of the path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stretch {
    /// The messages.
    pub range: Range<usize>,
    /// Verbatim, pruned, summary or omitted.
    pub kind: &'static str,
    /// What kind of summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// Tokens of the messages.
    pub tokens_before: Tokens,
    /// Tokens of what is shown; of a summary that is still to be written the most that it may have.
    pub tokens_after: Tokens,
}

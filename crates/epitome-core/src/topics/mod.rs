//! Topics: where one ends and the next begins, and the numbers by which they are kept in tiers (ADR 033).
//!
//! A topic ends where the user says so, after a long silence, where somebody seals it, where it has grown too
//! large, and, if that is switched on, where the words change. The strategy that keeps the current topic as it
//! is and summarises the others is [`crate::compact::Tiered`].

mod boundary;
mod cohesion;
mod context;
mod explicit;
pub mod measure;
mod phrases;
mod sentences;
mod settings;
mod terms;

pub(crate) use boundary::boundaries_after;
pub use boundary::{Boundary, Why, boundaries, seal_above};
pub use context::{BulkSummary, CompressedContext, TopicSummary};
pub(crate) use settings::LEAST_SUMMARY;
pub use settings::{Fraction, SubjectDetection, TopicSettings};
pub(crate) use terms::word_terms;

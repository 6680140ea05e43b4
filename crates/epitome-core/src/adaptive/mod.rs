//! Adaptive parts of compaction: numbers that follow the conversation, and what deserves to stay longer.
//!
//! [`threshold`] and [`recency_window`] move a setting within half and one and a half of what the user gave, by how
//! large messages are and how fast the conversation grows. [`retention`] finds the old exchanges that are worth
//! their tokens. [`cascade`] decides which summaries of a very long session are summarised again, where
//! `summary_cascade` is on. All of it is
//! planning: pure, linear, and without a model.

pub mod cascade;
mod follow;
pub mod retention;

pub use follow::{recency_window, threshold};

//! Tests of the crate as its users see it.

// Clippy exempts test functions, but not the functions they share.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod conversations;
mod friday;
mod log;
mod micro_agent;
mod nous_draft;
mod nous_v4;
mod prune_properties;
mod prune_steps;
mod support;

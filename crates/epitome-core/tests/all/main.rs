//! Tests of the crate as its users see it.

// Clippy exempts test functions, but not the functions they share.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod calibration;
mod conversations;
mod friday;
mod log;
mod micro_agent;
mod micro_agent_estimation;
mod nous_draft;
mod nous_draft_estimation;
mod nous_v4;
mod nous_v4_estimation;
mod prune_properties;
mod prune_steps;
mod recorded;
mod support;
mod tokens;

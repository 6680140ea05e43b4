//! Tests of the engine, in one binary, on real databases.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod agent;
mod arrivals;
mod background;
mod behind;
mod billing;
mod bound;
mod contention;
mod costs;
mod endurance;
mod explore;
mod friday;
mod harness;
mod hooks;
mod instructions;
mod knowledge;
mod log;
mod micro_agent;
mod mishaps;
mod models;
mod nexus;
mod nous_draft;
mod nous_v4;
mod overflow;
mod paying;
mod schedule;
mod seeds;
mod sessions;
mod storm;
mod support;
mod thresholds;
mod throttle;
mod told;
mod worker;

/// What can go wrong in the agent of the examples.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The agent of the examples.
#[path = "../../examples/agent/claude.rs"]
#[allow(dead_code)]
mod claude;
#[path = "../../examples/agent/tools.rs"]
mod tools;
#[path = "../../examples/agent/turn.rs"]
mod turn;

/// A server that speaks the APIs of models, as the tests of that crate have it.
#[path = "../../../epitome-llm/tests/all/upstream/mod.rs"]
mod upstream;

/// PostgreSQL servers, as the ledger's own tests have them.
#[path = "../../../epitome-ledger/tests/all/server.rs"]
#[allow(dead_code)]
mod server;

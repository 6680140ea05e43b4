//! Tests of the engine, in one binary, on real databases.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod background;
mod billing;
mod contention;
mod endurance;
mod hooks;
mod knowledge;
mod sessions;
mod support;
mod worker;

/// PostgreSQL servers, as the ledger's own tests have them.
#[path = "../../../epitome-ledger/tests/all/server.rs"]
#[allow(dead_code)]
mod server;

//! Tests of the server, in one binary, over real sockets on loopback.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod alive;
mod any;
mod away;
mod becoming;
mod cut;
mod elsewhere;
mod endless;
mod faults;
mod gone;
mod house;
mod keepers;
mod kept;
mod kinds;
mod learning;
mod limits;
mod matrix;
mod named;
mod odd;
mod outputs;
mod overflow;
mod packed;
mod pass;
mod prompt;
mod sessions;
mod speech;
mod spooled;
mod support;
mod thinking;
mod versions;
mod wire;

/// A server that speaks the APIs of models, as the tests of the summarisers have it.
#[path = "../../../epitome-llm/tests/all/upstream/mod.rs"]
mod upstream;

/// PostgreSQL servers, as the ledger's own tests have them.
#[path = "../../../epitome-ledger/tests/all/server.rs"]
#[allow(dead_code)]
mod server;

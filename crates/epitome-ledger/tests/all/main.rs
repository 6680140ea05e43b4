//! Integration tests of the ledger, in one binary, on real databases.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod again;
mod around;
mod basics;
mod contention;
mod crash;
mod doctor;
mod events;
mod faults;
mod full;
mod kept;
mod knowledge;
mod meanwhile;
mod model;
mod nexus;
mod once;
mod pooler;
mod power;
mod recall;
mod search;
mod seed_views;
mod server;
mod step;
mod still;
mod support;
mod tls;
mod unsettled;
mod upkeep;
mod worker;

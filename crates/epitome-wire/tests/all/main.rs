//! Integration tests of the wire crate, in one binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bodies;
mod check;
mod features;
mod files_real;
mod notation;

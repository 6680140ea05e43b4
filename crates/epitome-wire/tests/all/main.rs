//! Integration tests of the wire crate, in one binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bodies;
mod breakpoints;
mod canonical;
mod check;
mod compaction;
mod convert;
mod echo;
mod features;
mod files;
mod files_damage;
mod files_growing;
mod files_real;
mod files_rewrite;
mod files_show;
mod hostile;
mod kept;
mod known;
mod notation;
mod prune;
mod real;
mod reply;
mod requests;
mod resume;
mod scripts;
mod sse;
mod support;
mod thinking;

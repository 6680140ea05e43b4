//! Tests of the crate, in one binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod advice;
mod answers;
mod attempts;
mod breaker;
mod efforts;
mod endpoints;
mod failures;
mod faults;
mod hidden;
mod knowledge;
mod look_alikes;
mod overflows;
mod schedules;
mod storm;
mod summary;
mod support;
mod upstream;
mod windows;

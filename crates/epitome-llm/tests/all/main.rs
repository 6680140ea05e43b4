//! Tests of the crate, in one binary.

mod advice;
mod failures;
mod look_alikes;
mod overflows;

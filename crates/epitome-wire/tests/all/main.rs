//! Integration tests of the wire crate, in one binary.

mod check;
mod notation;

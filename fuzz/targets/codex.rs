//! Rollouts of Codex.
#![no_main]

use epitome_wire::files::Format;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| epitome_fuzz::file(Some(Format::Codex), bytes));

//! Bodies of Anthropic Messages: what scans is written back byte for byte, and each of its messages decodes or is refused.
#![no_main]

use epitome_wire::Dialect;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| epitome_fuzz::body(Dialect::Anthropic, text));

//! Files of unknown format, gzip included.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| epitome_fuzz::file(None, bytes));

//! Secrets are masked without panic, on character boundaries, and once is enough.
#![no_main]

use epitome_core::secrets::{find, masked};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut end = 0;
    for found in find(text) {
        assert!(found.span.start >= end && text.get(found.span.clone()).is_some_and(|secret| !secret.is_empty()));
        end = found.span.end;
    }
    let once = masked(text);
    assert_eq!(masked(&once), once);
});

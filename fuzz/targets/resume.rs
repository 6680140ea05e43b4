//! A body that begins like another is read as if from its start, wherever the two part.
#![no_main]

use epitome_wire::{Body, Dialect, common_prefix};
use libfuzzer_sys::fuzz_target;

/// Longer texts take long and show nothing else.
const LONGEST: usize = 2_000;

fuzz_target!(|text: &str| {
    if text.len() > LONGEST {
        return;
    }
    for dialect in Dialect::ALL {
        let Ok(body) = Body::scan(dialect, text) else { continue };
        let before = body.scan_of();
        // The same text with a piece of it taken out, or there twice.
        let places = (0..=8).map(|eighth| text.len() * eighth / 8);
        for (cut, from) in places.clone().flat_map(|cut| places.clone().map(move |from| (cut, from))) {
            let (Some(head), Some(tail)) = (text.get(..cut), text.get(from..)) else { continue };
            let next = format!("{head}{tail}");
            let scanned = Body::scan(dialect, &next).map(|body| body.scan_of());
            for common in [cut, common_prefix(text.as_bytes(), next.as_bytes())] {
                assert_eq!(Body::resume(&before, &next, common).map(|body| body.scan_of()), scanned);
            }
        }
    }
});

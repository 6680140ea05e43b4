//! Events are the same wherever the bytes of their stream are cut.
#![no_main]

use epitome_wire::sse::Events;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let read = |size: usize| {
        let mut events = Events::default();
        let mut found = Vec::new();
        for piece in bytes.chunks(size.max(1)) {
            found.extend(events.push(piece));
            assert!(events.held() <= 3 * bytes.len());
        }
        found.extend(events.end());
        found
    };
    let whole = read(bytes.len());
    assert_eq!(read(1), whole);
    assert_eq!(read(7), whole);
});

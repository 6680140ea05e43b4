//! The JSON cursor accepts whatever serde_json accepts, and steps over exactly that.
#![no_main]

use epitome_wire::json;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(span) = json::value(text) else { return };
    let value = span.of(text);
    assert_eq!(value, text.trim_matches([' ', '\n', '\r', '\t']));
    for member in json::members(text, span).flatten() {
        assert!(!member.1.is_empty());
    }
    for element in json::elements(text, span).flatten() {
        assert!(!element.is_empty());
    }
});

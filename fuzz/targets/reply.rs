//! Replies of any bytes: the same wherever they are cut, and always messages that are JSON and repeat themselves.
#![no_main]

use epitome_wire::echo::{Extent, echo_of, echo_of_cut};
use epitome_wire::json::check;
use epitome_wire::reply::read_answer;
use epitome_wire::{Dialect, decode_message};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for dialect in Dialect::ALL {
        for is_stream in [true, false] {
            let whole = read_answer(dialect, is_stream, std::iter::once(bytes));
            assert_eq!(read_answer(dialect, is_stream, bytes.chunks(1)), whole);
            assert_eq!(read_answer(dialect, is_stream, bytes.chunks(7)), whole);
            assert!(whole.messages.iter().all(|json| check(json).is_ok()));
            let messages: Vec<&str> = whole.messages.iter().map(String::as_str).collect();
            let is_assistant = |json: &&str| {
                decode_message(dialect, json)
                    .is_ok_and(|(message, _)| message.role == epitome_core::Role::Assistant)
            };
            if messages.iter().all(is_assistant) {
                assert!(echo_of(dialect, &messages, &messages).is_some());
                assert_eq!(
                    echo_of_cut(dialect, &messages, &messages).map(|(_, extent)| extent),
                    Some(Extent::Whole)
                );
            }
        }
    }
});

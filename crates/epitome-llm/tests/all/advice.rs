//! How long a server asks to be left alone, in every way of saying it.

use std::time::{Duration, SystemTime};

use epitome_llm::{Advice, Failure};
use proptest::prelude::*;

type Headers = &'static [(&'static str, &'static str)];

// 1994-11-06 08:49:37
const NOW: u64 = 784_111_777;

fn advice(headers: &[(&str, &str)]) -> Advice {
    let header = |name: &str| headers.iter().find(|(given, _)| *given == name).map(|(_, value)| *value);
    Advice::of_headers(header, SystemTime::UNIX_EPOCH + Duration::from_secs(NOW))
}

#[test]
fn headers_are_read() {
    let day = Duration::from_secs(86_400);
    let cases: &[(Headers, Option<Duration>)] = &[
        (&[("retry-after", "20")], Some(Duration::from_secs(20))),
        (&[("retry-after", " 1.5 ")], Some(Duration::from_millis(1_500))),
        (&[("retry-after", "20"), ("retry-after-ms", "250")], Some(Duration::from_millis(250))),
        (&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], Some(Duration::from_secs(30))),
        (&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], Some(Duration::ZERO)),
        (&[("retry-after", "Tue, 29 Feb 2028 00:00:00 GMT")], Some(day)),
        (&[("retry-after", "1e300")], Some(day)),
        (&[("retry-after", "-1")], None),
        (&[("retry-after", "NaN")], None),
        (&[("retry-after", "soon")], None),
        (&[("retry-after", "Sun, 99 Nov 1994 08:50:07 GMT")], None),
        (&[], None),
    ];
    for (headers, expected) in cases {
        assert_eq!(advice(headers).retry_after, *expected, "{headers:?}");
    }
}

#[test]
fn the_server_has_the_last_word_on_another_attempt() {
    let failure = |status, header| {
        let failure = Failure::of_reply(status, b"{}").unwrap();
        failure.advised(advice(&[("x-should-retry", header)]))
    };
    assert!(!failure(500, "false").is_retryable());
    assert!(failure(500, "true").is_retryable());
    assert!(failure(400, "true").is_retryable());
    assert!(!failure(401, "true").is_retryable(), "a key does not mend itself");
}

#[test]
fn waits_in_the_message_are_read_and_headers_outrank_them() {
    for (text, expected) in [
        ("Please try again in 20s.", Some(20_000)),
        ("Please try again in 6m0s. Visit", Some(360_000)),
        ("please try again in 1.2s", Some(1_200)),
        ("Try again in 500ms", Some(500)),
        ("try again in 2 minutes", Some(120_000)),
        ("try again in a while", None),
        ("try again in", None),
    ] {
        let failure = Failure::of_reply(429, text.as_bytes()).unwrap();
        assert_eq!(failure.retry_after(), expected.map(Duration::from_millis), "{text}");
    }
    let failure = Failure::of_reply(429, b"try again in 20s").unwrap();
    assert_eq!(failure.advised(advice(&[("retry-after", "3")])).retry_after(), Some(Duration::from_secs(3)));
}

proptest! {
    #[test]
    fn no_header_upsets_it(value in ".*", text in "try again in .*") {
        let read = advice(&[("retry-after", &value), ("retry-after-ms", &value), ("x-should-retry", &value)]);
        prop_assert!(read.retry_after.is_none_or(|wait| wait <= Duration::from_secs(86_400)));
        let _ = Failure::of_reply(429, text.as_bytes());
    }
}

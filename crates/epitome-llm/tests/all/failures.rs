//! Failures by status, code and text; and that nothing from outside can upset the reading of them.

use epitome_core::Tokens;
use epitome_llm::{Failure, Kind};
use proptest::prelude::*;

/// A status, a body as it was seen, what it is, and whether it is worth another attempt.
const REPLIES: &[(u16, &str, Kind, bool)] = &[
    (
        401,
        r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_1"}"#,
        Kind::Auth,
        false,
    ),
    (
        401,
        r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}"#,
        Kind::Auth,
        false,
    ),
    (402, r#"{"error":{"message":"Insufficient credits","code":402}}"#, Kind::Billing, false),
    (403, r#"{"type":"error","error":{"type":"permission_error","message":"no"}}"#, Kind::Auth, false),
    (
        404,
        r#"{"type":"error","error":{"type":"not_found_error","message":"model: nope"}}"#,
        Kind::NotFound,
        false,
    ),
    (404, r#"{"error":"model 'nope' not found"}"#, Kind::NotFound, false),
    (
        400,
        r#"{"error":{"message":"messages: at least one message is required","type":"invalid_request_error"}}"#,
        Kind::Refused,
        false,
    ),
    (
        429,
        r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}"#,
        Kind::RateLimited,
        true,
    ),
    (
        500,
        r#"{"type":"error","error":{"type":"api_error","message":"Internal server error"}}"#,
        Kind::Server,
        true,
    ),
    (502, "<html><head><title>502 Bad Gateway</title></head></html>", Kind::Server, true),
    (
        503,
        r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
        Kind::Overloaded,
        true,
    ),
    (504, "", Kind::Timeout, true),
    (408, "", Kind::Timeout, true),
    (409, r#"{"type":"error","error":{"type":"conflict_error","message":"busy"}}"#, Kind::Server, true),
    (
        529,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        Kind::Overloaded,
        true,
    ),
    (301, "", Kind::Refused, false),
    (200, r#"{"error":{"code":502,"message":"Provider returned error"}}"#, Kind::Server, true),
    (200, r#"{"error":{"code":429,"message":"slow down"}}"#, Kind::RateLimited, true),
];

#[test]
fn replies_are_told_apart() {
    for (status, body, kind, is_retryable) in REPLIES {
        let failure = Failure::of_reply(*status, body.as_bytes()).unwrap();
        assert_eq!(failure.kind, *kind, "{status} {body}");
        assert_eq!(failure.is_retryable(), *is_retryable, "{status} {body}");
        assert_eq!(failure.status, Some(*status));
        assert!(!failure.message.is_empty() && !failure.message.contains('<'), "{}", failure.message);
    }
}

#[test]
fn errors_after_a_good_start_are_told_apart() {
    let events = [
        (r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Kind::Overloaded),
        (r#"{"type":"error","error":{"type":"api_error","message":"Internal server error"}}"#, Kind::Server),
        (
            r#"{"error":{"message":"The server had an error","type":"server_error","code":null}}"#,
            Kind::Server,
        ),
        (
            r#"{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"…"}}}"#,
            Kind::RateLimited,
        ),
        (r#"{"type":"error","code":null,"message":"went wrong"}"#, Kind::Server),
    ];
    for (event, kind) in events {
        assert_eq!(Failure::of_event(event).unwrap().kind, kind, "{event}");
    }
}

#[test]
fn messages_are_short_and_without_secrets() {
    let key = ["sk-", "ant-api03-", &"Zk3".repeat(20)].concat();
    let body = format!("{{\"error\":{{\"message\":\"the key {key} is wrong {}\"}}}}", "x ".repeat(5_000));
    let failure = Failure::of_reply(401, body.as_bytes()).unwrap();
    assert!(!format!("{failure} {failure:?}").contains(&key), "{failure}");
    assert!(failure.message.chars().count() < 700);
    let odd = Failure::of_reply(401, b"the key hunter2hunter2 is wrong").unwrap().without("hunter2hunter2");
    assert!(!format!("{odd} {odd:?}").contains("hunter2"), "{odd}");
}

#[test]
fn a_secret_that_is_cut_goes_as_well() {
    for before in 560..620 {
        let body = format!("{} hunter2hunter2hunter2", "x".repeat(before));
        let failure = Failure::of_reply(401, body.as_bytes()).unwrap().without("hunter2hunter2hunter2");
        assert!(!failure.message.contains('h'), "{}", failure.message);
    }
}

#[test]
fn the_most_that_a_model_gives_is_read() {
    for message in [
        "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude",
        "max_tokens is too large: 9000. This model supports at most 8192 completion tokens, whereas you provided 9000.",
        "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
    ] {
        let failure = Failure::of_reply(400, message.as_bytes()).unwrap();
        assert_eq!((failure.kind, failure.max_output), (Kind::Refused, Some(Tokens(8_192))), "{message}");
    }
    assert_eq!(Failure::of_reply(400, b"max_tokens: wrong").unwrap().max_output, None);
}

#[test]
fn a_failure_reads_well() {
    let failure = Failure::of_reply(429, br#"{"error":{"message":"slow down"}}"#).unwrap();
    assert_eq!(failure.to_string(), "rate limited (status 429): slow down");
    assert_eq!(Failure::new(Kind::Cut, "after 3 bytes").to_string(), "the answer broke off: after 3 bytes");
}

/// Words of errors in any order, with numbers in between: the templates meet what nearly fits them.
fn nearly() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "prompt is too long: ",
        "maximum context length is ",
        " tokens",
        " > ",
        "{\"error\":",
        "{\"message\":\"",
        "\"}",
        "}",
        "200,000",
        "99999999999999999999",
        "128k",
        "1.5m",
        ",",
        "k",
        "’",
        "try again in ",
        "6m0s",
        "\u{0}",
        "é",
        "…",
    ]);
    prop::collection::vec(words, 0..24).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn no_bytes_upset_it(status in 100u16..1000, body in prop::collection::vec(any::<u8>(), 0..400)) {
        let failure = Failure::of_reply(status, &body);
        prop_assert!(failure.is_some() || (200..300).contains(&status));
        let _ = Failure::of_event(&String::from_utf8_lossy(&body));
    }

    #[test]
    fn no_words_upset_it(status in 100u16..1000, body in nearly()) {
        let failure = Failure::of_reply(status, body.as_bytes());
        if let Some(Kind::Overflow { limit: Some(limit), requested: Some(requested) }) = failure.map(|f| f.kind) {
            prop_assert!(requested > limit);
        }
        let _ = Failure::of_event(&body);
    }
}

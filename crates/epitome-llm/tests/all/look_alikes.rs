//! What speaks of tokens, lengths and limits, and is no overflow of the window.

use epitome_llm::{Failure, Kind};
use serde_json::json;

/// A status, a code, a message, and what it is.
const CASES: &[(u16, &str, &str, Kind)] = &[
    (
        429,
        "rate_limit_error",
        "This request would exceed the rate limit for your organization of 40,000 input tokens per minute.",
        Kind::RateLimited,
    ),
    (
        429,
        "rate_limit_exceeded",
        "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 4000. Please try again in 6s.",
        Kind::RateLimited,
    ),
    (400, "", "ThrottlingException: Too many tokens, please wait before trying again.", Kind::RateLimited),
    (429, "", "Too many tokens, please wait before trying again.", Kind::RateLimited),
    (
        413,
        "rate_limit_exceeded",
        "Request too large for model `llama-3.3-70b` in organization `org` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size and try again.",
        Kind::TooLarge,
    ),
    (
        429,
        "rate_limit_exceeded",
        "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 40000. The input or output tokens must be reduced in order to run successfully.",
        Kind::TooLarge,
    ),
    (429, "rate_limit_error", "Extra usage is required for long context requests.", Kind::TooLarge),
    (413, "request_too_large", "Request exceeds the maximum size", Kind::TooLarge),
    (413, "", "", Kind::TooLarge),
    (
        400,
        "string_above_max_length",
        "Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576, but got a string with length 1540820 instead.",
        Kind::TooLarge,
    ),
    (
        400,
        "invalid_request_error",
        "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5",
        Kind::Refused,
    ),
    (
        400,
        "invalid_request_error",
        "max_tokens is too large: 8000. This model supports at most 4096 completion tokens, whereas you provided 8000.",
        Kind::Refused,
    ),
    (
        400,
        "invalid_request_error",
        "`max_tokens` must be greater than `thinking.budget_tokens`.",
        Kind::Refused,
    ),
    (
        400,
        "invalid_request_error",
        "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
        Kind::Refused,
    ),
    (400, "invalid_request_error", "A maximum of 100 PDF pages may be provided.", Kind::Refused),
    (400, "", "input is too long for this field", Kind::Refused),
    (
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API.",
        Kind::Billing,
    ),
    (
        429,
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
        Kind::Billing,
    ),
    (
        403,
        "permission_error",
        "This organization may not use models with a maximum context length is 1000000 tokens.",
        Kind::Auth,
    ),
    (404, "model_not_found", "The model `gpt-x` does not exist: context length exceeded", Kind::NotFound),
    (429, "", "This model's maximum context length is 4097 tokens per minute", Kind::RateLimited),
    (503, "", "the server exceeded its token limit", Kind::Overloaded),
];

#[test]
fn limits_that_are_not_the_window_are_told_apart() {
    for (status, code, message, kind) in CASES {
        let body = json!({"error": {"type": code, "code": code, "message": message}}).to_string();
        let failure = Failure::of_reply(*status, body.as_bytes()).unwrap();
        assert_eq!(failure.kind, *kind, "{status} {body}");
        assert!(!failure.is_overflow());
        let plain = Failure::of_reply(*status, message.as_bytes()).unwrap();
        assert!(!plain.is_overflow(), "as text: {message}");
    }
}

// What cannot succeed is not tried again; what is only too large is made smaller instead.
#[test]
fn a_request_above_a_limit_per_minute_is_not_repeated() {
    let body = json!({"error": {"code": "rate_limit_exceeded", "message": CASES[5].2}}).to_string();
    let failure = Failure::of_reply(429, body.as_bytes()).unwrap();
    assert!(failure.wants_less() && !failure.is_retryable());
}

#[test]
fn answers_are_no_failures() {
    let answers = [
        json!({"type": "message", "content": [{"type": "text", "text": "error: prompt is too long"}]}),
        json!({"choices": [{"message": {"content": "context_length_exceeded"}}], "error": null}),
        json!({"object": "response", "status": "completed", "error": null, "output": []}),
        json!("prompt is too long"),
    ];
    for answer in answers {
        assert_eq!(Failure::of_reply(200, answer.to_string().as_bytes()), None, "{answer}");
        assert_eq!(Failure::of_event(&answer.to_string()), None, "{answer}");
    }
    let delta = r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"the error is: context length exceeded"}}"#;
    assert_eq!(Failure::of_event(delta), None);
}

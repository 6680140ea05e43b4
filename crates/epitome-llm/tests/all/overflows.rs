//! Every way in which a server was seen to say that a request does not fit the window.

use epitome_core::{Tokens, Usage};
use epitome_llm::{Failure, Kind, window_of_truncation};
use proptest::prelude::*;
use serde_json::json;

/// A message, the window that it tells, and what was requested.
const MESSAGES: &[(&str, Option<u64>, Option<u64>)] = &[
    ("prompt is too long: 200251 tokens > 200000 maximum", Some(200_000), Some(200_251)),
    (
        "input length and `max_tokens` exceed context limit: 143653 + 64000 > 200000, decrease input length or `max_tokens` and try again",
        Some(200_000),
        Some(207_653),
    ),
    (
        "LLM request rejected: input length and max_tokens exceed context limit: 170636 + 34048 > 200000, decrease input length or max_tokens and try again",
        Some(200_000),
        Some(204_684),
    ),
    (
        "This model's maximum context length is 4097 tokens. However, you requested 4120 tokens (120 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.",
        Some(4_097),
        Some(4_120),
    ),
    (
        "This model’s maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens. Please reduce the length of the messages.",
        Some(8_192),
        Some(8_545),
    ),
    (
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 477469 tokens. Please reduce the length of the messages.",
        Some(272_000),
        Some(477_469),
    ),
    (
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens (149000 of text input, 1000 in the output).",
        Some(131_072),
        Some(150_000),
    ),
    (
        "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt contains at least 262145 input tokens, for a total of at least 262145 tokens. Please reduce the length of the input prompt.",
        Some(262_144),
        Some(262_145),
    ),
    (
        "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096 tokens and your request has 2104 input tokens (2000 > 4096 - 2104).",
        Some(4_096),
        Some(4_104),
    ),
    (
        "Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a total of 140000 tokens: 139000 tokens from the input messages and 1000 tokens for the completion.",
        Some(131_072),
        Some(140_000),
    ),
    ("Input length (265330) exceeds model's maximum context length (262144).", Some(262_144), Some(265_330)),
    (
        "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
        Some(131_040),
        Some(131_393),
    ),
    (
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        None,
        None,
    ),
    ("prompt token count of 134092 exceeds the limit of 128000", Some(128_000), Some(134_092)),
    (
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        Some(131_072),
        Some(537_812),
    ),
    (
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
        Some(1_048_575),
        Some(1_196_265),
    ),
    (
        "The input (140000 tokens) is longer than the model's context length (131072 tokens).",
        Some(131_072),
        Some(140_000),
    ),
    (
        "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        Some(32_768),
        Some(65_673),
    ),
    (
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 290000)",
        Some(262_144),
        Some(290_000),
    ),
    ("invalid params, context window exceeds limit (2013)", None, None),
    (
        "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.",
        Some(4_081),
        Some(4_292),
    ),
    ("Input is too long for requested model.", None, None),
    (
        "request (66202 tokens) exceeds the available context size (65536 tokens), try increasing it",
        Some(65_536),
        Some(66_202),
    ),
    ("the request exceeds the available context size, try increasing it", None, None),
    (
        "Trying to keep the first 5137 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
        Some(4_096),
        Some(5_137),
    ),
    (
        "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 5137>= n_ctx: 4096).",
        None,
        None,
    ),
    ("prompt too long; exceeded max context length by 812 tokens", None, None),
    (
        "Prompt too long: 5152 tokens exceeds max_seq_len 2048 (leave room for output tokens)",
        Some(2_048),
        Some(5_152),
    ),
    (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 4000 `inputs` tokens and 1000 `max_new_tokens`",
        Some(4_097),
        Some(5_000),
    ),
    (
        "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
        Some(4_096),
        Some(5_000),
    ),
    ("PROMPT IS\n  TOO LONG", None, None),
];

fn overflow(limit: Option<u64>, requested: Option<u64>) -> Kind {
    Kind::Overflow { limit: limit.map(Tokens), requested: requested.map(Tokens) }
}

#[test]
fn every_known_message_is_understood_in_every_shape_of_body() {
    for (message, limit, requested) in MESSAGES {
        let anthropic =
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
        let openai = json!({"error": {"message": message, "type": "invalid_request_error", "param": "messages", "code": null}});
        let bare = json!({"object": "error", "message": message, "type": "BadRequestError", "code": 400});
        let google = json!([{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}]);
        let string = json!({"error": message});
        let wrapped = json!({"error": {"code": 400, "message": "Provider returned error", "metadata": {"raw": message}}});
        for body in [anthropic, openai, bare, google, string, wrapped] {
            let body = body.to_string();
            for status in [400, 413, 422, 500] {
                let failure = Failure::of_reply(status, body.as_bytes()).unwrap();
                assert_eq!(failure.kind, overflow(*limit, *requested), "{status} {body}");
                assert!(failure.is_overflow() && failure.wants_less() && !failure.is_retryable(), "{body}");
            }
            let failure = Failure::of_reply(200, body.as_bytes()).unwrap();
            assert!(failure.is_overflow(), "with status 200: {body}");
            assert!(Failure::of_event(&body).unwrap().is_overflow(), "in a stream: {body}");
        }
        assert!(Failure::of_reply(400, message.as_bytes()).unwrap().is_overflow(), "as text: {message}");
    }
}

#[test]
fn codes_tell_where_the_message_does_not() {
    for code in [
        "context_length_exceeded",
        "model_max_prompt_tokens_exceeded",
        "exceed_context_size_error",
        "model_context_window_exceeded",
    ] {
        for key in ["code", "type"] {
            let body = json!({"error": {key: code, "message": "No."}}).to_string();
            assert_eq!(Failure::of_reply(400, body.as_bytes()).unwrap().kind, overflow(None, None), "{body}");
        }
    }
}

#[test]
fn sizes_in_fields_of_their_own_are_read() {
    let body = r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":1194,"n_ctx":1024}}"#;
    assert_eq!(Failure::of_reply(400, body.as_bytes()).unwrap().kind, overflow(Some(1_024), Some(1_194)));
}

#[test]
fn overflow_in_the_midst_of_a_stream_is_understood() {
    let events = [
        r#"{"type":"error","sequence_number":2,"code":"context_length_exceeded","message":"Your input exceeds the context window of this model. Please adjust your input and try again.","param":"input"}"#,
        r#"{"type":"response.failed","sequence_number":3,"response":{"id":"r","status":"failed","error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}}"#,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 200251 tokens > 200000 maximum"}}"#,
        r#"{"error":{"message":"context length exceeded","code":400}}"#,
    ];
    for event in events {
        assert!(Failure::of_event(event).unwrap().is_overflow(), "{event}");
    }
}

#[test]
fn sizes_that_contradict_each_other_are_not_believed() {
    let failure = Failure::of_reply(400, b"prompt is too long: 10 tokens > 200000 maximum").unwrap();
    assert_eq!(failure.kind, overflow(Some(200_000), None));
    let failure = Failure::of_reply(400, b"prompt is too long: 10 tokens > 0 maximum").unwrap();
    assert_eq!(failure.kind, overflow(None, Some(10)));
}

#[test]
fn a_prompt_that_was_cut_silently_is_noticed() {
    let billed = |input| Usage { input: Tokens(input), output: Tokens(50), ..Usage::default() };
    assert_eq!(window_of_truncation(Tokens(20_000), &billed(4_046)), Some(Tokens(4_096)));
    assert_eq!(window_of_truncation(Tokens(20_000), &billed(14_000)), None, "another tokenizer");
    assert_eq!(window_of_truncation(Tokens(20_000), &billed(12_000)), Some(Tokens(12_050)), "cut a little");
    assert_eq!(window_of_truncation(Tokens(20_000), &billed(12_400)), None, "another tokenizer");
    assert_eq!(window_of_truncation(Tokens(20_000), &billed(26_000)), None);
    assert_eq!(window_of_truncation(Tokens(500), &billed(50)), None, "too little to tell");
    assert_eq!(window_of_truncation(Tokens(20_000), &billed(0)), None, "nothing was reported");
}

proptest! {
    // The same sizes are read however they are written.
    #[test]
    fn sizes_are_read_with_separators_and_suffixes(thousands in 1u64..2_000, more in 1u64..900) {
        let (limit, requested) = (thousands * 1_000, thousands * 1_000 + more);
        let comma = |number: u64| match (number / 1_000_000, number / 1_000 % 1_000, number % 1_000) {
            (0, thousands, rest) => format!("{thousands},{rest:03}"),
            (millions, thousands, rest) => format!("{millions},{thousands:03},{rest:03}"),
        };
        for (asked, window) in [
            (requested.to_string(), limit.to_string()),
            (comma(requested), comma(limit)),
            (comma(requested).replace(',', "_"), limit.to_string()),
            (format!("{}.{more:03}k", requested / 1_000), format!("{thousands}k")),
            (requested.to_string(), format!("{thousands}K")),
        ] {
            let message = format!("prompt is too long: {asked} tokens > {window} maximum");
            let failure = Failure::of_reply(400, message.as_bytes()).unwrap();
            prop_assert_eq!(failure.kind, overflow(Some(limit), Some(requested)), "{}", message);
        }
    }
}

#[test]
fn thinking_that_is_not_taken_back_is_told_from_what_else_is_said_of_it() {
    let cases = [
        ("messages.1.content.0: Invalid `signature` in `thinking` block", true),
        (
            "messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
            true,
        ),
        (
            "messages.5.content.0: this thinking block fails the conversation check: the messages before it have changed since it was created (prefix_binding_mismatch)",
            true,
        ),
        ("messages.5.content.1: the thinking block was created in a different conversation", true),
        (
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block",
            false,
        ),
        ("`max_tokens` must be greater than `thinking.budget_tokens`", false),
        ("messages.0.content.0: the `compaction` block's `signature` does not verify", false),
        ("prompt is too long: 200251 tokens > 200000 maximum", false),
    ];
    for (message, expected) in cases {
        let body = json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
        let failure = Failure::of_reply(400, body.to_string().as_bytes()).unwrap();
        assert_eq!(failure.refuses_thinking(), expected, "{message}");
    }
    let signed = r#"{"error":{"message":"thinking: invalid signature"}}"#;
    assert!(!Failure::of_reply(500, signed.as_bytes()).unwrap().refuses_thinking());
}

//! What servers and networks do to calls, and what becomes of the calls.

use std::io::Write;
use std::time::Duration;

use epitome_core::Tokens;
use epitome_llm::{Delivery, Failure, Kind, Limits};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::support::{APIS, at, call, client, impatient};
use crate::upstream::{Act, Reply, Upstream};

const SOON: Duration = Duration::from_millis(50);

async fn failure(api: &str, act: Act) -> Failure {
    let upstream = Upstream::new(vec![act]);
    client(&upstream, api).ask(&call()).await.unwrap_err()
}

#[tokio::test]
async fn statuses_come_through_with_their_meaning() {
    let cases = [
        (400, "invalid_request_error", "messages: at least one message is required", Kind::Refused),
        (401, "authentication_error", "invalid x-api-key", Kind::Auth),
        (403, "permission_error", "not for you", Kind::Auth),
        (404, "not_found_error", "model: some-model", Kind::NotFound),
        (413, "request_too_large", "Request exceeds the maximum size", Kind::TooLarge),
        (429, "rate_limit_error", "slow down", Kind::RateLimited),
        (500, "api_error", "Internal server error", Kind::Server),
        (503, "unavailable_error", "Loading model", Kind::Overloaded),
        (529, "overloaded_error", "Overloaded", Kind::Overloaded),
    ];
    for api in APIS {
        for (status, kind, message, expected) in cases {
            let failure = failure(api, Act::refuse(status, kind, message)).await;
            assert_eq!((failure.kind, failure.status), (expected, Some(status)), "{api}");
            assert_eq!(failure.message, message);
        }
    }
}

#[tokio::test]
async fn overflow_comes_through_with_its_sizes() {
    let message = "prompt is too long: 200251 tokens > 200000 maximum";
    let expected = Kind::Overflow { limit: Some(Tokens(200_000)), requested: Some(Tokens(200_251)) };
    let event =
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}}).to_string();
    for api in APIS {
        let acts = [
            Act::refuse(400, "invalid_request_error", message),
            Act::Body("application/json", json!({"error": message}).to_string()),
            Act::Fail(Reply::new("it was going so well"), event.clone()),
        ];
        for act in acts {
            assert_eq!(failure(api, act.clone()).await.kind, expected, "{api} {act:?}");
        }
    }
}

#[tokio::test]
async fn advice_comes_through() {
    let refuse = |header, value| Act::refuse(429, "rate_limit_error", "slow down").header(header, value);
    let failed = failure("anthropic", refuse("Retry-After", "7")).await;
    assert_eq!(failed.retry_after(), Some(Duration::from_secs(7)));
    let failed = failure("openai", refuse("retry-after-ms", "1500")).await;
    assert_eq!(failed.retry_after(), Some(Duration::from_millis(1_500)));
    let failed = failure("openai", refuse("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT")).await;
    assert_eq!(failed.retry_after(), Some(Duration::from_secs(86_400)));
    assert!(!failure("openai", refuse("x-should-retry", "false")).await.is_retryable());
}

#[tokio::test]
async fn what_breaks_is_told_apart() {
    let reply = || Reply::new("one two three four five six seven");
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    for api in APIS {
        let cases = [
            (Act::Cut(reply()), Kind::Cut),
            (Act::Hangup, Kind::Cut),
            (Act::Garbage, Kind::Garbage),
            (Act::Endless, Kind::Garbage),
            (Act::Fail(reply(), overloaded.to_string()), Kind::Overloaded),
            (Act::Body("text/html", "<html>welcome to the hotel</html>".to_owned()), Kind::Garbage),
            (Act::Body("application/json", "{}".to_owned()), Kind::Garbage),
            (Act::Body("application/json", String::new()), Kind::Garbage),
            (Act::Body("application/json", "x".repeat(300_000)), Kind::Garbage),
            (Act::Body("text/event-stream", String::new()), Kind::Cut),
            (Act::Body("text/event-stream", "data: {\"type\":\n\n".to_owned()), Kind::Garbage),
            (Act::Body("text/event-stream", "data: {\"type\":\"mess".to_owned()), Kind::Cut),
            (
                Act::Refuse(307, vec![("location", "http://127.0.0.1:1/v1".to_owned())], String::new()),
                Kind::Refused,
            ),
        ];
        for (act, kind) in cases {
            let failed = failure(api, act.clone()).await;
            assert_eq!(failed.kind, kind, "{api} {act:?}: {failed}");
        }
    }
}

// A few bytes can unpack to very many; what counts is what they unpack to.
#[tokio::test]
async fn packed_replies_are_unpacked_as_far_as_they_may() {
    let packed = |text: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let body =
        json!({"choices": [{"message": {"content": "unpacked"}, "finish_reason": "stop"}]}).to_string();
    let upstream = Upstream::new(vec![Act::Packed(packed(&body))]);
    assert_eq!(client(&upstream, "openai").ask(&call()).await.unwrap().text, "unpacked");
    let bomb = packed(&" ".repeat(50_000_000));
    assert!(bomb.len() < 100_000);
    let failed = failure("openai", Act::Packed(bomb)).await;
    assert_eq!(failed.kind, Kind::Garbage, "{failed}");
    assert!(failed.message.contains("more than 200000 bytes"), "{failed}");
    let whole = packed(&body);
    for broken in [whole[..whole.len() / 2].to_vec(), b"this was never packed".to_vec()] {
        let failed = failure("openai", Act::Packed(broken)).await;
        assert!(matches!(failed.kind, Kind::Garbage | Kind::Cut), "{failed:?}");
    }
}

#[tokio::test]
async fn stalls_are_noticed() {
    for api in APIS {
        for act in [Act::Silence, Act::Stall(Reply::new("one two three four five six"))] {
            let upstream = Upstream::new(vec![act.clone()]);
            let failed = impatient(&upstream, api, SOON).ask(&call()).await.unwrap_err();
            assert_eq!(failed.kind, Kind::Timeout, "{api} {act:?}: {failed}");
            upstream.gone(1).await;
        }
    }
    let upstream = Upstream::new(vec![Act::Silence]);
    let client = client(&upstream, "openai");
    let failed = client.ask_within(&call().delivered(Delivery::Whole), SOON).await.unwrap_err();
    assert_eq!(failed.kind, Kind::Timeout, "the deadline counts where nothing else does");
}

#[tokio::test]
async fn nobody_there_is_told() {
    // A port that is taken, and that nobody listens on.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap());
    let failed = at(&url, "openai", Limits::default()).ask(&call()).await.unwrap_err();
    assert_eq!(failed.kind, Kind::Unreachable, "{failed}");
    assert!(failed.is_retryable());
}

// The handshake fails, but it takes place: the provider of TLS and the roots of trust are there.
#[tokio::test]
async fn a_server_that_cannot_do_tls_is_not_reachable_by_it() {
    let upstream = Upstream::new(vec![Act::say("never")]);
    let url = upstream.url().replace("http:", "https:");
    let failed = at(&url, "anthropic", Limits::default()).ask(&call()).await.unwrap_err();
    assert_eq!(failed.kind, Kind::Unreachable, "{failed}");
    assert_eq!(upstream.requests().len(), 0);
}

#[tokio::test]
async fn what_breaks_after_the_last_word_does_no_harm() {
    let reply = Reply::new("all of it");
    for api in ["anthropic", "openai"] {
        let upstream = Upstream::new(vec![Act::Unended(reply.clone())]);
        assert_eq!(client(&upstream, api).ask(&call()).await.unwrap().text, reply.text, "{api}");
    }
    // Responses says nothing about its end before its last event.
    assert_eq!(failure("responses", Act::Unended(reply)).await.kind, Kind::Cut);
}

#[tokio::test]
async fn errors_in_a_choice_are_errors() {
    let choice = json!({"finish_reason": "error", "message": {"content": "so far"}, "delta": {"content": "so far"}, "error": {"code": 502, "message": "went away"}});
    let silent =
        json!({"finish_reason": "error", "message": {"content": "so far"}, "delta": {"content": "so far"}});
    let short =
        json!({"finish_reason": "insufficient_system_resource", "message": {"content": ""}, "delta": {}});
    for (choice, kind) in [(choice, Kind::Server), (silent, Kind::Server), (short, Kind::Overloaded)] {
        let body = json!({"choices": [choice]}).to_string();
        for act in [
            Act::Body("application/json", body.clone()),
            Act::Body("text/event-stream", format!("data: {body}\n\ndata: [DONE]\n\n")),
        ] {
            assert_eq!(failure("openai", act).await.kind, kind, "{body}");
        }
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_closes_its_connection() {
    for act in [Act::Silence, Act::Stall(Reply::new("one two three four five six"))] {
        let upstream = Upstream::new(vec![act]);
        let client = client(&upstream, "anthropic");
        let question = call();
        tokio::select! {
            answer = client.ask(&question) => panic!("{answer:?}"),
            () = upstream.arrived(1) => {}
        }
        upstream.gone(1).await;
    }
}

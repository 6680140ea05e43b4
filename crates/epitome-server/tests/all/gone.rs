//! Whoever goes away takes the other side along: clients at each stage, upstreams at each stage.

use std::time::Duration;

use epitome_server::Config;

use crate::support::{Proxy, run};
use crate::wire::{Gone, answer, chunk, post};

const STREAM: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/// With and without somebody who looks at calls: both ways must hold.
fn both(test: impl AsyncFn(Proxy)) {
    run(async {
        test(Proxy::start(None).await).await;
        test(Proxy::start(Some(crate::keepers::unchanged())).await).await;
    });
}

#[test]
fn a_client_that_goes_before_the_first_byte_ends_the_upstream_request() {
    both(async |proxy| {
        let mut client = proxy.client().await;
        client.send(post("/v1/messages", "{}")).await;
        let mut upstream = proxy.upstream().await;
        upstream.message().await;
        drop(client);
        upstream.gone().await;
    });
}

#[test]
fn a_client_that_goes_in_the_midst_of_the_answer_ends_the_upstream_request() {
    both(async |proxy| {
        let mut client = proxy.client().await;
        client.send(post("/v1/messages", "{}")).await;
        let mut upstream = proxy.upstream().await;
        upstream.message().await;
        upstream.send(format!("{STREAM}{}", chunk("data: 1\n\n"))).await;
        client.until("data: 1").await;
        drop(client);
        upstream.gone().await;
    });
}

#[test]
fn a_client_that_goes_while_it_uploads_ends_the_upstream_request() {
    run(async {
        let proxy = Proxy::start(None).await;
        let mut client = proxy.client().await;
        client.send("POST /v1/files HTTP/1.1\r\nHost: p\r\nContent-Length: 100\r\n\r\nbegun").await;
        let mut upstream = proxy.upstream().await;
        upstream.until("begun").await;
        drop(client);
        upstream.gone().await;
    });
}

#[test]
fn a_client_that_goes_while_its_call_is_collected_asks_nobody() {
    run(async {
        let (keeper, mut events) = crate::keepers::recording();
        let proxy = Proxy::start(Some(keeper)).await;
        let mut client = proxy.client().await;
        client.send("POST /v1/messages HTTP/1.1\r\nHost: p\r\nContent-Length: 100\r\n\r\nbegun").await;
        drop(client);
        // The next one is the first that the keeper and the upstream hear of.
        let mut client = proxy.client().await;
        client.send(post("/v1/messages", "[2]")).await;
        let mut upstream = proxy.upstream().await;
        assert_eq!(upstream.message().await.body, b"[2]");
        upstream.send(answer("200 OK", "{}")).await;
        client.message().await;
        assert_eq!(events.recv().await.unwrap(), "call [2]");
    });
}

#[test]
fn an_upstream_that_breaks_off_never_looks_like_an_end() {
    both(async |proxy| {
        let heads = [
            format!("{STREAM}{}5\r\nhal", chunk("data: 1\n\n")),
            format!("{STREAM}{}", chunk("data: 1\n\n")),
            "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\ndata: 1\n\n".to_owned(),
            "HTTP/1.1 500 Oops\r\nContent-Length: 20\r\n\r\ndata: 1\n\n".to_owned(),
        ];
        for sent in heads {
            let mut client = proxy.client().await;
            client.send(post("/v1/responses", "{}")).await;
            let mut upstream = proxy.upstream().await;
            upstream.message().await;
            upstream.send(&sent).await;
            drop(upstream);
            let head = client.head().await;
            let (seen, _) = client.gone().await;
            let seen = String::from_utf8(seen).unwrap();
            assert!(seen.contains("data: 1"), "{head}{seen}");
            assert!(!seen.ends_with("0\r\n\r\n"), "{head}{seen}");
        }
    });
}

#[test]
fn an_upstream_that_goes_or_talks_nonsense_is_a_bad_gateway_in_the_words_of_each_api() {
    both(async |proxy| {
        for sent in ["", "HTTP/1.1 20", "220 smtp.example ESMTP\r\n\r\n", "\0\u{1}\u{2}\r\n\r\n"] {
            for (path, is_anthropic) in [("/v1/messages", true), ("/v1/chat/completions", false)] {
                let mut client = proxy.client().await;
                client.send(post(path, "{}")).await;
                let mut upstream = proxy.upstream().await;
                upstream.message().await;
                upstream.send(sent).await;
                drop(upstream);
                let answer = client.message().await;
                assert!(answer.line().starts_with("HTTP/1.1 502"), "{sent:?}: {}", answer.head);
                assert_eq!(answer.header("x-should-retry"), Some("true"));
                let said = answer.json();
                let message = said["error"]["message"].as_str().unwrap();
                assert!(message.contains(&proxy.upstream_addr().to_string()), "{message}");
                assert_eq!(said["type"] == "error", is_anthropic, "{said}");
                assert_eq!(said["error"]["type"] == "api_error", is_anthropic, "{said}");
                assert_eq!(said["error"]["code"] == "upstream_unreachable", !is_anthropic, "{said}");
            }
        }
    });
}

#[test]
fn an_upstream_that_is_not_there_is_named() {
    run(async {
        // A port that was free a moment ago, and that nobody listens on.
        let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let proxy = Proxy::configured(None, |config| {
            config.upstreams.anthropic = format!("http://{closed}").parse().unwrap();
        })
        .await;
        let mut client = proxy.client().await;
        client.send(post("/v1/messages", "{}")).await;
        let answer = client.message().await;
        assert!(answer.line().starts_with("HTTP/1.1 502"), "{}", answer.head);
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(&closed.to_string()) && message.contains("refused"), "{message}");
    });
}

#[test]
fn an_upstream_that_closes_its_half_is_read_to_its_end() {
    both(async |proxy| {
        let mut client = proxy.client().await;
        client.send(post("/v1/messages", "{}")).await;
        let mut upstream = proxy.upstream().await;
        upstream.message().await;
        upstream.send(answer("200 OK", r#"{"whole":true}"#)).await;
        upstream.close_half().await;
        assert_eq!(client.message().await.body, br#"{"whole":true}"#);
    });
}

#[test]
fn an_upstream_that_falls_silent_is_cut_off() {
    run(async {
        let silence = |limit| move |config: &mut Config| config.limits.idle = Duration::from_millis(limit);
        let proxy = Proxy::configured(None, silence(50)).await;
        let mut client = proxy.client().await;
        client.send(post("/v1/messages", "{}")).await;
        let mut upstream = proxy.upstream().await;
        upstream.message().await;
        let answer = client.message().await;
        assert!(answer.line().starts_with("HTTP/1.1 504"), "{}", answer.head);
        assert_eq!(answer.json()["error"]["type"], "timeout_error");
        upstream.gone().await;

        // Long enough for the first piece on a busy machine.
        let proxy = Proxy::configured(None, silence(2_000)).await;
        let mut client = proxy.client().await;
        client.send(post("/v1/messages", "{}")).await;
        let mut upstream = proxy.upstream().await;
        upstream.message().await;
        upstream.send(format!("{STREAM}{}", chunk("data: 1\n\n"))).await;
        client.until("data: 1").await;
        let (seen, gone) = client.gone().await;
        assert!(!seen.ends_with(b"0\r\n\r\n"));
        assert!(matches!(gone, Gone::Closed | Gone::Reset));
        upstream.gone().await;
    });
}

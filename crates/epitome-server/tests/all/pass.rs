//! What passes, passes byte for byte, both ways, piece by piece.

use std::time::Duration;

use crate::support::{Proxy, run};
use crate::wire::{answer, chunk, post};

#[test]
fn a_request_and_its_answer_pass_as_they_are() {
    run(async {
        let proxy = Proxy::start(None).await;
        let mut client = proxy.client().await;
        let body = r#"{"model":"m","n":1e400,"n":2,"text":"\u00e9 é 😀","big":12345678901234567890123}"#;
        let head = format!(
            "POST /v1/messages?beta=true&x=%20y HTTP/1.1\r\nHost: 127.0.0.1:8484\r\nX-Api-Key: k\r\naccept: */*\r\n\
             anthropic-version: 2023-06-01\r\nAnthropic-Beta: a\r\nanthropic-beta: b\r\nX-Odd: \u{a0}é\r\n\
             Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nAccept-Encoding: gzip, br\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        client.send(format!("{head}{body}")).await;
        let mut upstream = proxy.upstream().await;
        let got = upstream.message().await;
        assert_eq!(got.line(), "POST /v1/messages?beta=true&x=%20y HTTP/1.1");
        assert_eq!(got.body, body.as_bytes());
        let host = proxy.upstream_addr().to_string();
        let length = body.len().to_string();
        let expected = [
            ("Host", host.as_str()),
            ("X-Api-Key", "k"),
            ("accept", "*/*"),
            ("anthropic-version", "2023-06-01"),
            ("Anthropic-Beta", "a"),
            ("anthropic-beta", "b"),
            ("X-Odd", "\u{a0}é"),
            ("Accept-Encoding", "gzip, br"),
            ("Content-Length", length.as_str()),
        ];
        assert_eq!(got.headers(), expected);

        upstream.send("HTTP/1.1 418 Short And Stout\r\nRequest-Id: r1\r\nSet-Cookie: a\r\nset-cookie: b\r\nContent-Length: 3\r\nretry-after-ms: 5\r\nKeep-Alive: timeout=5\r\n\r\nno\n").await;
        let back = client.message().await;
        assert_eq!(back.line(), "HTTP/1.1 418 Short And Stout");
        let expected = [
            ("Request-Id", "r1"),
            ("Set-Cookie", "a"),
            ("set-cookie", "b"),
            ("Content-Length", "3"),
            ("retry-after-ms", "5"),
        ];
        assert_eq!(back.headers(), expected);
        assert_eq!(back.body, b"no\n");
    });
}

#[test]
fn an_answer_comes_back_piece_by_piece_before_it_ended() {
    run(async {
        let proxy = Proxy::start(None).await;
        let mut client = proxy.client().await;
        client.send(post("/v1/chat/completions", "{}")).await;
        let mut upstream = proxy.upstream().await;
        upstream.message().await;
        upstream
            .send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            .await;
        assert!(
            client.head().await.starts_with("HTTP/1.1 200 OK\r\n"),
            "the head comes before the first event"
        );
        for event in ["data: one\n\n", "data: t", "wo\n\n"] {
            upstream.send(chunk(event)).await;
            assert_eq!(client.chunk().await, event.as_bytes(), "each piece comes when it was sent");
        }
        upstream.send("0\r\n\r\n").await;
        assert!(client.chunk().await.is_empty());
        // The connection to the upstream is handed back a moment after the answer has ended.
        tokio::time::sleep(Duration::from_millis(200)).await;
        client.send(post("/v1/chat/completions", "{}")).await;
        upstream.message().await;
        upstream.send(answer("200 OK", "{}")).await;
        assert_eq!(client.message().await.body, b"{}");
        assert_eq!(proxy.connections(), 1, "both connections are used again");
    });
}

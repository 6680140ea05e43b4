//! Connections that become something else, and clients that stop reading.

use std::time::Duration;

use crate::keepers::unchanged;
use crate::support::{Proxy, run};
use crate::wire::{Gone, chunk, post};

const WISH: &str = "GET /v1/responses?model=m HTTP/1.1\r\nHost: p\r\nAuthorization: Bearer k\r\nConnection: keep-alive, Upgrade\r\n\
    Upgrade: websocket\r\nSec-WebSocket-Key: a2V5\r\nSec-WebSocket-Version: 13\r\nOpenAI-Beta: responses_websockets=2026-02-06\r\n\r\n";

#[test]
fn a_websocket_is_carried_both_ways() {
    run(async {
        for keeper in [None, Some(unchanged())] {
            let proxy = Proxy::start(keeper).await;
            let mut client = proxy.client().await;
            client.send(WISH).await;
            let mut upstream = proxy.upstream().await;
            let got = upstream.message().await;
            assert_eq!(got.line(), "GET /v1/responses?model=m HTTP/1.1");
            for (name, value) in [
                ("connection", "Upgrade"),
                ("upgrade", "websocket"),
                ("sec-websocket-key", "a2V5"),
                ("sec-websocket-version", "13"),
                ("openai-beta", "responses_websockets=2026-02-06"),
                ("authorization", "Bearer k"),
            ] {
                assert_eq!(got.header(name), Some(value), "{}", got.head);
            }
            // What follows upon the answer at once is the other protocol's.
            upstream
                .send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: YWNjZXB0\r\n\r\n\u{1}first")
                .await;
            let back = client.message().await;
            assert_eq!(back.line(), "HTTP/1.1 101 Switching Protocols");
            for (name, value) in
                [("connection", "Upgrade"), ("upgrade", "websocket"), ("sec-websocket-accept", "YWNjZXB0")]
            {
                assert_eq!(back.header(name), Some(value), "{}", back.head);
            }
            assert_eq!(client.exactly("\u{1}first".len()).await, b"\x01first");
            client.send("\u{2}and back").await;
            assert_eq!(upstream.exactly("\u{2}and back".len()).await, b"\x02and back");
            upstream.send("\u{3}again").await;
            assert_eq!(client.exactly("\u{3}again".len()).await, b"\x03again");
            drop(client);
            assert_eq!(upstream.gone().await, (Vec::new(), Gone::Closed));
        }
    });
}

#[test]
fn an_upstream_that_does_not_go_along_answers_as_usual() {
    run(async {
        let proxy = Proxy::start(Some(unchanged())).await;
        let mut client = proxy.client().await;
        client.send(WISH.replace("/v1/responses?model=m", "/v1/realtime")).await;
        let mut upstream = proxy.upstream().await;
        assert_eq!(upstream.message().await.line(), "GET /v1/realtime HTTP/1.1");
        upstream.send("HTTP/1.1 426 Upgrade Required\r\nContent-Length: 2\r\n\r\nno").await;
        let back = client.message().await;
        assert_eq!((back.line(), back.body.as_slice()), ("HTTP/1.1 426 Upgrade Required", b"no".as_slice()));
    });
}

#[test]
fn the_end_of_the_server_is_the_end_of_what_it_carries() {
    run(async {
        let mut proxy =
            Proxy::configured(None, |config| config.limits.shutdown = Duration::from_millis(10)).await;
        let mut client = proxy.client().await;
        client.send(WISH).await;
        let mut upstream = proxy.upstream().await;
        upstream.message().await;
        upstream
            .send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
            .await;
        assert!(client.message().await.line().contains("101"));
        proxy.stop();
        proxy.ended().await;
        client.gone().await;
        upstream.gone().await;
    });
}

#[test]
fn a_client_that_stops_reading_is_let_go_and_its_upstream_with_it() {
    run(async {
        for keeper in [None, Some(unchanged())] {
            let proxy =
                Proxy::configured(keeper, |config| config.limits.drain = Duration::from_millis(200)).await;
            let mut client = proxy.client().await;
            client.send(post("/v1/messages", "{}")).await;
            let mut upstream = proxy.upstream().await;
            upstream.message().await;
            upstream
                .send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
                .await;
            // Whatever the buffers on the way take, there is an end to it.
            let piece = chunk(&"x".repeat(1 << 20));
            while upstream.try_send(&piece).await.is_ok() {}
            drop(client);
        }
    });
}

//! What a keeper is shown, what it may change, and what happens when it fails.

use std::time::Duration;

use epitome_server::{Bytes, Errand};

use crate::keepers::{Watcher, recording, scripted};
use crate::support::{Proxy, run};
use crate::wire::{answer, chunk, post};

#[test]
fn a_keeper_sees_calls_and_how_they_ended() {
    run(async {
        let (keeper, mut told) = recording();
        let proxy = Proxy::start(Some(keeper)).await;
        let mut client = proxy.client().await;
        for path in [
            "/v1/messages?beta=true",
            "/v1/messages/count_tokens",
            "/v1/chat/completions",
            "/v1/chat/completions/",
            "/v1/responses",
            "/v1/responses/input_tokens",
        ] {
            client.send(post(path, "[1]")).await;
            let mut upstream = proxy.upstream().await;
            assert_eq!(upstream.message().await.line(), format!("POST {path} HTTP/1.1"));
            upstream
                .send(format!(
                    "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n{}{}0\r\n\r\n",
                    chunk("ab"),
                    chunk("c")
                ))
                .await;
            assert_eq!(client.message().await.body, b"abc");
            assert_eq!(told.recv().await.unwrap(), "call [1]");
            assert_eq!(told.recv().await.unwrap(), "ended Whole 200 abc");
        }
        // Nobody is shown the rest.
        for path in ["/v1/messages/batches", "/v1/embeddings", "/v1/responses/r_1/cancel"] {
            client.send(post(path, "[1]")).await;
            let mut upstream = proxy.upstream().await;
            upstream.message().await;
            upstream.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}").await;
            client.message().await;
        }
        assert!(told.try_recv().is_err());
    });
}

#[test]
fn a_watch_is_told_who_broke_off() {
    run(async {
        let (keeper, mut told) = recording();
        let proxy = Proxy::start(Some(keeper)).await;
        let stream = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n";
        for (sent, client_goes, expected) in [
            ("", true, "ended CutByClient 0 "),
            (stream, true, "ended CutByClient 200 x"),
            (stream, false, "ended CutByUpstream 200 x"),
            ("", false, "ended Unreachable"),
        ] {
            let mut client = proxy.client().await;
            client.send(post("/v1/messages", "[1]")).await;
            let mut upstream = proxy.upstream().await;
            upstream.message().await;
            upstream.send(sent).await;
            if client_goes {
                if !sent.is_empty() {
                    client.until("1\r\nx").await;
                }
                drop(client);
                upstream.gone().await;
            } else {
                drop(upstream);
                client.until(if sent.is_empty() { "}" } else { "x\r\n" }).await;
            }
            assert_eq!(told.recv().await.unwrap(), "call [1]");
            let end = told.recv().await.unwrap();
            assert!(end.starts_with(expected), "{end}");
        }
    });
}

#[test]
fn a_keeper_may_send_another_body() {
    run(async {
        let (keeper, _) = scripted(|call, _| async move {
            let mut errand = Errand { body: Some(Bytes::from("[\"smaller\"]")), ..Errand::default() };
            errand.up.insert("x-added", "up".parse().unwrap());
            errand.back.insert("x-epitome-session", call.path.parse().unwrap());
            errand
        });
        let proxy = Proxy::start(Some(keeper)).await;
        let mut client = proxy.client().await;
        client.send("POST /v1/messages HTTP/1.1\r\nHost: p\r\nContent-Encoding: identity\r\nX-Kept: 1\r\nContent-Length: 3\r\nX-Last: 2\r\n\r\n[0]").await;
        let mut upstream = proxy.upstream().await;
        let got = upstream.message().await;
        assert_eq!(got.body, b"[\"smaller\"]");
        let names: Vec<_> = got.headers().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["Host", "X-Kept", "Content-Length", "X-Last", "x-added"]);
        upstream.send(answer("200 OK", "{}")).await;
        assert_eq!(client.message().await.header("x-epitome-session"), Some("/v1/messages"));
    });
}

#[test]
fn a_keeper_that_fails_or_hangs_holds_nothing_up() {
    run(async {
        let (panics, _) = scripted(|_, _| async { panic!("this one always fails") });
        let (hangs, _) = scripted(|_, _| std::future::pending());
        for (keeper, expected) in [(panics, "the keeper failed"), (hangs, "the keeper took too long")] {
            let proxy = Proxy::configured(Some(keeper), |config| {
                config.limits.keeper = Duration::from_millis(20);
            })
            .await;
            let mut client = proxy.client().await;
            client.send(post("/v1/messages", "[1]")).await;
            let mut upstream = proxy.upstream().await;
            assert_eq!(upstream.message().await.body, b"[1]");
            upstream.send(answer("200 OK", "{}")).await;
            assert_eq!(client.message().await.header("x-epitome-error"), Some(expected));
            client.send("GET /metrics HTTP/1.1\r\nHost: p\r\n\r\n").await;
            let metrics = String::from_utf8(client.message().await.body).unwrap();
            assert!(metrics.contains("epitome_keeper_failures_total 1\n"), "{metrics}");
            assert!(
                metrics.contains("epitome_requests_total{dialect=\"anthropic\",status=\"200\"} 1\n"),
                "{metrics}"
            );
        }
    });
}

#[test]
fn a_refusal_may_be_answered_by_another_attempt_three_times() {
    run(async {
        let (keeper, mut told) = scripted(|_, tell| async {
            let watcher = Watcher { tell, retries: vec!["[5]", "[4]", "[3]", "[2]"] };
            Errand { watch: Some(Box::new(watcher)), ..Errand::default() }
        });
        let proxy = Proxy::start(Some(keeper)).await;
        let mut client = proxy.client().await;
        client.send(post("/v1/messages", "[1]")).await;
        let mut upstream = proxy.upstream().await;
        let refusals = [
            answer("400 Bad Request", r#"{"error":"too long"}"#),
            answer("200 OK", " {\"error\": {\"message\":\"too long\"}}"),
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 28\r\n\r\nevent: error\ndata: too long\n".to_owned(),
        ];
        assert_eq!(told.recv().await.unwrap(), "call [1]");
        for (sent, refusal) in ["[1]", "[2]", "[3]"].into_iter().zip(refusals) {
            assert_eq!(upstream.message().await.body, sent.as_bytes());
            upstream.send(refusal).await;
            assert!(told.recv().await.unwrap().starts_with("refused "));
        }
        assert_eq!(upstream.message().await.body, b"[4]");
        upstream.send("HTTP/1.1 413 Too Large\r\nContent-Length: 4\r\nX-Why: so\r\n\r\nlast").await;
        let back = client.message().await;
        assert_eq!((back.line(), back.body.as_slice()), ("HTTP/1.1 413 Too Large", b"last".as_slice()));
        assert_eq!((back.header("x-why"), back.header("x-epitome-retry")), (Some("so"), Some("[4]")));
        assert_eq!(told.recv().await.unwrap(), "ended Whole 413 last");
    });
}

#[test]
fn a_refusal_that_nobody_answers_goes_back_as_it_is() {
    run(async {
        let (keeper, mut told) = recording();
        let proxy = Proxy::start(Some(keeper)).await;
        let mut client = proxy.client().await;
        let large = "x".repeat(1_200_000);
        for body in [r#"{"error":"no"}"#, &large] {
            client.send(post("/v1/messages", "[1]")).await;
            let mut upstream = proxy.upstream().await;
            upstream.message().await;
            upstream.send(answer("529 Overloaded", body)).await;
            let back = client.message().await;
            assert_eq!(back.line(), "HTTP/1.1 529 Overloaded");
            assert!(back.body == body.as_bytes());
            assert_eq!(told.recv().await.unwrap(), "call [1]");
            if body.len() < 1_000_000 {
                assert_eq!(told.recv().await.unwrap(), r#"refused 529 {"error":"no"}"#);
            }
            assert!(told.recv().await.unwrap().starts_with("ended Whole 529 "));
        }
    });
}

//! What is borne and what is not: sizes, encodings, expectations, paths, and the end of the server.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use epitome_server::{Errand, ForModels};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use crate::keepers::{recording, scripted, unchanged};
use crate::support::{Proxy, run};
use crate::wire::{answer, chunk, post};

#[test]
fn a_body_that_is_too_large_is_refused_in_the_words_of_each_api() {
    run(async {
        for keeper in [None, Some(unchanged())] {
            let proxy = Proxy::configured(keeper, |config| config.limits.body = 1 << 20).await;
            let mut client = proxy.client().await;
            client.send("POST /v1/messages HTTP/1.1\r\nHost: p\r\nContent-Length: 1048577\r\n\r\n").await;
            let refusal = client.message().await;
            assert!(refusal.line().starts_with("HTTP/1.1 413"), "{}", refusal.head);
            assert_eq!(refusal.json()["error"]["type"], "request_too_large");

            // Without a length, it shows only on the way.
            let mut client = proxy.client().await;
            client.send("POST /v1/responses HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n").await;
            client.send(chunk(&"x".repeat(600_000))).await;
            client.send(chunk(&"x".repeat(600_000))).await;
            let refusal = client.message().await;
            assert!(refusal.line().starts_with("HTTP/1.1 413"), "{}", refusal.head);
            assert_eq!(refusal.json()["error"]["code"], "request_too_large");
        }
    });
}

#[test]
fn large_bodies_pass_both_ways() {
    run(async {
        for keeper in [None, Some(unchanged())] {
            let proxy = Proxy::start(keeper).await;
            let mut client = proxy.client().await;
            let body: String = (0..3_000_000).map(|at| char::from(b'a' + (at % 23) as u8)).collect();
            let request = post("/v1/messages", &body);
            let sending = tokio::spawn(async move {
                client.send(request).await;
                client
            });
            let mut upstream = proxy.upstream().await;
            assert!(upstream.message().await.body == body.as_bytes());
            let mut client = sending.await.unwrap();
            let reply = answer("200 OK", &body);
            let replying = tokio::spawn(async move { upstream.send(reply).await });
            assert!(client.message().await.body == body.as_bytes());
            replying.await.unwrap();
        }
    });
}

/// The name of an encoding, and what applies it.
type Encoder = (&'static str, fn(&[u8]) -> Vec<u8>);

fn encoders() -> Vec<Encoder> {
    vec![
        ("gzip", |bytes| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }),
        ("deflate", |bytes| {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }),
        ("deflate", |bytes| {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }),
        ("zstd", |bytes| zstd::encode_all(bytes, 1).unwrap()),
        // "[1]" by the program of the same name; any other text would need an encoder.
        ("br", |_| vec![0x0b, 0x01, 0x80, 0x5b, 0x31, 0x5d, 0x03]),
    ]
}

#[test]
fn encoded_bodies_are_decoded_for_the_keeper_and_pass_as_they_are() {
    run(async {
        let (keeper, mut told) = recording();
        let proxy = Proxy::start(Some(keeper)).await;
        for (name, encode) in encoders() {
            let encoded = encode(b"[1]");
            let head = format!("Content-Encoding: {name}\r\nContent-Length: {}\r\n\r\n", encoded.len());
            let mut client = proxy.client().await;
            client.send(format!("POST /v1/messages HTTP/1.1\r\nHost: p\r\n{head}")).await;
            client.send(&encoded).await;
            let mut upstream = proxy.upstream().await;
            let got = upstream.message().await;
            assert_eq!(
                (got.body.as_slice(), got.header("content-encoding")),
                (encoded.as_slice(), Some(name))
            );
            upstream.send(format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{head}")).await;
            upstream.send(&encoded).await;
            assert_eq!(client.message().await.body, encoded);
            assert_eq!(told.recv().await.unwrap(), "call [1]", "{name}");
            assert_eq!(told.recv().await.unwrap(), "ended Whole 200 [1]", "{name}");
        }
    });
}

#[test]
fn a_changed_body_goes_up_without_its_encoding() {
    run(async {
        let (keeper, _) = scripted(|call, _| async move {
            assert_eq!(call.body, b"[1]".as_slice());
            Errand { body: Some("[2]".into()), ..Errand::default() }
        });
        let proxy = Proxy::start(Some(keeper)).await;
        let (_, gzip) = encoders().remove(0);
        let encoded = gzip(b"[1]");
        let mut client = proxy.client().await;
        let length = encoded.len();
        client.send(format!("POST /v1/messages HTTP/1.1\r\nHost: p\r\nContent-Encoding: gzip\r\nContent-Length: {length}\r\n\r\n")).await;
        client.send(encoded).await;
        let got = proxy.upstream().await.message().await;
        assert_eq!((got.body.as_slice(), got.header("content-encoding")), (b"[2]".as_slice(), None));
    });
}

#[test]
fn what_cannot_be_decoded_passes_without_a_look() {
    run(async {
        let (keeper, mut told) = recording();
        let proxy = Proxy::start(Some(keeper)).await;
        let (_, gzip) = encoders().remove(0);
        let mut broken = gzip(&[b'x'; 1000]);
        broken.truncate(12);
        let bomb = zstd::encode_all(std::io::repeat(0).take(80 << 20), 1).unwrap();
        for (name, body) in [("gzip", broken.clone()), ("lzma", b"[1]".to_vec()), ("zstd", bomb)] {
            let mut client = proxy.client().await;
            let length = body.len();
            client.send(format!("POST /v1/messages HTTP/1.1\r\nHost: p\r\nContent-Encoding: {name}\r\nContent-Length: {length}\r\n\r\n")).await;
            client.send(&body).await;
            let mut upstream = proxy.upstream().await;
            assert!(upstream.message().await.body == body);
            upstream.send(answer("200 OK", "{}")).await;
            let back = client.message().await;
            assert!(back.header("x-epitome-error").unwrap().contains("cannot be decoded"), "{}", back.head);
        }
        assert!(told.try_recv().is_err(), "the keeper was not asked");

        // Of an answer, what can be decoded is shown.
        let mut client = proxy.client().await;
        client.send(post("/v1/messages", "[1]")).await;
        let mut upstream = proxy.upstream().await;
        upstream.message().await;
        let length = broken.len();
        upstream
            .send(format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {length}\r\n\r\n"))
            .await;
        upstream.send(&broken).await;
        assert_eq!(client.message().await.body, broken);
        assert_eq!(told.recv().await.unwrap(), "call [1]");
        assert!(told.recv().await.unwrap().starts_with("ended Whole 200 "));
    });
}

#[test]
fn a_client_that_waits_to_be_asked_for_its_body_is_asked() {
    run(async {
        for keeper in [None, Some(unchanged())] {
            let proxy = Proxy::start(keeper).await;
            let mut client = proxy.client().await;
            client.send("POST /v1/messages HTTP/1.1\r\nHost: p\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n").await;
            assert!(client.head().await.starts_with("HTTP/1.1 100 "));
            client.send("[1]").await;
            let mut upstream = proxy.upstream().await;
            assert_eq!(upstream.message().await.body, b"[1]");
            upstream.send("HTTP/1.1 100 Continue\r\n\r\n").await;
            upstream.send(answer("200 OK", "{}")).await;
            assert_eq!(client.message().await.body, b"{}");
        }
    });
}

#[test]
fn models_have_upstreams_of_their_own() {
    run(async {
        let other = Proxy::start(None).await;
        let url = format!("http://{}/base/v1/", other.upstream_addr());
        let proxy = Proxy::configured(None, |config| {
            let upstream = url.parse().unwrap();
            config.upstreams.models =
                vec![ForModels { model: "qwen*:?b".to_owned(), dialect: None, upstream }];
        })
        .await;
        let cases = [("qwen3:8b", true), ("qwen3:32b", false), ("gpt-5", false)];
        for (model, is_other) in cases {
            let mut client = proxy.client().await;
            client.send(post("/v1/chat/completions", &format!(r#"{{"a":[1],"model":"{model}"}}"#))).await;
            let at = if is_other { &other } else { &proxy };
            let got = at.upstream().await.message().await;
            let path = if is_other { "/base/v1/chat/completions" } else { "/v1/chat/completions" };
            assert_eq!(got.line(), format!("POST {path} HTTP/1.1"), "{model}");
        }
    });
}

#[test]
fn the_server_answers_for_itself() {
    run(async {
        let proxy = Proxy::start(None).await;
        let mut client = proxy.client().await;
        for (path, status, said) in [
            ("/healthz", "200 OK", r#"{"status":"ok"}"#),
            ("/metrics", "200 OK", "epitome_requests_total{dialect=\"own\",status=\"200\"} 1\n"),
            ("/chat/completions", "404 Not Found", "the base URL must end in /v1"),
            ("/v1", "404 Not Found", "nothing is at /v1"),
            ("/", "404 Not Found", "nothing is at /"),
        ] {
            client.send(format!("GET {path} HTTP/1.1\r\nHost: p\r\n\r\n")).await;
            let answer = client.message().await;
            assert_eq!(answer.line(), format!("HTTP/1.1 {status}"), "{path}");
            let body = String::from_utf8(answer.body).unwrap();
            assert!(body.contains(said), "{path}: {body}");
        }
    });
}

#[test]
fn at_the_end_what_is_under_way_may_end_and_nobody_new_is_let_in() {
    run(async {
        let (keeper, mut told) = recording();
        let mut proxy = Proxy::start(Some(keeper)).await;
        let mut client = proxy.client().await;
        client.send(post("/v1/messages", "[1]")).await;
        let mut upstream = proxy.upstream().await;
        upstream.message().await;
        upstream.send(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}", chunk("one"))).await;
        client.until("one").await;
        let idle = proxy.client().await;
        proxy.stop();
        drop(idle);
        upstream.send(format!("{}0\r\n\r\n", chunk("two"))).await;
        client.until("two\r\n0\r\n\r\n").await;
        client.gone().await;
        let address = proxy.addr;
        proxy.ended().await;
        assert!(tokio::net::TcpStream::connect(address).await.is_err());
        assert_eq!(told.recv().await.unwrap(), "call [1]");
        assert_eq!(told.recv().await.unwrap(), "ended Whole 200 onetwo", "told before the server ended");
    });
}

#[test]
fn at_the_end_what_does_not_end_is_cut_off() {
    run(async {
        let (keeper, mut told) = recording();
        let mut proxy = Proxy::configured(Some(Arc::clone(&keeper)), |config| {
            config.limits.shutdown = Duration::from_millis(20);
        })
        .await;
        let mut client = proxy.client().await;
        client.send(post("/v1/messages", "[1]")).await;
        let mut upstream = proxy.upstream().await;
        upstream.message().await;
        upstream.send(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}", chunk("one"))).await;
        client.until("one").await;
        proxy.stop();
        proxy.ended().await;
        upstream.gone().await;
        client.gone().await;
        assert_eq!(told.recv().await.unwrap(), "call [1]");
        assert_eq!(told.recv().await.unwrap(), "ended CutByClient 200 one");
    });
}

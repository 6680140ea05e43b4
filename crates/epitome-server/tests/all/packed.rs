//! Refusals that come packed, in a stream: they are looked into like any other, and what nobody answers passes as it is.

use std::io::Write;

use epitome_server::Errand;

use crate::keepers::{Watcher, scripted};
use crate::support::{Proxy, run};
use crate::wire::{answer, post};

const REFUSAL: &str = "event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"too long\"}}\n\n";

/// The refusal as the program of the same name packs it.
const BROTLI: [u8; 64] = [
    0x1b, 0x43, 0x00, 0x48, 0x9c, 0x07, 0xb6, 0xe3, 0x95, 0x86, 0xc6, 0x40, 0x70, 0x33, 0x7f, 0x6b, 0xad,
    0x20, 0xa2, 0xd3, 0x37, 0x45, 0xe8, 0xf6, 0x52, 0x87, 0xa5, 0xaf, 0x41, 0x44, 0x74, 0xde, 0x38, 0xe5,
    0xc0, 0x21, 0x4b, 0x5b, 0xd4, 0x92, 0xf0, 0x78, 0x8f, 0xb1, 0xb3, 0x0c, 0x22, 0x26, 0xa4, 0x1a, 0x36,
    0xf1, 0xc5, 0x7e, 0x44, 0x84, 0x0b, 0x6b, 0xe5, 0x97, 0x9e, 0xfd, 0xf5, 0x01,
];

#[test]
fn packed_refusals_are_looked_into() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(REFUSAL.as_bytes()).unwrap();
    let packed = [
        ("gzip", gzip.finish().unwrap()),
        ("zstd", zstd::encode_all(REFUSAL.as_bytes(), 1).unwrap()),
        ("br", BROTLI.to_vec()),
    ];
    run(async {
        for (name, bytes) in packed {
            for retries in [vec![], vec!["[2]"]] {
                let is_answered = !retries.is_empty();
                let (keeper, mut told) = scripted(move |_, tell| {
                    let watcher = Watcher { tell, retries: retries.clone() };
                    async { Errand { watch: Some(Box::new(watcher)), ..Errand::default() } }
                });
                let proxy = Proxy::start(Some(keeper)).await;
                let mut client = proxy.client().await;
                client.send(post("/v1/messages", "[1]")).await;
                let mut upstream = proxy.upstream().await;
                assert_eq!(upstream.message().await.body, b"[1]");
                let length = bytes.len();
                upstream.send(format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: {name}\r\nContent-Length: {length}\r\n\r\n")).await;
                upstream.send(&bytes).await;
                assert_eq!(told.recv().await.unwrap(), "call [1]");
                let data = r#"{"type":"error","error":{"message":"too long"}}"#;
                assert_eq!(told.recv().await.unwrap(), format!("refused 200 {data}"), "{name}");
                if is_answered {
                    assert_eq!(upstream.message().await.body, b"[2]", "{name}");
                    upstream.send(answer("200 OK", "{}")).await;
                    assert_eq!(client.message().await.body, b"{}", "{name}");
                } else {
                    assert_eq!(client.message().await.body, bytes, "{name}");
                }
            }
        }
    });
}

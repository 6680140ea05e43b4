//! Whatever the bytes are, and however they are cut, they arrive as they were sent.

use std::sync::Arc;

use epitome_server::Keeper;
use proptest::prelude::*;

use crate::support::{Proxy, run};

/// A body in pieces.
fn pieces() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 1..3_000), 0..6)
}

async fn round_trip(keeper: Option<Arc<dyn Keeper>>, up: &[Vec<u8>], back: &[Vec<u8>], is_chunked: bool) {
    let proxy = Proxy::start(keeper).await;
    let mut client = proxy.client().await;
    let framing = |pieces: &[Vec<u8>]| match is_chunked {
        true => "Transfer-Encoding: chunked".to_owned(),
        false => format!("Content-Length: {}", pieces.iter().map(Vec::len).sum::<usize>()),
    };
    let framed = |piece: &[u8]| match is_chunked {
        true => [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat(),
        false => piece.to_vec(),
    };
    let last = if is_chunked { "0\r\n\r\n" } else { "" };
    client.send(format!("POST /v1/responses HTTP/1.1\r\nHost: p\r\n{}\r\n\r\n", framing(up))).await;
    for piece in up {
        client.send(framed(piece)).await;
    }
    client.send(last).await;
    let mut upstream = proxy.upstream().await;
    assert_eq!(upstream.message().await.body, up.concat());
    upstream
        .send(format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{}\r\n\r\n", framing(back)))
        .await;
    for piece in back {
        upstream.send(framed(piece)).await;
    }
    upstream.send(last).await;
    assert_eq!(client.message().await.body, back.concat());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn bytes_arrive_as_they_were_sent(up in pieces(), back in pieces(), is_chunked: bool, is_kept: bool) {
        let keeper = is_kept.then(crate::keepers::unchanged);
        run(round_trip(keeper, &up, &back, is_chunked));
    }
}

//! An upstream that reads a request to its end and answers at once: whole, or as events where the path asks for them.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::LazyLock;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// What the model says, each time.
pub(crate) const SAID: &str = "Done with this step; what shall I look at next?";

static WHOLE: LazyLock<Bytes> = LazyLock::new(|| {
    let body = serde_json::json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": SAID}], "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {"input_tokens": 1000, "output_tokens": 20, "padding": "x".repeat(1700)},
    });
    body.to_string().into()
});

static EVENTS: LazyLock<Bytes> = LazyLock::new(|| {
    let mut events = String::from(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":1000,\"output_tokens\":1}}}\n\n",
    );
    events.push_str("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n");
    let delta = serde_json::json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": SAID}});
    events.push_str(&format!("event: content_block_delta\ndata: {delta}\n\n"));
    events.push_str("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":20}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
    events.into()
});

pub(crate) async fn start(listen: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind(listen).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true).unwrap();
            let served = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service_fn(answer));
            tokio::spawn(served);
        }
    });
    address
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let streamed = request.uri().query().is_some_and(|query| query.contains("stream"));
    let mut body = request.into_body();
    while let Some(Ok(_)) = body.frame().await {}
    let (kind, body) =
        if streamed { ("text/event-stream", EVENTS.clone()) } else { ("application/json", WHOLE.clone()) };
    Ok(Response::builder().header("content-type", kind).body(Full::new(body)).unwrap())
}

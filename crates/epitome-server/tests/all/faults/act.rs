//! An upstream that does to each request what the request itself asks for: it is slow, breaks off, talks nonsense, storms.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use epitome::Dialect;
use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::speech;
use crate::wire::Wire;

/// What is done to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// A good answer.
    Whole,
    /// The same, in small pieces with pauses between them.
    Slow,
    /// The same, and no more is sent on the connection, which stays open.
    HalfClosed,
    /// This status.
    Storm(u16),
    /// An answer whose gzip breaks off.
    BrokenGzip,
    /// Bytes that are no HTTP.
    Garbage,
    /// The end without a word.
    Hangup,
    /// The end in the midst of the head.
    CutHead,
    /// The end in the midst of the body, and of an event where there are events.
    CutBody,
    /// Nothing until the proxy goes.
    Silent,
    /// A beginning, then nothing until the proxy goes.
    Stalled,
    /// A refusal for its size, and nothing until the proxy goes for what comes smaller in its place.
    TooLong,
}

/// All that may be done to any request.
pub(crate) const ACTS: [Act; 18] = [
    Act::Whole,
    Act::Slow,
    Act::HalfClosed,
    Act::Storm(400),
    Act::Storm(401),
    Act::Storm(404),
    Act::Storm(413),
    Act::Storm(429),
    Act::Storm(500),
    Act::Storm(503),
    Act::Storm(529),
    Act::BrokenGzip,
    Act::Garbage,
    Act::Hangup,
    Act::CutHead,
    Act::CutBody,
    Act::Silent,
    Act::Stalled,
];

/// What comes back with a storm.
pub(crate) const STORM: &str = r#"{"type":"error","error":{"type":"api_error","message":"a storm"}}"#;

/// So many bytes are too long.
const MOST: usize = 60_000;

const TOO_LONG: &str = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 40000 tokens > 20000 maximum"}}"#;

/// Serves for ever, and counts what is too long and what comes in its place.
pub(crate) async fn serve(listener: TcpListener, heard: watch::Sender<usize>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Ok((stream, _)) = listener.accept() => {
                connections.spawn(connection(Wire::new(stream), heard.clone()));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// A listener for [`serve`], and where it listens.
pub(crate) async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

async fn connection(mut wire: Wire, heard: watch::Sender<usize>) {
    let request = wire.message().await;
    let body = request.json();
    let number = body["x_act"].as_u64().unwrap_or(0);
    let act = ACTS.get(usize::try_from(number).unwrap()).copied().unwrap_or(Act::TooLong);
    let dialect = dialect_of(request.line());
    let text = body["x_answer"].as_str().unwrap_or("Noted.");
    let (kind, answer) = speech::answer(dialect, body["stream"] == true, text);
    let head = |status: u16, kind: &str, more: &str, length: usize| {
        format!(
            "HTTP/1.1 {status} Said\r\nContent-Type: {kind}\r\nConnection: close\r\n{more}Content-Length: {length}\r\n\r\n"
        )
    };
    let good = head(200, kind, "", answer.len());
    // Whoever goes meanwhile is no fault of the upstream.
    match act {
        Act::Whole => {
            let _ = wire.try_send(format!("{good}{answer}")).await;
        }
        Act::HalfClosed => {
            if wire.try_send(format!("{good}{answer}")).await.is_ok() {
                wire.close_half().await;
                wire.gone().await;
            }
        }
        Act::Slow => {
            for piece in format!("{good}{answer}").as_bytes().chunks(64) {
                if wire.try_send(piece).await.is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(3)).await;
            }
        }
        Act::Storm(status) => {
            let head = head(status, "application/json", "Retry-After: 0\r\n", STORM.len());
            let _ = wire.try_send(format!("{head}{STORM}")).await;
        }
        Act::BrokenGzip => {
            let packed = broken_gzip(&answer);
            let head = head(200, kind, "Content-Encoding: gzip\r\n", packed.len());
            let _ = wire.try_send([head.into_bytes(), packed].concat()).await;
        }
        Act::Garbage => {
            let _ = wire.try_send(b"\x00\x01\x02 this is no HTTP\r\n\r\n").await;
        }
        Act::Hangup => {}
        Act::CutHead => {
            let _ = wire.try_send(&good[..good.len() / 2]).await;
        }
        Act::CutBody => {
            let _ = wire.try_send(format!("{good}{}", half(&answer))).await;
        }
        Act::Silent => {
            wire.gone().await;
        }
        Act::TooLong if request.body.len() > MOST => {
            let head = head(400, "application/json", "", TOO_LONG.len());
            let _ = wire.try_send(format!("{head}{TOO_LONG}")).await;
            heard.send_modify(|count| *count += 1);
        }
        Act::TooLong => {
            heard.send_modify(|count| *count += 1);
            wire.gone().await;
        }
        Act::Stalled => {
            if wire.try_send(format!("{good}{}", half(&answer))).await.is_ok() {
                wire.gone().await;
            }
        }
    }
}

/// What comes of an answer that breaks off.
pub(crate) fn half(answer: &str) -> &str {
    &answer[..answer.len() * 2 / 3]
}

fn broken_gzip(answer: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(answer.as_bytes()).unwrap();
    let mut packed = encoder.finish().unwrap();
    packed.truncate(packed.len() / 2);
    packed
}

fn dialect_of(line: &str) -> Dialect {
    match line.split(' ').nth(1) {
        Some("/v1/messages") => Dialect::Anthropic,
        Some("/v1/chat/completions") => Dialect::Chat,
        _ => Dialect::Responses,
    }
}

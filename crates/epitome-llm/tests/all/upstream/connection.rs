//! One connection: a request is read, and what the script says is done to it.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::speech::{self, Api};
use super::{Act, Request, Shared};

/// Streams are cut into pieces of this many bytes, wherever that falls; later ones are larger, as nothing new can happen to them.
const PIECE: usize = 77;
const LATER: usize = 1_111;
/// So many bytes come in small pieces.
const EARLY: usize = 15 * PIECE;

const JSON: &str = "application/json";

pub(super) async fn handle(stream: TcpStream, shared: Arc<Shared>) {
    let mut stream = BufReader::new(stream);
    let Ok(request) = read(&mut stream).await else { return };
    let number = {
        let mut requests = shared.requests.lock().unwrap();
        requests.push(request.clone());
        requests.len() - 1
    };
    shared.arrived.send_modify(|count| *count += 1);
    let mut act = (shared.script)(number, &request);
    while let Act::Behind(gate, then) = act {
        tokio::select! {
            () = gate.notified() => act = *then,
            () = end_of(&mut stream) => return shared.gone.send_modify(|count| *count += 1),
        }
    }
    if perform(&mut stream, &request, act).await.is_err() {
        shared.gone.send_modify(|count| *count += 1);
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Request> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    loop {
        line.clear();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let text = String::from_utf8(body).map_err(io::Error::other)?;
    let body = serde_json::from_str(&text).unwrap_or_default();
    Ok(Request { path, headers, text, body })
}

// An error means that the client has gone before it had everything.
async fn perform(stream: &mut BufReader<TcpStream>, request: &Request, act: Act) -> io::Result<()> {
    let Some(api) = Api::of(&request.path) else {
        return whole(stream, 404, JSON, &[], br#"{"error":{"message":"no such path"}}"#).await;
    };
    let is_streamed = request.body["stream"] == true;
    let begin = |reply| speech::events(api, reply, request.text.len());
    match act {
        Act::Say(reply) if is_streamed => {
            let events = begin(&reply);
            head(stream).await?;
            pieces(stream, &events.concat()).await?;
            stream.write_all(b"0\r\n\r\n").await
        }
        Act::Say(reply) => {
            let body = speech::whole(api, &reply, request.text.len());
            whole(stream, 200, JSON, &[], body.as_bytes()).await
        }
        Act::Refuse(status, headers, body) => whole(stream, status, JSON, &headers, body.as_bytes()).await,
        Act::Body(kind, body) => whole(stream, 200, kind, &[], body.as_bytes()).await,
        Act::Packed(body) => {
            whole(stream, 200, JSON, &[("content-encoding", "gzip".to_owned())], &body).await
        }
        Act::Fail(reply, data) => {
            head(stream).await?;
            pieces(stream, &speech::beginning(&begin(&reply))).await?;
            pieces(stream, &format!("event: error\ndata: {data}\n\n")).await?;
            stream.write_all(b"0\r\n\r\n").await
        }
        Act::Cut(reply) => {
            head(stream).await?;
            pieces(stream, &speech::beginning(&begin(&reply))).await
        }
        Act::Unended(reply) => {
            let mut events = begin(&reply);
            events.pop();
            head(stream).await?;
            pieces(stream, &events.concat()).await
        }
        Act::Stall(reply) => {
            head(stream).await?;
            pieces(stream, &speech::beginning(&begin(&reply))).await?;
            gone(stream).await
        }
        Act::Silence => gone(stream).await,
        Act::Garbage => stream.write_all(b"\x00\x01\x02 this is no HTTP\r\n\r\n").await,
        Act::Hangup | Act::Behind(..) => Ok(()),
        Act::Endless => {
            head(stream).await?;
            loop {
                pieces(stream, &format!(": {}\n", "x".repeat(10_000))).await?;
            }
        }
    }
}

async fn gone(stream: &mut BufReader<TcpStream>) -> io::Result<()> {
    end_of(stream).await;
    Err(io::ErrorKind::ConnectionAborted.into())
}

// Clients say nothing after their request, so that the next thing to read is their end.
async fn end_of(stream: &mut BufReader<TcpStream>) {
    let _ = stream.read_to_end(&mut Vec::new()).await;
}

async fn head(stream: &mut BufReader<TcpStream>) -> io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await
}

async fn pieces(stream: &mut BufReader<TcpStream>, text: &str) -> io::Result<()> {
    let (early, later) = text.as_bytes().split_at(text.len().min(EARLY));
    for piece in early.chunks(PIECE).chain(later.chunks(LATER)) {
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend_from_slice(piece);
        chunk.extend_from_slice(b"\r\n");
        stream.write_all(&chunk).await?;
    }
    stream.flush().await
}

async fn whole(
    stream: &mut BufReader<TcpStream>,
    status: u16,
    kind: &str,
    headers: &[(&'static str, String)],
    body: &[u8],
) -> io::Result<()> {
    let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!(
        "HTTP/1.1 {status} Said\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n{more}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    stream.flush().await
}

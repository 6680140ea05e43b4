//! One end of a TCP connection, byte by byte: what a client or an upstream really sends and sees.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// One end, with what was read too far.
pub(crate) struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// How the other end went.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    /// It closed.
    Closed,
    /// It was reset.
    Reset,
}

/// A message as it stood on the wire.
#[derive(Clone, Debug)]
pub(crate) struct Raw {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Raw {
    /// The first line.
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap()
    }

    /// The header lines, in order, names as they were written.
    pub(crate) fn headers(&self) -> Vec<(&str, &str)> {
        self.head.lines().skip(1).filter_map(|line| line.split_once(": ")).collect()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers().into_iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl Wire {
    pub(crate) fn new(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: Vec::new() }
    }

    pub(crate) async fn connect(address: std::net::SocketAddr) -> Self {
        Self::new(TcpStream::connect(address).await.unwrap())
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    /// No more is sent; what comes is still read.
    pub(crate) async fn close_half(&mut self) {
        self.stream.shutdown().await.unwrap();
    }

    async fn more(&mut self) -> io::Result<usize> {
        self.stream.read_buf(&mut self.buffer).await
    }

    /// What came up to and with these bytes.
    pub(crate) async fn until(&mut self, mark: &str) -> Vec<u8> {
        loop {
            let found = self.buffer.windows(mark.len()).position(|window| window == mark.as_bytes());
            if let Some(at) = found {
                return self.buffer.drain(..at + mark.len()).collect();
            }
            let count = self.more().await.unwrap();
            assert!(count > 0, "ended before {mark:?}: {:?}", String::from_utf8_lossy(&self.buffer));
        }
    }

    /// Sends as long as the other end takes it.
    pub(crate) async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref()).await
    }

    /// The next bytes, so many of them.
    pub(crate) async fn exactly(&mut self, count: usize) -> Vec<u8> {
        while self.buffer.len() < count {
            assert!(self.more().await.unwrap() > 0, "ended early");
        }
        self.buffer.drain(..count).collect()
    }

    pub(crate) async fn head(&mut self) -> String {
        String::from_utf8(self.until("\r\n\r\n").await).unwrap()
    }

    /// A whole message, its chunks put together.
    pub(crate) async fn message(&mut self) -> Raw {
        let head = self.head().await;
        let mut raw = Raw { head, body: Vec::new() };
        if raw.header("transfer-encoding") == Some("chunked") {
            loop {
                let chunk = self.chunk().await;
                if chunk.is_empty() {
                    return raw;
                }
                raw.body.extend(chunk);
            }
        }
        let length = raw.header("content-length").map_or(0, |length| length.parse().unwrap());
        raw.body = self.exactly(length).await;
        raw
    }

    /// The next chunk.
    pub(crate) async fn chunk(&mut self) -> Vec<u8> {
        let line = String::from_utf8(self.until("\r\n").await).unwrap();
        let size = usize::from_str_radix(line.trim(), 16).unwrap();
        let data = self.exactly(size).await;
        assert_eq!(self.exactly(2).await, b"\r\n");
        data
    }

    /// Waits for the other end to go, and says what it had sent before.
    pub(crate) async fn gone(&mut self) -> (Vec<u8>, Gone) {
        loop {
            match self.more().await {
                Ok(0) => return (std::mem::take(&mut self.buffer), Gone::Closed),
                Ok(_) => {}
                Err(_) => return (std::mem::take(&mut self.buffer), Gone::Reset),
            }
        }
    }
}

/// An answer of this status with a JSON body.
pub(crate) fn answer(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
}

/// A request with this body.
pub(crate) fn post(path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: proxy\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// One chunk of a chunked body.
pub(crate) fn chunk(data: &str) -> String {
    format!("{:x}\r\n{data}\r\n", data.len())
}

//! A conversation that grows by a turn with each request, and the connection that it is sent on.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::upstream::SAID;

/// Conversations so far; no two begin alike.
static BEGUN: AtomicUsize = AtomicUsize::new(0);

/// What every request begins with, up to the number of its conversation.
const HEAD: &str = "{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":1024,\"messages\":[{\"role\":\"user\",\"content\":\"task ";

/// The digits of that number.
const DIGITS: usize = 8;

/// A client's conversation.
pub(crate) struct Talk {
    stream: TcpStream,
    open: String,
    opening: usize,
    is_streamed: bool,
    buffer: Vec<u8>,
}

impl Talk {
    pub(crate) async fn begin(address: SocketAddr, size: usize, is_streamed: bool) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let open = opening(size);
        Self { stream, opening: open.len(), open, is_streamed, buffer: Vec::with_capacity(1 << 16) }
    }

    /// Another conversation on the same connection, of the size of the first. Only its number is written, because whoever
    /// works long before a request is not let run when the answer is there.
    pub(crate) fn anew(&mut self) {
        self.open.truncate(self.opening);
        self.open.replace_range(..HEAD.len() + DIGITS, &beginning());
    }

    /// Sends all of it, and says after what time the first bytes of the answer's body and all of it were here.
    pub(crate) async fn turn(&mut self) -> (Duration, Duration) {
        let query = if self.is_streamed { "?stream" } else { "" };
        let length = self.open.len() + 2;
        let head = format!(
            "POST /v1/messages{query} HTTP/1.1\r\nhost: proxy\r\nx-api-key: key-of-the-benchmark\r\n\
             anthropic-version: 2023-06-01\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        let request = [head.as_bytes(), self.open.as_bytes(), b"]}"].concat();
        let started = Instant::now();
        self.stream.write_all(&request).await.unwrap();
        let (first, all) = self.receive(started).await;
        self.open.push_str(&format!(
            ",{{\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"{SAID}\"}}]}},{{\"role\":\"user\",\"content\":\"go on\"}}"
        ));
        (first, all)
    }

    async fn receive(&mut self, started: Instant) -> (Duration, Duration) {
        self.buffer.clear();
        let mut first = None;
        loop {
            let count = self.stream.read_buf(&mut self.buffer).await.unwrap();
            assert!(count > 0, "the proxy closed the connection");
            let Some(head) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") else {
                continue;
            };
            let head = head + 4;
            if self.buffer.len() > head {
                first.get_or_insert_with(|| started.elapsed());
            }
            if is_whole(&self.buffer, head) {
                assert!(
                    self.buffer.starts_with(b"HTTP/1.1 200"),
                    "{}",
                    String::from_utf8_lossy(&self.buffer)
                );
                let all = started.elapsed();
                return (first.unwrap_or(all), all);
            }
        }
    }
}

fn is_whole(buffer: &[u8], head: usize) -> bool {
    let text = String::from_utf8_lossy(&buffer[..head]).to_ascii_lowercase();
    match text.split("content-length: ").nth(1) {
        Some(rest) => {
            let length: usize = rest.split("\r\n").next().unwrap().parse().unwrap();
            buffer.len() >= head + length
        }
        None => buffer.ends_with(b"0\r\n\r\n"),
    }
}

fn beginning() -> String {
    format!("{HEAD}{:0DIGITS$}", BEGUN.fetch_add(1, Ordering::Relaxed))
}

// About this many bytes of what is asked and answered about code. Nothing of it is a tool's output, which might be pruned.
fn opening(size: usize) -> String {
    let mut open = beginning() + "\"}";
    let mut turn = 0;
    while open.len() < size.saturating_sub(400) {
        turn += 1;
        let lines = (size / 40).clamp(1, 60);
        let pasted: String = (0..lines)
            .map(|line| format!("{line:04}: value_{turn}_{line} = compute({})\\n", line * 7919 % 10_007))
            .collect();
        open.push_str(&format!(
            ",{{\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"Show me part {turn}.\"}}]}}\
             ,{{\"role\":\"user\",\"content\":\"{pasted}\"}}"
        ));
    }
    open
}

//! Anthropic's Messages API over HTTP/1.1, streamed. An agent would use the HTTP client it has; this one shows that little is needed.

use std::io::Write;
use std::sync::Arc;

use epitome::llm::{Failure, Kind};
use epitome::{Tokens, Usage};
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, pki_types::ServerName};

/// Where the model is.
pub(crate) struct Claude {
    pub(crate) base: String,
    pub(crate) key: String,
    pub(crate) model: String,
    /// Takes the words of the model as they come.
    pub(crate) show: Box<dyn Fn(&str)>,
}

/// What the model said.
pub(crate) struct Answer {
    /// The message, as JSON.
    pub(crate) message: String,
    /// The `tool_use` blocks in it.
    pub(crate) calls: Vec<Value>,
    /// What it was billed.
    pub(crate) usage: Usage,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("set ANTHROPIC_API_KEY")]
    NoKey,
    #[error(transparent)]
    Failed(#[from] Failure),
    #[error(transparent)]
    Network(#[from] std::io::Error),
}

type Stream = Box<dyn AsyncBufRead + Unpin>;

impl Claude {
    /// A model of the provider, or of another place that `ANTHROPIC_BASE_URL` names. Its words are printed.
    pub(crate) fn from_env(model: &str) -> Result<Self, Refused> {
        let base =
            std::env::var("ANTHROPIC_BASE_URL").unwrap_or_else(|_| "https://api.anthropic.com".to_owned());
        let key = std::env::var("ANTHROPIC_API_KEY").map_err(|_| Refused::NoKey)?;
        let show = |text: &str| {
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        };
        Ok(Self { base, key, model: model.to_owned(), show: Box::new(show) })
    }

    /// Asks the model, and shows its words as they come.
    pub(crate) async fn ask(&self, system: &str, tools: &Value, messages: &str) -> Result<Answer, Refused> {
        let rest = json!({
            "model": self.model, "max_tokens": 4096, "stream": true, "system": system, "tools": tools,
        });
        let rest = rest.to_string();
        // The messages go out byte for byte as the engine wrote them, so that the provider's cache knows them again.
        let body = format!("{},\"messages\":{messages}}}", rest.strip_suffix('}').unwrap_or_default());
        let mut stream = self.post(&body).await?;
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        let mut is_chunked = false;
        loop {
            line.clear();
            if stream.read_line(&mut line).await? == 0 || line.trim().is_empty() {
                break;
            }
            is_chunked |= line.trim().eq_ignore_ascii_case("transfer-encoding: chunked");
        }
        let mut events = Events { stream, is_chunked, rest: Vec::new() };
        if status != 200 {
            let mut said = String::new();
            while let Some(line) = events.line().await? {
                said.push_str(&line);
            }
            let failure = Failure::of_reply(status, said.as_bytes());
            return Err(failure.unwrap_or_else(|| Failure::new(Kind::Refused, &said)).into());
        }
        answer(&mut events, &self.show).await
    }

    async fn post(&self, body: &str) -> Result<Stream, Refused> {
        let (scheme, host) = self.base.split_once("://").unwrap_or(("https", &self.base));
        let host = host.trim_end_matches('/');
        let (name, port) = match host.split_once(':') {
            Some((name, port)) => (name, port.parse().unwrap_or(443)),
            None => (host, if scheme == "http" { 80 } else { 443 }),
        };
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: {host}\r\nx-api-key: {}\r\nanthropic-version: 2023-06-01\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            self.key,
            body.len()
        );
        let mut plain = TcpStream::connect((name, port)).await?;
        if scheme == "http" {
            plain.write_all(head.as_bytes()).await?;
            plain.write_all(body.as_bytes()).await?;
            return Ok(Box::new(BufReader::new(plain)));
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let name = ServerName::try_from(name.to_owned()).map_err(std::io::Error::other)?;
        let mut safe = TlsConnector::from(Arc::new(config)).connect(name, plain).await?;
        safe.write_all(head.as_bytes()).await?;
        safe.write_all(body.as_bytes()).await?;
        safe.flush().await?;
        Ok(Box::new(BufReader::new(safe)))
    }
}

/// The lines of an answer.
struct Events {
    stream: Stream,
    is_chunked: bool,
    rest: Vec<u8>,
}

impl Events {
    async fn line(&mut self) -> Result<Option<String>, Refused> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()));
            }
            let before = self.rest.len();
            self.more().await?;
            if self.rest.len() == before {
                let line = std::mem::take(&mut self.rest);
                return Ok((!line.is_empty()).then(|| String::from_utf8_lossy(&line).into_owned()));
            }
        }
    }

    async fn more(&mut self) -> Result<(), Refused> {
        if !self.is_chunked {
            self.stream.read_buf(&mut self.rest).await?;
            return Ok(());
        }
        let mut size = String::new();
        self.stream.read_line(&mut size).await?;
        let size = u64::from_str_radix(size.trim(), 16).unwrap_or(0);
        (&mut self.stream).take(size).read_to_end(&mut self.rest).await?;
        self.stream.read_line(&mut String::new()).await?;
        Ok(())
    }
}

// Puts the message together from the events of the stream.
async fn answer(events: &mut Events, show: &dyn Fn(&str)) -> Result<Answer, Refused> {
    let mut blocks: Vec<Value> = Vec::new();
    let mut input = String::new();
    let mut usage = Usage::default();
    while let Some(line) = events.line().await? {
        let Some(data) = line.strip_prefix("data:") else { continue };
        let event: Value = serde_json::from_str(data).map_err(std::io::Error::other)?;
        let count = |value: &Value| Tokens(value.as_u64().unwrap_or(0));
        match event["type"].as_str() {
            Some("message_start") => {
                let billed = &event["message"]["usage"];
                usage.input = count(&billed["input_tokens"]);
                usage.cache_read = count(&billed["cache_read_input_tokens"]);
                usage.cache_write = count(&billed["cache_creation_input_tokens"]);
            }
            Some("content_block_start") => {
                blocks.push(event["content_block"].clone());
                input.clear();
            }
            Some("content_block_delta") => {
                let (delta, Some(block)) = (&event["delta"], blocks.last_mut()) else { continue };
                input.push_str(delta["partial_json"].as_str().unwrap_or_default());
                if let Some(text) = delta["text"].as_str() {
                    show(text);
                    block["text"] =
                        Value::from(format!("{}{text}", block["text"].as_str().unwrap_or_default()));
                }
            }
            Some("content_block_stop") if !input.is_empty() => {
                if let Some(block) = blocks.last_mut() {
                    block["input"] = serde_json::from_str(&input).map_err(std::io::Error::other)?;
                }
            }
            Some("message_delta") => usage.output = count(&event["usage"]["output_tokens"]),
            Some("error") => {
                let failure = Failure::of_event(&event.to_string());
                return Err(failure.unwrap_or_else(|| Failure::new(Kind::Refused, "an error")).into());
            }
            _ => {}
        }
    }
    let calls = blocks.iter().filter(|block| block["type"] == "tool_use").cloned().collect();
    Ok(Answer { message: json!({"role": "assistant", "content": blocks}).to_string(), calls, usage })
}

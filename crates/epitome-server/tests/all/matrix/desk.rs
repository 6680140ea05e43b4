//! A proxy that keeps sessions, between a client and an upstream that both see every byte.

use std::sync::Arc;
use std::time::Duration;

use epitome::ledger::{Ledger, Options};
use epitome::{Dialect, Layers, SessionId, TenantId};
use epitome_server::{Keeping, Line, Sessions};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::Row;
use super::case::{Case, Written};
use crate::server;
use crate::speech;
use crate::support::Proxy;
use crate::wire::Wire;

/// So long anything may take before it counts as hanging; nothing is measured by it.
const HANGS: Duration = Duration::from_secs(60);

/// A message as its bytes stood on the wire; headers need not be UTF-8.
pub(crate) struct Bytes {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

/// One call, from both ends.
pub(crate) struct Exchange {
    pub(crate) sent: Written,
    pub(crate) arrived: Bytes,
    /// What the upstream answered: headers that must come back, and the body.
    pub(crate) answered: (Vec<(String, Vec<u8>)>, Vec<u8>),
    pub(crate) back: Bytes,
    /// Where it is recorded.
    place: Option<(TenantId, SessionId)>,
}

impl Bytes {
    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        let found = self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_slice())
    }

    async fn read(wire: &mut Wire) -> Self {
        let head = wire.until("\r\n\r\n").await;
        let mut lines =
            head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let line = String::from_utf8(lines.next().unwrap().to_vec()).unwrap();
        let headers = lines
            .filter_map(|line| {
                let colon = line.iter().position(|byte| *byte == b':')?;
                let value = line[colon + 1..].strip_prefix(b" ").unwrap_or(&line[colon + 1..]);
                Some((String::from_utf8(line[..colon].to_vec()).unwrap(), value.to_vec()))
            })
            .collect();
        let mut message = Self { line, headers, body: Vec::new() };
        if message.header("transfer-encoding").is_some() {
            loop {
                let chunk = wire.chunk().await;
                if chunk.is_empty() {
                    return message;
                }
                message.body.extend(chunk);
            }
        }
        let length =
            message.header("content-length").map_or("0", |length| std::str::from_utf8(length).unwrap());
        message.body = wire.exactly(length.parse().unwrap()).await;
        message
    }
}

/// Where a ledger is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Sqlite,
    Postgres,
}

/// The proxy and its ledger.
pub(crate) struct Desk {
    dialect: Dialect,
    address: String,
    _folder: tempfile::TempDir,
    sessions: Sessions,
    proxy: Proxy,
    lines: UnboundedReceiver<(TenantId, Option<SessionId>)>,
}

impl Desk {
    pub(crate) async fn open(dialect: Dialect, place: Place, settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = match place {
            Place::Sqlite => format!("sqlite:{}", folder.path().join("ledger.db").display()),
            Place::Postgres => server::shared(),
        };
        let ledger = Ledger::open(&address, Options::default()).await.unwrap();
        let mut layers = Layers::default();
        for (name, value) in settings {
            layers.set(name, value).unwrap();
        }
        let keeping = Keeping::of(ledger, layers.finish().unwrap(), folder.path().join("spool"));
        let (tell, lines) = unbounded_channel();
        let listener = Arc::new(move |line: &Line| {
            let _ = tell.send((line.tenant, line.session));
        });
        let sessions = Sessions::new(keeping).await.unwrap();
        let proxy = Proxy::telling(Arc::new(sessions.clone()), listener).await;
        Self { dialect, address, _folder: folder, sessions, proxy, lines }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Sends a request of the case with these messages, and answers it.
    pub(crate) async fn call(&mut self, case: &Case, messages: Vec<String>) -> Exchange {
        let called = tokio::time::timeout(HANGS, self.called(case, messages)).await;
        called.unwrap_or_else(|_| panic!("{}: it hangs", case.name))
    }

    async fn called(&mut self, case: &Case, messages: Vec<String>) -> Exchange {
        let sent = case.write(self.dialect, messages);
        let mut client = self.proxy.client().await;
        client.send(&sent.bytes).await;
        let mut upstream = self.proxy.upstream().await;
        let arrived = Bytes::read(&mut upstream).await;
        let is_streamed = sent.text.contains(r#""stream":true"#);
        let (kind, body) = speech::answer(self.dialect, is_streamed, "Noted.");
        let body = body.into_bytes();
        let headers: Vec<(String, Vec<u8>)> = [
            ("Content-Type", kind),
            ("request-id", "req_011CSHoEeqs5C35K2UUqR7Fy"),
            ("Anthropic-Ratelimit-Tokens-Remaining", "39000"),
            ("x-odd", "caf\u{e9}"),
            ("Set-Cookie", "a=1"),
            ("Set-Cookie", "b=2"),
        ]
        .map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()))
        .to_vec();
        let mut reply =
            b"HTTP/1.1 200 Fine\r\nConnection: close, x-of-this-hop\r\nX-Of-This-Hop: 1\r\n".to_vec();
        for (name, value) in &headers {
            reply.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        reply.extend(format!("Content-Length: {}\r\n\r\n", body.len()).bytes());
        reply.extend(&body);
        upstream.send(reply).await;
        let back = Bytes::read(&mut client).await;
        let place = match back.header("x-epitome-session") {
            Some(session) => Some(self.told(std::str::from_utf8(session).unwrap()).await),
            None => None,
        };
        Exchange { sent, arrived, answered: (headers, body), back, place }
    }

    // Waits until a call of this session is recorded, and says whose it is.
    async fn told(&mut self, session: &str) -> (TenantId, SessionId) {
        loop {
            let (tenant, of) = self.lines.recv().await.unwrap();
            if let Some(of) = of.filter(|of| of.to_string() == session) {
                return (tenant, of);
            }
        }
    }

    /// Ends the proxy, and looks whether the ledger holds what was sent.
    pub(crate) async fn recorded(self, rows: &mut [Row], of: impl Fn(&Row) -> &Option<Exchange>) {
        let Self { address, sessions, mut proxy, dialect, .. } = self;
        proxy.stop();
        proxy.ended().await;
        sessions.close().await;
        let ledger = Ledger::open(&address, Options::default()).await.unwrap();
        assert!(ledger.doctor().await.unwrap().findings.is_empty());
        for row in rows {
            let Some(exchange) = of(row) else { continue };
            match holds(&ledger, dialect, exchange).await {
                Err(problem) => row.recorded = Err(problem),
                Ok(()) if row.recorded.is_ok() => row.recorded = Ok("equal"),
                Ok(()) => {}
            }
        }
    }
}

async fn holds(ledger: &Ledger, dialect: Dialect, exchange: &Exchange) -> Result<(), String> {
    let told = exchange.back.header("x-epitome-error").map(String::from_utf8_lossy);
    let (tenant, session) = exchange.place.ok_or_else(|| format!("it was not recorded: {told:?}"))?;
    let head = ledger.session(tenant, session).await.map_err(|error| error.to_string())?;
    let at = head.head.ok_or("the session is empty")?;
    let stored = ledger.messages(tenant, at, 0..head.messages).await.map_err(|error| error.to_string())?;
    let reply = echo(dialect);
    let wanted: Vec<&str> = exchange.sent.messages.iter().map(String::as_str).collect();
    if stored.len() != wanted.len() + 1 {
        return Err(format!("{} messages are recorded of {} and a reply", stored.len(), wanted.len()));
    }
    for (stored, wanted) in stored.iter().zip(wanted) {
        // What the model said is recorded as it came from the upstream; its client may write it in other bytes.
        if stored.body != wanted.as_bytes() && wanted != reply {
            return Err(format!("recorded is {} and not {wanted}", String::from_utf8_lossy(&stored.body)));
        }
    }
    Ok(())
}

/// What the model always says, as clients send it back.
pub(crate) fn echo(dialect: Dialect) -> String {
    speech::reply(dialect, "Noted.")
}

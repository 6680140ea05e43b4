//! Whether a server that is set up like this would work: its address, its upstreams, and the clocks of both. Nothing is served.

mod date;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{AUTHORIZATION, DATE, HOST, HeaderName, HeaderValue};
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};

use crate::client::{self, HttpClient};
use crate::config::Config;
use crate::error::ServerError;
use crate::route::Provider;
use crate::upload::Upload;
use crate::upstream::Upstream;

/// So long each step of a check may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// A list of models is not longer.
const MAX_LIST: usize = 4 << 20;
/// Clocks may differ by so much before it matters: providers sign and expire by the minute.
const SKEW: Duration = Duration::from_secs(300);
/// What paths of upstreams end in where somebody wrote down the address of a call.
const CALLS: [&str; 5] = ["/messages", "/completions", "/responses", "/models", "/v1"];

/// How a thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As it should be.
    Good,
    /// Worth knowing.
    Note,
    /// It will not work.
    Wrong,
}

impl fmt::Display for State {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            State::Good => "good",
            State::Note => "note",
            State::Wrong => "wrong",
        })
    }
}

/// What was found about one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The thing.
    pub subject: String,
    /// How it is.
    pub state: State,
    /// What was seen.
    pub seen: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Finding {
    /// All is well.
    pub fn good(subject: impl Into<String>, seen: impl Into<String>) -> Self {
        Self { subject: subject.into(), state: State::Good, seen: seen.into(), hint: None }
    }

    /// Worth knowing.
    pub fn note(subject: impl Into<String>, seen: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { state: State::Note, hint: Some(hint.into()), ..Self::good(subject, seen) }
    }

    /// It will not work.
    pub fn wrong(subject: impl Into<String>, seen: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { state: State::Wrong, hint: Some(hint.into()), ..Self::good(subject, seen) }
    }
}

/// What was found about an upstream.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Checked {
    /// What was found.
    pub findings: Vec<Finding>,
    /// The models that it offers, where it tells.
    pub models: Vec<String>,
}

/// Checks servers that are set up like this.
pub struct Checkup {
    config: Config,
    client: HttpClient,
}

impl Checkup {
    /// Of a server that is set up like this.
    pub fn new(config: Config) -> Result<Self, ServerError> {
        let client = client::new(&config)?;
        Ok(Self { config, client })
    }

    /// Whether it can listen, or does so already.
    pub async fn listening(&self) -> Finding {
        let (address, subject) = (self.config.listen, "listen");
        match TcpListener::bind(address).await {
            Ok(_) => Finding::good(subject, format!("{address} is free")),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => match self.is_ours(address).await {
                true => Finding::good(subject, format!("epitome serves at {address}")),
                false => Finding::wrong(
                    subject,
                    format!("another program listens on {address}"),
                    "end it, or choose another address with --listen or EPITOME_LISTEN",
                ),
            },
            Err(error) => Finding::wrong(
                subject,
                format!("cannot listen on {address}: {error}"),
                "choose an address of this machine with --listen or EPITOME_LISTEN",
            ),
        }
    }

    async fn is_ours(&self, address: SocketAddr) -> bool {
        let ask = async |path: &str| {
            let uri = format!("http://{address}{path}");
            let request = Request::get(uri).body(Upload::Whole(Bytes::new())).ok()?;
            let answer =
                self.client.request(request).await.ok().filter(|it| it.status() == StatusCode::OK)?;
            let body = Limited::new(answer.into_body(), MAX_LIST).collect().await.ok()?;
            String::from_utf8(body.to_bytes().to_vec()).ok()
        };
        let both = async { (ask("/healthz").await, ask("/metrics").await) };
        match tokio::time::timeout(PATIENCE, both).await {
            Ok((Some(health), Some(metrics))) => {
                health.contains("ok") && metrics.contains("epitome_requests")
            }
            _ => false,
        }
    }

    /// Whether an upstream can be reached and answers, with a key if there is one; what is found is called `subject`.
    pub async fn upstream(
        &self,
        subject: &str,
        upstream: &Upstream,
        provider: Provider,
        key: Option<&str>,
    ) -> Checked {
        let mut checked = Checked::default();
        if let Some(mistake) = self.mistake(subject, upstream) {
            checked.findings.push(mistake);
            return checked;
        }
        if let Err(problem) = reach(subject, upstream).await {
            checked.findings.push(problem);
            return checked;
        }
        match tokio::time::timeout(PATIENCE, self.list(upstream, provider, key)).await {
            Ok(Ok((status, headers, body))) => {
                checked.findings.push(judge(subject, upstream, provider, (status, key.is_some())));
                checked.findings.extend(clock(subject, &headers));
                checked.models = models(&body);
            }
            Ok(Err(cause)) => checked.findings.push(Finding::wrong(
                subject,
                format!("{upstream} gave no answer: {cause}"),
                "check its certificate and that it speaks HTTP there; a proxy of the network may stand between",
            )),
            Err(_) => checked.findings.push(Finding::wrong(
                subject,
                format!("{upstream} gave no answer within {} s", PATIENCE.as_secs()),
                "check that the server at this address is up",
            )),
        }
        checked
    }

    // What is wrong with an address before anybody is asked.
    fn mistake(&self, subject: &str, upstream: &Upstream) -> Option<Finding> {
        let address = upstream.to_string();
        let rest = address.split_once("://").map_or("", |(_, rest)| rest);
        let path = rest.split_once('/').map_or(String::new(), |(_, path)| format!("/{path}"));
        if let Some(call) = CALLS.iter().find(|call| path.ends_with(*call)) {
            let fixed = address.trim_end_matches(call).trim_end_matches("/chat").trim_end_matches("/v1");
            let seen = format!("calls would go to {address}/v1/…");
            return Some(Finding::wrong(subject, seen, format!("write {fixed}")));
        }
        let is_own = upstream.host().port_u16() == Some(self.config.listen.port())
            && matches!(upstream.host().host(), "127.0.0.1" | "localhost" | "[::1]" | "0.0.0.0");
        is_own.then(|| {
            let seen = format!("{address} is where epitome itself listens: calls would go round in circles");
            Finding::wrong(subject, seen, "name the provider's own address")
        })
    }

    async fn list(
        &self,
        upstream: &Upstream,
        provider: Provider,
        key: Option<&str>,
    ) -> Result<(StatusCode, HeaderMap, Bytes), String> {
        let uri =
            upstream.target(&PathAndQuery::from_static("/v1/models")).map_err(|error| error.to_string())?;
        let mut request = Request::new(Upload::Whole(Bytes::new()));
        (*request.method_mut(), *request.uri_mut()) = (Method::GET, uri);
        let headers = request.headers_mut();
        if let Ok(host) = HeaderValue::from_str(upstream.host().as_str()) {
            headers.insert(HOST, host);
        }
        if provider == Provider::Anthropic {
            headers
                .insert(HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"));
        }
        if let Some(key) = key {
            let (name, value) = match provider {
                Provider::Anthropic => (HeaderName::from_static("x-api-key"), key.to_owned()),
                Provider::OpenAi => (AUTHORIZATION, format!("Bearer {key}")),
            };
            let mut value = HeaderValue::from_str(&value).map_err(|_| "the key is no text".to_owned())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let answer = self.client.request(request).await.map_err(|error| client::cause(&error))?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, MAX_LIST).collect().await.map(|body| body.to_bytes());
        Ok((head.status, head.headers, body.unwrap_or_default()))
    }
}

// The name is known, and somebody is there.
async fn reach(subject: &str, upstream: &Upstream) -> Result<(), Finding> {
    let host = upstream.host();
    let port = host.port_u16().unwrap_or(if upstream.is_plain() { 80 } else { 443 });
    let name = host.host().trim_start_matches('[').trim_end_matches(']');
    let found = tokio::time::timeout(PATIENCE, tokio::net::lookup_host((name, port))).await;
    let addresses: Vec<SocketAddr> = match found {
        Ok(Ok(addresses)) => addresses.collect(),
        Ok(Err(_)) | Err(_) => Vec::new(),
    };
    if addresses.is_empty() {
        return Err(Finding::wrong(
            subject,
            format!("no address is known for {name}"),
            "check how the host is written, and that names are resolved on this machine",
        ));
    }
    let mut problem = "no answer".to_owned();
    for address in addresses {
        match tokio::time::timeout(PATIENCE, TcpStream::connect(address)).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => problem = error.to_string(),
            Err(_) => problem = format!("no connection within {} s", PATIENCE.as_secs()),
        }
    }
    Err(Finding::wrong(
        subject,
        format!("cannot connect to {name} at port {port}: {problem}"),
        "check that the server is up and that no firewall is in the way",
    ))
}

fn judge(
    subject: &str,
    upstream: &Upstream,
    provider: Provider,
    (status, has_key): (StatusCode, bool),
) -> Finding {
    let variable = match provider {
        Provider::Anthropic => "ANTHROPIC_API_KEY",
        Provider::OpenAi => "OPENAI_API_KEY",
    };
    match (status.as_u16(), has_key) {
        (200..=299, true) => {
            Finding::good(subject, format!("{upstream} answers, and takes the key of {variable}"))
        }
        (200..=299, false) => Finding::good(subject, format!("{upstream} answers")),
        (401 | 403, false) => {
            Finding::good(subject, format!("{upstream} answers, and wants a key, which clients bring"))
        }
        (401 | 403, true) => Finding::wrong(
            subject,
            format!("{upstream} refuses the key of {variable} ({status})"),
            format!("set {variable} to a key of this provider, or unset it where clients bring their own"),
        ),
        (404 | 405, _) => Finding::note(
            subject,
            format!("{upstream} answers, but has no /v1/models ({status})"),
            "some servers have none; else check the address",
        ),
        _ => Finding::wrong(
            subject,
            format!("{upstream} answers {status}"),
            "see what the server at this address says of itself",
        ),
    }
}

fn clock(subject: &str, headers: &HeaderMap) -> Option<Finding> {
    let told = headers.get(DATE).and_then(|date| date::read(date.to_str().ok()?))?;
    let now = SystemTime::now();
    let skew = now.duration_since(told).unwrap_or_else(|earlier| earlier.duration());
    (skew > SKEW).then(|| {
        let seen = format!("the clock of this machine and that of {subject} differ by {} s", skew.as_secs());
        Finding::wrong("clock", seen, "set the clock of this machine: certificates and tokens expire by it")
    })
}

fn models(body: &[u8]) -> Vec<String> {
    let Ok(list) = serde_json::from_slice::<Value>(body) else { return Vec::new() };
    let ids = list["data"].as_array().into_iter().flatten();
    ids.filter_map(|model| model["id"].as_str().map(str::to_owned)).collect()
}

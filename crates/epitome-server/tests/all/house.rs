//! A proxy that keeps sessions, and an agent that talks through it.

use std::sync::{Arc, Mutex};

use epitome::ledger::{Ledger, Options, Paging};
use epitome::{Dialect, Layers, SessionFilter, Tokens};
use epitome_server::{Config, Keeping, Limits, Server, Sessions, Source};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::upstream::Upstream;

/// A proxy that keeps sessions in a file of its own, before an upstream.
pub(crate) struct House {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) upstream: Upstream,
    pub(crate) url: String,
    /// What people would have read.
    pub(crate) lines: Arc<Mutex<Vec<String>>>,
    sessions: Sessions,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
}

impl House {
    pub(crate) async fn new(upstream: Upstream, change: impl FnOnce(&mut Keeping)) -> Self {
        Self::at(tempfile::tempdir().unwrap(), upstream, change).await
    }

    pub(crate) async fn at(
        folder: tempfile::TempDir,
        upstream: Upstream,
        change: impl FnOnce(&mut Keeping),
    ) -> Self {
        let address = format!("sqlite:{}", folder.path().join("ledger.db").display());
        Self::on(&address, folder, upstream, change).await
    }

    pub(crate) async fn on(
        address: &str,
        folder: tempfile::TempDir,
        upstream: Upstream,
        change: impl FnOnce(&mut Keeping),
    ) -> Self {
        let ledger = Ledger::open(address, Options::default()).await.unwrap();
        Self::from(Source::Open(ledger), folder, upstream, change).await
    }

    /// On a ledger that may be out of reach.
    pub(crate) async fn from(
        source: Source,
        folder: tempfile::TempDir,
        upstream: Upstream,
        change: impl FnOnce(&mut Keeping),
    ) -> Self {
        Self::bearing(source, folder, upstream, change, |_| {}).await
    }

    /// With other limits.
    pub(crate) async fn bearing(
        source: Source,
        folder: tempfile::TempDir,
        upstream: Upstream,
        change: impl FnOnce(&mut Keeping),
        limit: impl FnOnce(&mut Limits),
    ) -> Self {
        let mut keeping =
            Keeping::of(source, Layers::default().finish().unwrap(), folder.path().join("spool"));
        keeping.window = Some(Tokens(32_000));
        change(&mut keeping);
        let sessions = Sessions::new(keeping).await.unwrap();
        let mut config = Config::default();
        config.listen = ([127, 0, 0, 1], 0).into();
        config.upstreams.anthropic = upstream.url().parse().unwrap();
        config.upstreams.openai = upstream.url().parse().unwrap();
        limit(&mut config.limits);
        let server = Server::bind(config, Some(Arc::new(sessions.clone()))).await.unwrap();
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let told = Arc::clone(&lines);
        let server = server.telling(Arc::new(move |line| told.lock().unwrap().push(line.to_string())));
        let url = format!("http://{}", server.addr());
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(server.serve(async {
            let _ = stopped.await;
        }));
        Self { folder, upstream, url, lines, sessions, stop: Some(stop), serving }
    }

    pub(crate) async fn close(mut self) -> (tempfile::TempDir, Upstream) {
        let _ = self.stop.take().unwrap().send(());
        self.serving.await.unwrap();
        self.sessions.close().await;
        (self.folder, self.upstream)
    }

    /// Whether its ledger was reached.
    pub(crate) fn is_reached(&self) -> bool {
        self.sessions.is_reached()
    }

    /// What the server counts, by its name without `epitome_`.
    pub(crate) async fn counted(&self, name: &str) -> u64 {
        let all = reqwest::get(format!("{}/metrics", self.url)).await.unwrap().text().await.unwrap();
        let wanted = format!("epitome_{name} ");
        all.lines().find_map(|line| line.strip_prefix(&wanted)).unwrap().parse().unwrap()
    }

    /// Sends this body as it is.
    pub(crate) async fn post(&self, path: &str, body: &str) -> (reqwest::header::HeaderMap, u16, String) {
        let request = reqwest::Client::new().post(format!("{}{path}", self.url)).body(body.to_owned());
        let response = request.send().await.unwrap();
        let (headers, status) = (response.headers().clone(), response.status().as_u16());
        (headers, status, response.text().await.unwrap_or_default())
    }

    // Everything that was recorded, read from the file once nobody writes to it.
    pub(crate) async fn recorded(self) -> Vec<(epitome::ledger::model::Session, String)> {
        let (folder, _upstream) = self.close().await;
        recorded(&format!("sqlite:{}", folder.path().join("ledger.db").display())).await
    }
}

/// Every session of a ledger, with everything that was said in it.
pub(crate) async fn recorded(address: &str) -> Vec<(epitome::ledger::model::Session, String)> {
    let ledger = Ledger::open(address, Options::default()).await.unwrap();
    assert!(ledger.doctor().await.unwrap().findings.is_empty());
    let engine = epitome::Engine::builder().ledger(ledger).build().await.unwrap();
    let page = engine.sessions(SessionFilter::default(), Paging::first(100)).await.unwrap();
    let mut all = Vec::new();
    for session in page.items {
        let whole = engine.resume(session.id).await.unwrap().export(Dialect::Anthropic).await.unwrap();
        all.push((session, whole));
    }
    all
}

/// An agent that keeps its own history and sends it whole, as the SDKs do.
pub(crate) struct Agent {
    pub(crate) url: String,
    dialect: Dialect,
    pub(crate) history: Vec<Value>,
    http: reqwest::Client,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Agent {
    pub(crate) fn new(house: &House, dialect: Dialect) -> Self {
        let (url, history) = (house.url.clone(), Vec::new());
        Self { url, dialect, history, http: reqwest::Client::new(), headers: Vec::new() }
    }

    pub(crate) fn request(&self) -> (String, Value) {
        let model = "claude-sonnet-4-5";
        match self.dialect {
            Dialect::Anthropic => (
                format!("{}/v1/messages", self.url),
                json!({"model": model, "max_tokens": 1000, "messages": self.history, "system": "Be brief."}),
            ),
            Dialect::Chat => {
                let mut messages = vec![json!({"role": "system", "content": "Be brief."})];
                messages.extend(self.history.clone());
                (format!("{}/v1/chat/completions", self.url), json!({"model": model, "messages": messages}))
            }
            _ => (
                format!("{}/v1/responses", self.url),
                json!({"model": model, "input": self.history, "instructions": "Be brief."}),
            ),
        }
    }

    pub(crate) async fn call(&self) -> (reqwest::header::HeaderMap, u16, Value) {
        let (url, body) = self.request();
        let mut request = self.http.post(url).json(&body);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let response = request.send().await.unwrap();
        let (headers, status) = (response.headers().clone(), response.status().as_u16());
        (headers, status, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap_or(Value::Null))
    }

    /// Says something, and takes the answer into the history.
    pub(crate) async fn say(&mut self, text: &str) -> (reqwest::header::HeaderMap, u16) {
        self.history.push(json!({"role": "user", "content": text}));
        let (headers, status, answer) = self.call().await;
        match self.dialect {
            Dialect::Anthropic => {
                self.history.push(json!({"role": "assistant", "content": answer["content"]}));
            }
            Dialect::Chat => self.history.push(answer["choices"][0]["message"].clone()),
            _ => self.history.extend(answer["output"].as_array().cloned().unwrap_or_default()),
        }
        (headers, status)
    }
}

pub(crate) fn prose(number: usize, words: usize) -> String {
    let of = ["harbour", "lantern", "copper", "meadow", "signal", "granite", "orchard", "ember", "violet"];
    (0..words).map(|at| of[(number * 5 + at * 7 + at / 9) % of.len()]).collect::<Vec<_>>().join(" ")
}

pub(crate) fn header<'h>(headers: &'h reqwest::header::HeaderMap, name: &str) -> &'h str {
    headers.get(name).map_or("", |value| value.to_str().unwrap())
}

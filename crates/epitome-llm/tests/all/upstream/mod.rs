//! A server on loopback that speaks the three APIs for real, and does to each request what its script says.
//!
//! It runs on a thread of its own, so that tests with and without a runtime can use it; other crates take it in by its path.

#![allow(dead_code, unused_imports, reason = "not every crate that shares it needs all of it")]

mod connection;
mod speech;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot, watch};

pub(crate) use self::speech::{Reply, Stop};

/// What is done to one request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// A good reply, streamed or whole as it was asked for.
    Say(Reply),
    /// A status, headers, and a body.
    Refuse(u16, Vec<(&'static str, String)>, String),
    /// A body with status 200 and this content type, whatever was asked for.
    Body(&'static str, String),
    /// A body with status 200 that was packed with gzip, or says so.
    Packed(Vec<u8>),
    /// The beginning of a streamed reply, then an event with this data.
    Fail(Reply, String),
    /// The beginning of a streamed reply, then the end of the connection.
    Cut(Reply),
    /// All events of a streamed reply but the last, then the end of the connection.
    Unended(Reply),
    /// The beginning of a streamed reply, then nothing until the client goes.
    Stall(Reply),
    /// Nothing until the client goes.
    Silence,
    /// Bytes that are no HTTP.
    Garbage,
    /// The end of the connection without a word.
    Hangup,
    /// A stream that never ends.
    Endless,
    /// Nothing until the gate is opened, then this.
    Behind(Arc<Notify>, Box<Act>),
}

impl Act {
    /// A good reply with this text.
    pub(crate) fn say(text: &str) -> Self {
        Self::Say(Reply::new(text))
    }

    /// An error of this status in the words of Anthropic, which all clients understand.
    pub(crate) fn refuse(status: u16, kind: &str, message: &str) -> Self {
        let error = serde_json::json!({"type": kind, "message": message});
        Self::Refuse(status, Vec::new(), serde_json::json!({"type": "error", "error": error}).to_string())
    }

    /// The same error with one more header.
    pub(crate) fn header(self, name: &'static str, value: &str) -> Self {
        match self {
            Self::Refuse(status, mut headers, body) => {
                headers.push((name, value.to_owned()));
                Self::Refuse(status, headers, body)
            }
            other => other,
        }
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) path: String,
    /// Names in small letters.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) text: String,
    pub(crate) body: Value,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }
}

type Script = dyn Fn(usize, &Request) -> Act + Send + Sync;

/// What the connections share.
struct Shared {
    script: Box<Script>,
    requests: Mutex<Vec<Request>>,
    arrived: watch::Sender<usize>,
    gone: watch::Sender<usize>,
}

/// The server. It ends when it is dropped.
pub(crate) struct Upstream {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Upstream {
    /// A server that does these things in turn, the last one for ever.
    pub(crate) fn new(acts: Vec<Act>) -> Self {
        Self::scripted(move |number, _| acts[number.min(acts.len() - 1)].clone())
    }

    /// A server that does what `script` says about the number of a request and the request.
    pub(crate) fn scripted(script: impl Fn(usize, &Request) -> Act + Send + Sync + 'static) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            script: Box::new(script),
            requests: Mutex::default(),
            arrived: watch::channel(0).0,
            gone: watch::channel(0).0,
        });
        let (stop, stopped) = oneshot::channel();
        let serving = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                tokio::select! {
                    () = serve(listener, serving) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { address, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// The address of the server, as clients take it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Waits until so many requests have arrived.
    pub(crate) async fn arrived(&self, count: usize) {
        reach(&self.shared.arrived, count).await;
    }

    /// Waits until so many clients have gone before they had their answer.
    pub(crate) async fn gone(&self, count: usize) {
        reach(&self.shared.gone, count).await;
    }
}

// A test that would wait for ever fails instead.
async fn reach(counted: &watch::Sender<usize>, count: usize) {
    let mut counts = counted.subscribe();
    let reached = counts.wait_for(|so_far| *so_far >= count);
    tokio::time::timeout(Duration::from_secs(60), reached).await.expect("it never came").unwrap();
}

impl Drop for Upstream {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(listener: std::net::TcpListener, shared: Arc<Shared>) {
    let listener = TcpListener::from_std(listener).unwrap();
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            Ok((stream, _)) = listener.accept() => {
                connections.spawn(connection::handle(stream, Arc::clone(&shared)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

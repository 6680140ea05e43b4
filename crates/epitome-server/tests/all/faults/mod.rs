//! Faults by chance, the same in every run: an upstream at its worst, clients that vanish at each stage, a database that dies under load.
//! Afterwards nothing is under way, nothing is left behind, and every turn that a client was answered for is in the ledger.

mod act;
mod client;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use epitome::ledger::{Ledger, Options, Paging};
use epitome::{Dialect, Layers, SessionFilter};
use epitome_server::{Config, Keeping, Server, Sessions};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinHandle;

use self::act::{ACTS, Act};
use self::client::{Chance, Client, Leaves};
use crate::server;
use crate::wire::Wire;

/// So long is waited for something that must come; nothing is measured by it.
const HANGS: Duration = Duration::from_secs(60);
/// Clients at a time, two of each dialect: one that streams and one that does not.
const CLIENTS: usize = 6;

/// A proxy on a runtime of its own, so that its tasks can be counted.
struct Stage {
    folder: tempfile::TempDir,
    proxy: Handle,
    address: SocketAddr,
    sessions: Sessions,
    serving: JoinHandle<()>,
    stop: oneshot::Sender<()>,
    upstream: JoinHandle<()>,
    heard: watch::Receiver<usize>,
}

impl Stage {
    async fn set(proxy: Handle, ledger: Option<String>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (listener, upstream) = act::listen().await;
        let mut config = Config::default();
        config.listen = ([127, 0, 0, 1], 0).into();
        config.upstreams.anthropic = format!("http://{upstream}").parse().unwrap();
        config.upstreams.openai = format!("http://{upstream}").parse().unwrap();
        config.limits.idle = Duration::from_secs(2);
        config.limits.upload = Duration::from_secs(2);
        let (hears, heard) = watch::channel(0);
        let upstream = tokio::spawn(act::serve(listener, hears));
        let address = ledger.unwrap_or_else(|| file(folder.path()));
        let spool = folder.path().join("spool");
        let (sessions, server) = on(&proxy, async move {
            let ledger = Ledger::open(&address, Options::default()).await.unwrap();
            let keeping = Keeping::of(ledger, Layers::default().finish().unwrap(), spool);
            let sessions = Sessions::new(keeping).await.unwrap();
            let server = Server::bind(config, Some(Arc::new(sessions.clone()))).await.unwrap();
            (sessions, server)
        })
        .await;
        let address = server.addr();
        let (stop, stopped) = oneshot::channel();
        let serving = proxy.spawn(server.serve(async {
            let _ = stopped.await;
        }));
        Self { folder, proxy, address, sessions, serving, stop, upstream, heard }
    }

    fn tasks(&self) -> usize {
        self.proxy.metrics().num_alive_tasks()
    }

    /// Waits until nothing is under way but the question, and no more tasks are alive than these.
    async fn rests(&self, tasks: usize) {
        let resting = async {
            loop {
                let mut wire = Wire::connect(self.address).await;
                wire.send("GET /metrics HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n").await;
                let (metrics, _) = wire.gone().await;
                let metrics = String::from_utf8(metrics).unwrap();
                // The question is a request itself; its connection has ended.
                if metrics.contains("\nepitome_requests_in_flight 1\n") && self.tasks() <= tasks {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let rested = tokio::time::timeout(HANGS, resting).await;
        assert!(rested.is_ok(), "{} tasks are alive, and there should be {tasks}", self.tasks());
    }

    /// How many tasks are alive where nobody calls: the fewest of several looks.
    async fn usual(&self) -> usize {
        let mut fewest = usize::MAX;
        for _ in 0..10 {
            self.rests(usize::MAX).await;
            fewest = fewest.min(self.tasks());
        }
        fewest
    }

    /// What waits to be recorded. Halves of replies do not: they stay until it is known what their client makes of them.
    fn waiting(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.folder.path().join("spool")) else { return Vec::new() };
        let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        names.filter(|name| !name.ends_with(".cut")).collect()
    }

    async fn close(self) -> tempfile::TempDir {
        let Self { folder, proxy, sessions, serving, stop, upstream, .. } = self;
        let _ = stop.send(());
        serving.await.unwrap();
        on(&proxy, async move { sessions.close().await }).await;
        upstream.abort();
        folder
    }
}

async fn on<T: Send + 'static>(handle: &Handle, work: impl Future<Output = T> + Send + 'static) -> T {
    handle.spawn(work).await.unwrap()
}

fn file(folder: &Path) -> String {
    format!("sqlite:{}", folder.join("ledger.db").display())
}

// Runs a test, with a runtime for its proxy.
fn run(test: impl AsyncFnOnce(Handle)) {
    let runtime = || Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (proxy, others) = (runtime(), runtime());
    others.block_on(test(proxy.handle().clone()));
}

fn clients(stage: &Stage, name: &str) -> Vec<Client> {
    let client = |number: usize| {
        let dialect = Dialect::ALL[number % Dialect::ALL.len()];
        Client::new(stage.address, format!("{name}-{number}"), dialect, number.is_multiple_of(2))
    };
    (0..CLIENTS).map(client).collect()
}

fn lost(answered: &[String], recorded: &str) -> Vec<String> {
    answered.iter().filter(|said| !recorded.contains(said.as_str())).cloned().collect()
}

#[test]
fn whatever_the_upstream_and_the_clients_do_nothing_is_left_behind() {
    run(async |proxy| {
        let stage = Stage::set(proxy, None).await;
        let mut first = Client::new(stage.address, "the first".to_owned(), Dialect::Chat, false);
        first.call(Act::Whole, Leaves::Never).await;
        let tasks = stage.usual().await;
        let mut answered = std::mem::take(&mut first.answered);
        for seed in [1, 2] {
            let working = clients(&stage, &format!("storm {seed}")).into_iter().enumerate().map(
                |(number, mut client)| {
                    tokio::spawn(async move {
                        let mut chance = Chance(seed * 100 + number as u64);
                        // Every act and every way to go, in an order of chance, with good calls in between.
                        let stages = [Leaves::InItsBody, Leaves::BeforeTheHead, Leaves::BehindTheHead];
                        let mut left: Vec<(Act, Leaves)> = ACTS.map(|act| (act, Leaves::Never)).to_vec();
                        left.extend(stages.map(|leaves| (Act::Slow, leaves)));
                        left.extend([
                            (Act::Silent, Leaves::BeforeTheHead),
                            (Act::Stalled, Leaves::BehindTheHead),
                        ]);
                        while !left.is_empty() {
                            let (act, leaves) = left.swap_remove(chance.below(left.len()));
                            client.call(act, leaves).await;
                            if chance.below(3) == 0 {
                                client.call(Act::Whole, Leaves::Never).await;
                            }
                        }
                        client.call(Act::Whole, Leaves::Never).await;
                        client.answered
                    })
                },
            );
            let working: Vec<_> = working.collect();
            for client in working {
                answered.extend(client.await.unwrap());
            }
            stage.rests(tasks).await;
        }
        assert!(stage.waiting().is_empty(), "{:?}", stage.waiting());
        let folder = stage.close().await;
        let all = everything(&file(folder.path())).await;
        assert!(answered.len() >= 2 * 2 * CLIENTS, "{}", answered.len());
        assert_eq!(lost(&answered, &all), Vec::<String>::new());
    });
}

#[test]
fn clients_that_go_while_their_call_is_made_smaller_leave_nothing_behind() {
    run(async |proxy| {
        let stage = Stage::set(proxy, None).await;
        let mut first = Client::new(stage.address, "the first".to_owned(), Dialect::Chat, false);
        first.call(Act::Whole, Leaves::Never).await;
        let tasks = stage.usual().await;
        let (mut answered, mut heard) = (std::mem::take(&mut first.answered), stage.heard.clone());
        for round in 0..3 {
            for dialect in [Dialect::Anthropic, Dialect::Chat] {
                for leaves in [Leaves::AtTheRefusal, Leaves::AtTheNextAttempt] {
                    let name = format!("{leaves:?} {round} in {dialect}");
                    let mut client = Client::new(stage.address, name, dialect, round == 1).talkative();
                    client.leave(leaves, &mut heard).await;
                    stage.rests(tasks).await;
                    client.call(Act::Whole, Leaves::Never).await;
                    answered.append(&mut client.answered);
                }
            }
        }
        stage.rests(tasks).await;
        assert!(stage.waiting().is_empty(), "{:?}", stage.waiting());
        let folder = stage.close().await;
        let all = everything(&file(folder.path())).await;
        assert_eq!(answered.len(), 2 + 2 * 12);
        assert_eq!(lost(&answered, &all), Vec::<String>::new());
    });
}

#[test]
fn a_database_that_dies_under_load_and_comes_back_has_everything() {
    run(async |proxy| {
        let mut postgres = server::Server::start();
        let address = postgres.database();
        let stage = Stage::set(proxy, Some(address.clone())).await;
        let (ends, count, more) =
            (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
        let working: Vec<_> = clients(&stage, "load")
            .into_iter()
            .map(|mut client| {
                let (ends, count, more) = (Arc::clone(&ends), Arc::clone(&count), Arc::clone(&more));
                let address = stage.address;
                tokio::spawn(async move {
                    let mut answered = Vec::new();
                    while !ends.load(Ordering::SeqCst) {
                        client.call(Act::Whole, Leaves::Never).await;
                        // Somebody whom the proxy does not know, whatever the database does.
                        let number = count.fetch_add(1, Ordering::SeqCst);
                        let mut stranger =
                            Client::new(address, format!("stranger {number}"), Dialect::Chat, false);
                        stranger.call(Act::Whole, Leaves::Never).await;
                        answered.append(&mut stranger.answered);
                        more.notify_waiters();
                    }
                    answered.append(&mut client.answered);
                    answered
                })
            })
            .collect();
        // While it dies and comes back, everybody goes on.
        for _ in 0..2 {
            several(&count, &more).await;
            postgres.kill();
            several(&count, &more).await;
            postgres.restart();
        }
        several(&count, &more).await;
        ends.store(true, Ordering::SeqCst);
        let mut answered = Vec::new();
        for client in working {
            answered.extend(client.await.unwrap());
        }
        let emptied = async {
            while !stage.waiting().is_empty() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let emptied = tokio::time::timeout(HANGS, emptied).await;
        assert!(emptied.is_ok(), "{:?}", stage.waiting());
        let folder = stage.close().await;
        let all = everything(&address).await;
        assert_eq!(lost(&answered, &all), Vec::<String>::new());
        drop((folder, postgres));
    });
}

// Waits until some more calls were made.
async fn several(count: &AtomicUsize, more: &Notify) {
    let enough = count.load(Ordering::SeqCst) + 2 * CLIENTS;
    let reached = async {
        loop {
            let next = more.notified();
            if count.load(Ordering::SeqCst) >= enough {
                return;
            }
            next.await;
        }
    };
    tokio::time::timeout(HANGS, reached).await.expect("nobody goes on");
}

// Everything that was said in all sessions of a ledger.
async fn everything(address: &str) -> String {
    let ledger = Ledger::open(address, Options::default()).await.unwrap();
    assert!(ledger.doctor().await.unwrap().findings.is_empty());
    let engine = epitome::Engine::builder().ledger(ledger).build().await.unwrap();
    let (mut all, mut paging) = (String::new(), Paging::first(100));
    loop {
        let page = engine.sessions(SessionFilter::default(), paging).await.unwrap();
        for session in page.items {
            all += &engine.resume(session.id).await.unwrap().export(Dialect::Anthropic).await.unwrap();
        }
        let Some(next) = page.next else { return all };
        paging = Paging::after(next, 100);
    }
}

//! What a proxy adds: requests straight to an upstream, through a bare pass-through, and through ours, side by side in one run.
//!
//! `cargo bench -p epitome-server --bench proxy -- [upstream=ADDRESS] [NAME=ADDRESS…]` also measures other proxies that are
//! running already and send to that upstream. `quick` makes a short run of it.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot be set up has nothing to say")]

mod bare;
mod load;
mod report;
mod talk;
mod upstream;

use std::net::SocketAddr;
use std::sync::Arc;

use epitome::ledger::{Ledger, Options};
use epitome::{Layers, Tokens};
use epitome_server::{BoxFuture, Call, Config, Errand, Keeper, Keeping, Server, Sessions};
use tokio::runtime::{Builder, Runtime};

use self::load::Load;

/// What is measured: its name, and where it listens.
pub(crate) type Target = (String, SocketAddr);

/// Looks at every call and changes nothing.
struct Onlooker;

impl Keeper for Onlooker {
    fn call(&self, _call: Call) -> BoxFuture<'_, Errand> {
        Box::pin(async { Errand::unchanged() })
    }
}

fn runtime(threads: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap()
}

async fn ours(upstream: SocketAddr, keeper: Option<Arc<dyn Keeper>>) -> SocketAddr {
    let mut config = Config::default();
    config.listen = ([127, 0, 0, 1], 0).into();
    config.upstreams.anthropic = format!("http://{upstream}").parse().unwrap();
    let server = Server::bind(config, keeper).await.unwrap();
    let address = server.addr();
    tokio::spawn(server.serve(std::future::pending()));
    address
}

// What `epitome serve` does where nothing is said, on a ledger of its own. The window has room for everything, so that nothing is due.
async fn sessions(folder: &tempfile::TempDir) -> Arc<dyn Keeper> {
    let address = format!("sqlite:{}", folder.path().join("ledger.db").display());
    let ledger = Ledger::open(&address, Options::default()).await.unwrap();
    let configured = Layers::default().finish().unwrap();
    let mut keeping = Keeping::of(ledger, configured, folder.path().join("spool"));
    keeping.window = Some(Tokens(100_000_000));
    Arc::new(Sessions::new(keeping).await.unwrap())
}

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let named = arguments.iter().filter_map(|argument| argument.split_once('='));
    let (fixed, others): (Vec<_>, Vec<_>) = named.partition(|(name, _)| *name == "upstream");
    let listen = fixed.first().map_or("127.0.0.1:0", |(_, address)| address);
    let servers = runtime(2);
    let upstream = servers.block_on(upstream::start(listen.parse().unwrap()));
    let mut targets: Vec<Target> = vec![
        ("direct".to_owned(), upstream),
        ("bare".to_owned(), servers.block_on(bare::start(upstream))),
        ("epitome, no keeper".to_owned(), servers.block_on(ours(upstream, None))),
        ("epitome, onlooker".to_owned(), servers.block_on(ours(upstream, Some(Arc::new(Onlooker))))),
    ];
    let folder = tempfile::tempdir().unwrap();
    let keeper = servers.block_on(sessions(&folder));
    targets.push(("epitome, sessions".to_owned(), servers.block_on(ours(upstream, Some(keeper)))));
    targets.extend(others.iter().map(|(name, address)| ((*name).to_owned(), address.parse().unwrap())));
    let rounds = if arguments.iter().any(|argument| argument == "quick") { 2 } else { 10 };
    let clients = runtime(1);
    for load in Load::ALL {
        let measured = clients.block_on(load.measure(&targets, rounds));
        report::print(load, &measured);
    }
}

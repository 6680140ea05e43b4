//! A proxy between a client and an upstream, both in the hands of the test.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use epitome_server::{Config, Keeper, Listener, Server};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::wire::Wire;

/// A proxy at work, and the upstream that it was given for everything.
pub(crate) struct Proxy {
    pub(crate) addr: SocketAddr,
    upstream: TcpListener,
    taken: AtomicUsize,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
}

impl Proxy {
    pub(crate) async fn start(keeper: Option<Arc<dyn Keeper>>) -> Self {
        Self::configured(keeper, |_| {}).await
    }

    /// One that tells somebody of each request.
    pub(crate) async fn telling(keeper: Arc<dyn Keeper>, listener: Listener) -> Self {
        Self::built(Some(keeper), |_| {}, |server| server.telling(listener)).await
    }

    pub(crate) async fn configured(
        keeper: Option<Arc<dyn Keeper>>,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        Self::built(keeper, change, |server| server).await
    }

    async fn built(
        keeper: Option<Arc<dyn Keeper>>,
        change: impl FnOnce(&mut Config),
        build: impl FnOnce(Server) -> Server,
    ) -> Self {
        let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", upstream.local_addr().unwrap());
        let mut config = Config::default();
        config.listen = ([127, 0, 0, 1], 0).into();
        config.upstreams.anthropic = url.parse().unwrap();
        config.upstreams.openai = url.parse().unwrap();
        change(&mut config);
        let server = build(Server::bind(config, keeper).await.unwrap());
        let addr = server.addr();
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(server.serve(async {
            let _ = stopped.await;
        }));
        Self { addr, upstream, taken: AtomicUsize::new(0), stop: Some(stop), serving }
    }

    /// A new connection of a client.
    pub(crate) async fn client(&self) -> Wire {
        Wire::connect(self.addr).await
    }

    /// The next connection that the proxy makes to the upstream.
    pub(crate) async fn upstream(&self) -> Wire {
        let (stream, _) = self.upstream.accept().await.unwrap();
        self.taken.fetch_add(1, Ordering::Relaxed);
        Wire::new(stream)
    }

    /// How many connections the upstream took.
    pub(crate) fn connections(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    pub(crate) fn upstream_addr(&self) -> SocketAddr {
        self.upstream.local_addr().unwrap()
    }

    /// Tells the server to end, without waiting for it.
    pub(crate) fn stop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
    }

    /// Waits until it has ended.
    pub(crate) async fn ended(self) {
        self.serving.await.unwrap();
    }
}

/// Runs a test that must come to an end; the limit is for what hangs, and nothing is measured by it.
pub(crate) fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(60), test).await.expect("it hangs");
    });
}

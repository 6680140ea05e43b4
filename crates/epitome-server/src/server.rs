//! Listening, connections and their end.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::{Config, Limits};
use crate::drain::Drain;
use crate::error::ServerError;
use crate::keeper::Keeper;
use crate::line::Listener;
use crate::pipe::Pipe;

/// What is left to those who are cut off at the end, to be told so.
const LAST: Duration = Duration::from_secs(2);

/// A server that listens, and serves once it is told to.
pub struct Server {
    listener: TcpListener,
    addr: SocketAddr,
    pipe: Pipe,
    config: Config,
    tasks: TaskTracker,
    ending: Ending,
}

impl Server {
    /// Listens. Without a keeper, everything passes as it is.
    pub async fn bind(config: Config, keeper: Option<Arc<dyn Keeper>>) -> Result<Self, ServerError> {
        let address = config.listen;
        let wrong = |error| ServerError::Bind { address, error };
        let listener = TcpListener::bind(address).await.map_err(wrong)?;
        let addr = listener.local_addr().map_err(wrong)?;
        let (tasks, ending) = (TaskTracker::new(), Ending::default());
        let pipe = Pipe::new(config.clone(), keeper, tasks.clone(), ending.now.clone())?;
        Ok(Self { listener, addr, pipe, config, tasks, ending })
    }

    /// Has every request told of when it is over, but for those about the server itself.
    pub fn telling(mut self, listener: Listener) -> Self {
        self.pipe.listener = Some(listener);
        self
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Serves until `shutdown` is ready; then nobody new is let in, and what is under way may end within its deadline.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) {
        let Self { listener, pipe, config, tasks, ending, .. } = self;
        let (pipe, limits) = (Arc::new(pipe), config.limits);
        let places = Arc::new(Semaphore::new(limits.connections));
        let builder = Arc::new(builder(limits.head));
        let mut shutdown = pin!(shutdown);
        loop {
            let (stream, place) = tokio::select! {
                biased;
                () = &mut shutdown => break,
                next = next(&listener, &places) => next,
            };
            let connection = Connection { pipe: Arc::clone(&pipe), ending: ending.clone(), limits };
            let builder = Arc::clone(&builder);
            tasks.spawn(async move {
                connection.serve(stream, &builder).await;
                drop(place);
            });
        }
        drop(listener);
        ending.end(&tasks, limits.shutdown).await;
    }
}

fn builder(head: Duration) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .preserve_header_case(true)
        // The upstream's date is the answer's.
        .auto_date_header(false);
    builder.http2().timer(TokioTimer::new()).adaptive_window(true).auto_date_header(false);
    builder
}

async fn next(listener: &TcpListener, places: &Arc<Semaphore>) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed, so that there is always a place in the end.
    let place = Arc::clone(places).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, place),
            // Out of file descriptors, most likely: others must go first.
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be taken");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// How connections are told to end.
#[derive(Clone, Default)]
struct Ending {
    /// After what is under way.
    soon: CancellationToken,
    /// At once.
    now: CancellationToken,
}

impl Ending {
    async fn end(self, tasks: &TaskTracker, deadline: Duration) {
        self.soon.cancel();
        tasks.close();
        if tokio::time::timeout(deadline, tasks.wait()).await.is_err() {
            self.now.cancel();
            let _ = tokio::time::timeout(LAST, tasks.wait()).await;
        }
    }
}

/// One connection of a client.
struct Connection {
    pipe: Arc<Pipe>,
    ending: Ending,
    limits: Limits,
}

impl Connection {
    async fn serve(self, stream: TcpStream, builder: &Builder<TokioExecutor>) {
        let _ = stream.set_nodelay(true);
        // Which version is spoken is seen from the first bytes, and those are waited for without a limit otherwise.
        let mut first = [0];
        let spoke = tokio::select! {
            spoke = tokio::time::timeout(self.limits.head, stream.peek(&mut first)) => spoke,
            () = self.ending.soon.cancelled() => return,
        };
        if !matches!(spoke, Ok(Ok(1))) {
            return;
        }
        let stream = TokioIo::new(Drain::new(stream, self.limits.drain));
        let pipe = self.pipe;
        let service = service_fn(move |request| {
            let pipe = Arc::clone(&pipe);
            async move { Ok::<_, Infallible>(pipe.answer(request).await) }
        });
        let mut connection = pin!(builder.serve_connection_with_upgrades(stream, service));
        tokio::select! {
            // How a connection ends is between the two sides; each has been told what it can be told.
            _ = connection.as_mut() => return,
            () = self.ending.soon.cancelled() => {}
        }
        connection.as_mut().graceful_shutdown();
        tokio::select! {
            _ = connection => {}
            () = self.ending.now.cancelled() => {}
        }
    }
}

//! The side of an errand: collects what is forwarded, without a copy and up to a limit, and tells the watch how it ended, once.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderMap, StatusCode};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::keeper::{End, Retry, Seen, Watch};
use crate::metrics::Metrics;

/// What a piece takes beside its bytes, so that an answer in tiny pieces counts for what it costs to keep.
const PIECE: usize = size_of::<Bytes>();

/// One errand that is looked at, from the moment it goes up. Dropped before its end, the client went away.
pub(crate) struct Tap {
    watch: Option<Box<dyn Watch>>,
    seen: Seen,
    received: Instant,
    /// So much of the answer is kept.
    most: usize,
    /// So much was there to be kept.
    size: usize,
    tasks: TaskTracker,
    metrics: Arc<Metrics>,
}

impl Tap {
    pub(crate) fn new(
        watch: Option<Box<dyn Watch>>,
        received: Instant,
        most: usize,
        tasks: TaskTracker,
        metrics: Arc<Metrics>,
    ) -> Self {
        let seen = Seen {
            status: None,
            headers: HeaderMap::new(),
            chunks: Vec::new(),
            is_clipped: false,
            end: End::CutByClient,
            first_byte: None,
            took: Duration::ZERO,
        };
        Self { watch, seen, received, most, size: 0, tasks, metrics }
    }

    /// Whether anybody still looks on.
    pub(crate) fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// The upstream began to answer.
    pub(crate) fn begun(&mut self, status: StatusCode, headers: &HeaderMap) {
        if self.is_watched() {
            self.seen.status = Some(status);
            self.seen.headers = headers.clone();
        }
    }

    /// A piece of the answer's body goes back.
    pub(crate) fn forwarded(&mut self, chunk: &Bytes) {
        if self.is_watched() {
            self.seen.first_byte.get_or_insert_with(|| self.received.elapsed());
            self.size = self.size.saturating_add(chunk.len() + PIECE);
            if self.size <= self.most {
                self.seen.chunks.push(chunk.clone());
            } else {
                self.seen.is_clipped = true;
            }
        }
    }

    /// Asks whether a refusal is to be answered by another attempt; what fails on our side is told beside it.
    pub(crate) async fn refused(
        &mut self,
        status: StatusCode,
        headers: &HeaderMap,
        body: &Bytes,
        deadline: Duration,
    ) -> Result<Option<Retry>, &'static str> {
        let Some(watch) = &mut self.watch else { return Ok(None) };
        let asked = AssertUnwindSafe(async { watch.refused(status, headers, body).await }).catch_unwind();
        match tokio::time::timeout(deadline, asked).await {
            Ok(Ok(retry)) => Ok(retry),
            Ok(Err(_)) => Err("the keeper failed at a refusal"),
            Err(_) => Err("the keeper took too long over a refusal"),
        }
    }

    /// Tells how it ended; only the first end counts.
    pub(crate) fn end(&mut self, end: End) {
        let Some(watch) = self.watch.take() else { return };
        let empty = HeaderMap::new();
        let seen = Seen {
            status: self.seen.status,
            headers: std::mem::replace(&mut self.seen.headers, empty),
            chunks: std::mem::take(&mut self.seen.chunks),
            is_clipped: self.seen.is_clipped,
            end,
            first_byte: self.seen.first_byte,
            took: self.received.elapsed(),
        };
        let metrics = Arc::clone(&self.metrics);
        let tell = move || {
            if std::panic::catch_unwind(AssertUnwindSafe(|| watch.ended(seen))).is_err() {
                metrics.keeper_failed();
            }
        };
        match Handle::try_current() {
            Ok(runtime) => drop(self.tasks.spawn_on(async move { tell() }, &runtime)),
            // The runtime is being torn down; there is no later.
            Err(_) => tell(),
        }
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.end(End::CutByClient);
    }
}

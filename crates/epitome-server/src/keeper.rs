//! The seam between the pipe and whoever decides what goes up: a keeper is shown each call and told how it ended.
//!
//! The pipe knows nothing of sessions, budgets or ledgers; a keeper knows nothing of connections.

use std::time::{Duration, Instant};

use bytes::Bytes;
use epitome_wire::Dialect;
use futures_util::future::BoxFuture;
use http::{HeaderMap, StatusCode};

use crate::encoding::{self, Decoded};
use crate::line::Slip;

/// What a call asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallKind {
    /// An answer of the model.
    Generate,
    /// How many tokens a request would have.
    Count,
}

/// A request of a client that a keeper may change.
#[derive(Clone, Debug)]
pub struct Call {
    /// What the body is written in.
    pub dialect: Dialect,
    /// What it asks for.
    pub kind: CallKind,
    /// Path and query, as the client wrote them.
    pub path: String,
    /// All headers of the client, its credentials among them.
    pub headers: HeaderMap,
    /// The body, decoded where it came encoded.
    pub body: Bytes,
    /// When the head of the request was there.
    pub received: Instant,
    /// Where what is known of it is written for people; it is told when nobody holds it any more.
    pub slip: Slip,
}

/// What becomes of a call.
#[derive(Default)]
pub struct Errand {
    /// Another body to be sent in place of the client's; `None` leaves its bytes as they are.
    pub body: Option<Bytes>,
    /// Headers that are set on what goes up.
    pub up: HeaderMap,
    /// Headers that are set on what goes back.
    pub back: HeaderMap,
    /// Who is told how it ended.
    pub watch: Option<Box<dyn Watch>>,
    /// Whether it may well be refused for its size. Then what a stream says before the answer begins is held back, for a moment, lest a
    /// refusal stands behind it; else everything goes back when it comes.
    pub is_tight: bool,
}

impl Errand {
    /// The call goes up as it came, and nobody looks on.
    pub fn unchanged() -> Self {
        Self::default()
    }
}

/// Decides what goes up in place of a call.
///
/// The future is dropped when the client goes away and when the keeper's deadline passes. One that panics or is too slow has no
/// say: the call goes up as it came.
pub trait Keeper: Send + Sync + 'static {
    /// What becomes of this call.
    fn call(&self, call: Call) -> BoxFuture<'_, Errand>;

    /// What it counts, in Prometheus' text format, to be shown behind what the server counts.
    fn metrics(&self) -> String {
        String::new()
    }
}

/// Another attempt in place of one that was refused.
#[derive(Clone, Debug)]
pub struct Retry {
    /// The body of the attempt.
    pub body: Bytes,
    /// Headers that are set on what goes back, above those of the errand.
    pub back: HeaderMap,
}

/// Looks on while an errand is run.
pub trait Watch: Send {
    /// The upstream refused: a status of 400 or more, or a 200 whose whole body is an error. The body is decoded, 1 MB at most;
    /// a larger one is not shown. `None` lets the refusal go back as it is; after three attempts nobody is asked again.
    fn refused<'a>(
        &'a mut self,
        status: StatusCode,
        headers: &'a HeaderMap,
        body: &'a Bytes,
    ) -> BoxFuture<'a, Option<Retry>>;

    /// It ended, one way or the other. Called once, on a task of the server's runtime, which must not be blocked for long.
    fn ended(self: Box<Self>, seen: Seen);
}

/// How an errand ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The answer was forwarded to its end.
    Whole,
    /// The upstream broke off or fell silent.
    CutByUpstream,
    /// The client went away, before the answer began or in the midst of it.
    CutByClient,
    /// There was no answer: what failed.
    Unreachable(String),
}

/// What came back, as it was forwarded.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The status of the upstream's answer, if there was one.
    pub status: Option<StatusCode>,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, still encoded as `headers` say.
    pub chunks: Vec<Bytes>,
    /// Whether there was more of it than is kept: the rest was forwarded without a look.
    pub is_clipped: bool,
    /// How it ended.
    pub end: End,
    /// From the request's arrival to the first byte of the answer's body.
    pub first_byte: Option<Duration>,
    /// From the request's arrival to the end.
    pub took: Duration,
}

impl Seen {
    /// The body without its encoding, as far as it can be decoded.
    pub fn decoded(&self) -> Decoded {
        encoding::decode_chunks(&self.headers, &self.chunks)
    }
}

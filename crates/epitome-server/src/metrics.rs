//! What is counted, and its rendering as Prometheus reads it. Every number is an atomic, so that counting holds nobody up.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use http::StatusCode;

use crate::route::Route;

/// The names under which routes are counted.
const ROUTES: [&str; 5] = ["anthropic", "chat", "responses", "pass", "own"];

/// Statuses from 100 to 599; what is beyond counts as the last.
const STATUSES: usize = 500;

/// Upper bounds, in microseconds, of the time that we add before a request goes up.
const BOUNDS: [u64; 16] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000,
    15_000_000, 60_000_000,
];

/// The counters of one server.
pub(crate) struct Metrics {
    requests: Vec<AtomicU64>,
    in_flight: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
    upstream_errors: AtomicU64,
    keeper_failures: AtomicU64,
    retries: AtomicU64,
    added: [AtomicU64; BOUNDS.len() + 1],
    added_micros: AtomicU64,
}

impl Metrics {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            requests: (0..ROUTES.len() * STATUSES).map(|_| AtomicU64::new(0)).collect(),
            in_flight: AtomicU64::new(0),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            upstream_errors: AtomicU64::new(0),
            keeper_failures: AtomicU64::new(0),
            retries: AtomicU64::new(0),
            added: std::array::from_fn(|_| AtomicU64::new(0)),
            added_micros: AtomicU64::new(0),
        })
    }

    /// A request is under way until the guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> InFlight {
        self.in_flight.fetch_add(1, Relaxed);
        InFlight(Arc::clone(self))
    }

    pub(crate) fn answered(&self, route: Route, status: StatusCode) {
        let name = ROUTES.iter().position(|name| *name == route.name()).unwrap_or(0);
        let status = usize::from(status.as_u16()).saturating_sub(100).min(STATUSES - 1);
        if let Some(count) = self.requests.get(name * STATUSES + status) {
            count.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn received(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Relaxed);
    }

    pub(crate) fn sent_back(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Relaxed);
    }

    pub(crate) fn upstream_failed(&self) {
        self.upstream_errors.fetch_add(1, Relaxed);
    }

    pub(crate) fn keeper_failed(&self) {
        self.keeper_failures.fetch_add(1, Relaxed);
    }

    pub(crate) fn retried(&self) {
        self.retries.fetch_add(1, Relaxed);
    }

    /// The time from a request being here to its going up.
    pub(crate) fn added(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.iter().position(|bound| micros <= *bound).unwrap_or(BOUNDS.len());
        if let Some(count) = self.added.get(bucket) {
            count.fetch_add(1, Relaxed);
        }
        self.added_micros.fetch_add(micros, Relaxed);
    }

    /// All of it in Prometheus' text format.
    pub(crate) fn render(&self) -> String {
        let mut out = String::new();
        self.render_requests(&mut out);
        let single = [
            ("epitome_requests_in_flight", "gauge", "Requests under way.", &self.in_flight),
            ("epitome_request_bytes_total", "counter", "Bytes of bodies from clients.", &self.received),
            ("epitome_response_bytes_total", "counter", "Bytes of bodies to clients.", &self.sent),
            (
                "epitome_upstream_errors_total",
                "counter",
                "Upstreams that gave no answer.",
                &self.upstream_errors,
            ),
            (
                "epitome_keeper_failures_total",
                "counter",
                "Requests that went on without our part.",
                &self.keeper_failures,
            ),
            ("epitome_retries_total", "counter", "Attempts after a refusal.", &self.retries),
        ];
        for (name, kind, help, value) in single {
            let value = value.load(Relaxed);
            let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
        }
        self.render_added(&mut out);
        out
    }

    fn render_requests(&self, out: &mut String) {
        let name = "epitome_requests_total";
        let _ = write!(out, "# HELP {name} Requests answered.\n# TYPE {name} counter\n");
        for (at, count) in self.requests.iter().enumerate() {
            let (count, status) = (count.load(Relaxed), at % STATUSES + 100);
            let route = ROUTES.get(at / STATUSES).copied().unwrap_or_default();
            if count > 0 {
                let _ = writeln!(out, "{name}{{dialect=\"{route}\",status=\"{status}\"}} {count}");
            }
        }
    }

    fn render_added(&self, out: &mut String) {
        let name = "epitome_added_seconds";
        let help = "Time from a request being here to its going up.";
        let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} histogram\n");
        let mut below = 0;
        for (bound, count) in BOUNDS.iter().zip(&self.added) {
            below += count.load(Relaxed);
            let _ = writeln!(out, "{name}_bucket{{le=\"{}\"}} {below}", *bound as f64 / 1e6);
        }
        let all: u64 = self.added.iter().map(|count| count.load(Relaxed)).sum();
        let sum = self.added_micros.load(Relaxed) as f64 / 1e6;
        let _ = write!(out, "{name}_bucket{{le=\"+Inf\"}} {all}\n{name}_sum {sum}\n{name}_count {all}\n");
    }
}

/// A request that is under way.
pub(crate) struct InFlight(Arc<Metrics>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Relaxed);
    }
}

//! What the keeper counts, beside what the pipe does.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use epitome::{Compacted, Hook, Tokens, Told};

use super::spool::Held;

/// The counters of all sessions.
#[derive(Default)]
pub(super) struct Counts {
    compactions: AtomicU64,
    removed: AtomicU64,
    saved: AtomicU64,
    overflows: AtomicU64,
    full: AtomicU64,
    cut: AtomicU64,
    stripped: AtomicU64,
    waited: AtomicU64,
}

impl Counts {
    /// A call was sent with so much less than its client sent.
    pub(super) fn sent(&self, before: Tokens, after: Tokens) {
        self.saved.fetch_add(before.0.saturating_sub(after.0), Relaxed);
    }

    /// A call was refused as too long and sent again.
    pub(super) fn overflowed(&self) {
        self.overflows.fetch_add(1, Relaxed);
    }

    /// An answer ended because the window was full.
    pub(super) fn filled(&self) {
        self.full.fetch_add(1, Relaxed);
    }

    /// A provider cut what it was sent without a word.
    pub(super) fn cut(&self) {
        self.cut.fetch_add(1, Relaxed);
    }

    /// A call was refused for thinking in it and sent again without any.
    pub(super) fn stripped(&self) {
        self.stripped.fetch_add(1, Relaxed);
    }

    /// A turn has to wait until it can be recorded.
    pub(super) fn waits(&self) {
        self.waited.fetch_add(1, Relaxed);
    }

    /// All of it in Prometheus' text format.
    pub(super) fn render(&self, spool: Held) -> String {
        let [waiting, aside, bytes] =
            [spool.waiting as u64, spool.aside as u64, spool.bytes].map(AtomicU64::new);
        let all = [
            ("compactions_total", "counter", "Compactions that were recorded.", &self.compactions),
            ("compacted_tokens_total", "counter", "Tokens that compactions took out.", &self.removed),
            ("saved_tokens_total", "counter", "Tokens of clients that were not sent up.", &self.saved),
            ("overflows_total", "counter", "Refusals answered by sending less.", &self.overflows),
            ("full_windows_total", "counter", "Answers that the end of the window broke off.", &self.full),
            ("cut_inputs_total", "counter", "Inputs that a provider cut without a word.", &self.cut),
            ("stripped_total", "counter", "Refusals answered by leaving thinking out.", &self.stripped),
            ("spooled_turns_total", "counter", "Turns that had to wait to be recorded.", &self.waited),
            ("spool_depth", "gauge", "Turns that wait to be recorded.", &waiting),
            ("spool_aside", "gauge", "Turns on disk that can never be recorded.", &aside),
            ("spool_bytes", "gauge", "Room that turns take on disk.", &bytes),
        ];
        let mut out = String::new();
        for (name, kind, help, value) in all {
            let value = value.load(Relaxed);
            let name = format!("epitome_{name}");
            let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
        }
        out
    }
}

/// Counts compactions as they are recorded.
pub(super) struct Counting(pub(super) Arc<Counts>);

impl Hook for Counting {
    fn compacted(&self, event: Arc<Compacted>) -> Told<()> {
        let (before, after) = (event.report.tokens_before, event.report.tokens_after);
        self.0.compactions.fetch_add(1, Relaxed);
        self.0.removed.fetch_add(before.0.saturating_sub(after.0), Relaxed);
        Box::pin(async { Ok(()) })
    }
}

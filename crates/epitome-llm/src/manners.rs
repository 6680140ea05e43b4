//! What a server of an API takes and another one does not. It is learnt from refusals, once a client.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use epitome_wire::Dialect;

use crate::failure::{Failure, Kind};

/// Which optional fields a server takes, and how much output it gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Manners {
    pub(crate) temperature: bool,
    pub(crate) stream_options: bool,
    /// `max_completion_tokens` instead of `max_tokens`, in Chat Completions.
    pub(crate) new_max_tokens: bool,
    pub(crate) max_output: u64,
}

const TEMPERATURE: u8 = 1;
const STREAM_OPTIONS: u8 = 2;
const NEW_MAX_TOKENS: u8 = 4;

/// So often a refusal can teach something.
pub(crate) const LESSONS: usize = 4;

/// What was learnt so far.
#[derive(Debug)]
pub(crate) struct Learnt {
    flags: AtomicU8,
    max_output: AtomicU64,
}

impl Learnt {
    /// What may be assumed at first: servers of one's own rarely know the newer names.
    pub(crate) fn new(is_provider: bool) -> Self {
        let newer = if is_provider { NEW_MAX_TOKENS } else { 0 };
        let flags = AtomicU8::new(TEMPERATURE | STREAM_OPTIONS | newer);
        Self { flags, max_output: AtomicU64::new(u64::MAX) }
    }

    pub(crate) fn now(&self) -> Manners {
        let flags = self.flags.load(Ordering::Relaxed);
        Manners {
            temperature: flags & TEMPERATURE != 0,
            stream_options: flags & STREAM_OPTIONS != 0,
            new_max_tokens: flags & NEW_MAX_TOKENS != 0,
            max_output: self.max_output.load(Ordering::Relaxed),
        }
    }

    /// Whether the refusal is about a field that can be left out or named otherwise; the next request will do that.
    pub(crate) fn learn(&self, dialect: Dialect, sent: Manners, failure: &Failure) -> bool {
        if failure.kind != Kind::Refused || !matches!(failure.status, Some(400 | 422)) {
            return false;
        }
        if let Some(most) = failure.max_output.filter(|most| most.0 < sent.max_output) {
            self.max_output.fetch_min(most.0, Ordering::Relaxed);
            return true;
        }
        let says = |words: &str| failure.message.contains(words);
        let (flag, wanted) = if says("max_completion_tokens") && dialect == Dialect::Chat {
            // Those who know only one of the names mention it: as the one to use, or as the one that is unknown.
            (NEW_MAX_TOKENS, !sent.new_max_tokens)
        } else if says("stream_options") && sent.stream_options {
            (STREAM_OPTIONS, false)
        } else if says("temperature") && sent.temperature {
            (TEMPERATURE, false)
        } else {
            return false;
        };
        if wanted {
            self.flags.fetch_or(flag, Ordering::Relaxed);
        } else {
            self.flags.fetch_and(!flag, Ordering::Relaxed);
        }
        true
    }
}

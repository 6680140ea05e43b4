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
    /// How much a model that reasons is asked to think; `None` leaves it to the server.
    pub(crate) effort: Option<Effort>,
}

/// How much a model thinks before it answers. A summary needs little of it, and all of it counts as output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// As little as there is.
    Minimal,
    /// The least that many models know.
    Low,
}

impl Effort {
    /// Its name in requests.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Effort::Minimal => "minimal",
            Effort::Low => "low",
        }
    }

    /// What a model of this name may be asked for at first; `None` where it is not known to reason.
    fn of(model: &str) -> Option<Self> {
        let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        let is = |family: &str| {
            name.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.', ':']))
        };
        if is("gpt-5") {
            return Some(Effort::Minimal);
        }
        ["o1", "o3", "o4"].into_iter().any(is).then_some(Effort::Low)
    }

    fn flags(effort: Option<Self>) -> u8 {
        match effort {
            None => 0,
            Some(Effort::Low) => LOW,
            Some(Effort::Minimal) => LOW | MINIMAL,
        }
    }
}

const TEMPERATURE: u8 = 1;
const STREAM_OPTIONS: u8 = 2;
const NEW_MAX_TOKENS: u8 = 4;
/// An effort may be asked for, and then the least one.
const LOW: u8 = 8;
const MINIMAL: u8 = 16;

/// So often a refusal can teach something.
pub(crate) const LESSONS: usize = 6;

/// What was learnt so far.
#[derive(Debug)]
pub(crate) struct Learnt {
    flags: AtomicU8,
    max_output: AtomicU64,
}

impl Learnt {
    /// What may be assumed at first: servers of one's own rarely know the newer names.
    pub(crate) fn new(is_provider: bool, model: &str) -> Self {
        let newer = if is_provider { NEW_MAX_TOKENS } else { 0 };
        let effort = Effort::flags(Effort::of(model));
        let flags = AtomicU8::new(TEMPERATURE | STREAM_OPTIONS | newer | effort);
        Self { flags, max_output: AtomicU64::new(u64::MAX) }
    }

    pub(crate) fn now(&self) -> Manners {
        let flags = self.flags.load(Ordering::Relaxed);
        Manners {
            temperature: flags & TEMPERATURE != 0,
            stream_options: flags & STREAM_OPTIONS != 0,
            new_max_tokens: flags & NEW_MAX_TOKENS != 0,
            max_output: self.max_output.load(Ordering::Relaxed),
            effort: match flags & (LOW | MINIMAL) {
                0 => None,
                LOW => Some(Effort::Low),
                _ => Some(Effort::Minimal),
            },
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
        } else if let Some(effort) = sent.effort.filter(|_| says("reasoning") || says("effort")) {
            // Not every model knows every effort, and not every server the field.
            (if effort == Effort::Minimal { MINIMAL } else { LOW }, false)
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

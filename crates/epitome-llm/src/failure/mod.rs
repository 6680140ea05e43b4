//! What went wrong with a call, told apart by what can be done about it.
//!
//! Everything here is a pure function of a status, headers and bytes: whoever passes replies on can ask, too, without
//! a client of ours.

mod advice;
mod code;
mod number;
mod output;
mod overflow;
mod said;
mod template;
mod verdict;

use std::fmt;
use std::time::Duration;

use epitome_core::secrets::masked;
use epitome_core::{Tokens, Usage};
use thiserror::Error;

pub use self::advice::Advice;
pub use self::overflow::window_of_truncation;

/// A call that brought no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind}{}: {message}", Status(*status))]
#[non_exhaustive]
pub struct Failure {
    /// What to do about it.
    pub kind: Kind,
    /// The status of the reply, where there was one.
    pub status: Option<u16>,
    /// What the server advises about another attempt.
    pub advice: Advice,
    /// The most output tokens that the model gives, where more were asked for and refused.
    pub max_output: Option<Tokens>,
    /// What was said, without secrets, cut short.
    pub message: String,
    /// What may be billed all the same; none where the request was refused, or never arrived.
    pub(crate) begun: Option<Box<Begun>>,
}

/// A request that a server took, and whose answer broke off or never came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Begun {
    /// What was reported of the bill by then.
    pub(crate) usage: Option<Usage>,
    /// What had come of the answer, by our own count.
    pub(crate) said: Tokens,
}

/// What a failure is, by what can be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The request does not fit the window of the model: send less.
    Overflow {
        /// The window, where the message tells it.
        limit: Option<Tokens>,
        /// What was sent and asked for, where the message tells it.
        requested: Option<Tokens>,
    },
    /// The request is larger than the server takes at once, by bytes or by tokens a minute: send less.
    TooLarge,
    /// Too much was asked in too short a time: wait.
    RateLimited,
    /// The server has too much to do: wait.
    Overloaded,
    /// The key is missing, wrong or not allowed to do this.
    Auth,
    /// The account has no money or no quota left.
    Billing,
    /// The request is wrong, and will be wrong again.
    Refused,
    /// There is no such model or address.
    NotFound,
    /// The server failed.
    Server,
    /// The answer broke off.
    Cut,
    /// No answer, or no more of it, came in time.
    Timeout,
    /// No connection came about.
    Unreachable,
    /// What came is no answer of this API.
    Garbage,
}

/// Why an answer ended, where the window had no room for more of it.
pub(crate) const WINDOW_FULL: &str = "model_context_window_exceeded";

/// What is said of thinking that is not taken back, beside its name.
const REFUSED_THINKING: [&str; 9] = [
    "signature",
    "cannot be modified",
    "must remain as they were",
    "prefix",
    "binding",
    "bound to",
    "mismatch",
    "different conversation",
    "changed since",
];

/// So much is kept of what a server says about a failure.
const LONGEST_MESSAGE: usize = 600;

impl Failure {
    /// A failure that no reply tells about.
    pub fn new(kind: Kind, message: &str) -> Self {
        Self {
            kind,
            status: None,
            advice: Advice::default(),
            max_output: None,
            message: shown(message),
            begun: None,
        }
    }

    /// The failure that a reply tells about, `None` where it is none.
    ///
    /// The body is looked at whatever the status: some servers send errors with status 200.
    pub fn of_reply(status: u16, body: &[u8]) -> Option<Self> {
        verdict::of_reply(status, body)
    }

    /// The failure that the data of an event tells about, `None` where it is none: errors also come after a good start.
    pub fn of_event(data: &str) -> Option<Self> {
        verdict::of_event(data)
    }

    /// The failure that the reason tells about for which an answer ended, `None` where it is none: an answer that filled the
    /// window is one as far as it goes, and the next request has no room.
    pub fn of_ending(reason: &str) -> Option<Self> {
        let full = Kind::Overflow { limit: None, requested: None };
        (reason == WINDOW_FULL).then(|| Self::new(full, WINDOW_FULL))
    }

    /// The same failure with what the headers advise about it.
    pub fn advised(mut self, advice: Advice) -> Self {
        self.advice = advice.or(self.advice);
        self
    }

    /// The same failure of a request that a server had begun to work on, as far as anybody knows.
    pub(crate) fn begun(mut self, begun: Begun) -> Self {
        self.begun = Some(Box::new(begun));
        self
    }

    /// The same failure with this text gone from its message.
    pub fn without(mut self, secret: &str) -> Self {
        if secret.is_empty() {
            return self;
        }
        self.message = self.message.replace(secret, "[secret]");
        // Where the message was cut, it may end with the beginning of the secret.
        if let Some(cut) = self.message.strip_suffix('…') {
            let begun =
                secret.char_indices().rev().map(|(end, _)| &secret[..end]).filter(|part| !part.is_empty());
            let rest = begun.filter_map(|part| cut.strip_suffix(part)).next().unwrap_or(cut);
            self.message = format!("{rest}…");
        }
        self
    }

    /// Whether thinking was sent back that the provider does not take: changed, signed for something else, or behind words that have
    /// changed since.
    pub fn refuses_thinking(&self) -> bool {
        let text = self.message.to_lowercase();
        let speaks_of = |words: &str| text.contains(words);
        self.kind == Kind::Refused
            && speaks_of("thinking")
            && REFUSED_THINKING.iter().any(|why| speaks_of(why))
    }

    /// Whether the request did not fit the model's window.
    pub fn is_overflow(&self) -> bool {
        matches!(self.kind, Kind::Overflow { .. })
    }

    /// Whether a smaller request may pass where this one did not.
    pub fn wants_less(&self) -> bool {
        matches!(self.kind, Kind::Overflow { .. } | Kind::TooLarge)
    }

    /// Whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self.kind {
            Kind::Overflow { .. } | Kind::TooLarge | Kind::Auth | Kind::Billing | Kind::NotFound => false,
            Kind::Refused => self.advice.should_retry == Some(true),
            Kind::RateLimited
            | Kind::Overloaded
            | Kind::Server
            | Kind::Cut
            | Kind::Timeout
            | Kind::Unreachable
            | Kind::Garbage => self.advice.should_retry != Some(false),
        }
    }

    /// How long the server asks to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        self.advice.retry_after
    }
}

// A message as it may be shown: one line, no secrets, not too long.
fn shown(message: &str) -> String {
    let start: String = message.chars().take(LONGEST_MESSAGE * 4).collect();
    let line = start.split_whitespace().collect::<Vec<_>>().join(" ");
    let masked = masked(&line);
    let end = masked.char_indices().nth(LONGEST_MESSAGE).map(|(end, _)| end);
    let kept = masked.get(..end.unwrap_or(masked.len())).unwrap_or_default();
    let is_cut = end.is_some() || start.len() < message.len();
    format!("{kept}{}", if is_cut { "…" } else { "" })
}

struct Status(Option<u16>);

impl fmt::Display for Status {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |status| write!(out, " (status {status})"))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Kind::Overflow { .. } => "the request does not fit the model's window",
            Kind::TooLarge => "the request is larger than the server takes at once",
            Kind::RateLimited => "rate limited",
            Kind::Overloaded => "the server is overloaded",
            Kind::Auth => "the key is missing or not allowed to do this",
            Kind::Billing => "the account has nothing left to spend",
            Kind::Refused => "the request was refused",
            Kind::NotFound => "no such model or address",
            Kind::Server => "the server failed",
            Kind::Cut => "the answer broke off",
            Kind::Timeout => "no answer in time",
            Kind::Unreachable => "not reachable",
            Kind::Garbage => "not an answer of this API",
        })
    }
}

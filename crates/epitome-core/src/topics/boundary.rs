//! Where topics end: at the start of an exchange, for a reason.
//!
//! Announcements and silences depend on nothing that comes after them, so a boundary once found stays where
//! it is however long the conversation grows. It only says where topics could be told apart; what becomes of
//! them is the affair of [`crate::compact::Tiered`].

use serde::Serialize;

use super::cohesion::subject_changes;
use super::explicit::announced;
use super::settings::{SubjectDetection, TopicSettings};
use crate::message::Message;
use crate::outline::Entry;
use crate::turn::is_plain_user_message;
use crate::units::{Time, Tokens};

/// Why a topic ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// Somebody sealed it.
    Manual,
    /// The user said so.
    Explicit {
        /// In these words.
        phrase: &'static str,
    },
    /// Nobody said anything for long.
    Silence {
        /// For so many whole minutes.
        minutes: u64,
    },
    /// The words changed.
    Subject,
    /// An earlier compaction parted the messages here.
    Parted,
    /// It had grown too large.
    Threshold {
        /// To so many tokens.
        tokens: Tokens,
    },
}

/// The start of a topic that is not the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Boundary {
    /// The number of its first message, which starts an exchange.
    pub at: usize,
    /// Why the topic before it ended.
    pub why: Why,
}

/// The boundaries of a path, ascending, but for those that only a budget gives; see [`seal_above`].
///
/// `seals` are the places where somebody sealed a topic: how many messages there were then, in any order.
/// A seal takes effect at the start of the next exchange.
pub fn boundaries(
    path: &[Entry],
    messages: &[Message],
    settings: &TopicSettings,
    seals: &[usize],
) -> Vec<Boundary> {
    match path.iter().position(|entry| is_plain_user_message(&entry.outline)) {
        Some(first) => boundaries_after(first, path, messages, settings, seals),
        None => Vec::new(),
    }
}

/// The boundaries behind `from`, which is the start of a topic.
pub(crate) fn boundaries_after(
    from: usize,
    path: &[Entry],
    messages: &[Message],
    settings: &TopicSettings,
    seals: &[usize],
) -> Vec<Boundary> {
    let (before, after) = path.split_at(from.min(path.len()));
    // A seal that was set at or before the start of an exchange took effect there.
    let effective = before.iter().rposition(|entry| is_plain_user_message(&entry.outline));
    let mut seals: Vec<usize> =
        seals.iter().copied().filter(|seal| effective.is_none_or(|at| *seal > at)).collect();
    seals.sort_unstable();
    let mut seals = seals.into_iter().peekable();
    let subjects = match settings.subject_detection {
        SubjectDetection::Off => Vec::new(),
        SubjectDetection::Cohesion => subject_changes(after, messages.get(from..).unwrap_or_default()),
    };
    let mut subjects = subjects.into_iter().map(|at| from + at).peekable();

    let silence = settings.silence_minutes.saturating_mul(60_000);
    let mut newest: Option<Time> = None;
    let mut found = Vec::new();
    for (at, entry) in (from..).zip(after) {
        let gap = entry.time.zip(newest).map_or(0, |(time, newest)| time.since(newest));
        newest = entry.time.or(newest);
        if !is_plain_user_message(&entry.outline) {
            continue;
        }
        let sealed = std::iter::from_fn(|| seals.next_if(|seal| *seal <= at)).count() > 0;
        let changed = subjects.next_if_eq(&at).is_some();
        if at == from {
            continue;
        }
        let explicit = || messages.get(at).and_then(announced).map(|phrase| Why::Explicit { phrase });
        let silent = || (gap > silence).then_some(Why::Silence { minutes: gap / 60_000 });
        let why = sealed.then_some(Why::Manual).or_else(explicit).or_else(silent);
        let why = why.or(changed.then_some(Why::Subject));
        found.extend(why.map(|why| Boundary { at, why }));
    }
    found
}

/// Adds the boundaries of topics that exceed `most` tokens: a topic that does is sealed before the next exchange.
///
/// Nothing is sealed before `from`, where the first topic starts.
pub fn seal_above(path: &[Entry], boundaries: Vec<Boundary>, from: usize, most: Tokens) -> Vec<Boundary> {
    let mut known = boundaries.into_iter().peekable();
    let mut found = Vec::new();
    let mut tokens = Tokens::ZERO;
    for (at, entry) in path.iter().enumerate().skip(from) {
        while let Some(boundary) = known.next_if(|boundary| boundary.at <= at) {
            if boundary.at == at {
                tokens = Tokens::ZERO;
            }
            found.push(boundary);
        }
        if tokens > most && is_plain_user_message(&entry.outline) {
            found.push(Boundary { at, why: Why::Threshold { tokens } });
            tokens = Tokens::ZERO;
        }
        tokens += entry.outline.tokens;
    }
    found.extend(known);
    found
}

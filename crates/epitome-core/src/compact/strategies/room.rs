//! How much room there is for summaries, and how much of it the words around them take.

use super::layout::{Cap, tokens};
use crate::adaptive::{self, retention};
use crate::compact::cuts::leading;
use crate::compact::plan::Limits;
use crate::compact::settings::{Settings, SummaryLength};
use crate::compact::view::Placement;
use crate::message::Message;
use crate::outline::Entry;
use crate::prune::Count;
use crate::tokens::MESSAGE_OVERHEAD;
use crate::units::Tokens;

/// A summary may take this part of a budget: the rest is for what is kept as it was.
const SHARE_OF_BUDGET: u64 = 4;
/// A summary that grows is this part of what it covers: what fields report of summaries people found useful.
const SHARE_OF_COVERED: u64 = 10;
/// What is retained for its worth may take this part of a budget.
const SHARE_OF_RETAINED: u64 = 8;
/// A summary that grows starts here.
const LEAST_GROWING: Tokens = Tokens(256);

/// How long the summary of these messages may be.
pub(crate) fn summary_cap(settings: &Settings, limits: &Limits<'_>, covered: &[Entry]) -> Cap {
    let most = settings.summary_token_budget.min(Tokens(limits.budget.0 / SHARE_OF_BUDGET));
    let tokens = match settings.summary_length {
        SummaryLength::Fixed => most,
        SummaryLength::Growing => Tokens(tokens(covered).0 / SHARE_OF_COVERED).max(LEAST_GROWING).min(most),
    };
    Cap { tokens: tokens.max(Tokens(1)), chars: settings.summary_max_chars }
}

/// The tokens of the words around a summary, and of the messages they make.
pub(crate) fn words(settings: &Settings, count: &dyn Count) -> Tokens {
    let around = MESSAGE_OVERHEAD + count.text(&settings.wording().around(""));
    match settings.placement {
        Placement::System => around,
        Placement::Pair | Placement::FirstUser => {
            around + MESSAGE_OVERHEAD + count.text(&settings.acknowledgement)
        }
    }
}

/// How many of the last messages stay.
pub(crate) fn recency_window(settings: &Settings, path: &[Entry], limits: &Limits<'_>) -> usize {
    match settings.adaptive {
        true => adaptive::recency_window(path, settings.recency_window, limits.budget),
        false => settings.recency_window,
    }
}

/// Old messages that deserve to stay as they are once more, because they hold decisions or facts.
///
/// Only what no summary stands for yet is looked at, so that what stayed once goes with the next compaction.
pub(crate) fn retained(
    settings: &Settings,
    path: &[Entry],
    messages: &[Message],
    cut: usize,
    limits: &Limits<'_>,
) -> Vec<usize> {
    let room = settings.retain_tokens.min(Tokens(limits.budget.0 / SHARE_OF_RETAINED));
    let from = limits.previous.map_or(0, |previous| previous.standing()).max(leading(path));
    if room == Tokens::ZERO || cut <= from {
        return Vec::new();
    }
    let (path, messages) = (path.get(from..).unwrap_or_default(), messages.get(from..).unwrap_or_default());
    let kept = retention::keep_longer(path, messages, cut - from, room);
    kept.into_iter().map(|at| at + from).collect()
}

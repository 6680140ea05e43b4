//! How the seeds choose a cut, each to the letter.
//!
//! All return the number of the first message that is kept, and 0 where there is nothing to compact. Leading system
//! messages are never old. A choice may be illegal where the seed does not look at what [`super::CutRule`] names;
//! [`super::Cuts`] makes it legal.

use super::structure::leading;
use crate::message::Role;
use crate::outline::{Entry, Outline};
use crate::turn::{exchanges, is_tool_result_message};
use crate::units::Tokens;

/// `find_cut_point` of spec 008.1 v4: walks back until `keep` tokens are reached, then forward to a user message.
///
/// The spec counts contents alone, at least one token each, and does not tell tool results from what a person says:
/// whatever has the user's role will do. With no user message behind the place, everything is kept.
pub fn keep_recent_tokens(path: &[Entry], keep: Tokens) -> usize {
    let start = leading(path);
    let mut accumulated = Tokens::ZERO;
    for at in (start..path.len()).rev() {
        accumulated += path.get(at).map_or(Tokens::ZERO, |entry| content(&entry.outline));
        if accumulated >= keep {
            let user = |at: &usize| path.get(*at).is_some_and(|entry| entry.outline.role == Role::User);
            return behind(start, (at..path.len()).find(user));
        }
    }
    0
}

/// The recency window of spec 008.1's draft: the last `count` messages.
pub fn keep_last_messages(path: &[Entry], count: usize) -> usize {
    behind(leading(path), path.len().checked_sub(count))
}

/// The protected tail of the micro agent: the last `count` messages, and the call of a tool result that opens them.
///
/// The first message is protected as well, so the walk back ends one message behind it, as it does in the seed.
pub fn protected_tail(path: &[Entry], count: usize) -> usize {
    let zone = leading(path) + 1;
    let Some(mut end) = path.len().checked_sub(count).filter(|end| *end > zone) else { return 0 };
    let opens_with_result =
        |end: usize| path.get(end).is_some_and(|entry| is_tool_result_message(&entry.outline));
    while end > zone + 1 && opens_with_result(end) {
        end -= 1;
    }
    end
}

/// `partitionTurns` of the Nexus design: the newest turns that have at most `keep` tokens together, at least one.
///
/// A turn there is a query with everything that answers it, tool calls included: an exchange.
pub fn partition_turns(path: &[Entry], keep: Tokens) -> usize {
    let turns = exchanges(path.iter().map(|entry| entry.outline.as_ref()));
    let mut kept = Tokens::ZERO;
    let mut cut = path.len();
    for turn in turns.into_iter().rev() {
        let messages = path.get(turn.clone()).unwrap_or_default();
        kept += messages.iter().map(|entry| entry.outline.tokens).sum();
        if kept > keep && cut < path.len() {
            return cut;
        }
        cut = turn.start;
    }
    behind(leading(path), Some(cut).filter(|cut| *cut < path.len() && kept > keep))
}

// A cut at the first message of the conversation leaves nothing to compact.
fn behind(start: usize, cut: Option<usize>) -> usize {
    cut.filter(|cut| *cut > start).unwrap_or(0)
}

fn content(outline: &Outline) -> Tokens {
    outline.blocks.iter().map(|block| block.tokens).sum::<Tokens>().max(Tokens(1))
}

//! What is to be expected of a conversation's future, from nothing but its past.

use crate::message::Role;
use crate::outline::{Entry, Outline};
use crate::turn::turns;
use crate::units::Tokens;

/// More turns than this are never expected.
///
/// Beyond it the estimate would rest on a handful of very long sessions, and a compaction that needs more turns
/// than this to pay for itself is not worth its risk.
pub const MOST_TURNS: u64 = 200;

/// How many of the newest turns tell how fast a conversation grows.
const RECENT_TURNS: usize = 16;

/// How many more turns are to be expected: as many as there were, from 1 up to [`MOST_TURNS`].
///
/// A conversation looked at at some moment is on average half over, whatever its length, so what is past is an
/// unbiased estimate of what is to come (Lindy's law).
pub fn remaining_turns(path: &[Entry]) -> u64 {
    let mut turns = 0;
    let mut replying = false;
    for entry in path {
        let reply = entry.outline.role == Role::Assistant;
        turns += u64::from(reply && !replying);
        replying = reply;
    }
    turns.clamp(1, MOST_TURNS)
}

/// By how many tokens a turn makes the conversation longer: the mean of the newest turns.
pub fn growth(path: &[Entry]) -> Tokens {
    let outlines: Vec<&Outline> = path.iter().map(|entry| entry.outline.as_ref()).collect();
    let turns = turns(outlines.iter().copied());
    let recent = turns.iter().rev().filter(|turn| !turn.output.is_empty()).take(RECENT_TURNS);
    let (mut count, mut tokens) = (0, Tokens::ZERO);
    for turn in recent {
        let messages = outlines.get(turn.input.start..turn.output.end).unwrap_or_default();
        let said = messages.iter().filter(|outline| !matches!(outline.role, Role::System | Role::Developer));
        tokens += said.map(|outline| outline.tokens).sum();
        count += 1;
    }
    Tokens(tokens.0.checked_div(count).unwrap_or(0))
}

//! Settings that follow the conversation.

use crate::message::Role;
use crate::outline::{Entry, Outline};
use crate::turn::turns;
use crate::units::Tokens;

/// How many of the newest turns are looked at.
const RECENT_TURNS: usize = 8;
/// Fewer turns than this make no pattern.
const FEWEST_TURNS: usize = 4;
/// For how many turns the window should have room when the threshold is reached.
const ROOM_FOR_TURNS: u64 = 8;
/// What the recent messages should take of the budget: the field keeps 25 to 30 percent.
const RECENT_SHARE: (u64, u64) = (3, 10);
/// The window may be wrong and so may be the count: this part of it is never counted on.
const USABLE: (u64, u64) = (9, 10);

/// The threshold of compaction, moved by how fast the conversation grows.
///
/// When it is reached, the window should still have room for eight turns of the recent mean and for one as large as
/// the largest of them:
///
/// ```text
/// threshold = window - (8 · mean + largest)      over the newest 8 turns
/// ```
///
/// within half and one and a half of `base`, and within nine tenths of the window. So a chat of short messages may
/// fill more of the window, and a tool loop that reads large files is compacted in time. Before the fourth turn there
/// is no pattern, and `base` stands.
pub fn threshold(path: &[Entry], base: Tokens, window: Tokens) -> Tokens {
    let usable = part(window, USABLE);
    let sizes = recent_turns(path);
    if sizes.len() < FEWEST_TURNS {
        return base.min(usable);
    }
    let sum: Tokens = sizes.iter().copied().sum();
    let mean = sum.0 / sizes.len() as u64;
    let largest = sizes.iter().copied().max().unwrap_or_default();
    let room = Tokens(mean.saturating_mul(ROOM_FOR_TURNS)) + largest;
    (window - room).clamp(half(base), half_more(base)).min(usable)
}

/// How many of the newest messages are kept, moved by how large messages are.
///
/// As many as fit into three tenths of the budget at the mean size of the newest `2 · base` messages:
///
/// ```text
/// window = 0.3 · budget / mean
/// ```
///
/// within half and one and a half of `base`, rounded to the wide side. Short messages let more of them stay, long
/// ones fewer.
pub fn recency_window(path: &[Entry], base: usize, budget: Tokens) -> usize {
    let newest = path.iter().rev().map(|entry| &entry.outline).take_while(|outline| !is_instruction(outline));
    let (mut count, mut tokens) = (0_u64, Tokens::ZERO);
    for outline in newest.take(base.saturating_mul(2)) {
        count += 1;
        tokens += outline.tokens;
    }
    if count == 0 || tokens == Tokens::ZERO {
        return base;
    }
    let fitting = part(budget, RECENT_SHARE).0.saturating_mul(count) / tokens.0;
    let (least, most) = (base / 2 + base % 2, base.saturating_add(base.div_ceil(2)));
    usize::try_from(fitting).unwrap_or(most).clamp(least, most)
}

// Tokens of the newest turns, newest first.
fn recent_turns(path: &[Entry]) -> Vec<Tokens> {
    let turns = turns(path.iter().map(|entry| entry.outline.as_ref()));
    let done = turns.iter().rev().filter(|turn| !turn.output.is_empty()).take(RECENT_TURNS);
    let size = |messages: &[Entry]| {
        let said =
            messages.iter().map(|entry| entry.outline.as_ref()).filter(|outline| !is_instruction(outline));
        said.map(|outline| outline.tokens).sum()
    };
    done.map(|turn| size(path.get(turn.input.start..turn.output.end).unwrap_or_default())).collect()
}

fn is_instruction(outline: &Outline) -> bool {
    matches!(outline.role, Role::System | Role::Developer)
}

fn part(whole: Tokens, (share, of): (u64, u64)) -> Tokens {
    Tokens((u128::from(whole.0) * u128::from(share) / u128::from(of)) as u64)
}

fn half(base: Tokens) -> Tokens {
    Tokens(base.0.div_ceil(2))
}

fn half_more(base: Tokens) -> Tokens {
    base + Tokens(base.0 / 2)
}

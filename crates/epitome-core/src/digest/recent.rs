//! How much of what is recent is better left as it is than picked from.
//!
//! Room has a price: what the best of those choices that find none is worth for a token. What is chosen of a message anyway
//! costs the same in its place; what is not has to be worth the price, and is worth more in its place than quoted.

use super::pack::{Choice, ranked};
use super::quick::QuickSet;
use super::reading::Reading;
use super::worth::Worth;
use crate::outline::Entry;
use crate::units::Tokens;

/// What a message says is worth so many times more in its place: an agent is in the middle of it.
const IN_PLACE: f32 = 2.5;

/// The tokens of the last messages that are worth their room, of a budget for them and a summary.
pub(super) fn recent(reading: &mut Reading<'_>, worth: &mut Worth, path: &[Entry], budget: Tokens) -> Tokens {
    reading.show(&|_| false);
    worth.begin(reading);
    let ranking = ranked(reading, worth, budget.0 as f32);
    let quoted = |choice: &Choice| match choice {
        Choice::Quote(unit) => Some(*unit),
        Choice::Name(_) => None,
    };
    let quoted: QuickSet<usize> = ranking.choices.iter().filter_map(quoted).collect();
    let (mut kept, mut balance) = (Tokens::ZERO, 0.0_f32);
    let (mut best, mut highest) = (Tokens::ZERO, 0.0_f32);
    let mut part = reading.parts.len();
    for (message, entry) in path.iter().enumerate().rev() {
        kept += entry.outline.tokens;
        if kept > budget {
            break;
        }
        let mut rest = entry.outline.tokens.0 as f32;
        while let Some(before) = part.checked_sub(1)
            && reading.parts.get(before).is_some_and(|part| part.message >= message)
        {
            part = before;
            for unit in reading.of_part.get(part).cloned().unwrap_or_default() {
                if quoted.contains(&unit) {
                    rest -= reading.units.get(unit).map_or(0.0, |unit| unit.cost);
                } else {
                    balance += IN_PLACE * worth.of_unit(reading, unit);
                    worth.cover(reading, unit);
                }
            }
        }
        balance -= ranking.price * rest.max(0.0);
        if balance >= highest {
            (best, highest) = (kept, balance);
        }
    }
    best
}

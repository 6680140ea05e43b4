//! How much of what is recent is better left as it is than picked from.
//!
//! Room has a price: what the last choice that still finds room is worth for a token. Going back from the end, messages
//! stay as long as they are worth that price together.

use super::pack::ranked;
use super::reading::Reading;
use super::worth::Worth;
use crate::outline::Entry;
use crate::units::Tokens;

/// What a message says is worth so many times more in its place: an agent is in the middle of it.
const IN_PLACE: f32 = 2.0;

/// The tokens of the last messages that are worth their room, of a budget for them and a summary.
pub(super) fn recent(reading: &mut Reading<'_>, worth: &mut Worth, path: &[Entry], budget: Tokens) -> Tokens {
    reading.show(&|_| false);
    worth.begin(reading);
    let price = ranked(reading, worth, budget.0 as f32).price;
    worth.begin(reading);
    let (mut kept, mut balance) = (Tokens::ZERO, 0.0_f32);
    let (mut best, mut highest) = (Tokens::ZERO, 0.0_f32);
    let mut part = reading.parts.len();
    for (message, entry) in path.iter().enumerate().rev() {
        kept += entry.outline.tokens;
        if kept > budget {
            break;
        }
        balance -= price * entry.outline.tokens.0 as f32;
        while let Some(before) = part.checked_sub(1)
            && reading.parts.get(before).is_some_and(|part| part.message >= message)
        {
            part = before;
            for unit in reading.of_part.get(part).cloned().unwrap_or_default() {
                balance += IN_PLACE * worth.of_unit(reading, unit);
                worth.cover(reading, unit);
            }
        }
        if balance >= highest {
            (best, highest) = (kept, balance);
        }
    }
    best
}

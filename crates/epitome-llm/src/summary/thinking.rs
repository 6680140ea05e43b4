//! Models that think before they answer: what they think counts as output, and may leave no room for the answer.

use epitome_core::Tokens;
use epitome_core::models::ModelTable;

use crate::call::{Answer, Call, Ending};

/// So much output leaves room for thoughts and for an answer of usual length.
const ROOM: Tokens = Tokens(8_192);
/// Where a longer answer is wanted, so many times its length.
const TIMES: u64 = 4;

/// Whether the output was over before the model had said a word.
pub(super) fn is_all_thought(answer: &Answer) -> bool {
    // Servers that know nothing of thoughts hand them out as text.
    let text = answer.text.trim();
    let is_thought = text.is_empty() || text.starts_with("<think>") && !text.contains("</think>");
    answer.ending == Ending::MaxOutput && is_thought
}

/// The output that leaves room for thoughts as well, within what the model gives; `None` where it is no more than before.
pub(super) fn with_thoughts(call: &Call, model: &str) -> Option<Tokens> {
    let wanted = ROOM.max(Tokens(call.max_output.0.saturating_mul(TIMES)));
    let most = ModelTable::default().find(model).map_or(wanted, |model| model.max_output);
    Some(wanted.min(most)).filter(|room| *room > call.max_output)
}

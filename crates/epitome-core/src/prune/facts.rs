//! What a decision needs to know of a text, read once when its outline is built.

use super::error_tail::{Outcome, error_tail};
use super::marker::{self, Pruned, PrunedForm};
use crate::hash::RecallId;
use crate::outline::BlockOutline;
use crate::units::Chars;

/// What there is to know of a text without the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFacts {
    /// Its length.
    pub chars: Chars,
    /// Its own recall id.
    pub recall: RecallId,
    /// How much of its end is an error.
    pub error_tail: Chars,
    /// What an earlier pruning left of a longer text.
    pub pruned: Option<Pruned>,
}

/// Reads a block's text: of a text block its text, of a tool result its joined texts.
pub fn read_text(text: &str, outcome: Outcome) -> TextFacts {
    let chars = Chars::of(text);
    let (pruned, kept_error) = marker::read(text, chars).unzip();
    // A trimmed text may have lost what its error was recognised by, so its marker has the say.
    let error_tail = match (&pruned, kept_error) {
        (Some(Pruned { form: PrunedForm::Trimmed { .. } | PrunedForm::Cleared, .. }), Some(kept)) => kept,
        _ => error_tail(text, outcome),
    };
    TextFacts { chars, recall: RecallId::of(text), error_tail, pruned }
}

impl TextFacts {
    /// The facts that an outline holds of its text; `None` where the block has no text.
    pub fn of(outline: &BlockOutline) -> Option<Self> {
        let BlockOutline { chars, recall, error_tail, pruned, .. } = outline;
        Some(Self { chars: *chars, recall: (*recall)?, error_tail: *error_tail, pruned: pruned.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prune::{Mark, render};

    #[test]
    fn a_trimmed_text_remembers_an_error_that_it_no_longer_shows() {
        let text = format!("Exit code 1\n{}\nlast words\n", "no line looks like an error\n".repeat(100));
        let facts = read_text(&text, Outcome::Unknown);
        assert!(facts.error_tail > Chars::ZERO);
        let mark = Mark::Trim { head: Chars(3), tail: facts.error_tail };
        let trimmed = read_text(&render(mark, &text, "bash", &facts).unwrap(), Outcome::Unknown);
        assert_eq!(trimmed.error_tail, facts.error_tail);
        let pruned = trimmed.pruned.unwrap();
        assert_eq!((pruned.chars, pruned.recall), (facts.chars, facts.recall));
    }
}

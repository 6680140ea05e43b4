//! Turns a mark and a text into the text that is sent instead.

use super::facts::TextFacts;
use super::mark::Mark;
use super::marker::{self, Label, Pruned, PrunedForm};
use crate::units::Chars;

/// What `text` becomes under `mark`; `None` for [`Mark::Remove`], which leaves nothing.
///
/// `speaker` is the tool (or the role) that the marker names, `facts` is what [`super::read_text`] says of
/// `text`. The seeds count characters, so cuts fall exactly there and the counts in the marker are true.
/// A text that is itself the outcome of an earlier pruning gives what its original would have given.
pub fn render(mark: Mark, text: &str, speaker: &str, facts: &TextFacts) -> Option<String> {
    let mut label = label_of(mark, speaker, facts);
    match mark {
        Mark::Trim { head, tail } => {
            label.error_tail = label.error_tail.min(tail);
            Some([first(text, head), &marker::trimmed(head, tail, &label), last(text, tail)].concat())
        }
        Mark::Clear { tail } => {
            label.error_tail = tail;
            Some(marker::cleared(&label) + last(text, tail))
        }
        Mark::Truncate { keep } => {
            label.error_tail = Chars::ZERO;
            Some(first(text, keep).to_owned() + &marker::truncated(&label))
        }
        Mark::Remove => None,
    }
}

/// The label that the marker of `mark` carries: always that of the text as it first was.
pub(crate) fn label_of<'a>(mark: Mark, speaker: &'a str, facts: &'a TextFacts) -> Label<'a> {
    let error_tail = facts.error_tail;
    match original(mark, facts) {
        Some(Pruned { tool, chars, recall, .. }) => {
            Label { tool, chars: *chars, error_tail, recall: *recall }
        }
        None => Label { tool: speaker, chars: facts.chars, error_tail, recall: facts.recall },
    }
}

// A tool result that happens to end like a truncated text was not truncated by us, nor the reverse.
fn original(mark: Mark, facts: &TextFacts) -> Option<&Pruned> {
    facts.pruned.as_ref().filter(|pruned| {
        matches!(mark, Mark::Truncate { .. }) == matches!(pruned.form, PrunedForm::Truncated { .. })
    })
}

fn first(text: &str, chars: Chars) -> &str {
    text.char_indices().nth(chars.0).map_or(text, |(at, _)| &text[..at])
}

fn last(text: &str, chars: Chars) -> &str {
    match chars.0.checked_sub(1) {
        None => "",
        Some(before) => text.char_indices().rev().nth(before).map_or(text, |(at, _)| &text[at..]),
    }
}

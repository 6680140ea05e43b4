//! What the model sees of a compacted path.

mod build;
mod counted;
mod outline;

use serde::{Deserialize, Serialize};

use super::cuts::leading;
use super::segment::Compaction;
use crate::message::{Block, Message, Role};
use crate::outline::Entry;
use crate::prune::{self, BlockEdit};
use crate::tokens::MESSAGE_OVERHEAD;
use crate::units::Tokens;
pub(crate) use counted::CountedView;
pub(crate) use outline::{PieceOutline, ViewOutline};

/// Where summaries stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// As a user message, followed by the assistant's acknowledgement where roles must alternate.
    #[default]
    Pair,
    /// At the end of the first user message.
    FirstUser,
    /// Among the instructions of the operator.
    System,
}

/// Where the operator's instructions stand in a dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemPlace {
    /// Outside the messages: the summary becomes one more block there.
    Outside,
    /// Among the messages: the summary becomes a message of this role after the leading ones.
    Message(Role),
}

/// The words around a summary. `{summary}` stands for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wording {
    /// What is said in the user's place.
    pub summary: String,
    /// What the assistant answers.
    pub acknowledgement: String,
}

impl Default for Wording {
    fn default() -> Self {
        Self {
            summary: "[Previous conversation summary]\n\n{summary}".to_owned(),
            acknowledgement: "I have the context from our previous conversation. Let's continue.".to_owned(),
        }
    }
}

impl Wording {
    /// A summary with the words around it.
    pub fn around(&self, summary: &str) -> String {
        self.summary.replace("{summary}", summary)
    }
}

/// One message of a view.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// A message of the path as it was.
    Keep(usize),
    /// A message of the path, some of its blocks changed.
    Edit(usize, Vec<(usize, BlockEdit)>),
    /// A message that is not in the path.
    New(Message),
}

/// What the model sees.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// What is added to the operator's instructions outside the messages.
    pub system: Option<String>,
    /// The messages, in order.
    pub pieces: Vec<Piece>,
}

impl View {
    /// The messages of the view.
    pub fn messages(&self, path: &[Message]) -> Vec<Message> {
        let pieces = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Keep(at) => path.get(*at).cloned(),
            Piece::Edit(at, edits) => path.get(*at).map(|message| prune::edited(message, edits.clone())),
            Piece::New(message) => Some(message.clone()),
        });
        pieces.collect()
    }
}

/// What the model sees of a path under a compaction: its segments, then everything after it as it was.
pub fn view(compaction: &Compaction, path: &[Entry], messages: &[Message], place: SystemPlace) -> View {
    ViewOutline::of(compaction, path, place).render(path, messages)
}

/// The tokens of a view by exact count, leading system messages left out, a summary among them included.
///
/// `count` is the function that the outlines of the path were counted with.
pub fn view_tokens(view: &View, path: &[Entry], count: &dyn Fn(&str) -> Tokens) -> Tokens {
    let leading = leading(path);
    let kept =
        |at: usize| path.get(at).filter(|_| at >= leading).map_or(Tokens::ZERO, |entry| entry.outline.tokens);
    let block = |at: usize, number: usize| {
        path.get(at)
            .and_then(|entry| entry.outline.blocks.get(number))
            .map_or(Tokens::ZERO, |block| block.tokens)
    };
    let new_text = |text: &Block| prune::text_of(text).map_or(Tokens::ZERO, |text| count(&text));
    let pieces = view.pieces.iter().map(|piece| match piece {
        Piece::Keep(at) => kept(*at),
        Piece::Edit(at, edits) => edits.iter().fold(kept(*at), |sum, (number, edit)| {
            let after = match edit {
                BlockEdit::Text(text) => count(text),
                BlockEdit::Remove => Tokens::ZERO,
            };
            sum - block(*at, *number) + after
        }),
        Piece::New(message) => MESSAGE_OVERHEAD + message.blocks.iter().map(new_text).sum(),
    });
    let system = view.system.as_deref().map_or(Tokens::ZERO, |text| MESSAGE_OVERHEAD + count(text));
    pieces.sum::<Tokens>() + system
}

/// What stands in the user's place where the assistant would otherwise speak first or twice in a row.
pub(super) const OMITTED: &str = "[Earlier messages omitted]";

//! A view without its texts: which messages it shows, under which marks, and the words between them.
//!
//! It is all that counting a view takes. So a plan can be weighed and thrown away with no mark rendered.

use std::borrow::Cow;

use super::{Piece, View};
use crate::message::{Message, Role};
use crate::outline::Entry;
use crate::prune::{self, BlockEdit, Marked};

/// What there is to know of a view without its texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct ViewOutline<'c> {
    /// What is added to the operator's instructions outside the messages.
    pub(crate) system: Option<String>,
    /// The messages, in order.
    pub(crate) pieces: Vec<PieceOutline<'c>>,
}

/// One message of a view.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PieceOutline<'c> {
    /// A message of the path as it was.
    Keep(usize),
    /// A message of the path under marks.
    Marked(usize, Cow<'c, [Marked]>),
    /// A message of the path, under marks if there are any, with words at the end of one of its texts.
    Joined(usize, Cow<'c, [Marked]>, Box<Joined>),
    /// A message that is not in the path.
    New(Role, Cow<'c, str>),
}

/// Words at the end of a block's text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Joined {
    pub(crate) block: usize,
    pub(crate) words: String,
}

impl PieceOutline<'_> {
    /// The message of the path that it shows.
    pub(crate) fn message(&self) -> Option<usize> {
        match self {
            PieceOutline::Keep(at) | PieceOutline::Marked(at, _) | PieceOutline::Joined(at, ..) => Some(*at),
            PieceOutline::New(..) => None,
        }
    }

    /// The message with its texts.
    pub(crate) fn render(&self, path: &[Entry], messages: &[Message]) -> Piece {
        let text = |at: usize, block: usize| prune::text_of(messages.get(at)?.blocks.get(block)?);
        let edits = |at: usize, marks: &[Marked]| -> Vec<(usize, BlockEdit)> {
            marks.iter().filter_map(|marked| prune::edit(marked, path, || text(at, marked.block))).collect()
        };
        match self {
            PieceOutline::Keep(at) => Piece::Keep(*at),
            PieceOutline::Marked(at, marks) => Piece::Edit(*at, edits(*at, marks)),
            PieceOutline::Joined(at, marks, joined) => {
                let mut edits = edits(*at, marks);
                let number = edits.partition_point(|(block, _)| *block < joined.block);
                let edited = edits.get_mut(number).filter(|(block, _)| *block == joined.block);
                let join = |text: &str| BlockEdit::Text(format!("{text}\n\n{}", joined.words));
                match edited {
                    Some((_, BlockEdit::Text(text))) => text.push_str(&format!("\n\n{}", joined.words)),
                    Some((_, removed)) => *removed = BlockEdit::Text(joined.words.clone()),
                    None => {
                        let old = text(*at, joined.block).unwrap_or_default();
                        edits.insert(number, (joined.block, join(&old)));
                    }
                }
                Piece::Edit(*at, edits)
            }
            PieceOutline::New(role, words) => Piece::New(Message::text(*role, words.as_ref())),
        }
    }
}

impl ViewOutline<'_> {
    /// The view with its texts.
    pub(crate) fn render(self, path: &[Entry], messages: &[Message]) -> View {
        let pieces = self.pieces.iter().map(|piece| piece.render(path, messages)).collect();
        View { system: self.system, pieces }
    }
}

//! What each message of a view costs, counted on its outline.

use super::{Piece, PieceOutline, SystemPlace, ViewOutline};
use crate::compact::segment::Compaction;
use crate::message::Message;
use crate::outline::Entry;
use crate::prune::{BlockEdit, Count, PathSizes};
use crate::tokens::MESSAGE_OVERHEAD;
use crate::units::Tokens;

/// A view without its texts, and what it costs.
#[derive(Clone, Debug)]
pub(crate) struct CountedView<'c> {
    /// What is added to the operator's instructions outside the messages.
    pub(crate) system: Tokens,
    /// The messages in order, and the tokens of each.
    pub(crate) pieces: Vec<(PieceOutline<'c>, Tokens)>,
}

impl<'c> CountedView<'c> {
    /// Counts what the model sees of a path under a compaction.
    pub(crate) fn of(
        compaction: &'c Compaction,
        path: &'c [Entry],
        messages: &[Message],
        place: SystemPlace,
        count: &dyn Count,
    ) -> Self {
        let ViewOutline { system, pieces } = ViewOutline::of(compaction, path, place);
        let counted = |piece: PieceOutline<'c>| {
            let tokens = tokens(&piece, path, messages, count);
            (piece, tokens)
        };
        Self {
            system: system.map_or(Tokens::ZERO, |words| count.text(&words)),
            pieces: pieces.into_iter().map(counted).collect(),
        }
    }
}

fn tokens(piece: &PieceOutline<'_>, path: &[Entry], messages: &[Message], count: &dyn Count) -> Tokens {
    let entry = piece.message().and_then(|at| path.get(at));
    let whole = entry.map_or(Tokens::ZERO, |entry| entry.outline.tokens);
    match piece {
        PieceOutline::Keep(_) => whole,
        PieceOutline::Marked(_, marks) => {
            let sizes = PathSizes::new(messages, count);
            marks.iter().fold(whole, |sum, marked| {
                let Some(subject) = marked.subject(path) else { return sum };
                sum - subject.outline.tokens + sizes.tokens(&subject, marked.mark)
            })
        }
        PieceOutline::Joined(..) => {
            // Words that are joined to a text are counted with it.
            let Piece::Edit(_, edits) = piece.render(path, messages) else { return whole };
            edits.iter().fold(whole, |sum, (block, edit)| {
                let before = entry.and_then(|entry| entry.outline.blocks.get(*block));
                let after = match edit {
                    BlockEdit::Text(text) => count.text(text),
                    BlockEdit::Remove => Tokens::ZERO,
                };
                sum - before.map_or(Tokens::ZERO, |block| block.tokens) + after
            })
        }
        PieceOutline::New(_, words) => MESSAGE_OVERHEAD + count.text(words),
    }
}

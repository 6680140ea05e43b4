//! Writing a view into a file: what is shown stays, what is not goes, and summaries take the places of what they stand for.
//!
//! Files of other tools know many fields that only their tool can fill in (ids, parents, versions, costs). So a new
//! message gets no record of its own: it moves into the record of a message that it replaces, of the same role. Only where
//! there are not enough of those is a record recast.

use std::collections::BTreeSet;

use epitome_core::compact::{Piece, View};
use epitome_core::{Block, BlockKind, Message, Role};

use super::error::FileError;
use super::rewrite::Changes;
use super::transcript::{Thread, Transcript};
use crate::edit::{Edit, Edits, from_core};

impl Transcript {
    /// The file's text with the messages `path` (numbers of messages, in order) shown as `view` shows them.
    ///
    /// What the view adds to the system prompt is not written: files of sessions do not hold one.
    pub fn show(&self, path: &[usize], view: &View) -> Result<String, FileError> {
        let mut changes = self.changes(path, view)?;
        self.prune_threads(path, view, &mut changes.removed);
        self.change(&changes)
    }

    /// Like [`Transcript::show`], with no other thread beside this one.
    ///
    /// Where files were put together from several, threads can share messages without sharing what stands before them,
    /// so that what is left of one would pass for the beginning of another.
    pub fn show_alone(&self, path: &[usize], view: &View) -> Result<String, FileError> {
        let mut changes = self.changes(path, view)?;
        let on_path: BTreeSet<usize> = path.iter().copied().collect();
        let others = self.threads.iter().flat_map(|thread| &thread.messages);
        changes.removed.extend(others.filter(|number| !on_path.contains(number)));
        self.change(&changes)
    }

    // What becomes of the messages of the path.
    fn changes(&self, path: &[usize], view: &View) -> Result<Changes, FileError> {
        let mut changes = Changes::default();
        let mut pieces = view.pieces.iter().peekable();
        let mut at = 0;
        while pieces.peek().is_some() {
            let mut new = Vec::new();
            while let Some(Piece::New(message)) = pieces.next_if(|piece| matches!(piece, Piece::New(_))) {
                new.push(message);
            }
            let next = pieces.next();
            let shown = match next {
                Some(Piece::Keep(at) | Piece::Edit(at, _)) => *at,
                _ => path.len(),
            };
            let hidden = path.get(at..shown).ok_or(FileError::NoSuchMessage(shown))?;
            self.house(hidden, &new, &mut changes)?;
            if let Some(Piece::Edit(position, edits)) = next {
                let number = *path.get(*position).ok_or(FileError::NoSuchMessage(*position))?;
                changes.edits.insert(number, edits.iter().cloned().map(from_core).collect());
            }
            at = shown + 1;
        }
        changes.removed.extend(path.get(at..).unwrap_or_default());
        Ok(changes)
    }

    // A thread that leaves this one at a message that is no longer shown has lost what it continued, and goes with it.
    fn prune_threads(&self, path: &[usize], view: &View, removed: &mut BTreeSet<usize>) {
        let mut hidden: BTreeSet<usize> = path.iter().copied().collect();
        for piece in &view.pieces {
            if let Piece::Keep(at) | Piece::Edit(at, _) = piece
                && let Some(number) = path.get(*at)
            {
                hidden.remove(number);
            }
        }
        // A thread may leave another one that goes.
        let main: BTreeSet<usize> = path.iter().copied().collect();
        loop {
            let stranded = |thread: &&Thread| thread.after.is_some_and(|at| hidden.contains(&at));
            let messages = self.threads.iter().filter(stranded).flat_map(|thread| &thread.messages);
            let gone: Vec<usize> = messages
                .copied()
                .filter(|number| !main.contains(number) && !hidden.contains(number))
                .collect();
            if gone.is_empty() {
                break;
            }
            removed.extend(&gone);
            hidden.extend(gone);
        }
    }

    // Finds a place among hidden messages for each new one; the others go.
    fn house(&self, hidden: &[usize], new: &[&Message], changes: &mut Changes) -> Result<(), FileError> {
        let mut housed = BTreeSet::new();
        if let Some(places) = self.places(hidden, new) {
            for (number, message) in places.iter().zip(new) {
                changes.edits.insert(*number, self.replaced(*number, message));
            }
            housed.extend(places);
        } else {
            let found = hidden.iter().find(|number| self.recastable(**number).is_some());
            let role = new.first().map_or(Role::User, |message| message.role);
            let number = found.ok_or(FileError::NoPlace(role))?;
            changes.recast.insert(*number, new.iter().map(|message| (*message).clone()).collect());
            housed.insert(*number);
        }
        changes.removed.extend(hidden.iter().filter(|number| !housed.contains(number)));
        Ok(())
    }

    // A hidden message of the same role for each new one, in order.
    fn places(&self, hidden: &[usize], new: &[&Message]) -> Option<Vec<usize>> {
        let mut from = 0;
        let mut places = Vec::with_capacity(new.len());
        for (message, later) in new.iter().zip((0..new.len()).rev()) {
            let fits = |number: &usize| self.can_carry(*number, message.role);
            // A plain message makes the better place; but those that follow need places, too.
            let open = hidden.get(from..).unwrap_or_default();
            let found = open
                .iter()
                .position(|number| fits(number) && self.is_plain(*number))
                .filter(|found| self.leaves_room(&open[found + 1..], &new[new.len() - later..]))
                .or_else(|| open.iter().position(fits))?;
            places.push(open[found]);
            from += found + 1;
        }
        Some(places)
    }

    fn leaves_room(&self, hidden: &[usize], new: &[&Message]) -> bool {
        let mut hidden = hidden.iter();
        new.iter().all(|message| hidden.any(|number| self.can_carry(*number, message.role)))
    }

    fn can_carry(&self, number: usize, role: Role) -> bool {
        let Some((message, layout)) = self.messages.get(number).zip(self.layouts.get(number)) else {
            return false;
        };
        message.role == role && !layout.records.is_empty() && !layout.blocks.is_empty()
    }

    fn is_plain(&self, number: usize) -> bool {
        self.messages
            .get(number)
            .is_some_and(|message| message.blocks.iter().all(|block| block.kind() == BlockKind::Text))
    }

    // The message's blocks give way to one text. A text keeps its block, anything else becomes one.
    fn replaced(&self, number: usize, new: &Message) -> Edits {
        let text = new.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        let text = text.collect::<Vec<_>>().join("\n\n");
        let blocks = self.messages.get(number).map_or(&[][..], |message| &message.blocks);
        let carrier = blocks.iter().position(|block| block.kind() == BlockKind::Text).unwrap_or(0);
        let edit = |(block, content): (usize, &Block)| match content.kind() {
            _ if block != carrier => (block, Edit::Remove),
            BlockKind::Text => (block, Edit::Text(text.clone())),
            _ => (block, Edit::Become(text.clone())),
        };
        blocks.iter().enumerate().map(edit).collect()
    }
}

//! A whole compaction: which of its path is shown as it was, and what stands for the rest.

use std::collections::HashMap;

use super::compare::{Sides, compare};
use super::parts::{Part, State, beside, parts};
use super::report::Loss;
use crate::compact::{Compaction, Piece, Segment, View};
use crate::message::{Block, Message};
use crate::outline::Entry;
use crate::prune::BlockEdit;

/// Compares what a compaction shows with what there was.
///
/// `view` is the view of the compaction; `outside` what the summaries' writers knew beside the path.
pub fn of(
    compaction: &Compaction,
    view: &View,
    path: &[Entry],
    messages: &[Message],
    outside: &[&str],
) -> Loss {
    let mut texts: Vec<Part<'_>> = Vec::new();
    let mut recall = HashMap::new();
    let mut shown: Vec<&str> = view.system.as_deref().into_iter().collect();
    let mut states = vec![State::Hidden; messages.len()];
    let mut edits = HashMap::new();
    for piece in &view.pieces {
        match piece {
            Piece::Keep(at) => states.get_mut(*at).into_iter().for_each(|state| *state = State::Shown),
            Piece::Edit(at, changes) => {
                edits.insert(*at, changes);
                shown.extend(changes.iter().filter_map(|(_, edit)| new_text(edit)));
            }
            Piece::New(message) => shown.extend(message.blocks.iter().filter_map(block_text)),
        }
    }
    for (number, message) in messages.iter().enumerate() {
        let (state, changes) = (states.get(number).copied(), edits.get(&number));
        for block in 0..message.blocks.len() {
            let changed = changes.is_some_and(|changes| changes.iter().any(|(at, _)| *at == block));
            let state = match state {
                _ if changes.is_some() && !changed => State::Shown,
                _ if changed => State::Hidden,
                state => state.unwrap_or(State::Hidden),
            };
            let before = texts.len() as u32;
            part_of(number, message, block, state, &mut texts);
            let id = path
                .get(number)
                .and_then(|entry| entry.outline.blocks.get(block))
                .and_then(|block| block.recall);
            if let Some(id) = id.filter(|_| changed) {
                recall.extend((before..texts.len() as u32).map(|part| (part, id)));
            }
        }
    }
    outside.iter().for_each(|text| beside(text, &mut texts));
    let summaries = compaction.segments.iter().filter_map(|segment| match segment {
        Segment::Summary { text, .. } => Some(text.as_str()),
        _ => None,
    });
    compare(&Sides { parts: texts, recall, shown, summaries: summaries.collect() })
}

fn part_of<'a>(number: usize, message: &'a Message, block: usize, state: State, into: &mut Vec<Part<'a>>) {
    if let Some(block) = message.blocks.get(block) {
        parts(Some(number), message.role, std::slice::from_ref(block), state, into);
    }
}

fn new_text(edit: &BlockEdit) -> Option<&str> {
    match edit {
        BlockEdit::Text(text) => Some(text),
        BlockEdit::Remove => None,
    }
}

fn block_text(block: &Block) -> Option<&str> {
    match block {
        Block::Text(text) => Some(&text.text),
        _ => None,
    }
}

//! What the rules look at: facts about every place between two messages, read in one pass.

use crate::message::{BlockKind, Role};
use crate::outline::{Entry, Outline};
use crate::prune::is_thinking;
use crate::turn::{ToolPairs, is_plain_user_message, tool_pairs};

/// A path as the rules see it.
#[derive(Clone, Debug)]
pub(super) struct Structure {
    /// How many leading system messages there are.
    pub(super) leading: usize,
    /// How many messages there are.
    pub(super) length: usize,
    /// Messages that hold a provider's compaction item.
    pub(super) items: Vec<usize>,
    /// A message with a call whose result is yet to come.
    pub(super) pending: Option<usize>,
    places: Vec<Place>,
}

/// What is known of the place before a message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// A call stands before it, its result behind it.
    pub(super) in_pair: bool,
    /// It is between two messages of one reply.
    pub(super) in_reply: bool,
    /// It is beside a compaction item.
    pub(super) at_item: bool,
    /// It is inside a tool loop with thinking.
    pub(super) in_thinking_loop: bool,
    /// A person speaks behind it.
    pub(super) before_exchange: bool,
    /// The assistant speaks behind it.
    pub(super) before_assistant: bool,
}

// The exchange that is open while a path is read.
struct Exchange {
    start: usize,
    thinks: bool,
    calls: bool,
}

impl Structure {
    pub(super) fn of(path: &[Entry]) -> Self {
        let outlines = || path.iter().map(|entry| entry.outline.as_ref());
        let mut structure = Self {
            leading: leading(path),
            length: path.len(),
            items: Vec::new(),
            pending: None,
            places: vec![Place::default(); path.len()],
        };
        let mut replied = false;
        let mut exchange: Option<Exchange> = None;
        for (at, outline) in outlines().enumerate() {
            let replies = outline.role == Role::Assistant;
            let opens = is_plain_user_message(outline);
            if let Some(place) = structure.places.get_mut(at) {
                place.in_reply = replied && replies;
                place.before_assistant = replies;
                place.before_exchange = opens;
            }
            replied = replies;
            if opens {
                structure.close(exchange.replace(Exchange { start: at, thinks: false, calls: false }), at);
            }
            if let Some(open) = &mut exchange {
                open.thinks = open.thinks || holds(outline, is_thinking);
                open.calls = open.calls || holds(outline, |kind| kind == BlockKind::ToolUse);
            }
            if holds(outline, |kind| kind == BlockKind::Compaction) {
                structure.items.push(at);
            }
        }
        structure.close(exchange, path.len());
        for at in 0..structure.items.len() {
            let item = structure.items.get(at).copied().unwrap_or_default();
            structure.note(item..item + 2, |place| place.at_item = true);
        }
        structure.note_pairs(tool_pairs(outlines()), path);
        structure
    }

    pub(super) fn place(&self, at: usize) -> Place {
        self.places.get(at).copied().unwrap_or_default()
    }

    pub(super) fn is_atom_start(&self, at: usize) -> bool {
        let place = self.place(at);
        at == self.leading || !(place.in_pair || place.in_reply)
    }

    fn close(&mut self, exchange: Option<Exchange>, end: usize) {
        if let Some(Exchange { start, thinks: true, calls: true }) = exchange {
            self.note(start + 1..end, |place| place.in_thinking_loop = true);
        }
    }

    fn note(&mut self, places: std::ops::Range<usize>, fact: impl Fn(&mut Place)) {
        let end = places.end.min(self.places.len());
        self.places.get_mut(places.start.min(end)..end).unwrap_or_default().iter_mut().for_each(fact);
    }

    // Pairs may overlap, so their ends are counted rather than their insides walked.
    fn note_pairs(&mut self, found: ToolPairs, path: &[Entry]) {
        let mut opened = vec![0_i64; path.len() + 2];
        let mut span = |call: usize, result: usize| {
            if let Some(count) = opened.get_mut(call + 1) {
                *count += 1;
            }
            if let Some(count) = opened.get_mut(result + 1) {
                *count -= 1;
            }
        };
        for pair in &found.pairs {
            span(pair.call.message, pair.result.message);
        }
        // A call of the last reply still waits for its result, unless a person has spoken since.
        let replies = |entry: &&Entry| entry.outline.role == Role::Assistant;
        let after_reply = path.iter().rposition(|entry| replies(&entry)).map_or(0, |last| last + 1);
        let reply = path.get(..after_reply).unwrap_or_default().iter().rev().take_while(replies).count();
        let last_word = path.iter().rposition(|entry| is_plain_user_message(&entry.outline));
        let from = (after_reply - reply).max(last_word.map_or(0, |word| word + 1));
        let calls = found.unanswered.iter().rev().map(|place| place.message);
        for call in calls.take_while(|call| *call >= from) {
            span(call, path.len());
            self.pending = Some(call);
        }
        let mut open = 0;
        for (place, change) in self.places.iter_mut().zip(opened) {
            open += change;
            place.in_pair = open > 0;
        }
    }
}

/// Where what the model has not seen yet begins: behind its last reply.
pub(crate) fn unseen(path: &[Entry]) -> usize {
    path.iter().rposition(|entry| entry.outline.role == Role::Assistant).map_or(0, |last| last + 1)
}

/// How many messages of the operator open the path.
pub(crate) fn leading(path: &[Entry]) -> usize {
    let leading = |entry: &&Entry| matches!(entry.outline.role, Role::System | Role::Developer);
    path.iter().take_while(leading).count()
}

fn holds(outline: &Outline, wanted: impl Fn(BlockKind) -> bool) -> bool {
    outline.blocks.iter().any(|block| wanted(block.kind))
}

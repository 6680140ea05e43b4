//! A request pruned on its way through: scan, look up, decide, splice.
//!
//! Rules and wording are core's. This file only brings them to bytes, and sees to it that a message known
//! from earlier requests is neither read nor counted nor rendered again.

use std::borrow::Cow;
use std::sync::Arc;

use epitome_core::prune::{self, Budget, Change, Mark, Plan, Settings, Size, Sizes, Subject, ThinkingRule};
use epitome_core::tokens::Counter;
use epitome_core::{Entry, Time};

use crate::body::{Body, Piece};
use crate::edit::{Edit, Edits};
use crate::error::WireError;
use crate::sketch::{Print, Sketch, Sketches};

/// How requests are pruned.
#[derive(Clone, Copy, Debug)]
pub struct Pruning<'s> {
    /// What is known of messages from earlier requests.
    pub sketches: &'s Sketches,
    /// The rules.
    pub settings: &'s Settings,
    /// The limits.
    pub budget: Budget,
    /// What becomes of thinking blocks behind a change.
    pub thinking: ThinkingRule,
}

/// A pruned request.
#[derive(Clone, Debug)]
pub struct Pruned<'a> {
    /// The body to send: the same text where nothing is pruned.
    pub text: Cow<'a, str>,
    /// What was decided.
    pub plan: Plan,
}

impl Pruning<'_> {
    /// Prunes a body whose messages were written at these times; a missing one is not known.
    pub fn of<'a>(&self, body: &Body<'a>, times: &[Option<Time>]) -> Result<Pruned<'a>, WireError> {
        let sketches = self.sketches.of(body)?;
        let entry = |(index, sketch): (usize, &Arc<Sketch>)| Entry {
            outline: Arc::clone(&sketch.outline),
            time: times.get(index).copied().flatten(),
        };
        let path: Vec<_> = sketches.iter().enumerate().map(entry).collect();
        let mut prints = Prints { body, sketches: &sketches, counter: self.sketches.counter() };
        let plan = prune::plan(&path, self.settings, self.budget, &mut prints, self.thinking);
        if plan.marks.is_empty() {
            return Ok(Pruned { text: Cow::Borrowed(body.text()), plan });
        }
        let changes = prints.changes(&plan, &path);
        let text = body.encode(&pieces(&sketches, &changes))?;
        Ok(Pruned { text: Cow::Owned(text), plan })
    }
}

enum Outcome {
    Edit(Edits),
    Other(Change),
}

fn pieces<'c>(sketches: &'c [Arc<Sketch>], changes: &'c [(usize, Outcome)]) -> Vec<Piece<'c>> {
    let mut changes = changes.iter().peekable();
    let mut pieces = Vec::with_capacity(sketches.len());
    for (message, sketch) in sketches.iter().enumerate() {
        match changes.next_if(|(changed, _)| *changed == message).map(|(_, outcome)| outcome) {
            None => pieces.push(Piece::Keep(message)),
            Some(Outcome::Edit(edits)) => pieces.push(Piece::Edit { message, layout: &sketch.layout, edits }),
            Some(Outcome::Other(Change::Replace(new))) => pieces.push(Piece::New(new)),
            Some(Outcome::Other(_)) => {}
        }
    }
    pieces
}

/// The sizes and texts of a body's blocks under marks, remembered with their sketches.
struct Prints<'p, 'a> {
    body: &'p Body<'a>,
    sketches: &'p [Arc<Sketch>],
    counter: &'p Counter,
}

impl Prints<'_, '_> {
    fn print(&self, subject: &Subject<'_>, mark: Mark) -> Option<Arc<Print>> {
        let sketch = self.sketches.get(subject.message)?;
        sketch.print(self.body.message(subject.message), subject, mark, self.counter)
    }

    // Core says which messages are dropped or replaced; their new texts come from the prints.
    fn changes(&self, plan: &Plan, path: &[Entry]) -> Vec<(usize, Outcome)> {
        let changes = prune::edits(plan, path, |_, _| None);
        let mut marks = plan.marks.as_slice();
        let mut outcomes = Vec::with_capacity(changes.len());
        for (message, change) in changes {
            let before = marks.partition_point(|marked| marked.message < message);
            let count = marks.partition_point(|marked| marked.message <= message) - before;
            let (of_message, rest) = marks.split_at(before).1.split_at(count);
            marks = rest;
            let Change::Edit(_) = change else {
                outcomes.push((message, Outcome::Other(change)));
                continue;
            };
            let edit = |marked: &prune::Marked| {
                if marked.mark == Mark::Remove {
                    return Some((marked.block, Edit::Remove));
                }
                let outline = path.get(message)?.outline.blocks.get(marked.block)?;
                let subject = Subject { message, block: marked.block, speaker: &marked.speaker, outline };
                Some((marked.block, Edit::Text(self.print(&subject, marked.mark)?.text.clone())))
            };
            outcomes.push((message, Outcome::Edit(of_message.iter().filter_map(edit).collect())));
        }
        outcomes
    }
}

impl Sizes for Prints<'_, '_> {
    fn after(&mut self, subject: &Subject<'_>, mark: Mark) -> Size {
        match self.print(subject, mark) {
            Some(print) => print.size,
            None => subject.size(),
        }
    }
}

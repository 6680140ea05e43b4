//! A request pruned on its way through: scan, look up, decide, splice.
//!
//! Rules and wording are core's. This file only brings them to bytes, and sees to it that a message known
//! from earlier requests is neither read nor counted nor rendered again.

use std::borrow::Cow;
use std::sync::Arc;

use epitome_core::prune::{self, Budget, Fate, Mark, Marked, Plan, Settings, THINKING_REMOVED, ThinkingRule};
use epitome_core::{Entry, Message, Role, Time};

use crate::body::{Body, Piece};
use crate::edit::{Edit, Edits};
use crate::error::WireError;
use crate::known::Known;
use crate::sketch::{Sketch, Sketches};

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
        let known = Known::of(body, self.sketches)?;
        let path = known.path(times);
        let plan = prune::plan(&path, self.settings, self.budget, &mut &known, self.thinking);
        if plan.marks.is_empty() {
            return Ok(Pruned { text: Cow::Borrowed(body.text()), plan });
        }
        let outcomes = outcomes(&known, &plan, &path);
        let text = body.encode(&pieces(known.messages(), &outcomes))?;
        Ok(Pruned { text: Cow::Owned(text), plan })
    }
}

enum Outcome {
    Edit(Edits),
    Drop,
    Replace(Message),
}

// Core says what becomes of a message; its new texts come from the prints.
fn outcomes(known: &Known<'_, '_>, plan: &Plan, path: &[Entry]) -> Vec<(usize, Outcome)> {
    let edit = |marked: &Marked| {
        if marked.mark == Mark::Remove {
            return Some((marked.block, Edit::Remove));
        }
        Some((marked.block, Edit::Text(known.marked(&marked.subject(path)?, marked.mark)?)))
    };
    let outcome = |fate: Fate<'_>| match fate {
        Fate::Marked(marks) => Outcome::Edit(marks.iter().filter_map(edit).collect()),
        Fate::Dropped => Outcome::Drop,
        Fate::Replaced => Outcome::Replace(Message::text(Role::Assistant, THINKING_REMOVED)),
    };
    prune::fates(&plan.marks, path).map(|(message, fate)| (message, outcome(fate))).collect()
}

fn pieces<'c>(sketches: &'c [Arc<Sketch>], outcomes: &'c [(usize, Outcome)]) -> Vec<Piece<'c>> {
    let mut outcomes = outcomes.iter().peekable();
    let mut pieces = Vec::with_capacity(sketches.len());
    for (message, sketch) in sketches.iter().enumerate() {
        match outcomes.next_if(|(changed, _)| *changed == message).map(|(_, outcome)| outcome) {
            None => pieces.push(Piece::Keep(message)),
            Some(Outcome::Edit(edits)) => pieces.push(Piece::Edit { message, layout: &sketch.layout, edits }),
            Some(Outcome::Replace(new)) => pieces.push(Piece::New(new)),
            Some(Outcome::Drop) => {}
        }
    }
    pieces
}

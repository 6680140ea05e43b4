//! What a compaction changes in a transcript: decided thread by thread, carried out on its text.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use epitome_core::compact::{Compaction, Cuts, Segment};
use epitome_core::prune::{self, Change, Mark, Marked, Plan, Rule, ThinkingRule};
use epitome_core::turn::is_plain_user_message;
use epitome_core::{BlockKind, Entry, Message, Outline, Role, trim};
use epitome_wire::files::{FileError, Thread, ThreadKind};
use epitome_wire::{Edit, Edits, from_core};

use crate::session::Session;

/// A thread and what is to become of it.
pub(crate) struct ThreadChange<'s> {
    /// The thread.
    pub(crate) thread: &'s Thread,
    /// All messages up to its end.
    pub(crate) path: Vec<Entry>,
    /// What is pruned from it.
    pub(crate) plan: Plan,
    /// Its own messages that are left out, by their numbers in the transcript.
    pub(crate) dropped: Vec<usize>,
    /// The numbers of the path's messages in the transcript.
    numbers: Vec<usize>,
    messages: Cow<'s, [Message]>,
    own: BTreeSet<usize>,
}

impl<'s> ThreadChange<'s> {
    /// Every thread of a session, with nothing to happen to it, the main one first.
    pub(crate) fn all(session: &'s Session) -> Vec<Self> {
        let change = |thread: &'s Thread| Self {
            thread,
            path: session.path(thread),
            plan: Plan::default(),
            dropped: Vec::new(),
            numbers: session.transcript.path(thread),
            messages: session.messages(thread),
            own: thread.messages.iter().copied().collect(),
        };
        session.transcript.threads.iter().map(change).collect()
    }

    /// Plans what is pruned.
    pub(crate) fn prune(&mut self, plan: impl FnOnce(&[Entry], &[Message]) -> Plan) {
        self.plan = plan(&self.path, &self.messages);
    }

    /// How many blocks the rule changes in the thread's own messages.
    pub(crate) fn count(&self, rule: Rule) -> usize {
        let is_own = |marked: &&Marked| {
            self.numbers.get(marked.message).is_some_and(|number| self.own.contains(number))
        };
        self.plan.marks.iter().filter(|marked| marked.rule == rule).filter(is_own).count()
    }

    /// The messages of its path, with the numbers that reports give them.
    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Leaves pinned messages, and what must stay with them, as they are.
    pub(crate) fn keep(&mut self, pins: &[usize]) {
        let pinned = Cuts::of(&self.path).pinned(pins);
        let is_pinned = |message: usize| pinned.iter().any(|stretch| stretch.contains(&message));
        let bound = |marked: &Marked| marked.rule == Rule::BoundThinking;
        self.plan.marks.retain(|marked| bound(marked) || !is_pinned(marked.message));
    }

    /// The same as a record of what became of each stretch of the path.
    pub(crate) fn compaction(&self) -> Compaction {
        let dropped: BTreeSet<usize> = self.dropped.iter().copied().collect();
        let is_dropped = |at: &usize| self.numbers.get(*at).is_some_and(|number| dropped.contains(number));
        let marked = |marked: Option<&Marked>| marked.map_or(0, |marked| marked.message);
        let (first, last) = (marked(self.plan.marks.first()), marked(self.plan.marks.last()));
        let is_marked = |at: usize| !self.plan.marks.is_empty() && (first..=last).contains(&at);
        let leading = Cuts::of(&self.path).leading();
        let fate = |at: usize| (is_dropped(&at), is_marked(at), at < leading);
        let fates: Vec<_> = (0..self.path.len()).map(fate).collect();
        let stretches = fates.chunk_by(|left, right| left == right).scan(0, |at, stretch| {
            let range = *at..*at + stretch.len();
            *at = range.end;
            Some(self.segment(range, stretch.first().is_some_and(|(dropped, ..)| *dropped)))
        });
        Compaction { segments: stretches.collect(), ..Compaction::verbatim(0) }
    }

    fn segment(&self, range: Range<usize>, is_dropped: bool) -> Segment {
        if is_dropped {
            return Segment::Omitted { range, note: "beyond max_conversation_messages".to_owned() };
        }
        let marks = self.plan.marks.iter().filter(|marked| range.contains(&marked.message));
        let marks: Vec<Marked> = marks.cloned().collect();
        match marks.is_empty() {
            true => Segment::Verbatim { range },
            false => Segment::Pruned { range, marks },
        }
    }

    // The messages of the exchanges that hold these, by their numbers in the transcript.
    fn exchanges(&self, pins: &[usize]) -> BTreeSet<usize> {
        let opens =
            |at: &usize| self.path.get(*at).is_some_and(|entry| is_plain_user_message(&entry.outline));
        let exchange = |pin: usize| {
            let start = (0..=pin).rev().find(opens).unwrap_or(0);
            start..(pin + 1..self.path.len()).find(opens).unwrap_or(self.path.len())
        };
        let numbers = pins.iter().flat_map(|pin| self.numbers.get(exchange(*pin)).unwrap_or_default());
        numbers.copied().collect()
    }

    // Marks every thinking block for removal.
    fn unthink(&mut self) {
        self.plan.marks.retain(|marked| marked.rule != Rule::BoundThinking);
        let kept = self.plan.marks.len();
        for (message, entry) in self.path.iter().enumerate() {
            let blocks = entry.outline.blocks.iter().enumerate();
            let thinking = blocks.filter(|(_, block)| is_thinking(block.kind)).map(|(block, _)| Marked {
                message,
                block,
                mark: Mark::Remove,
                rule: Rule::BoundThinking,
                speaker: "assistant".to_owned(),
            });
            self.plan.marks.extend(thinking);
        }
        self.plan.unthought = self.plan.marks.len() - kept;
        self.plan.marks.sort_unstable_by_key(|marked| (marked.message, marked.block));
    }
}

/// Leaves out the oldest messages of each thread beyond `most`.
///
/// Exchanges of the main thread with a pinned message stay. A thread drops only what is its own. A branch that leaves the main thread where that was cut off starts with a plain
/// user message, as every conversation does.
pub(crate) fn drop_oldest(threads: &mut [ThreadChange<'_>], most: usize, pins: &[usize]) {
    let mut gone: BTreeSet<usize> = BTreeSet::new();
    let main = threads.iter().find(|change| change.thread.kind == ThreadKind::Main);
    let kept = main.map(|main| main.exchanges(pins)).unwrap_or_default();
    for change in threads {
        let left = change.numbers.iter().zip(&change.path).filter(|(number, _)| !gone.contains(number));
        let (numbers, path): (Vec<usize>, Vec<Entry>) =
            left.map(|(number, entry)| (*number, entry.clone())).unzip();
        let adrift = if numbers.len() < change.numbers.len() { unopened(&path) } else { 0..0 };
        let oldest = trim::oldest_beyond(&path, most);
        let dropped = if adrift.end > oldest.end { adrift } else { oldest };
        let dropped = numbers.get(dropped).unwrap_or_default().iter().copied();
        let dropped: Vec<usize> = dropped.filter(|number| !kept.contains(number)).collect();
        if dropped.iter().all(|number| change.own.contains(number)) {
            gone.extend(&dropped);
            change.dropped = dropped;
        }
    }
}

// What stands between the leading system messages and the first plain user message.
fn unopened(path: &[Entry]) -> std::ops::Range<usize> {
    let leading = |entry: &&Entry| matches!(entry.outline.role, Role::System | Role::Developer);
    let start = path.iter().take_while(leading).count();
    let silent = |entry: &&Entry| !is_plain_user_message(&entry.outline);
    start..start + path.iter().skip(start).take_while(silent).count()
}

/// Removes all thinking where any of it would stand behind a change, if the model binds it to what stands before it.
///
/// Threads that share messages share their fate: removing the thinking of one alone would take it out of the middle of
/// the others, or leave it behind what was changed for the others.
pub(crate) fn strip_bound_thinking(session: &Session, threads: &mut [ThreadChange<'_>]) {
    if session.thinking_rule() == ThinkingRule::Free {
        return;
    }
    let changes = Changes::of(threads);
    let is_broken = |change: &ThreadChange<'_>| {
        let first = change.numbers.iter().position(|number| changes.touch(*number));
        first.is_some_and(|first| change.path.iter().skip(first + 1).any(|entry| thinks(&entry.outline)))
    };
    let broken: BTreeSet<usize> =
        threads.iter().filter(|change| is_broken(change)).filter_map(|change| root(change)).collect();
    for change in threads.iter_mut().filter(|change| root(change).is_some_and(|root| broken.contains(&root)))
    {
        change.unthink();
    }
}

// Threads that begin with the same message share what follows it, up to where they part.
fn root(change: &ThreadChange<'_>) -> Option<usize> {
    change.numbers.first().copied()
}

fn thinks(outline: &Outline) -> bool {
    outline.blocks.iter().any(|block| is_thinking(block.kind))
}

fn is_thinking(kind: BlockKind) -> bool {
    matches!(kind, BlockKind::Thinking | BlockKind::RedactedThinking)
}

/// Changes to the messages of a transcript, by their numbers in it.
#[derive(Default)]
pub(crate) struct Changes {
    edits: BTreeMap<usize, Edits>,
    removed: BTreeSet<usize>,
}

impl Changes {
    /// What becomes of all threads; what a branch shares with the main thread is the main thread's to change.
    pub(crate) fn of(threads: &[ThreadChange<'_>]) -> Self {
        let mut changes = Self::default();
        for change in threads {
            changes.removed.extend(&change.dropped);
            changes.prune(change);
        }
        changes
    }

    /// The transcript's text with these changes, in its own format.
    pub(crate) fn rewrite(&self, session: &Session) -> Result<String, FileError> {
        session.transcript.rewrite(&self.edits, &self.removed)
    }

    fn touch(&self, message: usize) -> bool {
        self.removed.contains(&message) || self.edits.contains_key(&message)
    }

    fn prune(&mut self, change: &ThreadChange<'_>) {
        let ThreadChange { plan, path, messages, numbers, own, .. } = change;
        let text = |message: usize, block: usize| prune::text_of(messages.get(message)?.blocks.get(block)?);
        for (at, change) in prune::edits(plan, path, text) {
            let Some(number) = numbers.get(at).copied().filter(|number| own.contains(number)) else {
                continue;
            };
            match change {
                Change::Edit(edits) => {
                    let edits = edits.into_iter().map(from_core);
                    self.edits.insert(number, edits.collect());
                }
                Change::Drop => {
                    self.removed.insert(number);
                }
                Change::Replace(_) => {
                    let rest = (1..messages[at].blocks.len()).map(|block| (block, Edit::Remove));
                    let first = (0, Edit::Become(prune::THINKING_REMOVED.to_owned()));
                    self.edits.insert(number, std::iter::once(first).chain(rest).collect());
                }
            }
        }
    }
}

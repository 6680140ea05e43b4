//! A growing conversation, compacted again and again: what the tenth compaction still knows of what the first one knew.

use std::borrow::Cow;
use std::sync::Arc;

use super::context::Context;
use super::cuts::{conversation_tokens, replies};
use super::exam::Seen;
use super::finder::Finder;
use super::reading::Reading;
use super::score::{Scores, Tally};
use crate::compact::{Compaction, Segment, SystemPlace, view, view_tokens};
use crate::message::{Message, Role};
use crate::outline::{Entry, Outline};
use crate::tokens::Counter;
use crate::units::Tokens;

/// How often a conversation is compacted.
pub const ROUNDS: usize = 10;

/// A conversation to be compacted again and again.
#[derive(Clone, Copy)]
pub struct Growing<'a> {
    /// Its messages, outlined.
    pub path: &'a [Entry],
    /// Its messages.
    pub messages: &'a [Message],
    /// The budget of each compaction.
    pub budget: Tokens,
    /// Where summaries among the operator's instructions stand.
    pub place: SystemPlace,
    /// What the outlines were counted with.
    pub counter: &'a Counter,
    /// What a compaction knows of the one before it.
    pub knows: Knows,
}

/// What a compaction knows of the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knows {
    /// Its record and all messages: a session that goes on.
    Record,
    /// Nothing but what was shown after it: a program that pipes its messages through each time.
    Shown,
}

/// What there was after one of the compactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// How many messages it covers.
    pub cut: usize,
    /// The tokens of what is shown.
    pub tokens: Tokens,
    /// The tokens of its summaries.
    pub summary: Tokens,
    /// The tokens of all that the compaction covers.
    pub covered: Tokens,
    /// What it holds of what the agent goes on to use.
    pub scores: Scores,
    /// What it holds of the sentences that open the conversation.
    pub goal: Tally,
    /// What it holds of the items of the first part that the agent uses behind the last compaction: the same question in
    /// every round.
    pub lasting: Tally,
    /// What it holds of all items of the first part that the first compaction held.
    pub held: Tally,
}

/// A compaction and what is shown after it.
struct Step {
    compaction: Compaction,
    cut: usize,
    context: Context,
    shown: Vec<Message>,
}

/// Compacts the first messages of a conversation, given the compaction in force.
pub type Compact<'c> = dyn FnMut(&[Entry], &[Message], Option<&Compaction>) -> Option<Compaction> + 'c;

impl Growing<'_> {
    /// Compacts the conversation [`ROUNDS`] times, each time from the compaction before and the messages since.
    ///
    /// The rounds are spread evenly over the replies from the first on that finds the budget exceeded, and each waits until it
    /// is exceeded again. Nothing where the conversation is over before the last of them.
    pub fn rounds(&self, reading: &Reading, compact: &mut Compact<'_>) -> Option<Vec<Round>> {
        let steps = self.steps(compact);
        if steps.len() < ROUNDS {
            return None;
        }
        let questions = Questions::of(reading, &steps)?;
        let sizes = |step: &Step| (self.summaries(step), conversation_tokens(self.until(step.cut).0));
        Some(steps.iter().map(|step| questions.round(reading, step, sizes(step))).collect())
    }

    fn steps(&self, compact: &mut Compact<'_>) -> Vec<Step> {
        let replies = replies(self.path);
        let first = replies.partition_point(|cut| conversation_tokens(self.until(*cut).0) <= self.budget);
        let mut steps: Vec<Step> = Vec::with_capacity(ROUNDS);
        for (number, cut) in replies.iter().enumerate().skip(first) {
            let wanted = first + steps.len() * (replies.len() - first) / ROUNDS;
            if steps.len() == ROUNDS || number < wanted || !self.exceeds(*cut, steps.last()) {
                continue;
            }
            steps.extend(self.step(*cut, steps.last(), compact));
        }
        steps
    }

    fn step(&self, cut: usize, last: Option<&Step>, compact: &mut Compact<'_>) -> Option<Step> {
        let (mut path, mut messages) = (Cow::Borrowed(self.until(cut).0), Cow::Borrowed(self.until(cut).1));
        let mut previous = last.map(|step| &step.compaction);
        if let (Knows::Shown, Some(last)) = (self.knows, last) {
            path.to_mut().splice(..last.cut, last.shown.iter().map(|message| self.entry(message)));
            messages.to_mut().splice(..last.cut, last.shown.iter().cloned());
            previous = None;
        }
        let compaction = compact(&path, &messages, previous)?;
        let view = view(&compaction, &path, &messages, self.place);
        let tokens = view_tokens(&view, &path, &|text| self.counter.text(text));
        let words = view.system.iter().map(|words| Message::text(Role::System, words));
        let shown: Vec<Message> = words.chain(view.messages(&messages)).collect();
        let context = Context::of(None, &shown, tokens);
        Some(Step { compaction, cut, context, shown })
    }

    fn entry(&self, message: &Message) -> Entry {
        Entry { outline: Arc::new(Outline::of(message, self.counter, 0)), time: message.meta.time }
    }

    fn until(&self, cut: usize) -> (&[Entry], &[Message]) {
        (self.path.get(..cut).unwrap_or_default(), self.messages.get(..cut).unwrap_or_default())
    }

    // Whether what was shown after the last compaction and what came since exceed the budget.
    fn exceeds(&self, cut: usize, last: Option<&Step>) -> bool {
        let Some(last) = last else { return true };
        let since = self.path.get(last.cut..cut).unwrap_or_default();
        last.context.tokens + since.iter().map(|entry| entry.outline.tokens).sum() > self.budget
    }

    fn summaries(&self, step: &Step) -> Tokens {
        let tokens = |segment: &Segment| match segment {
            Segment::Summary { text, .. } => self.counter.text(text),
            _ => Tokens::ZERO,
        };
        step.compaction.segments.iter().map(tokens).sum()
    }
}

/// What every round is asked for.
struct Questions {
    goal: Vec<String>,
    lasting: Finder,
    held: Finder,
}

impl Questions {
    fn of(reading: &Reading, steps: &[Step]) -> Option<Self> {
        let (first, last) = (steps.first()?, steps.last()?);
        let passages = || reading.parted(first.cut).0.iter().flatten();
        let mut all = Finder::default();
        for item in passages().flat_map(|passage| passage.all_items()) {
            all.insert(item);
        }
        let seen = Seen::of(&first.context, &all);
        let mut held = Finder::default();
        for item in passages().flat_map(|passage| passage.all_items()) {
            if all.number(item).is_some_and(|number| seen.has_item(number)) {
                held.insert(item);
            }
        }
        let lasting = reading.exam(last.cut).known_in(passages());
        Some(Self { goal: reading.goal(), lasting, held })
    }

    fn round(&self, reading: &Reading, step: &Step, (summary, covered): (Tokens, Tokens)) -> Round {
        let Step { cut, context, .. } = step;
        let seen = Seen::of(context, &self.held);
        Round {
            cut: *cut,
            tokens: context.tokens,
            summary,
            covered,
            scores: reading.exam(*cut).score(context),
            goal: Tally::of(&self.goal, |sentence| seen.says(sentence)),
            lasting: all_in(&self.lasting, &Seen::of(context, &self.lasting)),
            held: all_in(&self.held, &seen),
        }
    }
}

fn all_in(finder: &Finder, seen: &Seen) -> Tally {
    Tally::of(&(0..finder.len()).collect::<Vec<_>>(), |item| seen.has_item(*item))
}

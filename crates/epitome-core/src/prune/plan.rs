//! Decides what is pruned: a fold over a path, message by message, in time linear in its length.
//!
//! The decision is a pure function of the path, its timestamps and the settings. After every message that
//! is not the model's own, a call could be made; there the fold compares what is pruned now (the adopted
//! marks) with what the rules would prune (the candidate) and takes the candidate over, or keeps the
//! prefix as it is. So the plan for a longer path repeats every decision of the plan for a shorter one.
//! What only the budget asks for is decided after the model's own messages, too: a session that is made
//! smaller as a whole mostly ends with one.
//!
//! Marks of the candidate depend on nothing but how many tool-result messages (and exchanges) have been
//! seen: the adopted state is two numbers, and a step is two assignments.

use super::THINKING_REMOVED;
use super::candidates::{Candidates, Reach};
use super::mark::{Marked, Rule, Size, Sizes, Subject};
use super::settings::{PruneMode, Settings, ThinkingRule};
use crate::hash::RecallId;
use crate::message::{BlockKind, Role};
use crate::outline::{Entry, Outline};
use crate::units::{Time, Tokens};
use serde::Serialize;

/// The limits that a path should keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Tokens of the conversation, without leading system messages and tools.
    pub tokens: Option<Tokens>,
    /// Bytes of everything that is sent.
    pub bytes: Option<usize>,
    /// What is sent beside the path: a system prompt and tools that stand outside of it.
    pub fixed: Size,
}

/// Why a step was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It gains at least `clear_at_least`.
    Gain,
    /// The provider's cache had lapsed.
    Lapse,
    /// The budget was exceeded, and with this step it is met.
    Budget,
    /// The mode is every-call.
    EveryCall,
    /// Bound thinking came to stand behind a change.
    Thinking,
}

/// A change of what is pruned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The message that was the newest when it was made.
    pub at: usize,
    /// Why it was made.
    pub why: Why,
    /// What it gained.
    pub gain: Size,
}

/// What is to be pruned from a path, and how that came about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// What is to be done, by place.
    pub marks: Vec<Marked>,
    /// When the set of marks changed; caps are not steps, as they hold from the first sending on.
    pub steps: Vec<Step>,
    /// The conversation as it is.
    pub before: Size,
    /// The conversation under the marks.
    pub after: Size,
    /// Leading system messages, and what the budget names as sent beside the path.
    pub fixed: Size,
    /// What the rules would gain beyond the marks, held back to spare the provider's cache.
    pub held_back: Tokens,
    /// By how much the budget is still exceeded.
    pub shortfall: Size,
    /// Tool results that are trimmed.
    pub soft: usize,
    /// Tool results that are cleared.
    pub hard: usize,
    /// Tool results that are only capped.
    pub capped: usize,
    /// Texts that are cut short.
    pub truncated: usize,
    /// Thinking blocks that are removed.
    pub unthought: usize,
}

/// Plans what to prune from `path`.
pub fn plan(
    path: &[Entry],
    settings: &Settings,
    budget: Budget,
    sizes: &mut dyn Sizes,
    thinking: ThinkingRule,
) -> Plan {
    let mut fold = Fold::new(settings, budget, thinking);
    for (at, entry) in path.iter().enumerate() {
        fold.message(at, entry, sizes);
    }
    fold.finish()
}

struct Fold<'a> {
    settings: &'a Settings,
    budget: Budget,
    rule: ThinkingRule,
    candidates: Candidates<'a>,
    adopted: Reach,
    plan: Plan,
    leading: bool,
    newest: Option<Time>,
    first_mark: Option<usize>,
    thinking: Vec<Subject<'a>>,
    /// Bound thinking that is still there.
    thought: Size,
    /// What is left of messages that held nothing but bound thinking, and what stands for such.
    husks: Size,
    stripped: bool,
}

impl<'a> Fold<'a> {
    fn new(settings: &'a Settings, budget: Budget, rule: ThinkingRule) -> Self {
        Self {
            settings,
            budget,
            rule,
            candidates: Candidates::new(settings),
            adopted: Reach::default(),
            plan: Plan { fixed: budget.fixed, ..Plan::default() },
            leading: true,
            newest: None,
            first_mark: None,
            thinking: Vec::new(),
            thought: Size::default(),
            husks: Size::default(),
            stripped: false,
        }
    }

    fn message(&mut self, at: usize, entry: &'a Entry, sizes: &mut dyn Sizes) {
        let outline = entry.outline.as_ref();
        let size = Size { tokens: outline.tokens, bytes: outline.bytes };
        self.leading = self.leading && matches!(outline.role, Role::System | Role::Developer);
        if self.leading {
            self.plan.fixed = self.plan.fixed.plus(size);
            return;
        }
        self.plan.before = self.plan.before.plus(size);
        self.plan.after = self.plan.after.plus(size);

        let capped = self.candidates.message(at, outline, sizes);
        self.plan.after = self.plan.after.minus(capped);
        if capped != Size::default() {
            self.first_mark = self.first_mark.or(Some(at));
        }
        if self.rule == ThinkingRule::Bound {
            self.think(at, outline);
        }
        let lapsed = self.silence(entry);
        if let Some(why) = self.reason(outline.role, lapsed) {
            self.step(at, why);
        }
        self.strip(at);
    }

    fn reason(&self, role: Role, lapsed: bool) -> Option<Why> {
        let gain = self.candidates.pending()?.gain;
        let called = role != Role::Assistant;
        match self.settings.prune_mode {
            PruneMode::EveryCall => called.then_some(Why::EveryCall),
            PruneMode::Steps if called && gain.tokens >= self.settings.clear_at_least => Some(Why::Gain),
            PruneMode::Steps if called && lapsed => Some(Why::Lapse),
            PruneMode::Steps => (self.is_over_budget() && self.meets_budget(gain)).then_some(Why::Budget),
        }
    }

    fn is_over_budget(&self) -> bool {
        self.shortfall(self.plan.after.minus(self.husks)) != Size::default()
    }

    // Whether a step with this gain ends the excess. One that does not would be followed by another at the
    // next call, and so on: a budget out of reach would change the prefix for every little gain.
    //
    // Bound thinking goes with a change before it, and so does not count. It must not count where it stays,
    // nor may what it leaves behind, or a conversation that has lost it would be pruned further than the
    // one it was made from.
    fn meets_budget(&self, gain: Size) -> bool {
        let left = self.plan.after.minus(self.husks).minus(self.thought).minus(gain);
        self.shortfall(left) == Size::default()
    }

    fn step(&mut self, at: usize, why: Why) {
        let Some(pending) = self.candidates.adopt() else { return };
        self.adopted = self.candidates.reach();
        self.plan.after = self.plan.after.minus(pending.gain);
        self.plan.steps.push(Step { at, why, gain: pending.gain });
        let first = self.first_mark.unwrap_or(pending.first);
        self.first_mark = Some(first.min(pending.first));
    }

    // Whether the silence before this message was long enough for the provider's cache to lapse.
    fn silence(&mut self, entry: &Entry) -> bool {
        let Some(time) = entry.time else { return false };
        let lapsed = self.newest.is_some_and(|newest| time.since(newest) >= self.settings.lapse_millis());
        // A message of nothing but thinking may be left out of what is sent. Its time must not count, or
        // pruning what was pruned could find a silence that was not there before.
        if !is_only_thinking(&entry.outline) {
            self.newest = Some(time);
        }
        lapsed
    }

    fn think(&mut self, at: usize, outline: &'a Outline) {
        let mut thought = Size::default();
        for (block, content) in outline.blocks.iter().enumerate().filter(|(_, block)| is_thinking(block.kind))
        {
            let subject = Subject { message: at, block, speaker: "assistant", outline: content };
            thought = thought.plus(subject.size());
            self.thinking.push(subject);
        }
        if is_only_thinking(outline) || is_stand_in(outline) {
            let whole = Size { tokens: outline.tokens, bytes: outline.bytes };
            self.husks = self.husks.plus(whole.minus(thought));
        }
        match self.stripped {
            true => self.plan.after = self.plan.after.minus(thought),
            false => self.thought = self.thought.plus(thought),
        }
    }

    // Every thinking block goes as soon as one stands behind a change: removing only those behind it
    // would take them out of the middle, which providers refuse.
    fn strip(&mut self, at: usize) {
        let newest = self.thinking.last().map(|subject| subject.message);
        let behind = self.first_mark.zip(newest).is_some_and(|(mark, thinking)| mark < thinking);
        if self.stripped || !behind {
            return;
        }
        self.stripped = true;
        let gain = std::mem::take(&mut self.thought);
        self.plan.after = self.plan.after.minus(gain);
        match self.plan.steps.last_mut() {
            Some(step) if step.at == at => step.gain = step.gain.plus(gain),
            _ => self.plan.steps.push(Step { at, why: Why::Thinking, gain }),
        }
    }

    // By how much a conversation of this size exceeds the budget.
    fn shortfall(&self, conversation: Size) -> Size {
        let sent = self.plan.fixed.bytes.saturating_add(conversation.bytes);
        Size {
            tokens: self.budget.tokens.map_or(Tokens::ZERO, |most| conversation.tokens - most),
            bytes: self.budget.bytes.map_or(0, |most| sent.saturating_sub(most)),
        }
    }

    fn finish(mut self) -> Plan {
        self.plan.held_back = self.candidates.pending().map_or(Tokens::ZERO, |pending| pending.gain.tokens);
        self.plan.shortfall = self.shortfall(self.plan.after);
        self.plan.marks = self.candidates.marks(self.adopted);
        if self.stripped {
            self.plan.marks.extend(self.thinking.iter().map(Subject::removed));
        }
        self.plan.marks.sort_unstable_by_key(|marked| (marked.message, marked.block));
        for marked in &self.plan.marks {
            *match marked.rule {
                Rule::Cap => &mut self.plan.capped,
                Rule::SoftTrim => &mut self.plan.soft,
                Rule::HardClear => &mut self.plan.hard,
                Rule::LongText => &mut self.plan.truncated,
                Rule::BoundThinking => &mut self.plan.unthought,
            } += 1;
        }
        self.plan
    }
}

pub(crate) fn is_thinking(kind: BlockKind) -> bool {
    matches!(kind, BlockKind::Thinking | BlockKind::RedactedThinking)
}

pub(crate) fn is_only_thinking(outline: &Outline) -> bool {
    !outline.blocks.is_empty() && outline.blocks.iter().all(|block| is_thinking(block.kind))
}

// Whether the message is what an earlier pruning put in the place of nothing but thinking.
fn is_stand_in(outline: &Outline) -> bool {
    let stand_in = RecallId::of(THINKING_REMOVED);
    matches!(outline.blocks.as_slice(), [only] if only.kind == BlockKind::Text && only.recall == Some(stand_in))
}

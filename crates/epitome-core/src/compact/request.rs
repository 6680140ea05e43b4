//! What a compaction is asked to do, and what that means in tokens.

use super::cuts::{leading, unseen};
use super::plan::Strategy;
use super::segment::Compaction;
use super::settings::{Fallback, StrategyName};
use super::strategies::effective;
use super::strategies::layout::tokens;
use super::worth::Stakes;
use crate::message::Role;
use crate::outline::Entry;
use crate::pressure::{Marks, Occasion, Pressure};
use crate::prune::ThinkingRule;
use crate::settings::Settings;
use crate::units::Tokens;

/// The window of a model that nobody has named.
pub const DEFAULT_WINDOW: Tokens = Tokens(200_000);

/// A request for a compaction.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The strategy and its numbers.
    pub settings: &'a Settings,
    /// A strategy that has no name, in place of the one that the settings name.
    pub strategy: Option<&'a dyn Strategy>,
    /// Why the question comes up.
    pub occasion: Occasion,
    /// Tokens of the conversation after compaction; `None`: what the thresholds say.
    pub budget: Option<Tokens>,
    /// The model's window, where it is known.
    pub window: Option<Tokens>,
    /// The thresholds in tokens, where they are decided already.
    pub marks: Option<Marks>,
    /// What is sent beside the path: a system prompt and tools that stand outside of it.
    pub outside: Tokens,
    /// Messages to be kept as they are, whatever happens.
    pub pins: &'a [usize],
    /// Where somebody sealed a topic: how many messages there were then.
    pub seals: &'a [usize],
    /// The compaction in force.
    pub previous: Option<&'a Compaction>,
    /// Prices and the state of the provider's cache, where they are known.
    pub stakes: Option<Stakes>,
    /// Whether the provider binds thinking to what stands before it.
    pub thinking: ThinkingRule,
    /// What summaries are to mind, behind what the settings say.
    pub instructions: Option<&'a str>,
    /// Who tells the log.
    pub telling: Telling,
}

/// Who tells the log of a compaction. Summaries that fail are told at once in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Telling {
    /// It is told when it is done.
    #[default]
    AtOnce,
    /// The caller tells, once it is recorded.
    WhenRecorded,
}

impl<'a> Request<'a> {
    /// A request before a call, with nothing else known.
    pub fn new(settings: &'a Settings) -> Self {
        Self {
            settings,
            strategy: None,
            occasion: Occasion::BeforeCall,
            budget: None,
            window: None,
            marks: None,
            outside: Tokens::ZERO,
            pins: &[],
            seals: &[],
            previous: None,
            stakes: None,
            thinking: ThinkingRule::Free,
            instructions: None,
            telling: Telling::AtOnce,
        }
    }

    /// Everything that summaries are to mind: what the settings say, then what this request says.
    pub(super) fn minding(&self) -> Option<String> {
        let general = self.settings.summary.summary_instructions.as_str();
        let all: Vec<&str> = [general, self.instructions.unwrap_or_default()]
            .into_iter()
            .filter(|text| !text.trim().is_empty())
            .collect();
        (!all.is_empty()).then(|| all.join("\n"))
    }

    /// Where a conversation stands of which all this is sent.
    pub(super) fn pressure(&self, path: &[Entry], sent: Tokens) -> Pressure {
        let window = self.window.unwrap_or(DEFAULT_WINDOW);
        let decided = || self.settings.compact.marks(window, path, 1.0);
        Pressure::at(sent, self.marks.unwrap_or_else(decided))
    }

    /// The room of the conversation: what was asked for, or what the thresholds leave beside `fixed`; `pinned` of it is taken.
    pub(super) fn room(&self, pressure: &Pressure, fixed: Tokens, path: &[Entry], pinned: Tokens) -> Room {
        let marks = &pressure.marks;
        let most = marks.hard - fixed;
        // Where the fixed part alone reaches the low watermark, half of what is left must do.
        let target = self.depth(marks.target(fixed).max(Tokens(most.0 / 2)));
        match (self.occasion, self.budget) {
            (_, Some(asked)) => Room::just(asked),
            (Occasion::Refused(attempt), None) => {
                let target =
                    marks.target_after_overflow(fixed, attempt).max(Tokens(target.0 >> attempt.min(63)));
                // What was refused was longer than anybody thought, so the upper marks are no measure.
                match attempt {
                    1 => Room::with_unseen(target, path, pinned, marks.target(fixed)),
                    _ => Room::just(target),
                }
            }
            // Tiers fill what there is, by their shares.
            (_, None) if self.named() == Some(StrategyName::Tiered) => Room::just(most),
            // Before it is used, the model has seen what is new by now.
            (Occasion::Ahead, None) => Room::just(target),
            (_, None) => Room::with_unseen(target, path, pinned, most),
        }
    }

    // What stays is billed twice: it is written to the provider's cache once more, and read again by every call. Where `auto`
    // knows what that costs and nobody said how much is to stay, it goes down twice as far. Then a compaction has paid for itself
    // after a few calls, not after a dozen, and seldom comes too late to do so.
    fn depth(&self, target: Tokens) -> Tokens {
        let by_itself = matches!(self.occasion, Occasion::BeforeCall | Occasion::Ahead);
        let weighs = self.named() == Some(StrategyName::Auto) && self.stakes.is_some();
        if by_itself && weighs { Tokens(target.0 / 2) } else { target }
    }

    /// The strategy's name where it has one.
    pub(super) fn named(&self) -> Option<StrategyName> {
        self.strategy.is_none().then(|| effective(self.settings))
    }

    /// Whether the budget is to be met whatever it takes.
    pub(super) fn escalates(&self) -> bool {
        self.settings.compact.fallback == Fallback::Escalate
            && self.named().is_none_or(StrategyName::meets_budgets)
    }
}

/// How much of a conversation may stay.
#[derive(Clone, Copy)]
pub(super) struct Room {
    /// What is aimed at.
    pub(super) budget: Tokens,
    /// What may stay before anything is cut short that the model has not seen yet.
    pub(super) most: Tokens,
}

impl Room {
    fn just(budget: Tokens) -> Self {
        Self { budget, most: budget }
    }

    // A target with room for what the model has not seen yet: what it asked for comes back whole, if that can be. Up to half of the
    // target it finds room there anyway.
    fn with_unseen(target: Tokens, path: &[Entry], pinned: Tokens, most: Tokens) -> Self {
        // The calls go with their results.
        let is_reply = |entry: &Entry| entry.outline.role == Role::Assistant;
        let seen = path.get(..unseen(path)).unwrap_or_default();
        let from = seen.iter().rposition(|entry| !is_reply(entry)).map_or(0, |before| before + 1);
        let unseen = tokens(path.get(from.max(leading(path))..).unwrap_or_default());
        let wanted = (pinned + unseen + Tokens(target.0 / 2)).min(most);
        if wanted <= target { Self::just(target) } else { Self { budget: wanted, most } }
    }

    /// No less than this.
    pub(super) fn at_least(self, minimum: Tokens) -> Self {
        Self { budget: self.budget.max(minimum), most: self.most.max(minimum) }
    }

    /// A quarter more, as far as there is more.
    pub(super) fn wider(self) -> Option<Self> {
        let budget = (self.budget + Tokens(self.budget.0 / 4).max(STEP)).min(self.most);
        (budget > self.budget).then_some(Self { budget, ..self })
    }
}

/// Room is widened by this at least.
const STEP: Tokens = Tokens(256);

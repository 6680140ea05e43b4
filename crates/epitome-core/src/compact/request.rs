//! What a compaction is asked to do, and what that means in tokens.

use super::plan::Strategy;
use super::segment::Compaction;
use super::settings::{Fallback, StrategyName};
use super::strategies::effective;
use super::worth::Stakes;
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
            telling: Telling::AtOnce,
        }
    }

    /// Where a conversation stands of which all this is sent.
    pub(super) fn pressure(&self, path: &[Entry], sent: Tokens) -> Pressure {
        let window = self.window.unwrap_or(DEFAULT_WINDOW);
        let decided = || self.settings.compact.marks(window, path, 1.0);
        Pressure::at(sent, self.marks.unwrap_or_else(decided))
    }

    /// The budget of the conversation: what was asked for, or what the thresholds leave beside `fixed`.
    pub(super) fn budget(&self, pressure: &Pressure, fixed: Tokens) -> Tokens {
        let marks = &pressure.marks;
        // Where the fixed part alone reaches the low watermark, half of what is left must do.
        let target = self.depth(marks.target(fixed).max(Tokens((marks.hard - fixed).0 / 2)));
        match (self.occasion, self.budget) {
            (_, Some(asked)) => asked,
            (Occasion::Refused(attempt), None) => {
                marks.target_after_overflow(fixed, attempt).max(Tokens(target.0 >> attempt.min(63)))
            }
            // Tiers fill what there is, by their shares.
            (_, None) if self.named() == Some(StrategyName::Tiered) => marks.hard - fixed,
            (_, None) => target,
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

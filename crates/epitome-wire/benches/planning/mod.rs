//! Planning the compaction of a session whose outlines and counts are there.

use epitome_core::compact::{
    LeadingSentences, Limits, Outcome, Plan, Preview, Request, StrategyName, dry_run, fit, strategies,
};
use epitome_core::prune::Count;
use epitome_core::settings::Settings;
use epitome_core::{Entry, Message, Tokens};
use epitome_wire::{Body, decode_message};

/// A session as planning sees it.
pub(crate) struct Session<'s> {
    pub(crate) path: &'s [Entry],
    pub(crate) messages: &'s [Message],
    pub(crate) count: &'s dyn Count,
}

impl Session<'_> {
    /// The tokens of all messages.
    pub(crate) fn tokens(&self) -> Tokens {
        self.path.iter().map(|entry| entry.outline.tokens).sum()
    }

    /// What the strategy wants, brought into the budget where it meets budgets.
    pub(crate) fn plan(&self, settings: &Settings, budget: Tokens) -> Option<Plan> {
        let limits = Limits { budget, ..Limits::default() };
        let strategy = strategies::chosen(settings, &[], self.count);
        match strategy.plan(self.path, self.messages, &limits) {
            Outcome::Compact(plan) if settings.compact.strategy.meets_budgets() => {
                Some(fit(plan, self.path, self.messages, &limits, self.count).plan)
            }
            Outcome::Compact(plan) => Some(plan),
            Outcome::Nothing(_) => None,
        }
    }

    /// The whole decision and the report on it.
    pub(crate) fn dry_run(&self, settings: &Settings, budget: Tokens) -> Preview {
        let request = Request { budget: Some(budget), ..Request::new(settings) };
        dry_run(self.path, self.messages, &request, &mut LeadingSentences, self.count)
    }
}

/// The messages of a body.
pub(crate) fn messages(body: &Body<'_>) -> Vec<Message> {
    let decode = |index| decode_message(body.dialect(), body.message(index)).unwrap().0;
    (0..body.messages().len()).map(decode).collect()
}

/// The default settings with this strategy.
pub(crate) fn settings(strategy: StrategyName) -> Settings {
    let mut settings = Settings::default();
    settings.compact.strategy = strategy;
    settings
}

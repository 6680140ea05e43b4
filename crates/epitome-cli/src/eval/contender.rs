//! What is compared: our strategies and presets, and baselines.

use epitome_core::compact::{self, Compaction, Preset, Request, StrategyName, strategies, view, view_tokens};
use epitome_core::fidelity::{Baseline, Context};
use epitome_core::settings::Settings as Values;
use epitome_core::{Entry, Message, Tokens};

use crate::compact::history;
use crate::fail::misuse;
use crate::session::Session;
use crate::settings::Settings;

/// One of our own ways to compact.
pub(super) struct Own {
    /// Its name.
    pub(super) name: String,
    values: Values,
}

impl Own {
    /// The strategy or preset of this name.
    pub(super) fn named(name: &str, settings: &Settings) -> anyhow::Result<Self> {
        let mut values = settings.values.clone();
        if let Some(preset) = Preset::named(name) {
            preset.apply(&mut values);
        } else if let Some(strategy) = StrategyName::ALL.into_iter().find(|known| known.as_str() == name) {
            values.compact.strategy = strategy;
        } else {
            return Err(misuse(format!("unknown strategy {name}"), hint()));
        }
        Ok(Self { name: name.to_owned(), values })
    }

    /// How many tokens its summaries of so many tokens may have.
    pub(super) fn cap(&self, covered: Tokens) -> Tokens {
        match self.values.compact.strategy {
            StrategyName::Auto => strategies::most_for_a_summary(&self.values, covered),
            _ => self.values.compact.summary_token_budget,
        }
    }

    /// The compaction of the first messages of a session, if one is due.
    pub(super) fn compaction(
        &self,
        session: &Session,
        (path, messages): (&[Entry], &[Message]),
        budget: Tokens,
        previous: Option<&Compaction>,
    ) -> Option<Compaction> {
        let mut values = self.values.clone();
        history::settle(&mut values, &session.transcript);
        let found = if previous.is_none() { compact::in_force(path, messages, &values) } else { None };
        let previous = previous.or(found.as_ref());
        let request = Request { budget: Some(budget), previous, ..history::request(session, &values) };
        history::offline(path, messages, &request, &|text| session.counter().text(text)).compaction
    }

    fn context(&self, session: &Session, part: (&[Entry], &[Message]), budget: Tokens) -> Context {
        let (path, messages) = part;
        let compaction = self.compaction(session, part, budget, None);
        let compaction = compaction.unwrap_or_else(|| Compaction::verbatim(path.len()));
        let view = view(&compaction, path, messages, history::place(session.transcript.dialect));
        let tokens = view_tokens(&view, path, &|text| session.counter().text(text));
        Context::of(view.system.as_deref(), &view.messages(messages), tokens)
    }
}

/// A way to make a context.
pub(super) enum Contender {
    Own(Box<Own>),
    Baseline(Baseline),
}

impl Contender {
    /// The contenders of these names, or auto and all baselines.
    pub(super) fn all(names: &[String], settings: &Settings) -> anyhow::Result<Vec<Self>> {
        let named = |name: &str| match Baseline::named(name) {
            Some(baseline) => Ok(Contender::Baseline(baseline)),
            None => Own::named(name, settings).map(|own| Contender::Own(Box::new(own))),
        };
        if names.is_empty() {
            let baselines = Baseline::ALL.map(Baseline::as_str);
            return [StrategyName::Auto.as_str()].into_iter().chain(baselines).map(named).collect();
        }
        names.iter().map(|name| named(name.trim())).collect()
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        match self {
            Contender::Own(own) => &own.name,
            Contender::Baseline(baseline) => baseline.as_str(),
        }
    }

    /// What it makes of the first messages of a session.
    pub(super) fn context(&self, session: &Session, part: (&[Entry], &[Message]), budget: Tokens) -> Context {
        match self {
            Contender::Own(own) => own.context(session, part, budget),
            Contender::Baseline(baseline) => {
                baseline.context(part.0, part.1, budget, &|text| session.counter().text(text))
            }
        }
    }
}

fn hint() -> String {
    let strategies = StrategyName::ALL.map(StrategyName::as_str).join(", ");
    let presets = Preset::ALL.map(Preset::as_str).join(", ");
    let baselines = Baseline::ALL.map(Baseline::as_str).join(", ");
    format!("strategies: {strategies}; presets: {presets}; baselines, which are never repeated: {baselines}")
}

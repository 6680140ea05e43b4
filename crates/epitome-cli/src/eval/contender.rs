//! What is compared: our strategies and presets, and baselines.

use epitome_core::compact::{Preset, StrategyName, view, view_tokens};
use epitome_core::fidelity::{Baseline, Context};
use epitome_core::settings::Settings as Values;
use epitome_core::{Entry, Message, Tokens};

use crate::compact::history;
use crate::fail::misuse;
use crate::session::Session;
use crate::settings::Settings;

/// A way to make a context.
pub(super) struct Contender {
    /// Its name.
    pub(super) name: String,
    way: Way,
}

enum Way {
    Ours(Box<Values>),
    Baseline(Baseline),
}

impl Contender {
    /// The contenders of these names, or auto and all baselines.
    pub(super) fn all(names: &[String], settings: &Settings) -> anyhow::Result<Vec<Self>> {
        if names.is_empty() {
            let baselines = Baseline::ALL.map(|baseline| baseline.as_str());
            let defaults = [StrategyName::Auto.as_str()].into_iter().chain(baselines);
            return defaults.map(|name| Self::named(name, settings)).collect();
        }
        names.iter().map(|name| Self::named(name.trim(), settings)).collect()
    }

    fn named(name: &str, settings: &Settings) -> anyhow::Result<Self> {
        let mut values = settings.values.clone();
        let way = if let Some(baseline) = Baseline::named(name) {
            Way::Baseline(baseline)
        } else if let Some(preset) = Preset::named(name) {
            preset.apply(&mut values);
            Way::Ours(Box::new(values))
        } else if let Some(strategy) = StrategyName::ALL.into_iter().find(|known| known.as_str() == name) {
            values.compact.strategy = strategy;
            Way::Ours(Box::new(values))
        } else {
            return Err(misuse(format!("--strategies {name}: unknown"), hint()));
        };
        Ok(Self { name: name.to_owned(), way })
    }

    /// What it makes of the first messages of a session.
    pub(super) fn context(
        &self,
        session: &Session,
        path: &[Entry],
        messages: &[Message],
        budget: Tokens,
    ) -> Context {
        let count = |text: &str| session.counter().text(text);
        let values = match &self.way {
            Way::Baseline(baseline) => return baseline.context(path, messages, budget, &count),
            Way::Ours(values) => values,
        };
        let request =
            epitome_core::compact::Request { budget: Some(budget), ..history::request(session, values) };
        let compacted = history::offline(path, messages, &request, &count);
        let compaction =
            compacted.compaction.unwrap_or_else(|| epitome_core::compact::Compaction::verbatim(path.len()));
        let view = view(&compaction, path, messages, history::place(session.transcript.dialect));
        let tokens = view_tokens(&view, path, &count);
        Context::of(view.system.as_deref(), &view.messages(messages), tokens)
    }
}

fn hint() -> String {
    let strategies = StrategyName::ALL.map(StrategyName::as_str).join(", ");
    let presets = Preset::ALL.map(Preset::as_str).join(", ");
    let baselines = Baseline::ALL.map(Baseline::as_str).join(", ");
    format!("strategies: {strategies}; presets: {presets}; baselines: {baselines}")
}

//! What is compared: our strategies and presets, and baselines.

use epitome::llm::summary::Written;
use epitome_core::compact::{self, Compaction, Preset, Request, StrategyName, strategies, view, view_tokens};
use epitome_core::fidelity::{Baseline, Context};
use epitome_core::settings::Settings as Values;
use epitome_core::{Entry, Message, Tokens};

use crate::compact::history::{self, Model};
use crate::fail::misuse;
use crate::session::Session;
use crate::settings::Settings;
use crate::writers::Desk;

/// One of our own ways to compact.
pub(super) struct Own {
    /// Its name.
    pub(super) name: String,
    values: Values,
    /// Whether a model is asked for summaries where there is one.
    asks: bool,
}

/// A part of a session, and what it is compacted with.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) session: &'a Session,
    pub(super) path: &'a [Entry],
    pub(super) messages: &'a [Message],
    /// What it should fit in.
    pub(super) budget: Tokens,
    /// Where a model is asked for summaries, if one is.
    pub(super) desk: Option<Desk<'a>>,
}

/// What is made of a part of a session.
pub(super) struct Made {
    /// What the model would see.
    pub(super) context: Context,
    /// What became of the summaries that a model was asked for.
    pub(super) summaries: Vec<Written>,
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
        Ok(Self { name: name.to_owned(), values, asks: true })
    }

    /// The same without a model.
    fn offline(&self) -> Self {
        Self { name: format!("{}, offline", self.name), values: self.values.clone(), asks: false }
    }

    /// How many tokens its summaries of so many tokens may have.
    pub(super) fn cap(&self, covered: Tokens) -> Tokens {
        match self.values.compact.strategy {
            StrategyName::Auto => strategies::most_for_a_summary(&self.values, covered),
            _ => self.values.compact.summary_token_budget,
        }
    }

    /// The compaction of the first messages of a session, if one is due, and what became of its summaries.
    pub(super) fn compaction(
        &self,
        part: Part<'_>,
        previous: Option<&Compaction>,
    ) -> (Option<Compaction>, Vec<Written>) {
        let Part { session, path, messages, budget, desk } = part;
        let originals = previous.map_or(&[][..], |_| messages);
        let mut values = self.values.clone();
        history::settle(&mut values, &session.transcript);
        let found = if previous.is_none() { compact::in_force(path, messages, &values) } else { None };
        let previous = previous.or(found.as_ref());
        let request = Request { budget: Some(budget), previous, ..history::request(session, &values) };
        let mut writer = desk.filter(|_| self.asks).map(|desk| desk.writer());
        let model = writer.as_mut().map(|writer| Model { summarizer: &mut writer.summarizer, originals });
        let count = |text: &str| session.counter().text(text);
        let compacted = history::summarised(path, messages, &request, &count, model);
        (compacted.compaction, writer.map(|writer| writer.heard()).unwrap_or_default())
    }

    fn made(&self, part: Part<'_>) -> Made {
        let Part { session, path, messages, .. } = part;
        let (compaction, summaries) = self.compaction(part, None);
        let compaction = compaction.unwrap_or_else(|| Compaction::verbatim(path.len()));
        let view = view(&compaction, path, messages, history::place(session.transcript.dialect));
        let tokens = view_tokens(&view, path, &|text| session.counter().text(text));
        let context = Context::of(view.system.as_deref(), &view.messages(messages), tokens);
        Made { context, summaries }
    }
}

/// A way to make a context.
pub(super) enum Contender {
    Own(Box<Own>),
    Baseline(Baseline),
}

impl Contender {
    /// The contenders of these names, or auto and all baselines. Where a model is asked, each of our own stands beside what it
    /// does without.
    pub(super) fn all(names: &[String], settings: &Settings) -> anyhow::Result<Vec<Self>> {
        let baselines = Baseline::ALL.map(Baseline::as_str);
        let usual = || [StrategyName::Auto.as_str()].into_iter().chain(baselines).collect();
        let names: Vec<&str> =
            if names.is_empty() { usual() } else { names.iter().map(|name| name.trim()).collect() };
        let asks = !settings.values.summary.summarizer.is_offline();
        let mut all = Vec::new();
        for name in names {
            if let Some(baseline) = Baseline::named(name) {
                all.push(Contender::Baseline(baseline));
                continue;
            }
            let own = Own::named(name, settings)?;
            let offline = asks.then(|| Contender::Own(Box::new(own.offline())));
            all.push(Contender::Own(Box::new(own)));
            all.extend(offline);
        }
        Ok(all)
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        match self {
            Contender::Own(own) => &own.name,
            Contender::Baseline(baseline) => baseline.as_str(),
        }
    }

    /// What it makes of the first messages of a session.
    pub(super) fn made(&self, part: Part<'_>) -> Made {
        match self {
            Contender::Own(own) => own.made(part),
            Contender::Baseline(baseline) => {
                let count = |text: &str| part.session.counter().text(text);
                let context = baseline.context(part.path, part.messages, part.budget, &count);
                Made { context, summaries: Vec::new() }
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

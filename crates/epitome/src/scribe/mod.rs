//! Summaries by a model: which one the settings name, how it is asked, and what became of it.

mod asked;
mod kept;
mod keys;
mod report;
mod tab;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use epitome_core::Tokens;
use epitome_core::cost::Tariff;
use epitome_core::models::{Model, ModelTable, Provider, Warning};
use epitome_core::settings::Settings;
use epitome_llm::knowledge::ModelExtractor;
use epitome_llm::summary::{Caps, Mode, ModelSummarizer, Stopwatch, Telling};
use epitome_llm::{
    Chance, Client, ClientError, Clock, Endpoint, EndpointError, Limits, MachineClock, Models, Windows,
};
use epitome_wire::Dialect;
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

pub(crate) use self::asked::Asked;
pub(crate) use self::kept::Drawer;
pub use self::keys::Keys;
pub(crate) use self::report::spent_json;
pub use self::report::summaries_json;
pub(crate) use self::tab::{Tab, Unused};

/// So many sessions have a model asked at once; each of them takes a thread, and code needs some, too.
const DESKS: usize = 128;

/// A summariser cannot be had as the settings name it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ScribeError {
    /// A name is none of a model.
    #[error("summarizer {name:?}: {error}; {}", error.hint())]
    Name {
        /// What was named.
        name: String,
        /// What is wrong with it.
        error: EndpointError,
    },
    /// No client can be made for it.
    #[error("summarizer: {error}{}", hint(error))]
    Client {
        /// Why not.
        #[from]
        error: ClientError,
    },
    /// Nothing runs that could wait for an answer.
    #[error("summarizer: models are asked from within a Tokio runtime, and none runs here")]
    NoRuntime,
}

fn hint(error: &ClientError) -> String {
    match error {
        ClientError::NoKey { variable, .. } => {
            format!("; set {variable}, or write the key under [keys] in epitome.toml")
        }
        _ => String::new(),
    }
}

/// Models that write summaries, as the settings name them. Clones ask the same ones.
#[derive(Clone)]
pub struct Scribe {
    summarizer: ModelSummarizer,
    extractor: Option<ModelExtractor>,
    /// The model that a summary is asked of behind what was sent last, where that is wanted.
    pub(crate) behind: Option<Live>,
    endpoints: Vec<String>,
    /// What was learnt of their windows.
    pub(crate) windows: Windows,
    /// What the first of them costs, where that is known.
    pub(crate) tariff: Option<Tariff>,
    /// Those whose cost is capped and not known.
    unpriced: Vec<String>,
    /// How long they were waited for.
    pub(crate) watch: Stopwatch,
    /// So many summaries are written at once.
    pub(crate) desks: Arc<Semaphore>,
    /// How long somebody who needs a summary waits for it.
    pub(crate) patience: Duration,
    /// How long it may take where nobody waits.
    pub(crate) longest: Duration,
}

impl fmt::Debug for Scribe {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Scribe").field("endpoints", &self.endpoints).finish_non_exhaustive()
    }
}

impl Scribe {
    /// The models that the settings name, with keys from the environment or from these; none where summaries are picked offline.
    pub fn of(settings: &Settings, table: &ModelTable, keys: &Keys) -> Result<Option<Self>, ScribeError> {
        Self::timed(settings, table, keys, Arc::new(MachineClock::default()))
    }

    /// The same with this clock for every wait.
    pub fn timed(
        settings: &Settings,
        table: &ModelTable,
        keys: &Keys,
        clock: Arc<dyn Clock>,
    ) -> Result<Option<Self>, ScribeError> {
        let summary = &settings.summary;
        if summary.summarizer.is_offline() {
            return Ok(None);
        }
        let runtime = Handle::try_current().map_err(|_| ScribeError::NoRuntime)?;
        let names = summary.summarizer.0.iter();
        let endpoints: Vec<Endpoint> = names.map(|name| endpoint(name, table)).collect::<Result<_, _>>()?;
        let seconds = Duration::from_secs;
        let longest = seconds(summary.summary_max_seconds);
        let limits = Limits::lasting(longest);
        let clients = endpoints.iter().map(|endpoint| {
            Client::new(endpoint.clone(), keys.of(endpoint), limits).map_err(ScribeError::from)
        });
        let clients: Vec<Client> = clients.collect::<Result<_, _>>()?;
        // Those who ask have a purse with a limit of its own.
        let models = Models::new(clients).within(longest).timed(Arc::clone(&clock), Chance::default());
        let models = Arc::new(models);
        let caps = Caps {
            calls: summary.summary_max_calls,
            tokens: summary.summary_max_tokens,
            money: summary.summary_max_cost,
            time: longest,
        };
        let mode = if summary.summary_delta { Mode::Delta } else { Mode::Rewrite };
        let telling = Telling { options: summary.transcript(), masks: settings.compact.mask_secrets };
        let window = |endpoint: &Endpoint| table.get(endpoint.model()).model.window;
        let sizes: Vec<Tokens> = endpoints.iter().map(window).collect();
        let (windows, watch) = (Windows::default(), Stopwatch::default());
        let summarizer = ModelSummarizer::new(Arc::clone(&models), runtime)
            .sized(sizes.clone())
            .windows(windows.clone())
            .watched(watch.clone())
            .telling(telling)
            .mode(mode)
            .caps(caps)
            .timed(Arc::clone(&clock));
        let extractor = ModelExtractor::new(models)
            .sized(sizes)
            .windows(windows.clone())
            .telling(telling)
            .caps(caps)
            .timed(clock);
        let tariffs: Vec<Option<Tariff>> = endpoints.iter().map(|endpoint| tariff(endpoint, table)).collect();
        let is_unpriced = |(_, tariff): &(&Endpoint, &Option<Tariff>)| tariff.is_none();
        let unpriced = endpoints.iter().zip(&tariffs).filter(is_unpriced);
        let unpriced = unpriced.filter(|_| summary.summary_max_cost.is_some());
        let unpriced = unpriced.map(|(endpoint, _)| endpoint.to_string()).collect();
        let tariff = tariffs.first().copied().flatten();
        let summarizer = summarizer.priced(tariffs.clone());
        let extractor = extractor.priced(tariffs);
        let live = |endpoint: &Endpoint| Live {
            dialect: endpoint.dialect(),
            model: table.get(endpoint.model()).model.id,
        };
        let live = endpoints.first().map(live);
        Ok(Some(Self {
            summarizer,
            extractor: summary.learn_by_model.then_some(extractor),
            tariff,
            unpriced,
            watch,
            desks: Arc::new(Semaphore::new(DESKS)),
            behind: live.filter(|_| summary.summary_behind_prefix),
            endpoints: endpoints.iter().map(ToString::to_string).collect(),
            windows,
            patience: seconds(summary.summary_wait_seconds),
            longest,
        }))
    }

    /// One that writes the summaries of one compaction.
    pub fn summarizer(&self) -> ModelSummarizer {
        self.summarizer.clone()
    }

    /// One that finds out what is worth knowing in what one compaction hides, where the settings want that.
    pub fn extractor(&self) -> Option<ModelExtractor> {
        self.extractor.clone()
    }

    /// What the first of them costs, where that is known.
    pub fn tariff(&self) -> Option<Tariff> {
        self.tariff
    }

    /// What somebody who set a cap should know: of these models no price is known, so that their cost in money is not capped.
    pub fn warning(&self) -> Option<String> {
        (!self.unpriced.is_empty()).then(|| {
            format!(
                "summary_max_cost does not hold for {}: no price is known; summary_max_tokens and summary_max_calls do",
                self.unpriced.join(", ")
            )
        })
    }

    /// The models, in the order in which they are asked.
    pub fn endpoints(&self) -> &[String] {
        &self.endpoints
    }
}

/// A model that may have what was sent last in its cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Live {
    pub(crate) dialect: Dialect,
    pub(crate) model: Cow<'static, str>,
}

// The seeds name a model and nothing else; who serves it is known for those of the table.
fn endpoint(name: &str, table: &ModelTable) -> Result<Endpoint, ScribeError> {
    let wrong = |error| ScribeError::Name { name: epitome_core::secrets::masked(name).into_owned(), error };
    let provider = |model: &Model| match model.provider {
        Provider::Anthropic => Some("anthropic"),
        Provider::OpenAi => Some("openai"),
        _ => None,
    };
    let api = table.find(name).filter(|_| !name.contains(':')).and_then(provider);
    let whole = api.map_or_else(|| name.to_owned(), |api| format!("{api}:{name}"));
    whole.parse().map_err(wrong)
}

// A server of one's own has no price but one that somebody set; a price that somebody set holds wherever the model is asked.
fn tariff(endpoint: &Endpoint, table: &ModelTable) -> Option<Tariff> {
    let model = table.get(endpoint.model()).model;
    let is_own = table.has_own_price(endpoint.model());
    // Whoever sets no more than the window of an unknown model does not say what it costs.
    let known = ModelTable::default().get(endpoint.model());
    let is_known = !matches!(known.warning, Some(Warning::Unknown { .. })) && model.price.input > 0.0;
    (is_own || is_known && !endpoint.is_loopback()).then(|| Tariff::of(&model))
}

#[cfg(test)]
mod tests {
    use epitome_core::cost::Money;
    use epitome_core::models::{ModelPatch, Price};

    use super::*;

    #[tokio::test]
    async fn a_cap_on_money_that_nobody_can_hold_is_told() {
        let table = ModelTable::default();
        let keys = Keys::default();
        let of = |models: &[&str], cost: Option<Money>| {
            let mut settings = Settings::default();
            settings.summary.summarizer.0 = models.iter().map(|model| (*model).to_owned()).collect();
            settings.summary.summary_max_cost = cost;
            Scribe::of(&settings, &table, &keys).unwrap().unwrap()
        };
        let (own, priced) =
            ("openai:mine@http://127.0.0.1:9/v1", "openai:gpt-4o-mini@https://models.example/v1");
        let cost = Some(Money::micros(50_000));
        assert_eq!(of(&[own], None).warning(), None);
        assert_eq!(of(&[priced], cost).warning(), None);
        let warning = of(&[priced, own], cost).warning().unwrap();
        assert!(
            warning.starts_with("summary_max_cost does not hold for openai:mine@http://127.0.0.1:9: "),
            "{warning}"
        );
        assert_eq!(of(&[own, priced], None).tariff(), None);
        assert!(of(&[priced, own], None).tariff().is_some());
    }

    #[test]
    fn a_price_that_somebody_set_holds_wherever_the_model_is_asked() {
        let mut table = ModelTable::default();
        let price = |input, output| ModelPatch { price: Some(Price { input, output }), ..Default::default() };
        let window = ModelPatch { window: Some(Tokens(8_192)), ..Default::default() };
        table.extend([
            ("mine".to_owned(), price(2.0, 4.0)),
            ("free".to_owned(), price(0.0, 0.0)),
            ("guessed".to_owned(), window.clone()),
            ("gpt-4o-mini".to_owned(), window),
        ]);
        let tariff = |name: &str| tariff(&name.parse().unwrap(), &table);
        let (here, there) = ("http://127.0.0.1:9/v1", "https://models.example/v1");
        for at in [here, there] {
            assert_eq!(tariff(&format!("openai:mine@{at}")), Some(Tariff::of(&table.get("mine").model)));
            let free = tariff(&format!("openai:free@{at}")).unwrap();
            assert_eq!(free.input(Tokens(1_000), Tokens::ZERO), Money::ZERO);
            assert_eq!(tariff(&format!("openai:guessed@{at}")), None, "nobody said what it costs");
        }
        assert_eq!(tariff(&format!("openai:gpt-4o-mini@{here}")), None, "a server of one's own has no price");
        assert!(tariff(&format!("openai:gpt-4o-mini@{there}")).is_some());
    }

    #[test]
    fn a_model_of_the_table_needs_no_api_before_its_name() {
        let table = ModelTable::default();
        let named = |name| endpoint(name, &table).map(|endpoint| endpoint.to_string());
        assert_eq!(named("claude-haiku-4-5").unwrap(), "anthropic:claude-haiku-4-5");
        assert_eq!(named("gpt-4o-mini").unwrap(), "openai:gpt-4o-mini");
        assert_eq!(
            named("openai:gpt-4o-mini@http://127.0.0.1:1").unwrap(),
            "openai:gpt-4o-mini@http://127.0.0.1:1"
        );
        let error = named("my-model").unwrap_err().to_string();
        assert!(error.contains("my-model") && error.contains("write anthropic:MODEL"), "{error}");
    }
}

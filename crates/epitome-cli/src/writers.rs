//! Models that commands on files ask for summaries: what waits for their answers, and what is heard of them.

mod account;
mod waiting;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use epitome::llm::ClientError;
use epitome::llm::summary::{ModelSummarizer, Written};
use epitome::{Scribe, ScribeError};
use epitome_core::cost::Tariff;

pub(crate) use self::account::{Account, unused};
use self::waiting::Waiting;
use crate::fail::misuse;
use crate::print::{WARN, grouped, paint, plural, say};
use crate::progress::{Line, Progress};
use crate::settings::Settings;

/// The models that the settings name.
pub(crate) struct Writers {
    scribe: Scribe,
    // Files are worked on several at a time; a model on one's own machine would answer none of them in time.
    turn: Mutex<()>,
    // Answers are waited for here, for as long as somebody may ask.
    _waiting: Waiting,
}

impl Writers {
    /// The models that the settings name; none where summaries are picked offline.
    pub(crate) fn of(settings: &Settings) -> anyhow::Result<Option<Self>> {
        if settings.values.summary.summarizer.is_offline() {
            return Ok(None);
        }
        let waiting = Waiting::begin()?;
        let scribe = waiting.enter(|| Scribe::of(&settings.values, &settings.models, &settings.keys));
        let scribe = scribe.map_err(refused)?;
        if let Some(warning) = scribe.as_ref().and_then(Scribe::warning) {
            say(format_args!("{} {warning}", paint(WARN, "warning:")));
        }
        Ok(scribe.map(|scribe| Self { scribe, turn: Mutex::new(()), _waiting: waiting }))
    }

    /// What the first of them costs, where that is known.
    pub(crate) fn tariff(&self) -> Option<Tariff> {
        self.scribe.tariff()
    }

    /// The same, telling in place of this bar what is waited for.
    pub(crate) fn beside<'a>(&'a self, progress: &'a Progress) -> Desk<'a> {
        Desk { writers: self, progress }
    }
}

/// What cannot be asked as it is named, with what to do about it.
pub(crate) fn refused(error: ScribeError) -> anyhow::Error {
    let (what, hint) = match &error {
        ScribeError::Name { name, error } => {
            (format!("summarizer {name:?}: {error}"), error.hint().to_owned())
        }
        ScribeError::Client { error: no_key @ ClientError::NoKey { variable, .. } } => (
            format!("summarizer: {no_key}"),
            format!("set {variable}, or write the key under [keys] in epitome.toml"),
        ),
        other => (other.to_string(), "summarizer=offline asks nobody".to_owned()),
    };
    misuse(what, hint)
}

/// Where models are asked, and where it is told that they are.
#[derive(Clone, Copy)]
pub(crate) struct Desk<'a> {
    writers: &'a Writers,
    progress: &'a Progress,
}

impl<'a> Desk<'a> {
    /// The models.
    pub(crate) fn writers(&self) -> &'a Writers {
        self.writers
    }

    /// One for the summaries of one compaction, as soon as no other compaction has one.
    pub(crate) fn writer(&self) -> Writer<'a> {
        let turn = self.writers.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let (heard, line) = (Arc::<Mutex<Vec<Written>>>::default(), self.progress.line());
        let names = self.writers.scribe.endpoints().join(", ");
        line.say(format!("waiting for {names}"));
        let (listener, told) = (Arc::clone(&heard), line);
        let summarizer = self.writers.scribe.summarizer().heard_by(move |written| {
            let mut heard = listener.lock().unwrap_or_else(PoisonError::into_inner);
            heard.push(written.clone());
            tell(&told, &names, &heard);
        });
        Writer { summarizer, heard, _turn: turn }
    }
}

fn tell(line: &Line, names: &str, heard: &[Written]) {
    let Some(spent) = heard.last().map(|last| last.spent) else { return };
    let tokens = grouped((spent.usage.total_input() + spent.usage.output).0);
    line.say(format!(
        "waiting for {names}: {} after {} with {tokens} tokens",
        plural_summaries(heard.len()),
        plural(spent.calls, "question"),
    ));
}

fn plural_summaries(count: usize) -> String {
    if count == 1 { "1 summary".to_owned() } else { format!("{} summaries", grouped(count as u64)) }
}

/// A model that is asked for the summaries of one compaction.
pub(crate) struct Writer<'a> {
    /// The model.
    pub(crate) summarizer: ModelSummarizer,
    heard: Arc<Mutex<Vec<Written>>>,
    _turn: MutexGuard<'a, ()>,
}

impl Writer<'_> {
    /// What became of the summaries.
    pub(crate) fn heard(&self) -> Vec<Written> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

//! The summariser: a model where it does better than code, code where it does not.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use epitome_core::compact::{Summarizer, SummaryError, SummaryRequest};
use epitome_core::cost::Tariff;
use epitome_core::{Message, Tokens};
use tokio::runtime::Handle;

use super::cancel::Cancel;
use super::caps::Caps;
use super::carry::Picked;
use super::check::Judged;
use super::conversation::Telling;
use super::finish::{by_code, chosen, finished};
use super::job::{ByCode, Job};
use super::kept::{Kept, KeptInMemory};
use super::live::Live;
use super::question::Tally;
use super::rebuild::Rebuilt;
use super::run::{Asker, Trouble};
use super::stages::Stages;
use super::stopwatch::Stopwatch;
use super::ways::{Next, Ways};
use super::written::{Rung, Written};
use crate::call::Prefix;
use crate::clock::Clock;
use crate::models::Models;
use crate::windows::Windows;

/// How a checkpoint is brought up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The model names the changes and code makes them.
    #[default]
    Delta,
    /// The model writes it anew.
    Rewrite,
}

type Listener = Arc<dyn Fn(&Written) + Send + Sync>;

/// What is set once and holds for every summary.
#[derive(Clone)]
pub(super) struct Setup {
    pub(super) stages: Stages,
    pub(super) telling: Telling,
    pub(super) kept: Arc<dyn Kept>,
    pub(super) mode: Mode,
    /// The request that was sent last, where summaries are asked for behind it.
    pub(super) live: Option<Arc<Live>>,
    listener: Option<Listener>,
}

/// Writes summaries with a model, and with code where the model fails or does worse.
///
/// It waits for the model on the thread that asks it, which must not be one that runs asynchronous tasks. What the summaries of
/// one compaction cost together is capped: one of these is for one compaction, and a clone begins with nothing spent; where
/// a [`Tally`] is shared, all of them draw on its purse.
pub struct ModelSummarizer {
    setup: Setup,
    asker: Asker,
    runtime: Handle,
}

impl Clone for ModelSummarizer {
    fn clone(&self) -> Self {
        Self { setup: self.setup.clone(), asker: self.asker.anew(), runtime: self.runtime.clone() }
    }
}

impl fmt::Debug for ModelSummarizer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ModelSummarizer").field("asker", &self.asker).finish_non_exhaustive()
    }
}

impl ModelSummarizer {
    /// A summariser that asks these models, on this runtime.
    pub fn new(models: Arc<Models>, runtime: Handle) -> Self {
        let setup = Setup {
            stages: Stages::default(),
            telling: Telling::default(),
            kept: Arc::new(KeptInMemory::default()),
            mode: Mode::default(),
            live: None,
            listener: None,
        };
        let asker = Asker::new(models);
        Self { setup, asker, runtime }
    }

    /// The same for models with this window.
    pub fn window(self, window: Tokens) -> Self {
        self.sized(vec![window])
    }

    /// The same for models with these windows, each in its place. What a model is told is made for its own window: where one
    /// gives way to another that holds less, all is parted anew.
    pub fn sized(mut self, windows: Vec<Tokens>) -> Self {
        self.asker = self.asker.sized(windows);
        self
    }

    /// The same with these sizes of stretches.
    pub fn stages(mut self, stages: Stages) -> Self {
        self.setup.stages = stages;
        self
    }

    /// The same, telling conversations like this.
    pub fn telling(mut self, telling: Telling) -> Self {
        self.setup.telling = telling;
        self
    }

    /// The same, keeping finished stretches here.
    pub fn kept(mut self, kept: Arc<dyn Kept>) -> Self {
        self.setup.kept = kept;
        self
    }

    /// The same, bringing checkpoints up to date like this.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.setup.mode = mode;
        self
    }

    /// The same with these caps.
    pub fn caps(mut self, caps: Caps) -> Self {
        self.asker.caps = caps;
        self
    }

    /// The same for models with these prices, each in its place; none where a price is not known.
    pub fn priced(mut self, tariffs: Vec<Option<Tariff>>) -> Self {
        self.asker = self.asker.priced(tariffs);
        self
    }

    /// The same with this clock.
    pub fn timed(mut self, clock: Arc<dyn Clock>) -> Self {
        self.asker.clock = clock;
        self
    }

    /// The same, ended by this word.
    pub fn cancelled_by(mut self, cancel: Cancel) -> Self {
        self.asker.cancel = cancel;
        self
    }

    /// The same, learning the windows of the models here.
    pub fn windows(mut self, windows: Windows) -> Self {
        self.asker.windows = windows;
        self
    }

    /// The same, adding up here how long models are waited for.
    pub fn watched(mut self, watch: Stopwatch) -> Self {
        self.asker.watch = watch;
        self
    }

    /// The same with nothing spent; what it and its clones spend counts here, too, and is held against the caps together with
    /// all else that is drawn on its purse.
    pub fn tallied(mut self, tally: Tally) -> Self {
        self.asker = self.asker.tallied(tally);
        self
    }

    /// The same, telling what became of each summary.
    pub fn heard_by(mut self, listener: impl Fn(&Written) + Send + Sync + 'static) -> Self {
        self.setup.listener = Some(Arc::new(listener));
        self
    }

    /// The same, asked for behind the request that was sent last to the first of the models, so that its provider's cache serves
    /// it: system prompt, tools and messages go in as they were sent, byte for byte, and the conversation is not quoted.
    ///
    /// The request must have ended where nothing is open: every call in it has its result. What a summary is of is told by the first
    /// message that stays where the path is known ([`Self::beside_path`]), else it is taken to be all of the request. A
    /// provider that refuses it, or a model that calls a tool, is asked again in the usual form.
    pub fn behind(mut self, prefix: Prefix) -> Self {
        let live = |dialect| Arc::new(Live::new(prefix, dialect));
        self.setup.live = self.asker.models.dialect().map(live);
        self
    }

    /// The same beside one that picks summaries by code and knows the whole path.
    pub fn beside<'a>(&'a mut self, offline: &'a mut dyn Summarizer) -> Beside<'a> {
        self.beside_path(offline, &[])
    }

    /// The same where the messages of the whole path are at hand; those that are not may be empty.
    pub fn beside_path<'a>(&'a mut self, offline: &'a mut dyn Summarizer, path: &'a [Message]) -> Beside<'a> {
        Beside { model: self, offline, path, by_code: None }
    }

    /// The summary that was asked for, and what became of it.
    pub fn write(
        &mut self,
        request: &SummaryRequest<'_>,
        offline: &mut dyn Summarizer,
    ) -> Result<(String, Written), SummaryError> {
        self.write_of(request, offline, &[])
    }

    /// The same where the messages of the whole path are at hand; those that are not may be empty.
    pub fn write_of(
        &mut self,
        request: &SummaryRequest<'_>,
        offline: &mut dyn Summarizer,
        path: &[Message],
    ) -> Result<(String, Written), SummaryError> {
        let later = path.get(request.range.end..).unwrap_or_default();
        let job = Job::new(request, &self.setup.telling).on(path);
        let before = path.get(..request.range.start).unwrap_or_default();
        let job = if self.setup.live.is_some() { job.knowing(before).knowing(later) } else { job };
        let mut report = Written::default();
        let (mut asked, mut rebuilt) = (Err(Trouble::NoAnswer("no model is set".to_owned())), None);
        for (rank, asker) in self.asker.ranks().iter().enumerate() {
            if let Err(trouble) = asked.as_ref()
                && rank > 0
            {
                report.troubles.push(trouble.to_string());
            }
            let ways = Ways { setup: &self.setup, asker, before, stays: later.first() };
            (asked, rebuilt) = self.asked(&ways, &job, path, &mut report);
            if !asked.as_ref().is_err_and(Trouble::is_of_models) {
                break;
            }
        }
        if self.asker.cancel.is_cancelled() {
            return Err(SummaryError(Trouble::Cancelled.to_string()));
        }
        let anew = rebuilt.as_ref().map(Rebuilt::request);
        let anew = anew.as_ref().map(|request| Job::new(request, &self.setup.telling));
        let job = anew.unwrap_or(job);
        let by_code = by_code(&job, offline);
        let picked = match (&asked, &by_code) {
            (Ok(_), Ok(by_code)) => Some(Picked::of(&by_code.text, &job)),
            _ => None,
        };
        let drafted = match asked {
            Err(trouble) => {
                report.troubles.push(trouble.to_string());
                None
            }
            Ok(drafted) => Some(finished(drafted, &job, picked.as_ref(), &mut report)),
        };
        let chosen = chosen(drafted, by_code, picked.as_ref(), &job, &mut report);
        report.spent = self.asker.spent();
        if let Some(listener) = &self.setup.listener {
            listener(&report);
        }
        Ok((chosen?, report))
    }

    // What models come to that are asked the same, and the messages that it was written from, where those took the place of
    // an earlier summary.
    fn asked<'a>(
        &self,
        ways: &Ways<'_>,
        job: &Job<'a>,
        path: &'a [Message],
        report: &mut Written,
    ) -> (Result<(Judged, Rung), Trouble>, Option<Rebuilt<'a>>) {
        let mut next = self.runtime.block_on(ways.changed(job, report));
        let rebuilt = match &next {
            Ok(Next::Anew) => Rebuilt::of(job.request, path, &self.setup.telling, ways.one_call()),
            _ => None,
        };
        if let Some(rebuilt) = &rebuilt {
            let request = rebuilt.request();
            let job = Job::new(&request, &self.setup.telling);
            next = self.runtime.block_on(ways.rebuilt(&job, report));
        }
        let asked = match next {
            Ok(Next::Done(judged, rung)) => Ok((judged, rung)),
            Ok(Next::Anew) => self.runtime.block_on(ways.whole(job, report)),
            Ok(Next::Parted(window)) => self.runtime.block_on(ways.parted(job, window, report)),
            Err(trouble) => Err(trouble),
        };
        (asked, rebuilt.filter(|_| report.rebuilt))
    }
}

impl Summarizer for ModelSummarizer {
    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        self.write(request, &mut ByCode).map(|(text, _)| text)
    }
}

/// A model's summariser beside one that picks by code.
pub struct Beside<'a> {
    model: &'a mut ModelSummarizer,
    offline: &'a mut dyn Summarizer,
    path: &'a [Message],
    /// The messages that the last summary is of, where code wrote it.
    by_code: Option<Range<usize>>,
}

impl Summarizer for Beside<'_> {
    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        // What code wrote may be written again within more room; the model, which did no better, is not asked again.
        if self.by_code.as_ref() == Some(&request.range) {
            let job = Job::new(request, &self.model.setup.telling).on(self.path);
            return by_code(&job, self.offline).map(|judged| judged.text);
        }
        let (text, written) = self.model.write_of(request, self.offline, self.path)?;
        self.by_code = (written.rung == Rung::Offline).then(|| request.range.clone());
        Ok(text)
    }

    fn is_mechanical(&self) -> bool {
        self.by_code.is_some()
    }

    fn recent(&mut self, from: usize, budget: Tokens) -> Option<Tokens> {
        self.offline.recent(from, budget)
    }
}

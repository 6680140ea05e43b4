//! The summariser: a model where it does better than code, code where it does not.

use std::fmt;
use std::sync::Arc;

use epitome_core::compact::{Summarizer, SummaryError, SummaryRequest};
use epitome_core::cost::Tariff;
use epitome_core::{Message, Tokens};
use tokio::runtime::Handle;

use super::cancel::Cancel;
use super::caps::Caps;
use super::conversation::Telling;
use super::finish::{chosen, finished};
use super::job::{Job, Picked};
use super::kept::{Kept, KeptInMemory};
use super::live::Live;
use super::rebuild::Rebuilt;
use super::run::{Asker, Trouble};
use super::stages::Stages;
use super::ways::{Next, Ways};
use super::written::Written;
use crate::call::Prefix;
use crate::clock::Clock;
use crate::models::Models;

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
    pub(super) window: Tokens,
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
/// one compaction cost together is capped: one of these is for one compaction, and a clone begins with nothing spent.
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

/// A window that nothing is known about is taken for this.
const WINDOW: Tokens = Tokens(200_000);

impl ModelSummarizer {
    /// A summariser that asks these models, on this runtime.
    pub fn new(models: Arc<Models>, runtime: Handle) -> Self {
        let setup = Setup {
            window: WINDOW,
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

    /// The same for a model with this window.
    pub fn window(mut self, window: Tokens) -> Self {
        self.setup.window = window;
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

    /// The same for a model with these prices.
    pub fn priced(mut self, tariff: Tariff) -> Self {
        self.asker.tariff = Some(tariff);
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
        Beside { model: self, offline, path }
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
        let ways = Ways { setup: &self.setup, asker: &self.asker, before, stays: later.first() };
        let mut report = Written::default();
        let mut next = self.runtime.block_on(ways.changed(&job, &mut report));
        let rebuilt = match &next {
            Ok(Next::Anew) => Rebuilt::of(request, path, &self.setup.telling, ways.one_call()),
            _ => None,
        };
        let anew = rebuilt.as_ref().map(Rebuilt::request);
        let anew = anew.as_ref().map(|request| Job::new(request, &self.setup.telling));
        if let Some(job) = &anew {
            next = self.runtime.block_on(ways.rebuilt(job, &mut report));
        }
        let asked = match next {
            Ok(Next::Done(judged, rung)) => Ok((judged, rung)),
            Ok(Next::Anew) => self.runtime.block_on(ways.whole(&job, &mut report)),
            Ok(Next::Parted(window)) => self.runtime.block_on(ways.parted(&job, window, &mut report)),
            Err(trouble) => Err(trouble),
        };
        if self.asker.cancel.is_cancelled() {
            return Err(SummaryError(Trouble::Cancelled.to_string()));
        }
        let job = anew.filter(|_| report.rebuilt).unwrap_or(job);
        let drafted = match asked {
            Err(trouble) => {
                report.troubles.push(trouble.to_string());
                None
            }
            Ok((judged, rung)) => Some((finished(judged, &job, offline, &mut report), rung)),
        };
        let chosen = chosen(drafted, &job, offline, &mut report);
        report.spent = self.asker.spent();
        if let Some(listener) = &self.setup.listener {
            listener(&report);
        }
        Ok((chosen?, report))
    }
}

impl Summarizer for ModelSummarizer {
    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        self.write(request, &mut Picked).map(|(text, _)| text)
    }
}

/// A model's summariser beside one that picks by code.
pub struct Beside<'a> {
    model: &'a mut ModelSummarizer,
    offline: &'a mut dyn Summarizer,
    path: &'a [Message],
}

impl Summarizer for Beside<'_> {
    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        self.model.write_of(request, self.offline, self.path).map(|(text, _)| text)
    }

    fn recent(&mut self, from: usize, budget: Tokens) -> Option<Tokens> {
        self.offline.recent(from, budget)
    }
}

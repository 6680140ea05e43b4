//! The summariser: a model where it does better than code, code where it does not.

use std::fmt;
use std::sync::{Arc, Mutex};

use epitome_core::Tokens;
use epitome_core::compact::{Summarizer, SummaryError, SummaryRequest};
use epitome_core::cost::Tariff;
use tokio::runtime::Handle;

use super::cancel::Cancel;
use super::caps::Caps;
use super::check::Judged;
use super::conversation::{Conversation, Telling};
use super::delta::listing;
use super::finish::{chosen, finished};
use super::form::Form;
use super::job::{Job, Picked, counter};
use super::kept::{Kept, KeptInMemory};
use super::prompt::{Prompt, Task};
use super::run::{Account, Asker, Trouble};
use super::staged::Staged;
use super::stages::Stages;
use super::written::{Rung, Written};
use crate::clock::{Clock, MachineClock};
use crate::models::Models;
use crate::window::Window;

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
    mode: Mode,
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
        let asker = Asker { account: Arc::default(), ..self.asker.clone() };
        Self { setup: self.setup.clone(), asker, runtime: self.runtime.clone() }
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
            listener: None,
        };
        let asker = Asker {
            models,
            caps: Caps::default(),
            tariff: None,
            clock: Arc::new(MachineClock::default()),
            cancel: Cancel::default(),
            window: Arc::new(Mutex::new(Window::default())),
            account: Arc::new(Mutex::new(Account::default())),
        };
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

    /// The same beside one that picks summaries by code and knows the whole path.
    pub fn beside<'a>(&'a mut self, offline: &'a mut dyn Summarizer) -> Beside<'a> {
        Beside { model: self, offline }
    }

    /// The summary that was asked for, and what became of it.
    pub fn write(
        &mut self,
        request: &SummaryRequest<'_>,
        offline: &mut dyn Summarizer,
    ) -> Result<(String, Written), SummaryError> {
        let job = Job::new(request, &self.setup.telling);
        let mut report = Written::default();
        let asked = self.runtime.block_on(self.asked(&job, &mut report));
        if self.asker.cancel.is_cancelled() {
            return Err(SummaryError(Trouble::Cancelled.to_string()));
        }
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

    fn window_now(&self) -> Tokens {
        self.asker.shown_window().map_or(self.setup.window, |shown| shown.min(self.setup.window))
    }

    // In one call where that is possible, else in stretches; smaller ones each time that a request was too large.
    async fn asked(&self, job: &Job<'_>, report: &mut Written) -> Result<(Judged, Rung), Trouble> {
        const ATTEMPTS: u32 = 3;
        let conversation = Conversation::of(job.request.messages, job.request.first, &self.setup.telling);
        let earlier: Tokens = job.beside.iter().map(|text| counter().text(text)).sum();
        let told = job.sizes.iter().copied().sum::<Tokens>() + earlier;
        let mut window = self.window_now();
        if conversation.left_out == 0 && told <= self.setup.stages.one_call(window) {
            match self.at_once(job, &conversation, report).await {
                Err(Trouble::TooLarge(reason)) => {
                    report.troubles.push(Trouble::TooLarge(reason).to_string());
                    // Without a number in the refusal, the window is less than what was sent.
                    window = self
                        .window_now()
                        .min(Tokens(told.0.max(2) / 2 + self.setup.stages.reserve.0.min(told.0)));
                }
                Err(Trouble::Unfit(unfit)) if self.staged(job, window).parted().chunks.len() > 1 => {
                    report.troubles.push(unfit.to_string());
                }
                done => return done,
            }
        }
        let mut last = Trouble::Capped;
        for _ in 0..ATTEMPTS {
            match self.staged(job, window).write(report).await {
                Ok(judged) => return Ok((judged, Rung::Staged)),
                Err(Trouble::TooLarge(reason)) => last = Trouble::TooLarge(reason),
                Err(trouble) => return Err(trouble),
            }
            report.troubles.push(last.to_string());
            window = self.window_now().min(Tokens(window.0 / 2));
        }
        Err(last)
    }

    fn staged<'j>(&'j self, job: &'j Job<'j>, window: Tokens) -> Staged<'j> {
        Staged { setup: &self.setup, asker: &self.asker, job, window }
    }

    async fn at_once(
        &self,
        job: &Job<'_>,
        conversation: &Conversation,
        report: &mut Written,
    ) -> Result<(Judged, Rung), Trouble> {
        let prompt = |task: Task, quotes: &[(String, String)]| {
            Prompt {
                task,
                quotes,
                conversation,
                split_turn: job.is_split(),
                instructions: job.request.instructions,
                max_tokens: job.room.tokens,
            }
            .call()
        };
        let sources = job.sources();
        if let Some(earlier) = job.earlier.as_ref().filter(|_| self.setup.mode == Mode::Delta) {
            let call = prompt(Task::Delta, &[("entries".to_owned(), listing(earlier))]);
            let form = Form::Changes(Box::new(earlier.clone()));
            match self.asker.draft(call, &form, &sources, report).await {
                Err(Trouble::Unfit(unfit)) => report.troubles.push(unfit.to_string()),
                done => return done.map(|judged| (judged, Rung::Delta)),
            }
        }
        let level = job.request.level;
        let call = prompt(Task::Whole(level), &job.quotes());
        let judged = self.asker.draft(call, &Form::of(level), &sources, report).await?;
        Ok((judged, Rung::Whole))
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
}

impl Summarizer for Beside<'_> {
    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        self.model.write(request, self.offline).map(|(text, _)| text)
    }

    fn recent(&mut self, from: usize, budget: Tokens) -> Option<Tokens> {
        self.offline.recent(from, budget)
    }
}

//! The ways to a model's summary: behind the live request, as changes, in one go, in stretches; each where the one before fails.

use epitome_core::{Message, Tokens};

use super::check::Judged;
use super::conversation::{Conversation, piece};
use super::delta::listing;
use super::form::Form;
use super::job::{Job, counter};
use super::live::Live;
use super::prompt::{Prompt, STAYS, Task};
use super::run::{Asker, Trouble};
use super::staged::Staged;
use super::summarizer::{Mode, Setup};
use super::written::{Rung, Written};

/// So many times a conversation is parted, into smaller stretches each time.
const ATTEMPTS: u32 = 3;
/// So much is quoted of the first message that stays.
const SHOWN: usize = 300;

/// What is known of how to ask.
pub(super) struct Ways<'a> {
    pub(super) setup: &'a Setup,
    pub(super) asker: &'a Asker,
    /// The first message that stays visible, where it is known.
    pub(super) stays: Option<&'a Message>,
}

impl Ways<'_> {
    /// A summary by the first way that leads to one.
    pub(super) async fn asked(&self, job: &Job<'_>, report: &mut Written) -> Result<(Judged, Rung), Trouble> {
        if let Some(done) = self.behind(job, report).await? {
            report.live = true;
            return Ok(done);
        }
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
        self.parted(job, window, report).await
    }

    // Smaller stretches each time that a request was too large.
    async fn parted(
        &self,
        job: &Job<'_>,
        mut window: Tokens,
        report: &mut Written,
    ) -> Result<(Judged, Rung), Trouble> {
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

    fn window_now(&self) -> Tokens {
        self.asker.shown_window().map_or(self.setup.window, |shown| shown.min(self.setup.window))
    }

    fn staged<'j>(&'j self, job: &'j Job<'j>, window: Tokens) -> Staged<'j> {
        Staged { setup: self.setup, asker: self.asker, job, window }
    }

    async fn at_once(
        &self,
        job: &Job<'_>,
        conversation: &Conversation,
        report: &mut Written,
    ) -> Result<(Judged, Rung), Trouble> {
        let sources = job.sources();
        if let Some((quotes, form)) = self.changes(job) {
            let call = self.prompt(job, Task::Delta, &quotes, conversation).call();
            match self.asker.draft(call, &form, &sources, report).await {
                Err(Trouble::Unfit(unfit)) => report.troubles.push(unfit.to_string()),
                done => return done.map(|judged| (judged, Rung::Delta)),
            }
        }
        let level = job.request.level;
        let call = self.prompt(job, Task::Whole(level), &job.quotes(), conversation).call();
        let judged = self.asker.draft(call, &Form::of(level), &sources, report).await?;
        Ok((judged, Rung::Whole))
    }

    // What is quoted to ask for changes, and the form of the answer, where there is something to be changed.
    fn changes(&self, job: &Job<'_>) -> Option<(Vec<(String, String)>, Form)> {
        let earlier = job.earlier.as_ref().filter(|_| self.setup.mode == Mode::Delta)?;
        let quotes = vec![("entries".to_owned(), listing(earlier))];
        Some((quotes, Form::Changes(Box::new(earlier.clone()))))
    }

    fn prompt<'p>(
        &self,
        job: &'p Job<'_>,
        task: Task,
        quotes: &'p [(String, String)],
        conversation: &'p Conversation,
    ) -> Prompt<'p> {
        Prompt {
            task,
            quotes,
            conversation,
            split_turn: job.is_split(),
            instructions: job.request.instructions,
            max_tokens: job.room.tokens,
        }
    }

    // A summary that is asked for behind the live request; `None` where that is not possible or brings nothing.
    async fn behind(&self, job: &Job<'_>, report: &mut Written) -> Result<Option<(Judged, Rung)>, Trouble> {
        let Some(live) = self.setup.live.as_deref().filter(|live| self.is_about(live, job)) else {
            return Ok(None);
        };
        let level = job.request.level;
        let (task, mut quotes, form, rung) = match self.changes(job) {
            Some((quotes, form)) => (Task::Delta, quotes, form, Rung::Delta),
            None => (Task::Whole(level), job.quotes(), Form::of(level), Rung::Whole),
        };
        quotes.extend(self.stays(job).map(|beginning| (STAYS.to_owned(), beginning)));
        let call = self.prompt(job, task, &quotes, &Conversation::default()).behind(live);
        match self.asker.behind(live.size).draft(call, &form, &job.sources(), report).await {
            Ok(judged) => Ok(Some((judged, rung))),
            Err(trouble @ (Trouble::Cancelled | Trouble::Late | Trouble::Capped)) => Err(trouble),
            Err(trouble) => {
                report.troubles.push(format!("behind the live request: {trouble}"));
                Ok(None)
            }
        }
    }

    // Whether the live request, a summary and what asks for it are within the window, and it begins with what is summarised.
    fn is_about(&self, live: &Live, job: &Job<'_>) -> bool {
        let request = job.request;
        let begins = request.first == request.range.start || !request.previous.is_empty();
        let asks = Tokens(self.setup.stages.reserve.0.min(live.size.0)) + job.room.tokens;
        begins && live.size + asks <= self.window_now()
    }

    fn stays(&self, job: &Job<'_>) -> Option<String> {
        let told = piece(self.stays?, job.request.range.end, &self.setup.telling)?;
        Some(told.chars().take(SHOWN).collect())
    }
}

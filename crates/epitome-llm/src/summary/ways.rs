//! The ways to a model's summary: behind the live request, as changes, in one go, in stretches; each where the one before fails.

use epitome_core::{Message, Role, Tokens};

use super::check::Judged;
use super::conversation::{Conversation, pieces};
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

/// The quotation of what an earlier summary says and the messages do not.
const NOTES: &str = "notes";

/// What comes after an attempt.
pub(super) enum Next {
    /// Nothing: there is a summary.
    Done(Judged, Rung),
    /// It is written anew.
    Anew,
    /// It is written in stretches, for a window of this size.
    Parted(Tokens),
}

/// What is known of how to ask.
pub(super) struct Ways<'a> {
    pub(super) setup: &'a Setup,
    pub(super) asker: &'a Asker,
    /// The messages before those that are summarised, where they are known.
    pub(super) before: &'a [Message],
    /// The first message behind them that stays visible, where it is known.
    pub(super) stays: Option<&'a Message>,
}

impl Ways<'_> {
    /// A summary of what is new: behind the live request, or as changes to the one before.
    pub(super) async fn changed(&self, job: &Job<'_>, report: &mut Written) -> Result<Next, Trouble> {
        if let Some((judged, rung)) = self.behind(job, report).await? {
            report.live = true;
            return Ok(Next::Done(judged, rung));
        }
        let Some((quotes, form)) = self.changes(job).filter(|_| self.is_short(job)) else {
            return Ok(Next::Anew);
        };
        let call = self.prompt(job, Task::Delta, &quotes, &self.conversation(job)).call();
        match self.asker.draft(call, &form, &job.sources(), report).await {
            Ok(judged) => Ok(Next::Done(judged, Rung::Delta)),
            Err(trouble @ Trouble::Unfit(_)) => {
                report.troubles.push(trouble.to_string());
                Ok(Next::Anew)
            }
            Err(trouble @ Trouble::TooLarge(_)) => {
                report.troubles.push(trouble.to_string());
                Ok(Next::Parted(self.less_than(job)))
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// A summary that is written anew, from the messages alone.
    pub(super) async fn rebuilt(&self, job: &Job<'_>, report: &mut Written) -> Result<Next, Trouble> {
        let notes: Vec<(String, String)> =
            job.quotes().into_iter().map(|(_, text)| (NOTES.to_owned(), text)).collect();
        match self.at_once(job, Task::Rebuild(job.request.level), &notes, report).await {
            Ok(judged) => {
                report.rebuilt = true;
                Ok(Next::Done(judged, Rung::Whole))
            }
            Err(trouble @ (Trouble::TooLarge(_) | Trouble::Unfit(_))) => {
                report.troubles.push(trouble.to_string());
                Ok(Next::Anew)
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// A summary that is written anew from the one before and from what is new: in one go where that is possible, else in stretches.
    pub(super) async fn whole(&self, job: &Job<'_>, report: &mut Written) -> Result<(Judged, Rung), Trouble> {
        let mut window = self.window_now();
        if self.is_short(job) {
            match self.at_once(job, Task::Whole(job.request.level), &job.quotes(), report).await {
                Err(trouble @ Trouble::TooLarge(_)) => {
                    report.troubles.push(trouble.to_string());
                    window = self.less_than(job);
                }
                Err(Trouble::Unfit(unfit)) if self.staged(job, window).parted().chunks.len() > 1 => {
                    report.troubles.push(unfit.to_string());
                }
                done => return done.map(|judged| (judged, Rung::Whole)),
            }
        }
        self.parted(job, window, report).await
    }

    /// How much of a conversation one call may hold now.
    pub(super) fn one_call(&self) -> Tokens {
        self.setup.stages.one_call(self.window_now())
    }

    fn conversation(&self, job: &Job<'_>) -> Conversation {
        Conversation::of(job.request.messages, job.request.first, &self.setup.telling)
    }

    // Whether all can be told in one call.
    fn is_short(&self, job: &Job<'_>) -> bool {
        self.conversation(job).left_out == 0 && told(job) <= self.one_call()
    }

    // Without a number in the refusal, the window is less than what was sent.
    fn less_than(&self, job: &Job<'_>) -> Tokens {
        let told = told(job);
        self.window_now().min(Tokens(told.0.max(2) / 2 + self.setup.stages.reserve.0.min(told.0)))
    }

    /// A summary in stretches, smaller ones each time that a request was too large.
    pub(super) async fn parted(
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
        self.asker.window()
    }

    fn staged<'j>(&'j self, job: &'j Job<'j>, window: Tokens) -> Staged<'j> {
        Staged { setup: self.setup, asker: self.asker, job, window }
    }

    async fn at_once(
        &self,
        job: &Job<'_>,
        task: Task,
        quotes: &[(String, String)],
        report: &mut Written,
    ) -> Result<Judged, Trouble> {
        let call = self.prompt(job, task, quotes, &self.conversation(job)).call();
        self.asker.draft(call, &Form::of(job.request.level), &job.sources(), report).await
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
        let live = self.setup.live.as_deref().filter(|_| self.asker.is_first());
        let Some(live) = live.filter(|live| self.is_about(live, job)) else { return Ok(None) };
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
        // The first message may stay as it is; who wants a later stretch does not want all that stands before it.
        let is_said = |message: &&Message| !matches!(message.role, Role::System | Role::Developer);
        let begins = match self.before {
            [] => request.range.start <= 1,
            before => before.iter().filter(is_said).count() <= 1,
        };
        let asks = Tokens(self.setup.stages.reserve.0.min(live.size.0)) + job.room.tokens;
        // Who wants it written anew wants it from the messages, and not from the summary that stands in the live request.
        let repeats = job.earlier.is_some() && self.setup.mode == Mode::Rewrite;
        let window = self.asker.behind(live.size).window();
        begins && !repeats && !live.wants_call && live.size + asks <= window
    }

    fn stays(&self, job: &Job<'_>) -> Option<String> {
        // What is said beside what tools gave comes last; the two in one text would pass for the same speaker's.
        let told = pieces(self.stays?, job.request.range.end, &self.setup.telling).pop()?;
        Some(told.chars().take(SHOWN).collect())
    }
}

// What everything comes to when it is told.
fn told(job: &Job<'_>) -> Tokens {
    let earlier: Tokens = job.beside.iter().map(|text| counter().text(text)).sum();
    job.sizes.iter().copied().sum::<Tokens>() + earlier
}

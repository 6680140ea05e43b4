//! Asking a model for a summary, within the caps, and once more where the check finds fault.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use epitome_core::cost::Tariff;
use epitome_core::loss::Sources;
use epitome_core::{Block, Tokens, Usage};
use thiserror::Error;

use super::cancel::Cancel;
use super::caps::{Caps, Spent};
use super::check::{Judged, faults, is_worth_another, judge};
use super::form::{Form, Unfit};
use super::job::counter;
use super::prompt::again;
use super::written::Written;
use crate::call::{Answer, Call};
use crate::clock::{Clock, MachineClock};
use crate::models::{Leave, Models, NoAnswer};
use crate::window::Window;

/// Why there is no summary of a model's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Trouble {
    #[error("cancelled")]
    Cancelled,
    #[error("the time for this compaction is over")]
    Late,
    #[error("one more call would cost more than this compaction may")]
    Capped,
    #[error("{0}")]
    NoAnswer(String),
    #[error("the request was too large: {0}")]
    TooLarge(String),
    #[error("{0}")]
    Unfit(#[from] Unfit),
}

/// Asks, and keeps the accounts. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    pub(super) models: Arc<Models>,
    pub(crate) caps: Caps,
    pub(crate) tariff: Option<Tariff>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) cancel: Cancel,
    /// What the server showed of its window; it outlives a compaction.
    window: Arc<Mutex<Window>>,
    account: Arc<Mutex<Account>>,
    /// What stands before every call as it was sent earlier, in tokens.
    before: Tokens,
    /// So many endpoints are asked, from the first one on.
    endpoints: usize,
}

/// What one compaction has spent.
#[derive(Debug, Default)]
struct Account {
    spent: Spent,
    started: Option<Duration>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Asker {
    /// Asks these, with usual caps.
    pub(crate) fn new(models: Arc<Models>) -> Self {
        Self {
            models,
            caps: Caps::default(),
            tariff: None,
            clock: Arc::new(MachineClock::default()),
            cancel: Cancel::default(),
            window: Arc::new(Mutex::new(Window::default())),
            account: Arc::new(Mutex::new(Account::default())),
            before: Tokens::ZERO,
            endpoints: usize::MAX,
        }
    }

    /// The same for calls behind so many tokens that were sent to the first endpoint, whose cache alone knows them.
    pub(super) fn behind(&self, before: Tokens) -> Self {
        Self { before, endpoints: 1, ..self.clone() }
    }

    /// The same with nothing spent.
    pub(crate) fn anew(&self) -> Self {
        Self { account: Arc::default(), ..self.clone() }
    }

    /// What was spent so far.
    pub(crate) fn spent(&self) -> Spent {
        locked(&self.account).spent
    }

    /// The window that the server showed, if it did.
    pub(super) fn shown_window(&self) -> Option<Tokens> {
        locked(&self.window).limit()
    }

    /// Asks once, as often as the models below see fit.
    pub(crate) async fn ask(&self, call: &Call) -> Result<Answer, Trouble> {
        self.ask_from(0, call).await.map(|(answer, _)| answer)
    }

    // The same from this endpoint on; also the place of the one that answered.
    async fn ask_from(&self, first: usize, call: &Call) -> Result<(Answer, usize), Trouble> {
        let input = size(call) + self.before;
        let left = self.begin(input, call.max_output)?;
        let end = self.clock.now().saturating_add(left);
        let sent = AtomicUsize::new(0);
        let request = || self.book(&sent);
        let leave = Leave { endpoints: first..self.endpoints, within: left, request: &request };
        let asked = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Trouble::Cancelled),
            answered = self.models.ask_with(call, &leave) => Ok(answered),
            () = self.clock.sleep(left) => Err(Trouble::Late),
        };
        let sent = sent.into_inner();
        let ours = |output| Usage { input, output, ..Usage::default() };
        let (answer, unanswered, usage) = match asked {
            Err(trouble) => {
                (Err(trouble), sent, if sent > 0 { ours(Tokens::ZERO) } else { Usage::default() })
            }
            Ok(Err(none)) if none.tried.is_empty() && sent == 0 => {
                (Err(Trouble::Capped), 0, Usage::default())
            }
            Ok(Err(_)) if self.clock.now() >= end => (Err(Trouble::Late), sent, ours(Tokens::ZERO)),
            Ok(Err(none)) => (Err(self.trouble(&none, input + call.max_output)), sent, Usage::default()),
            Ok(Ok(answered)) => {
                let billed = answered.answer.usage;
                let usage = billed.unwrap_or_else(|| ours(counter().text(&answered.answer.text)));
                let answer = self.arrived(answered.answer, input);
                (answer.map(|answer| (answer, answered.place)), sent.saturating_sub(1), usage)
            }
        };
        let mut account = locked(&self.account);
        account.spent.end(self.tariff.as_ref(), input, call.max_output, usage);
        account.spent.unanswered += unanswered;
        answer
    }

    // Whether one more request may be sent; it is counted then.
    fn book(&self, sent: &AtomicUsize) -> bool {
        let mut account = locked(&self.account);
        let may = account.spent.calls < self.caps.calls;
        if may {
            account.spent.calls += 1;
            sent.fetch_add(1, Ordering::Relaxed);
        }
        may
    }

    // The time that is left; what the call may cost is booked.
    fn begin(&self, input: Tokens, output: Tokens) -> Result<Duration, Trouble> {
        if self.cancel.is_cancelled() {
            return Err(Trouble::Cancelled);
        }
        let now = self.clock.now();
        let mut account = locked(&self.account);
        let started = *account.started.get_or_insert(now);
        let left = started.saturating_add(self.caps.time).saturating_sub(now);
        if left.is_zero() {
            return Err(Trouble::Late);
        }
        if !account.spent.allows(&self.caps, self.tariff.as_ref(), input, output) {
            return Err(Trouble::Capped);
        }
        account.spent.begin(self.tariff.as_ref(), input, output);
        Ok(left)
    }

    fn trouble(&self, none: &NoAnswer, expected: Tokens) -> Trouble {
        match none.wants_less() {
            Some(failure) => {
                locked(&self.window).failed(expected, failure);
                Trouble::TooLarge(failure.to_string())
            }
            None => Trouble::NoAnswer(none.to_string()),
        }
    }

    // An answer to a question of which a part was cut off is one to another question.
    fn arrived(&self, answer: Answer, input: Tokens) -> Result<Answer, Trouble> {
        let is_cut = answer.usage.is_some_and(|usage| locked(&self.window).answered(input, &usage));
        if is_cut {
            return Err(Trouble::TooLarge("the server cut it without a word".to_owned()));
        }
        Ok(answer)
    }

    /// Asks, compares what comes with its sources, and asks once more where there is something to mend. An endpoint
    /// whose answers are of no use makes way for the next one.
    pub(super) async fn draft(
        &self,
        call: Call,
        form: &Form,
        sources: &Sources<'_>,
        report: &mut Written,
    ) -> Result<Judged, Trouble> {
        let mut first = 0;
        loop {
            let (drafted, place) = self.draft_from(first, &call, form, (sources, report)).await?;
            let is_last = place + 1 >= self.models.count().min(self.endpoints);
            match drafted {
                // Changes that cannot be made are not argued about: the checkpoint is written anew.
                Err(unfit) if is_last || matches!(form, Form::Changes(_)) => return Err(unfit.into()),
                Err(unfit) => {
                    report.troubles.push(unfit.to_string());
                    first = place + 1;
                }
                Ok(judged) => return Ok(judged),
            }
        }
    }

    async fn draft_from(
        &self,
        first: usize,
        call: &Call,
        form: &Form,
        (sources, report): (&Sources<'_>, &mut Written),
    ) -> Result<(Result<Judged, Unfit>, usize), Trouble> {
        let (answer, place) = self.ask_from(first, call).await?;
        report.model = Some(answer.model.clone());
        let read = form.read(&answer).map(|text| judge(text, sources));
        let wrong = match &read {
            Ok(judged) if is_worth_another(judged) => faults(&judged.loss),
            Ok(_) => Vec::new(),
            // A model that calls tools where it must not will do so again.
            Err(Unfit::Unfinished) => Vec::new(),
            Err(_) if matches!(form, Form::Changes(_)) => Vec::new(),
            Err(unfit) => vec![("what is wrong", vec![unfit.to_string()])],
        };
        if wrong.is_empty() {
            return Ok((read, place));
        }
        report.retries += 1;
        let again = again(call.clone(), &answer.text, &wrong);
        let (second, place) = match self.ask_from(place, &again).await {
            Err(Trouble::Cancelled) => return Err(Trouble::Cancelled),
            Err(trouble) => {
                report.troubles.push(trouble.to_string());
                return Ok((read, place));
            }
            Ok((answer, place)) => (form.read(&answer).map(|text| judge(text, sources)), place),
        };
        let better = match (read, second) {
            (Ok(first), Ok(second)) => Ok(if second.score > first.score { second } else { first }),
            (Err(unfit), second) => {
                report.troubles.push(unfit.to_string());
                second
            }
            (first, Err(unfit)) => {
                report.troubles.push(unfit.to_string());
                first
            }
        };
        Ok((better, place))
    }
}

/// What a call comes to by our own count.
fn size(call: &Call) -> Tokens {
    let count = counter();
    let text = |block: &Block| match block {
        Block::Text(text) => count.text(&text.text),
        _ => Tokens::ZERO,
    };
    let said: Tokens = call.messages.iter().flat_map(|message| &message.blocks).map(text).sum();
    count.text(&call.system) + said
}

//! Asking a model for a summary, within the caps, and once more where the check finds fault.

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
use crate::clock::Clock;
use crate::models::{Models, NoAnswer, Tried};
use crate::window::Window;

/// Why there is no summary of a model's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum Trouble {
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
pub(super) struct Asker {
    pub(super) models: Arc<Models>,
    pub(super) caps: Caps,
    pub(super) tariff: Option<Tariff>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) cancel: Cancel,
    /// What the server showed of its window; it outlives a compaction.
    pub(super) window: Arc<Mutex<Window>>,
    pub(super) account: Arc<Mutex<Account>>,
}

/// What one compaction has spent.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) spent: Spent,
    started: Option<Duration>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Asker {
    /// What was spent so far.
    pub(super) fn spent(&self) -> Spent {
        locked(&self.account).spent
    }

    /// The window that the server showed, if it did.
    pub(super) fn shown_window(&self) -> Option<Tokens> {
        locked(&self.window).limit()
    }

    /// Asks once, as often as the models below see fit.
    pub(super) async fn ask(&self, call: &Call) -> Result<Answer, Trouble> {
        let input = size(call);
        let left = self.begin(input, call.max_output)?;
        let asked = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Trouble::Cancelled),
            answered = self.models.ask(call) => Ok(answered),
            () = self.clock.sleep(left) => Err(Trouble::Late),
        };
        let (answer, failed, usage) = match asked {
            Err(trouble) => (Err(trouble), 1, sent(input)),
            Ok(Err(none)) => {
                let failed = requests(&none.tried);
                (Err(self.trouble(&none, input + call.max_output)), failed, Usage::default())
            }
            Ok(Ok(answered)) => {
                let failed = requests(&answered.tried);
                let ours = || Usage { output: counter().text(&answered.answer.text), ..sent(input) };
                let billed = answered.answer.usage.unwrap_or_else(ours);
                locked(&self.account).spent.calls += 1;
                (self.arrived(answered.answer, input), failed, billed)
            }
        };
        let mut account = locked(&self.account);
        account.spent.end(self.tariff.as_ref(), input, call.max_output, usage);
        account.spent.unanswered += failed;
        // One was booked in advance.
        account.spent.calls = (account.spent.calls + failed).saturating_sub(1);
        answer
    }

    // The time that is left; the call is booked.
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

    /// Asks, compares what comes with its sources, and asks once more where there is something to mend.
    pub(super) async fn draft(
        &self,
        call: Call,
        form: &Form,
        sources: &Sources<'_>,
        report: &mut Written,
    ) -> Result<Judged, Trouble> {
        let answer = self.ask(&call).await?;
        report.model = Some(answer.model.clone());
        let (first, wrong) = match form.read(&answer) {
            Ok(text) => {
                let judged = judge(text, sources);
                let wrong = if is_worth_another(&judged) { faults(&judged.loss) } else { Vec::new() };
                (Ok(judged), wrong)
            }
            // Changes that cannot be made are not argued about: the checkpoint is written anew.
            Err(unfit) if matches!(form, Form::Changes(_)) => return Err(unfit.into()),
            Err(unfit) => {
                report.troubles.push(unfit.to_string());
                let wrong = vec![("what is wrong", vec![unfit.to_string()])];
                (Err(unfit), wrong)
            }
        };
        if wrong.is_empty() {
            return first.map_err(Trouble::from);
        }
        report.retries += 1;
        let second = match self.ask(&again(call, &answer.text, &wrong)).await {
            Err(Trouble::Cancelled) => return Err(Trouble::Cancelled),
            Err(trouble) => Err(trouble),
            Ok(answer) => form.read(&answer).map(|text| judge(text, sources)).map_err(Trouble::from),
        };
        match (first, second) {
            (Ok(first), Ok(second)) => Ok(if second.score > first.score { second } else { first }),
            (_, Ok(second)) => Ok(second),
            (first, Err(trouble)) => {
                report.troubles.push(trouble.to_string());
                first.map_err(|_| trouble)
            }
        }
    }
}

// Those that were sent: an endpoint that failed too often lately is not asked.
fn requests(tried: &[Tried]) -> usize {
    tried.iter().filter(|tried| tried.failure.is_some()).count()
}

fn sent(input: Tokens) -> Usage {
    Usage { input, ..Usage::default() }
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

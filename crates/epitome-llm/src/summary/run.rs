//! Asking a model for a summary, within the caps, and once more where the check finds fault.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use epitome_core::cost::Tariff;
use epitome_core::loss::Sources;
use epitome_core::{Block, Tokens};
use thiserror::Error;

use super::cancel::Cancel;
use super::caps::{Billed, Caps, Spent};
use super::check::{Judged, faults, is_worth_another, judge};
use super::form::{Form, Unfit};
use super::job::counter;
use super::prompt::again;
use super::question::{Account, Purse, Question, Tally, locked};
use super::stopwatch::Stopwatch;
use super::thinking::{is_all_thought, with_thoughts};
use super::written::Written;
use crate::call::{Answer, Call, Ending};
use crate::clock::{Clock, MachineClock};
use crate::models::{Leave, Models, NoAnswer};
use crate::windows::Windows;

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

impl Trouble {
    /// Whether other models may do better.
    pub(crate) fn is_of_models(&self) -> bool {
        !matches!(self, Self::Cancelled | Self::Late)
    }
}

/// A window that nothing is known about is taken for this.
const WINDOW: Tokens = Tokens(200_000);

/// Asks, and keeps the accounts. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    pub(super) models: Arc<Models>,
    pub(crate) caps: Caps,
    /// What each of the models costs, by its place, where that is known.
    tariffs: Arc<[Option<Tariff>]>,
    /// What each of the models holds, by its place; the last one stands for all behind it.
    sizes: Arc<[Tokens]>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) cancel: Cancel,
    /// What the servers showed of their windows; it outlives a compaction.
    pub(crate) windows: Windows,
    /// What was spent by this one.
    pub(super) account: Account,
    /// What was spent by all who work on the same compaction; the caps are held against that.
    pub(super) purse: Purse,
    /// What tells how long answers are waited for; it outlives a compaction.
    pub(crate) watch: Stopwatch,
    /// Where what is spent is known to somebody else, too.
    tally: Option<Tally>,
    /// What stands before every call as it was sent earlier, in tokens.
    before: Tokens,
    /// The endpoints that are asked, by their places.
    endpoints: Range<usize>,
}

impl Asker {
    /// Asks these, with usual caps.
    pub(crate) fn new(models: Arc<Models>) -> Self {
        Self {
            models,
            caps: Caps::default(),
            tariffs: Arc::default(),
            sizes: Arc::default(),
            clock: Arc::new(MachineClock::default()),
            cancel: Cancel::default(),
            windows: Windows::default(),
            watch: Stopwatch::default(),
            account: Account::default(),
            purse: Purse::default(),
            tally: None,
            before: Tokens::ZERO,
            endpoints: 0..usize::MAX,
        }
    }

    /// The same for calls behind so many tokens that were sent to the first endpoint, whose cache alone knows them.
    pub(super) fn behind(&self, before: Tokens) -> Self {
        Self { before, endpoints: 0..1, ..self.clone() }
    }

    /// The same without the endpoints before this one.
    pub(super) fn from(&self, first: usize) -> Self {
        Self { endpoints: first.max(self.endpoints.start)..self.endpoints.end, ..self.clone() }
    }

    /// The same in ranks, each of which is asked when those before it have failed: an endpoint and those behind it that hold no
    /// less, so that whatever is made for the first of them can be sent to the others.
    pub(crate) fn ranks(&self) -> Vec<Self> {
        let mut ranks: Vec<Self> = Vec::new();
        let mut held = Tokens::ZERO;
        for (place, window) in self.each_window() {
            match ranks.last_mut().filter(|_| window >= held) {
                Some(rank) => rank.endpoints.end = place + 1,
                None => {
                    ranks.push(Self { endpoints: place..place + 1, ..self.clone() });
                    held = window;
                }
            }
        }
        ranks
    }

    /// Whether the endpoint that comes before all others is among those that are asked.
    pub(super) fn is_first(&self) -> bool {
        self.endpoints.start == 0
    }

    /// What all of those that are asked can hold, by what was said of them or by what their servers showed.
    pub(crate) fn window(&self) -> Tokens {
        self.each_window().map(|(_, window)| window).min().unwrap_or(WINDOW)
    }

    fn each_window(&self) -> impl Iterator<Item = (usize, Tokens)> + '_ {
        let window = |(place, name): (usize, String)| {
            let said = self.sizes.get(place).or(self.sizes.last()).copied().unwrap_or(WINDOW);
            let shown = self.windows.limit_of(&name);
            (place, shown.map_or(said, |shown| shown.min(said)))
        };
        self.models.names().enumerate().filter(|(place, _)| self.endpoints.contains(place)).map(window)
    }

    /// The same for models that hold so much, by their places.
    pub(crate) fn sized(self, sizes: Vec<Tokens>) -> Self {
        Self { sizes: sizes.into(), ..self }
    }

    /// The place behind this one, where an endpoint may be asked there.
    pub(super) fn behind_place(&self, place: usize) -> Option<usize> {
        Some(place + 1).filter(|next| *next < self.models.count().min(self.endpoints.end))
    }

    /// The same for models with these prices, by their places.
    pub(crate) fn priced(self, tariffs: Vec<Option<Tariff>>) -> Self {
        Self { tariffs: tariffs.into(), ..self }
    }

    /// What the model at this place costs, where that is known.
    pub(super) fn tariff(&self, place: usize) -> Option<Tariff> {
        self.tariffs.get(place).copied().flatten()
    }

    /// The same with nothing spent; where there is a tally, its purse is what it was.
    pub(crate) fn anew(&self) -> Self {
        let purse = self.tally.as_ref().map(Tally::purse).cloned().unwrap_or_default();
        let fresh = Self { account: Account::default(), purse, ..self.clone() };
        if let Some(tally) = &self.tally {
            tally.take_in(&fresh.account);
        }
        fresh
    }

    /// The same with nothing spent of its own, where everything that is spent from now on counts here, too, and within what is
    /// left of its purse.
    pub(crate) fn tallied(&self, tally: Tally) -> Self {
        Self { tally: Some(tally), ..self.clone() }.anew()
    }

    /// What was spent so far.
    pub(crate) fn spent(&self) -> Spent {
        *locked(&self.account)
    }

    /// Asks once, as often as the models below see fit.
    pub(crate) async fn ask(&self, call: &Call) -> Result<Answer, Trouble> {
        self.ask_from(self.endpoints.start, call).await.map(|(answer, _)| answer)
    }

    /// The same from this endpoint on; also the place of the one that answered.
    ///
    /// Where it thought until its output was over, it is asked once more with room for both, and others have that room at once.
    pub(super) async fn ask_from(&self, first: usize, call: &Call) -> Result<(Answer, usize), Trouble> {
        let first = first.max(self.endpoints.start);
        let thoughts = self.purse.drawn().thoughts;
        let mut call = Call { max_output: call.max_output.max(thoughts), ..call.clone() };
        let (answer, place) = self.ask_once(first, &call).await?;
        let may_help = is_all_thought(&answer) && thoughts == Tokens::ZERO;
        let Some(room) = may_help.then(|| with_thoughts(&call, &answer.model)).flatten() else {
            return Ok((answer, place));
        };
        call.max_output = room;
        match self.ask_once(place, &call).await {
            Ok((answer, place)) => {
                let mut drawn = self.purse.drawn();
                drawn.thoughts = drawn.thoughts.max(room);
                Ok((answer, place))
            }
            Err(Trouble::Cancelled) => Err(Trouble::Cancelled),
            // What was wrong with the first answer says more than why there is no second one.
            Err(_) => Ok((answer, place)),
        }
    }

    async fn ask_once(&self, first: usize, call: &Call) -> Result<(Answer, usize), Trouble> {
        let input = size(call) + self.before;
        let left = self.left()?;
        let end = self.clock.now().saturating_add(left);
        let _waiting = self.watch.start(&*self.clock);
        let question = Question::new(self, input, call.max_output);
        let leave = Leave { endpoints: first..self.endpoints.end, within: left, minder: &question };
        let asked = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Trouble::Cancelled),
            answered = self.models.ask_with(call, &leave) => Ok(answered),
            () = self.clock.sleep(left) => Err(Trouble::Late),
        };
        match asked {
            Err(trouble) => Err(trouble),
            Ok(Err(none)) if none.tried.is_empty() && question.sent() == 0 => Err(Trouble::Capped),
            Ok(Err(_)) if self.clock.now() >= end => Err(Trouble::Late),
            Ok(Err(none)) => Err(self.trouble(&none, input + call.max_output)),
            Ok(Ok(answered)) => {
                let told = answered.answer.usage.map(|usage| Billed { usage, is_estimate: false });
                let ours = || Billed::estimated(input, counter().text(&answered.answer.text));
                question.answered(&told.unwrap_or_else(ours));
                let answer = self.arrived(answered.answer, &answered.by, (input, call.max_output));
                answer.map(|answer| (answer, answered.place))
            }
        }
    }

    // The time that is left.
    fn left(&self) -> Result<Duration, Trouble> {
        if self.cancel.is_cancelled() {
            return Err(Trouble::Cancelled);
        }
        let now = self.clock.now();
        let started = *self.purse.drawn().started.get_or_insert(now);
        let left = started.saturating_add(self.caps.time).saturating_sub(now);
        if left.is_zero() { Err(Trouble::Late) } else { Ok(left) }
    }

    fn trouble(&self, none: &NoAnswer, expected: Tokens) -> Trouble {
        match none.too_large() {
            Some((endpoint, failure)) => {
                self.windows.learn(endpoint, |window| window.failed(expected, failure));
                Trouble::TooLarge(failure.to_string())
            }
            None => Trouble::NoAnswer(none.to_string()),
        }
    }

    // An answer to a question of which a part was cut off is one to another question.
    fn arrived(
        &self,
        answer: Answer,
        by: &str,
        (input, output): (Tokens, Tokens),
    ) -> Result<Answer, Trouble> {
        let billed = |usage| self.windows.learn(by, |window| window.answered(input, &usage));
        let is_cut = answer.usage.is_some_and(billed);
        if is_cut {
            return Err(Trouble::TooLarge("the server cut it without a word".to_owned()));
        }
        if answer.ending == Ending::Window {
            self.windows.learn(by, |window| window.filled(input + output, answer.usage.as_ref()));
        }
        Ok(answer)
    }

    /// The calls that are left.
    pub(super) fn calls_left(&self) -> usize {
        self.caps.calls.saturating_sub(self.purse.drawn().spent.calls)
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
        let mut first = self.endpoints.start;
        loop {
            let (drafted, place) = self.draft_from(first, &call, form, (sources, report)).await?;
            // Changes that cannot be made are not argued about: the checkpoint is written anew.
            let next = self.behind_place(place).filter(|_| !matches!(form, Form::Changes(_)));
            match (drafted, next) {
                (Err(unfit), None) => return Err(unfit.into()),
                (Err(unfit), Some(next)) => {
                    report.troubles.push(unfit.to_string());
                    first = next;
                }
                (Ok(judged), _) => return Ok(judged),
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
            // A model that calls tools where it must not, or never comes to an end of thinking, will do so again.
            Err(Unfit::Unfinished | Unfit::Thinking) => Vec::new(),
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

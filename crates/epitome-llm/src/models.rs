//! Several endpoints in the order of preference, each asked again where that may help, the next one where it does not.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use epitome_wire::Dialect;
use thiserror::Error;
use tracing::{debug, info};

use crate::backoff::{Backoff, Chance};
use crate::breaker::{Breaker, Patience};
use crate::call::{Answer, Call};
use crate::client::Client;
use crate::clock::{Clock, MachineClock};
use crate::failure::{Failure, Kind};

/// The models to ask, in order.
#[derive(Debug)]
pub struct Models {
    upstreams: Vec<Upstream>,
    backoff: Backoff,
    within: Duration,
    chance: Chance,
    clock: Arc<dyn Clock>,
}

#[derive(Debug)]
struct Upstream {
    client: Client,
    breaker: Breaker,
}

/// An answer, and what it took to get it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answered {
    /// The answer.
    pub answer: Answer,
    /// The endpoint that gave it.
    pub by: String,
    /// Its place in the order.
    pub place: usize,
    /// What failed before.
    pub tried: Vec<Tried>,
}

/// What one question may take.
#[derive(Clone)]
pub(crate) struct Leave<'a> {
    /// The endpoints that may be asked, by their places.
    pub(crate) endpoints: Range<usize>,
    /// Time for all attempts together, where it is less than usual.
    pub(crate) within: Duration,
    /// Who minds what requests cost.
    pub(crate) minder: &'a dyn Minder,
}

/// Minds what the requests of one question cost, which go out one after the other.
pub(crate) trait Minder: Send + Sync {
    /// Whether a request may be sent to the endpoint at this place; whoever says yes counts it.
    fn may_send(&self, place: usize) -> bool;

    /// The last request brought no answer.
    fn failed(&self, failure: &Failure);
}

/// Minds nothing.
struct Unminded;

impl Minder for Unminded {
    fn may_send(&self, _: usize) -> bool {
        true
    }

    fn failed(&self, _: &Failure) {}
}

/// An attempt that brought nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tried {
    /// The endpoint that was asked.
    pub endpoint: String,
    /// Why there is no answer of it; `None` where it was not asked because it failed too often lately.
    pub failure: Option<Failure>,
}

/// No endpoint answered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no model answered: {}", Listed(tried))]
#[non_exhaustive]
pub struct NoAnswer {
    /// Everything that was tried, in order.
    pub tried: Vec<Tried>,
}

impl NoAnswer {
    /// The failure that was told last.
    pub fn last(&self) -> Option<&Failure> {
        self.tried.iter().rev().find_map(|tried| tried.failure.as_ref())
    }

    /// The endpoint that a request was too large for, where there was one, and what it said.
    pub(crate) fn too_large(&self) -> Option<(&str, &Failure)> {
        let each =
            self.tried.iter().filter_map(|tried| Some((tried.endpoint.as_str(), tried.failure.as_ref()?)));
        each.into_iter().find(|(_, failure)| failure.wants_less())
    }

    /// The failure that a smaller request may not meet, where there was one.
    pub fn wants_less(&self) -> Option<&Failure> {
        self.too_large().map(|(_, failure)| failure)
    }
}

impl Models {
    /// Asks these, the first one first.
    pub fn new(clients: Vec<Client>) -> Self {
        Self::with(clients, Backoff::default(), Patience::default())
    }

    /// Asks these, with this much persistence and patience.
    pub fn with(clients: Vec<Client>, backoff: Backoff, patience: Patience) -> Self {
        let upstream = |client| Upstream { client, breaker: Breaker::new(patience) };
        Self {
            upstreams: clients.into_iter().map(upstream).collect(),
            backoff,
            within: Duration::from_secs(600),
            chance: Chance::default(),
            clock: Arc::new(MachineClock::default()),
        }
    }

    /// The same, with this clock and these chances.
    pub fn timed(mut self, clock: Arc<dyn Clock>, chance: Chance) -> Self {
        self.clock = clock;
        self.chance = chance;
        self
    }

    /// The same, with this much time for all attempts together.
    pub fn within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.upstreams.len()
    }

    /// How they are shown, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> + '_ {
        self.upstreams.iter().map(|upstream| upstream.client.endpoint().to_string())
    }

    /// The API of the one that is asked first.
    pub fn dialect(&self) -> Option<Dialect> {
        self.upstreams.first().map(|upstream| upstream.client.endpoint().dialect())
    }

    /// Asks until somebody answers, nobody can, or the time is over.
    pub async fn ask(&self, call: &Call) -> Result<Answered, NoAnswer> {
        let leave = Leave { endpoints: 0..self.count(), within: self.within, minder: &Unminded };
        self.ask_with(call, &leave).await
    }

    /// The same, as far as it is allowed.
    pub(crate) async fn ask_with(&self, call: &Call, leave: &Leave<'_>) -> Result<Answered, NoAnswer> {
        let deadline = self.clock.now().saturating_add(self.within.min(leave.within));
        let mut tried = Vec::new();
        for place in leave.endpoints.clone() {
            let Some(upstream) = self.upstreams.get(place) else { break };
            if let Some(answer) = self.ask_one((place, upstream), call, (deadline, leave), &mut tried).await {
                return Ok(Answered { answer, by: upstream.client.endpoint().to_string(), place, tried });
            }
            // A request that is too large is for the one who asks to shorten, not for the next model to try.
            let last = tried.last().and_then(|tried| tried.failure.as_ref());
            if last.is_some_and(Failure::wants_less) || self.clock.now() >= deadline {
                break;
            }
        }
        Err(NoAnswer { tried })
    }

    async fn ask_one(
        &self,
        (place, upstream): (usize, &Upstream),
        call: &Call,
        (deadline, leave): (Duration, &Leave<'_>),
        tried: &mut Vec<Tried>,
    ) -> Option<Answer> {
        let endpoint = upstream.client.endpoint().to_string();
        let again = |failure: &Failure| {
            leave.minder.failed(failure);
            leave.minder.may_send(place)
        };
        for failed in 1.. {
            let now = self.clock.now();
            let Ok(permit) = upstream.breaker.enter(now) else {
                tried.push(Tried { endpoint, failure: None });
                return None;
            };
            if !leave.minder.may_send(place) {
                return None;
            }
            let left = deadline.saturating_sub(now);
            let failure = match upstream.client.ask_counted(call, left, &again).await {
                Ok(answer) => {
                    permit.succeeded();
                    return Some(answer);
                }
                Err(failure) => failure,
            };
            leave.minder.failed(&failure);
            let now = self.clock.now();
            permit.failed(&failure, now);
            let is_busy = matches!(failure.kind, Kind::RateLimited | Kind::Overloaded);
            if let Some(asked) =
                failure.retry_after().filter(|asked| is_busy && *asked > self.backoff.longest)
            {
                // It is not waited for so long, and not asked before.
                upstream.breaker.rest(asked, now);
            }
            let wait = self.backoff.wait(failed, &failure, self.chance.next());
            let is_useful =
                |wait: &Duration| now.saturating_add(*wait) < deadline && upstream.breaker.is_closed();
            let wait = wait.filter(is_useful);
            debug!(endpoint, %failure, ?wait, "a model did not answer");
            tried.push(Tried { endpoint: endpoint.clone(), failure: Some(failure) });
            let Some(wait) = wait else { break };
            self.clock.sleep(wait).await;
        }
        info!(endpoint, "a model is given up");
        None
    }
}

struct Listed<'t>(&'t [Tried]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, tried) in self.0.iter().enumerate() {
            let between = if number == 0 { "" } else { "; " };
            match &tried.failure {
                Some(failure) => write!(out, "{between}{}: {failure}", tried.endpoint)?,
                None => write!(out, "{between}{}: left alone after many failures", tried.endpoint)?,
            }
        }
        if self.0.is_empty() { out.write_str("none is set") } else { Ok(()) }
    }
}

//! What the tests of this crate share.

use std::sync::Mutex;
use std::time::Duration;

use epitome_core::Tokens;
use epitome_llm::{Call, Client, Clock, Limits, Secret, Wait};

use crate::upstream::Upstream;

/// The names of the three APIs.
pub(crate) const APIS: [&str; 3] = ["anthropic", "openai", "responses"];

/// A key that has the form of no key, so that only its owner can hide it.
pub(crate) const KEY: &str = "hush-hush-nobody-knows";

/// A client of this server that gives up soon where it is not answered.
pub(crate) fn client(upstream: &Upstream, api: &str) -> Client {
    impatient(upstream, api, Duration::from_secs(60))
}

/// A client that waits so long for each byte.
pub(crate) fn impatient(upstream: &Upstream, api: &str, idle: Duration) -> Client {
    let mut limits = Limits::default();
    (limits.first, limits.idle, limits.bytes) = (idle, idle, 200_000);
    at(&upstream.url(), api, limits)
}

pub(crate) fn at(url: &str, api: &str, limits: Limits) -> Client {
    let endpoint = format!("{api}:some-model@{url}").parse().unwrap();
    Client::new(endpoint, Secret::new(KEY), limits).unwrap()
}

pub(crate) fn call() -> Call {
    Call::new("You summarise.", "What happened?", Tokens(500))
}

/// A clock that stands still but for the waits, which take no time.
#[derive(Debug, Default)]
pub(crate) struct StillClock {
    state: Mutex<(Duration, Vec<Duration>)>,
}

impl StillClock {
    pub(crate) fn waits(&self) -> Vec<Duration> {
        self.state.lock().unwrap().1.clone()
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.state.lock().unwrap().0 += by;
    }
}

impl Clock for StillClock {
    fn now(&self) -> Duration {
        self.state.lock().unwrap().0
    }

    fn sleep(&self, wait: Duration) -> Wait<'_> {
        self.advance(wait);
        self.state.lock().unwrap().1.push(wait);
        Box::pin(async {})
    }
}

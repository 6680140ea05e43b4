//! One call to one endpoint. Whoever drops the future ends the call, and its connection with it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use thiserror::Error;
use tokio::time::Instant;

use epitome_wire::Dialect;

use crate::call::{Answer, Call};
use crate::endpoint::Endpoint;
use crate::failure::{Begun, Failure, Kind};
use crate::manners::{LESSONS, Learnt, Manners};
use crate::receive::{Receiving, after, trouble};
use crate::request;
use crate::secret::Secret;

/// How long a call may take, and how much it may bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// To connect.
    pub connect: Duration,
    /// From the request to the first byte of the reply. It covers the reading of the prompt, and of a reply that comes at once
    /// the writing, too.
    pub first: Duration,
    /// From one byte of a streamed answer to the next.
    pub idle: Duration,
    /// Everything together.
    pub whole: Duration,
    /// The bytes of a reply.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first: Duration::from_secs(120),
            idle: Duration::from_secs(60),
            whole: Duration::from_secs(300),
            bytes: 8 << 20,
        }
    }
}

impl Limits {
    /// The usual limits, none of which is in the way of a call that may take this long altogether: a model on a small machine
    /// reads for minutes before it says a word, and some servers begin their reply before that.
    pub fn lasting(whole: Duration) -> Self {
        let usual = Self::default();
        Self {
            first: usual.first.max(whole),
            idle: usual.idle.max(whole / 2),
            whole: usual.whole.max(whole),
            ..usual
        }
    }
}

/// A client cannot be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The provider asks for a key, and there is none.
    #[error("{endpoint} needs a key, and {variable} is not set")]
    NoKey {
        /// Who asks for it.
        endpoint: String,
        /// Where it is looked for.
        variable: &'static str,
    },
    /// The key holds something that cannot be sent.
    #[error("the key for {0} holds characters that no key has")]
    BadKey(String),
    /// The system refuses what a client needs.
    #[error("no client for {0}: {1}")]
    System(String, String),
}

/// Asks one model. Clones share connections, and what was learnt of the server.
#[derive(Clone, Debug)]
pub struct Client {
    endpoint: Endpoint,
    key: Option<Secret>,
    limits: Limits,
    http: reqwest::Client,
    learnt: Arc<Learnt>,
}

impl Client {
    /// A client for this endpoint. Servers of one's own may need no key.
    pub fn new(endpoint: Endpoint, key: Option<Secret>, limits: Limits) -> Result<Self, ClientError> {
        if key.is_none() && endpoint.is_provider() {
            let variable = endpoint.key_variable();
            return Err(ClientError::NoKey { endpoint: endpoint.to_string(), variable });
        }
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("epitome/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers(&endpoint, key.as_ref())?)
            .connect_timeout(limits.connect)
            // A redirect would carry the key to wherever it points.
            .redirect(Policy::none());
        if endpoint.is_loopback() {
            builder = builder.no_proxy();
        }
        let http = builder
            .build()
            .map_err(|error| ClientError::System(endpoint.to_string(), error.without_url().to_string()))?;
        let learnt = Arc::new(Learnt::new(endpoint.is_provider(), endpoint.model()));
        Ok(Self { endpoint, key, limits, http, learnt })
    }

    /// The endpoint that is asked.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Asks once, and waits no longer than the limits say.
    pub async fn ask(&self, call: &Call) -> Result<Answer, Failure> {
        self.ask_within(call, self.limits.whole).await
    }

    /// Asks once, and waits no longer than this or the limits, whichever is less.
    pub async fn ask_within(&self, call: &Call, within: Duration) -> Result<Answer, Failure> {
        self.ask_counted(call, within, &|_| true).await
    }

    /// The same where every request is counted: the first one is already, `again` says whether there may be another after
    /// this failure.
    pub(crate) async fn ask_counted(
        &self,
        call: &Call,
        within: Duration,
        again: &(dyn Fn(&Failure) -> bool + Send + Sync),
    ) -> Result<Answer, Failure> {
        let deadline = after(within.min(self.limits.whole));
        let mut lessons = 0;
        loop {
            let manners = self.learnt.now();
            let answer = self.once(call, manners, deadline).await;
            let Err(failure) = answer else { return answer };
            let failure = match &self.key {
                Some(key) => failure.without(key.expose()),
                None => failure,
            };
            let is_taught =
                lessons < LESSONS && self.learnt.learn(self.endpoint.dialect(), manners, &failure);
            if !is_taught || !again(&failure) {
                return Err(failure);
            }
            lessons += 1;
        }
    }

    async fn once(&self, call: &Call, manners: Manners, deadline: Instant) -> Result<Answer, Failure> {
        let body = request::body(self.endpoint.dialect(), self.endpoint.model(), call, manners)
            .map_err(|error| Failure::new(Kind::Refused, &error.to_string()))?;
        let request = self.http.post(self.endpoint.url().clone()).body(body);
        let receiving = Receiving { limits: self.limits, deadline };
        let until = receiving.at_most(self.limits.first);
        let response = match tokio::time::timeout_at(until, request.send()).await {
            Err(_) => return Err(Failure::new(Kind::Timeout, "no reply came").begun(Begun::default())),
            Ok(sent) => sent.map_err(|error| trouble(error, "no reply came"))?,
        };
        receiving.answer(self.endpoint.dialect(), response, SystemTime::now()).await
    }
}

fn headers(endpoint: &Endpoint, key: Option<&Secret>) -> Result<HeaderMap, ClientError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let is_anthropic = endpoint.dialect() == Dialect::Anthropic;
    if is_anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    let Some(key) = key else { return Ok(headers) };
    let (name, value) = match is_anthropic {
        true => ("x-api-key", key.expose().to_owned()),
        false => ("authorization", format!("Bearer {}", key.expose())),
    };
    let mut value = HeaderValue::try_from(value).map_err(|_| ClientError::BadKey(endpoint.to_string()))?;
    value.set_sensitive(true);
    headers.insert(HeaderName::from_static(name), value);
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_may_take_long_is_waited_for() {
        let (usual, seconds) = (Limits::default(), Duration::from_secs);
        let slow = Limits::lasting(seconds(1_800));
        assert_eq!((slow.first, slow.idle, slow.whole), (seconds(1_800), seconds(900), seconds(1_800)));
        // A short time for everything is minded by whoever asks.
        assert_eq!(Limits::lasting(seconds(5)), usual);
    }
}

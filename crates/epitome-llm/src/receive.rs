//! The reading of a reply: no stall goes unnoticed, and no reply takes more room than it may.

use std::error::Error;
use std::ops::Deref;
use std::time::{Duration, SystemTime};

use epitome_wire::Dialect;
use epitome_wire::sse::Events;
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use tokio::time::{Instant, timeout_at};

use crate::answer::Reading;
use crate::call::Answer;
use crate::client::Limits;
use crate::failure::{Advice, Begun, Failure, Kind};

/// So much of an error is read.
const ERROR_BYTES: usize = 64 << 10;

/// What holds for one reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receiving {
    pub(crate) limits: Limits,
    pub(crate) deadline: Instant,
}

impl Receiving {
    /// The moment so long from now, or the deadline if that comes first.
    pub(crate) fn at_most(&self, wait: Duration) -> Instant {
        after(wait).min(self.deadline)
    }

    /// The answer in a reply. It comes as events or at once, whatever was asked for.
    pub(crate) async fn answer(
        &self,
        dialect: Dialect,
        mut response: Response,
        now: SystemTime,
    ) -> Result<Answer, Failure> {
        let status = response.status().as_u16();
        if !(200..300).contains(&status) {
            let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
            let advice = Advice::of_headers(header, now);
            // What an error says helps to understand it; where that does not arrive, the status must do.
            let mut body = Vec::new();
            let _ = self.fill(&mut response, &mut body, ERROR_BYTES).await;
            let unknown = || Failure::new(Kind::Refused, "nothing was said");
            return Err(Failure::of_reply(status, &body).unwrap_or_else(unknown).advised(advice));
        }
        if is_stream(&response) {
            let mut reading = Reading::new(dialect);
            let read = self.events(&mut reading, response).await;
            return match read {
                Ok(()) => reading.end(),
                // An error that comes first is a refusal; one that comes later takes back what was begun.
                Err(failure) if failure.status.is_some() && !reading.is_begun() => Err(failure),
                Err(failure) => Err(failure.begun(reading.begun())),
            };
        }
        let mut body = Vec::new();
        let begun = |failure: Failure| failure.begun(Begun::default());
        self.fill(&mut response, &mut body, self.limits.bytes).await.map_err(begun)?;
        match Failure::of_reply(status, &body) {
            Some(failure) => Err(failure),
            None => Reading::new(dialect).whole(&body).map_err(begun),
        }
    }

    // Reads until nothing more is to come.
    async fn events(&self, reading: &mut Reading, mut response: Response) -> Result<(), Failure> {
        let mut events = Events::default();
        let mut size = 0;
        loop {
            let bytes = match self.next(&mut response).await {
                Ok(Some(bytes)) => bytes,
                Ok(None) => break,
                // What breaks after the model has said that it is done takes nothing from the answer.
                Err(_) if reading.is_ended() => return Ok(()),
                Err(failure) => return Err(failure),
            };
            size += bytes.len();
            if size > self.limits.bytes {
                return Err(too_long(self.limits.bytes));
            }
            for event in events.push(&bytes) {
                reading.event(&event)?;
            }
            if reading.is_done() {
                return Ok(());
            }
        }
        // What stands at the very end may be cut; then it is not JSON, and the end is what went wrong.
        if let Some(last) = events.end() {
            match reading.event(&last) {
                Err(failure) if failure.kind != Kind::Garbage => return Err(failure),
                _ => {}
            }
        }
        Ok(())
    }

    async fn fill(&self, response: &mut Response, body: &mut Vec<u8>, most: usize) -> Result<(), Failure> {
        while let Some(bytes) = self.next(response).await? {
            if body.len() + bytes.len() > most {
                let room = most - body.len();
                body.extend_from_slice(bytes.get(..room).unwrap_or(&bytes));
                return Err(too_long(most));
            }
            body.extend_from_slice(&bytes);
        }
        Ok(())
    }

    async fn next(&self, response: &mut Response) -> Result<Option<impl Deref<Target = [u8]>>, Failure> {
        match timeout_at(self.at_most(self.limits.idle), response.chunk()).await {
            Err(_) => Err(Failure::new(Kind::Timeout, "the answer stalled")),
            Ok(chunk) => chunk.map_err(|error| trouble(error, "the answer broke off")),
        }
    }
}

/// The moment so long from now; a wait without an end is one of a year.
pub(crate) fn after(wait: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    Instant::now() + wait.min(YEAR)
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"))
}

fn too_long(most: usize) -> Failure {
    Failure::new(Kind::Garbage, &format!("the reply has more than {most} bytes"))
}

/// What an error of the connection means.
pub(crate) fn trouble(error: reqwest::Error, what: &str) -> Failure {
    let kind = match &error {
        error if error.is_connect() => Kind::Unreachable,
        error if error.is_timeout() => Kind::Timeout,
        error if error.is_builder() => Kind::Refused,
        error if is_garbled(error) => Kind::Garbage,
        _ => Kind::Cut,
    };
    let failure = Failure::new(kind, &format!("{what}: {}", reasons(&error.without_url())));
    match kind {
        Kind::Unreachable | Kind::Refused => failure,
        _ => failure.begun(Begun::default()),
    }
}

// Bytes that are no HTTP, or that do not unpack, are a fault of whoever sent them, not of the line.
fn is_garbled(error: &reqwest::Error) -> bool {
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if text.contains("invalid HTTP") || text.contains("invalid gzip") || text.contains("gzip header") {
            return true;
        }
        cause = inner.source();
    }
    false
}

fn reasons(error: &dyn Error) -> String {
    let mut said = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(inner) = cause {
        said.push(inner.to_string());
        cause = inner.source();
    }
    said.dedup();
    said.join(": ")
}

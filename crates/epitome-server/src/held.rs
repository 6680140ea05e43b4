//! An answer that may be a refusal, held back until that is known: errors are small and come at once.
//!
//! A refusal is a status of 400 or more, or a good status whose body is an error: JSON that says so, or a stream whose first event
//! does. Streams of OpenAI's Responses say first that they have begun; where a refusal for size may well follow, what only says so is held
//! back, too, for a moment. Elsewhere a stream goes back as soon as its first piece is there.

use std::collections::VecDeque;

use bytes::Bytes;
use epitome_wire::sse::Events;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;

use crate::answer::{Broken, Rest};
use crate::config::Limits;
use crate::encoding;

/// The most of a refusal that is shown to a watch.
const MAX_REFUSAL: usize = 1 << 20;

/// The most of a good answer that is held back to look into it.
const MAX_PEEK: usize = 64 << 10;

/// Events that say no more than that an answer will come.
const PRELUDE: [&str; 4] = ["response.created", "response.in_progress", "response.queued", "ping"];

/// How closely the beginning of a stream is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caution {
    /// Its first piece tells, or nothing does.
    Usual,
    /// It may well be a refusal, told behind what says no more than that an answer will come.
    Tight,
}

/// An answer, and what was taken from it so far.
pub(crate) struct Held {
    pub(crate) taken: VecDeque<Bytes>,
    pub(crate) rest: Rest,
    size: usize,
}

impl Held {
    pub(crate) fn new(body: Incoming) -> Self {
        let rest = if body.is_end_stream() { Rest::Nothing } else { Rest::Stream(body) };
        Self { taken: VecDeque::new(), rest, size: 0 }
    }

    /// The decoded body if this is a refusal, and not too large a one; of a stream the data of the event that says so.
    pub(crate) async fn refusal(
        &mut self,
        status: StatusCode,
        headers: &HeaderMap,
        caution: Caution,
        limits: &Limits,
    ) -> Option<Bytes> {
        if status.as_u16() < 400 {
            let promise = self.promise(status, headers, caution);
            match tokio::time::timeout(limits.held, promise).await.unwrap_or(Promise::Open) {
                Promise::Refused(said) => return Some(said),
                Promise::Error => {}
                Promise::Good | Promise::Open => return None,
            }
        }
        if tokio::time::timeout(limits.idle, self.take_all()).await.is_err() {
            return None;
        }
        let whole = matches!(self.rest, Rest::Nothing);
        let decoded = self.decoded(headers);
        let shown = whole && decoded.problem.is_none() && decoded.bytes.len() <= MAX_REFUSAL;
        (shown && (status.as_u16() >= 400 || is_error(&decoded.bytes))).then_some(decoded.bytes)
    }

    // What follows upon a good status, as far as a moment and a few pieces show.
    async fn promise(&mut self, status: StatusCode, headers: &HeaderMap, caution: Caution) -> Promise {
        let Some(form) = Form::of(headers).filter(|_| status == StatusCode::OK) else { return Promise::Good };
        if form == Form::Json && encoding::is_encoded(headers) {
            let length =
                headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
            if length.is_some_and(|length| length > MAX_PEEK) {
                return Promise::Good;
            }
        }
        loop {
            let more = self.take_one().await;
            let is_all = matches!(self.rest, Rest::Nothing);
            let promise = form.promise(&self.decoded(headers).bytes, is_all);
            let is_seen = form == Form::Events && caution == Caution::Usual && self.size > 0;
            if !matches!(promise, Promise::Open) || !more || is_seen || self.size > MAX_PEEK {
                return promise;
            }
        }
    }

    fn decoded(&self, headers: &HeaderMap) -> encoding::Decoded {
        let chunks: Vec<Bytes> = self.taken.iter().cloned().collect();
        encoding::decode_chunks(headers, &chunks)
    }

    async fn take_all(&mut self) {
        while self.size <= MAX_REFUSAL && self.take_one().await {}
    }

    // May be given up at any time: a piece is either still to come or already here.
    async fn take_one(&mut self) -> bool {
        let Rest::Stream(body) = &mut self.rest else { return false };
        match body.frame().await {
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    self.size += data.len();
                    self.taken.push_back(data);
                }
                if body.is_end_stream() {
                    self.rest = Rest::Nothing;
                }
                true
            }
            Some(Err(_)) => {
                self.rest = Rest::Broken(Broken::Cut);
                false
            }
            None => {
                self.rest = Rest::Nothing;
                false
            }
        }
    }
}

/// What the beginning of an answer says of the rest.
enum Promise {
    /// It is an answer.
    Good,
    /// It says too little yet.
    Open,
    /// It begins like an error.
    Error,
    /// It is an error that says this.
    Refused(Bytes),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Events,
}

impl Form {
    fn of(headers: &HeaderMap) -> Option<Self> {
        let content_type = headers.get(CONTENT_TYPE)?.to_str().ok()?.to_ascii_lowercase();
        if content_type.starts_with("application/json") {
            Some(Self::Json)
        } else if content_type.starts_with("text/event-stream") {
            Some(Self::Events)
        } else {
            None
        }
    }

    fn promise(self, begun: &[u8], is_all: bool) -> Promise {
        match self {
            // Some servers answer with plain JSON where a stream was asked for, to tell an error.
            Self::Json => promise_of_json(begun),
            Self::Events if begun.trim_ascii_start().starts_with(b"{") => promise_of_json(begun),
            Self::Events => promise_of_events(begun, is_all),
        }
    }
}

fn promise_of_json(begun: &[u8]) -> Promise {
    // Spaces between the words of JSON say nothing.
    let text: String = begun.iter().take(64).map(|byte| char::from(*byte)).collect();
    let text: String = text.split_whitespace().collect();
    let errors = [r#"{"error":"#, r#"{"type":"error""#, r#"{"object":"error""#];
    if errors.iter().any(|error| text.starts_with(error)) {
        Promise::Error
    } else if begun.len() < 64 && errors.iter().any(|error| error.starts_with(&text)) {
        Promise::Open
    } else {
        Promise::Good
    }
}

fn promise_of_events(begun: &[u8], is_all: bool) -> Promise {
    let mut events = Events::default();
    let mut seen = events.push(begun);
    seen.extend(events.end().filter(|_| is_all));
    for event in seen {
        if event.name == "error" {
            return Promise::Refused(Bytes::from(event.data));
        }
        let Ok(data) = serde_json::from_str::<Value>(&event.data) else { return Promise::Good };
        let kind = data["type"].as_str().unwrap_or(&event.name);
        let says_error = |value: &Value| value.get("error").is_some_and(|error| !error.is_null());
        if kind == "error" || says_error(&data) {
            return Promise::Refused(Bytes::from(event.data));
        }
        if kind == "response.failed" && says_error(&data["response"]) {
            let told = serde_json::json!({"error": data["response"]["error"]});
            return Promise::Refused(Bytes::from(told.to_string()));
        }
        if !PRELUDE.contains(&kind) {
            return Promise::Good;
        }
    }
    Promise::Open
}

// An answer that holds anything beside the error is one.
fn is_error(body: &[u8]) -> bool {
    let Ok(Value::Object(members)) = serde_json::from_slice::<Value>(body) else { return false };
    let says_error = members.get("error").is_some_and(|error| !error.is_null())
        || members.get("object").and_then(Value::as_str) == Some("error");
    says_error && !["choices", "output", "content"].iter().any(|name| members.contains_key(*name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(form: Form, begun: &str) -> String {
        match form.promise(begun.as_bytes(), false) {
            Promise::Good => "good".to_owned(),
            Promise::Open => "open".to_owned(),
            Promise::Error => "error".to_owned(),
            Promise::Refused(said) => String::from_utf8(said.to_vec()).unwrap(),
        }
    }

    #[test]
    fn the_beginning_of_an_answer_tells_whether_it_is_one() {
        let created = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"error\":null}}\n\n";
        let failed = "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"x\"}}}\n\n";
        let delta = "data: {\"type\":\"response.output_text.delta\",\"delta\":\"a\"}\n\n";
        let cases = [
            (Form::Json, "", "open"),
            (Form::Json, "{ \"err", "open"),
            (Form::Json, "{ \"error\" : {", "error"),
            (Form::Json, "{\"id\":1}", "good"),
            (Form::Events, "", "open"),
            (Form::Events, ": hello\n\nevent: err", "open"),
            (Form::Events, "event: error\ndata: {\"a\":1}\n\n", "{\"a\":1}"),
            (Form::Events, "data: {\"error\":{\"code\":1}}\n\n", "{\"error\":{\"code\":1}}"),
            (Form::Events, "{\"error\":{}}", "error"),
            (Form::Events, created, "open"),
            (Form::Events, &format!("{created}{failed}"), "{\"error\":{\"code\":\"x\"}}"),
            (Form::Events, &format!("{created}{delta}{failed}"), "good"),
            (Form::Events, "event: ping\ndata: {\"type\":\"ping\"}\n\n", "open"),
            (Form::Events, "event: message_start\ndata: {\"type\":\"message_start\"}\n\n", "good"),
            (Form::Events, "data: {\"choices\":[]}\n\n", "good"),
            (Form::Events, "data: [DONE]\n\n", "good"),
        ];
        for (form, begun, expected) in cases {
            assert_eq!(told(form, begun), expected, "{begun}");
        }
    }

    #[test]
    fn a_stream_that_ends_without_an_empty_line_is_read_to_its_end() {
        let begun = b"event: error\ndata: too long\n";
        assert!(matches!(Form::Events.promise(begun, false), Promise::Open));
        assert!(matches!(Form::Events.promise(begun, true), Promise::Refused(said) if said == "too long"));
    }
}

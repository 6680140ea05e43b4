//! What a provider's reply said: the messages that it adds to the conversation, and what it cost.
//!
//! A reply is read when it has ended, from the bytes that were passed on. What came at once is copied as it was written; what
//! came in deltas is put together as the providers' own libraries do it. Events that cannot be read are passed over. A
//! stream that was cut gives what had come: half a text is kept, half a tool call is not, for nobody can send one back.

mod anthropic;
mod chat;
mod responses;
mod tree;
mod usage;

use std::borrow::Cow;

use epitome_core::Usage;
use serde::de::IgnoredAny;

use crate::dialect::Dialect;
use crate::json::Span;
use crate::node::{Node, Object};
use crate::sse::{Event, Events};

/// What came out of a call, as its dialect writes it into the history of the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// JSON, ready to be recorded: of Anthropic and Chat Completions at most one message, of Responses every item that was
    /// put out. Of several choices of Chat Completions only the first is the conversation.
    pub messages: Vec<String>,
    /// What was billed, where the provider says so.
    pub usage: Option<Usage>,
    /// The model that answered.
    pub model: Option<String>,
    /// The id of the reply.
    pub id: Option<String>,
    /// Why the model stopped, in the provider's words.
    pub stop: Option<String>,
    /// Whether the provider took something out of what it was sent before the model saw it; nothing where it does not say.
    pub is_edited: Option<bool>,
    /// Whether the reply ended by itself and `messages` hold all of it.
    pub is_whole: bool,
    /// The JSON of an error that came in place of the reply or in the midst of it.
    pub error: Option<String>,
}

/// Reads a reply from its bytes, in whatever pieces they came.
///
/// `is_stream` says whether the reply is a stream of events. Some servers answer with plain JSON where a stream was asked
/// for, to tell an error; that is seen by itself.
///
/// ```
/// use epitome_wire::Dialect;
/// use epitome_wire::reply::read_answer;
///
/// let chunks: [&[u8]; 3] = [
///     b"data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"Go",
///     b"od\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\" day\"},\"finish_reason\":\"stop\"}]}\n\n",
///     b"data: [DONE]\n\n",
/// ];
/// let answer = read_answer(Dialect::Chat, true, chunks.into_iter());
/// assert_eq!(answer.messages, [r#"{"role":"assistant","content":"Good day"}"#]);
/// assert!(answer.is_whole);
/// ```
pub fn read_answer<'a>(dialect: Dialect, is_stream: bool, chunks: impl Iterator<Item = &'a [u8]>) -> Answer {
    let mut chunks = chunks.skip_while(|chunk| chunk.trim_ascii_start().is_empty()).peekable();
    let is_json = chunks.peek().is_some_and(|chunk| chunk.trim_ascii_start().starts_with(b"{"));
    match (is_stream && !is_json, dialect) {
        (false, _) => whole(dialect, chunks),
        (true, Dialect::Anthropic) => stream::<anthropic::Stream>(chunks),
        (true, Dialect::Chat) => stream::<chat::Stream>(chunks),
        (true, Dialect::Responses) => stream::<responses::Stream>(chunks),
    }
}

/// What is known of a stream so far.
trait Reading: Default {
    /// Takes an event that is an object and no error; `None` where it cannot be read.
    fn event(&mut self, answer: &mut Answer, event: &Object<'_>) -> Option<()>;

    /// Puts the messages together.
    fn end(self, answer: &mut Answer);
}

fn stream<'a, R: Reading>(chunks: impl Iterator<Item = &'a [u8]>) -> Answer {
    let (mut events, mut reading, mut answer) = (Events::default(), R::default(), Answer::default());
    for chunk in chunks {
        for event in events.push(chunk) {
            take(&mut reading, &mut answer, &event);
        }
    }
    // Where the very end is cut, it is no JSON and passed over.
    if let Some(last) = events.end() {
        take(&mut reading, &mut answer, &last);
    }
    reading.end(&mut answer);
    answer.is_whole &= answer.error.is_none();
    answer
}

fn take<R: Reading>(reading: &mut R, answer: &mut Answer, event: &Event) {
    if event.data.trim() == "[DONE]" {
        answer.is_whole = true;
        return;
    }
    let Some(object) = object_of(&event.data) else { return };
    let is_error = event.name == "error" || text(&object, "type").as_deref() == Some("error");
    if is_error || has(&object, "error") {
        answer.error.get_or_insert_with(|| event.data.clone());
        return;
    }
    // What an event says before the place where it stops making sense counts.
    let _ = reading.event(answer, &object);
}

fn whole<'a>(dialect: Dialect, chunks: impl Iterator<Item = &'a [u8]>) -> Answer {
    let mut body = Vec::new();
    chunks.for_each(|chunk| body.extend_from_slice(chunk));
    let body = String::from_utf8_lossy(&body);
    let body = body.trim_start_matches('\u{feff}').trim();
    let mut answer = Answer::default();
    let Some(reply) = object_of(body) else { return answer };
    if dialect != Dialect::Responses && has(&reply, "error") {
        answer.error = Some(body.to_owned());
        return answer;
    }
    let _ = match dialect {
        Dialect::Anthropic => anthropic::whole(&mut answer, &reply),
        Dialect::Chat => chat::whole(&mut answer, &reply),
        Dialect::Responses => responses::whole(&mut answer, &reply),
    };
    answer.is_whole &= answer.error.is_none();
    answer
}

fn object_of(json: &str) -> Option<Object<'_>> {
    let json = json.trim_matches([' ', '\n', '\r', '\t']);
    serde_json::from_str::<IgnoredAny>(json).ok()?;
    Node::new(json, Span { start: 0, end: json.len() }).object().ok()?
}

/// The string under `key`, if there is one that says something.
fn text<'a>(object: &Object<'a>, key: &str) -> Option<Cow<'a, str>> {
    object.get(key)?.string().ok()?.filter(|text| !text.is_empty())
}

fn owned(object: &Object<'_>, key: &str) -> Option<String> {
    text(object, key).map(Cow::into_owned)
}

/// The object under `key`.
fn inner<'a>(object: &Object<'a>, key: &str) -> Option<Object<'a>> {
    object.get(key)?.object().ok()?
}

fn has(object: &Object<'_>, key: &str) -> bool {
    object.get(key).is_some_and(|value| !value.is_null())
}

/// Notes model and id, each as it is first told.
fn note_names(answer: &mut Answer, object: &Object<'_>) {
    answer.model = answer.model.take().or_else(|| owned(object, "model"));
    answer.id = answer.id.take().or_else(|| owned(object, "id"));
}

//! What the conformance tests of the seeds share: messages of known sizes, a summariser that tells what it was asked, shapes.

use std::sync::{Arc, Condvar, Mutex};

use epitome::{Builder, Reply, Session};
use epitome_core::Tokens;
use epitome_core::compact::{Fallback, Preset, Segment, Summarizer, SummaryError, SummaryRequest};
use epitome_core::settings::Settings;

use crate::support::Place;

/// A preset's settings with its seed's own way of failing.
pub(crate) fn literal(preset: Preset) -> Settings {
    let mut settings = preset.settings();
    settings.compact.fallback = Fallback::Seed;
    settings
}

/// An engine of a seed's numbers, with the window that the seeds have in mind, and a model whose tokens are ours.
pub(crate) fn of_seed(place: &Place, settings: Settings) -> Builder {
    place.builder().model("gpt-4o").window(Tokens(200_000)).settings(settings)
}

/// A text of exactly so many tokens.
pub(crate) fn words(tokens: usize) -> String {
    format!("word{}", " word".repeat(tokens.saturating_sub(1)))
}

/// Says something of so many tokens, its frame included: the user first, then the model, by turns.
pub(crate) async fn chat(session: &Session, messages: usize, tokens: usize) {
    let said = session.info().await.unwrap().messages;
    for number in said..said + messages as u64 {
        speak(session, number, words(tokens - 4)).await;
    }
}

/// Says `msg 1`, `msg 2` and so on, by turns.
pub(crate) async fn numbered(session: &Session, messages: usize) {
    let said = session.info().await.unwrap().messages;
    for number in said..said + messages as u64 {
        speak(session, number, format!("msg {}", number + 1)).await;
    }
}

async fn speak(session: &Session, number: u64, text: String) {
    match number.is_multiple_of(2) {
        true => drop(session.append(text).await.unwrap()),
        false => drop(session.reply(Reply::text(text)).await.unwrap()),
    }
}

/// A checkpoint that passes validation.
pub(crate) fn checkpoint(goal: &str) -> String {
    let context = "- a path that must not get lost: src/engine/mod.rs\n".repeat(5);
    format!("## Goal\n{goal}\n\n## Progress\n### Done\n- [x] looked around\n\n## Critical Context\n{context}")
}

/// What a summariser was asked: how many messages from which one on, to be merged with what.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asked {
    pub(crate) first: usize,
    pub(crate) messages: usize,
    pub(crate) previous: Vec<String>,
}

/// Writes what it was told to write, and remembers what it was asked. While it is closed it writes nothing.
#[derive(Clone, Default)]
pub(crate) struct Scribe(Arc<(Mutex<Desk>, Condvar)>);

#[derive(Default)]
struct Desk {
    text: Option<String>,
    asked: Vec<Asked>,
    closed: bool,
}

impl Scribe {
    /// Writes this.
    pub(crate) fn new(text: &str) -> Self {
        let scribe = Self::default();
        scribe.write(text);
        scribe
    }

    /// Has no connection.
    pub(crate) fn broken() -> Self {
        Self::default()
    }

    /// From now on it writes this.
    pub(crate) fn write(&self, text: &str) {
        self.0.0.lock().unwrap().text = Some(text.to_owned());
    }

    pub(crate) fn close(&self) {
        self.0.0.lock().unwrap().closed = true;
    }

    pub(crate) fn open(&self) {
        self.0.0.lock().unwrap().closed = false;
        self.0.1.notify_all();
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.0.0.lock().unwrap().asked.clone()
    }

    /// Waits until it is asked for the so-manieth time.
    pub(crate) async fn until_asked(&self, times: usize) {
        while self.asked().len() < times {
            tokio::task::yield_now().await;
        }
    }
}

impl Summarizer for Scribe {
    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        let (first, messages) = (request.first, request.messages.len());
        let mut desk = self.0.0.lock().unwrap();
        desk.asked.push(Asked { first, messages, previous: request.previous.to_vec() });
        let desk = self.0.1.wait_while(desk, |desk| desk.closed).unwrap();
        desk.text.clone().ok_or_else(|| SummaryError("no connection".to_owned()))
    }
}

/// The compaction in force in short: `V0..1 S1..19 V19..25`.
pub(crate) async fn shape(session: &Session) -> String {
    let Some((_, record)) = session.compaction().await.unwrap() else { return String::new() };
    let letter = |segment: &Segment| match segment {
        Segment::Verbatim { .. } => "V",
        Segment::Pruned { .. } => "P",
        Segment::Summary { .. } => "S",
        Segment::Omitted { .. } => "O",
    };
    let segments = record.compaction.segments.iter();
    let segments = segments.map(|segment| format!("{}{:?}", letter(segment), segment.range()));
    segments.collect::<Vec<_>>().join(" ")
}

/// What is sent, in short: who speaks, and the text.
pub(crate) async fn lines(session: &Session) -> Vec<String> {
    let sent = session.context().await.unwrap().decoded().unwrap();
    sent.iter().map(|message| format!("{}: {}", message.role, text_of(message))).collect()
}

/// The texts of a message.
pub(crate) fn text_of(message: &epitome_core::Message) -> String {
    let texts = message.blocks.iter().filter_map(epitome_core::prune::text_of);
    texts.collect::<Vec<_>>().join(" ")
}

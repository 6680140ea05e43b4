//! Sketches: what is known of messages that come again with every request.
//!
//! Clients of stateless APIs send the whole history each time. A message is read and counted once; from
//! then on it costs a hash of its bytes and a look-up, for a long history one of every 32 messages.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use epitome_core::prune::{
    Mark, Size, Subject, TextFacts, field_bytes, json_bytes, moved_breakpoint, render, text_of,
};
use epitome_core::tokens::{ContentCache, Counter};
use epitome_core::{ContentHash, Outline, Tokens};

use crate::body::Body;
use crate::dialect::Dialect;
use crate::error::WireError;
use crate::json::Span;
use crate::layout::Layout;
use crate::message::decode_message;

/// What is known of a message without its text: its outline, and where its blocks stand in its bytes.
#[derive(Debug)]
pub struct Sketch {
    /// What decisions are made on.
    pub outline: Arc<Outline>,
    /// What edits are made by; spans count from the start of the message.
    pub layout: Layout,
    dialect: Dialect,
    prints: Mutex<Vec<Print>>,
}

/// What a block becomes under a mark.
#[derive(Debug)]
pub(crate) struct Print {
    block: usize,
    mark: Mark,
    speaker: String,
    pub(crate) text: String,
    pub(crate) size: Size,
}

/// A block is trimmed, later cleared, and rarely more than that; settings may change in between.
const PRINTS: usize = 16;

impl Sketch {
    /// Reads and counts a message.
    pub fn of(dialect: Dialect, json: &str, counter: &Counter) -> Result<Self, WireError> {
        let (message, layout) = decode_message(dialect, json)?;
        let outline = Arc::new(layout.outline(&message, counter));
        Ok(Self { outline, layout, dialect, prints: Mutex::default() })
    }

    /// Reads what a block of this message, whose bytes are `json`, becomes under `mark`.
    ///
    /// `None` where the block has no text that could be changed.
    pub(crate) fn print<T>(
        &self,
        json: &str,
        subject: &Subject<'_>,
        mark: Mark,
        counter: &Counter,
        read: impl Fn(&Print) -> T,
    ) -> Option<T> {
        let same = |print: &&Print| {
            print.block == subject.block && print.mark == mark && print.speaker == subject.speaker
        };
        if let Some(print) = locked(&self.prints).iter().find(same) {
            return Some(read(print));
        }
        self.layout.blocks.get(subject.block)?.text?;
        let (message, _) = decode_message(self.dialect, json).ok()?;
        let text = text_of(message.blocks.get(subject.block)?)?;
        let text = render(mark, &text, subject.speaker, &TextFacts::of(subject.outline)?)?;
        let moved = moved_breakpoint(&message, subject.block).map_or(0, field_bytes);
        let size = Size { tokens: counter.text(&text), bytes: json_bytes(&text) + moved };
        let speaker = subject.speaker.to_owned();
        let print = Print { block: subject.block, mark, speaker, text, size };
        let found = read(&print);
        let mut prints = locked(&self.prints);
        if prints.len() >= PRINTS {
            prints.clear();
        }
        prints.push(print);
        Some(found)
    }
}

/// Messages that are looked up together.
///
/// A history that grows at its end keeps its runs of this many messages, counted from its start. One long
/// stretch is hashed several times faster than its messages one by one.
const RUN: usize = 32;

/// The sketches of the messages seen lately, for any number of threads.
#[derive(Debug)]
pub struct Sketches {
    counter: Counter,
    messages: Mutex<ContentCache<Arc<Sketch>>>,
    runs: Mutex<ContentCache<Arc<[Arc<Sketch>]>>>,
    texts: Mutex<ContentCache<Tokens>>,
}

impl Sketches {
    /// Remembers at most `capacity` messages, counted by `counter`, as many in runs, and the counts of as many texts.
    pub fn new(counter: Counter, capacity: usize) -> Self {
        let messages = Mutex::new(ContentCache::new(capacity));
        let runs = Mutex::new(ContentCache::new(capacity / RUN));
        Self { counter, messages, runs, texts: Mutex::new(ContentCache::new(capacity)) }
    }

    /// What counts the messages.
    pub fn counter(&self) -> &Counter {
        &self.counter
    }

    /// The tokens of a text that is no message: a summary, or the words around it.
    pub fn text(&self, text: &str) -> Tokens {
        let hash = ContentHash::of(text.as_bytes());
        if let Some(known) = locked(&self.texts).get(&hash) {
            return known;
        }
        let tokens = self.counter.text(text);
        locked(&self.texts).insert(hash, tokens);
        tokens
    }

    /// The sketches of a body's messages, in order.
    pub fn of(&self, body: &Body<'_>) -> Result<Vec<Arc<Sketch>>, WireError> {
        let mut sketches = Vec::with_capacity(body.messages().len());
        for spans in body.messages().chunks(RUN) {
            match spans {
                [first, .., last] if spans.len() == RUN => {
                    let run = Span { start: first.start, end: last.end };
                    self.run(body, run, spans, &mut sketches)?;
                }
                _ => self.each(body, spans, &mut sketches)?,
            }
        }
        Ok(sketches)
    }

    fn run(
        &self,
        body: &Body<'_>,
        run: Span,
        spans: &[Span],
        sketches: &mut Vec<Arc<Sketch>>,
    ) -> Result<(), WireError> {
        let hash = ContentHash::of(run.of(body.text()).as_bytes());
        let known = locked(&self.runs).get(&hash).filter(|run| is_in(run.first(), body.dialect()));
        if let Some(known) = known {
            sketches.extend_from_slice(&known);
            return Ok(());
        }
        let start = sketches.len();
        self.each(body, spans, sketches)?;
        if let Some(new) = sketches.get(start..) {
            locked(&self.runs).insert(hash, new.into());
        }
        Ok(())
    }

    fn each(
        &self,
        body: &Body<'_>,
        spans: &[Span],
        sketches: &mut Vec<Arc<Sketch>>,
    ) -> Result<(), WireError> {
        for span in spans {
            let json = span.of(body.text());
            let hash = ContentHash::of(json.as_bytes());
            let known = locked(&self.messages).get(&hash).filter(|known| is_in(Some(known), body.dialect()));
            let sketch = match known {
                Some(known) => known,
                None => {
                    let index = sketches.len();
                    let sketch = Sketch::of(body.dialect(), json, &self.counter)
                        .map_err(|error| WireError::Message { index, source: Box::new(error) })?;
                    let sketch = Arc::new(sketch);
                    locked(&self.messages).insert(hash, Arc::clone(&sketch));
                    sketch
                }
            };
            sketches.push(sketch);
        }
        Ok(())
    }

    /// Messages remembered by themselves.
    pub fn len(&self) -> usize {
        locked(&self.messages).len()
    }

    /// Whether none is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

// The same bytes can be a message of two dialects, and mean different blocks.
fn is_in(sketch: Option<&Arc<Sketch>>, dialect: Dialect) -> bool {
    sketch.is_some_and(|sketch| sketch.dialect == dialect)
}

// No code that can panic runs under these locks, so what a poisoned one guards is still good.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

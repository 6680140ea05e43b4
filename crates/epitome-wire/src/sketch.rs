//! Sketches: what is known of messages that come again with every request.
//!
//! Clients of stateless APIs send the whole history each time. A message is read and counted once; from
//! then on it costs one hash of its bytes and one look-up.

use std::sync::{Arc, Mutex, PoisonError};

use epitome_core::tokens::{ContentCache, Counter};
use epitome_core::{ContentHash, Outline};

use crate::body::Body;
use crate::dialect::Dialect;
use crate::error::WireError;
use crate::layout::Layout;
use crate::message::decode_message;

/// What is known of a message without its text: its outline, and where its blocks stand in its bytes.
#[derive(Clone, Debug)]
pub struct Sketch {
    /// What decisions are made on.
    pub outline: Arc<Outline>,
    /// What edits are made by; spans count from the start of the message.
    pub layout: Layout,
    dialect: Dialect,
}

impl Sketch {
    /// Reads and counts a message.
    pub fn of(dialect: Dialect, json: &str, counter: &Counter) -> Result<Self, WireError> {
        let (message, layout) = decode_message(dialect, json)?;
        let outline = Arc::new(Outline::of(&message, counter, json.len()));
        Ok(Self { outline, layout, dialect })
    }
}

/// The sketches of the messages seen lately, for any number of threads.
#[derive(Debug)]
pub struct Sketches {
    counter: Counter,
    known: Mutex<ContentCache<Arc<Sketch>>>,
}

impl Sketches {
    /// Remembers at most `capacity` messages, counted by `counter`.
    pub fn new(counter: Counter, capacity: usize) -> Self {
        Self { counter, known: Mutex::new(ContentCache::new(capacity)) }
    }

    /// What counts the messages.
    pub fn counter(&self) -> &Counter {
        &self.counter
    }

    /// The sketches of a body's messages, in order.
    pub fn of(&self, body: &Body<'_>) -> Result<Vec<Arc<Sketch>>, WireError> {
        let hash = |span: &crate::json::Span| ContentHash::of(span.of(body.text()).as_bytes());
        let hashes: Vec<_> = body.messages().iter().map(hash).collect();
        // Hashing, reading and counting happen outside the lock.
        let found: Vec<_> = self.lock(|known| hashes.iter().map(|hash| known.get(hash)).collect());
        let mut sketches = Vec::with_capacity(found.len());
        let mut new = Vec::new();
        for (index, (hash, found)) in hashes.into_iter().zip(found).enumerate() {
            // The same bytes can be a message of two dialects, and mean different blocks.
            let known = found.filter(|sketch| sketch.dialect == body.dialect());
            sketches.push(match known {
                Some(sketch) => sketch,
                None => {
                    let sketch = Sketch::of(body.dialect(), body.message(index), &self.counter)
                        .map_err(|error| WireError::Message { index, source: Box::new(error) })?;
                    let sketch = Arc::new(sketch);
                    new.push((hash, Arc::clone(&sketch)));
                    sketch
                }
            });
        }
        if !new.is_empty() {
            self.lock(|known| new.into_iter().for_each(|(hash, sketch)| known.insert(hash, sketch)));
        }
        Ok(sketches)
    }

    /// Messages remembered.
    pub fn len(&self) -> usize {
        self.lock(|known| known.len())
    }

    /// Whether none is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    // No code that can panic runs under the lock, so a poisoned cache is still a good one.
    fn lock<T>(&self, use_it: impl FnOnce(&mut ContentCache<Arc<Sketch>>) -> T) -> T {
        use_it(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

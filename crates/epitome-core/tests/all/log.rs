//! A listener for tests: what was logged, as data.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Once;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// One event.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) level: &'static str,
    pub(crate) target: String,
    pub(crate) message: String,
    pub(crate) fields: HashMap<&'static str, String>,
}

thread_local! {
    static LINES: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// What `work` logs on this thread.
pub(crate) fn capture(work: impl FnOnce()) -> Vec<Line> {
    // One listener for the whole program: tests run side by side, and a listener that comes and goes
    // would make `tracing` forget that somebody listens.
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| tracing::subscriber::set_global_default(Listener).unwrap());
    LINES.take();
    work();
    LINES.take()
}

struct Listener;

impl Subscriber for Listener {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(HashMap::new());
        event.record(&mut fields);
        let message = fields.0.remove("message").unwrap_or_default();
        let metadata = event.metadata();
        let line = Line {
            level: metadata.level().as_str(),
            target: metadata.target().to_owned(),
            message,
            fields: fields.0,
        };
        LINES.with_borrow_mut(|lines| lines.push(line));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Fields(HashMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

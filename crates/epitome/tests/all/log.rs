//! A listener for tests: what was logged, as data.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, Once};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// One event.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) level: &'static str,
    pub(crate) target: String,
    pub(crate) message: String,
    pub(crate) fields: HashMap<&'static str, String>,
}

/// What one test logs, once it listens.
type Lines = Arc<Mutex<Option<Vec<Line>>>>;

thread_local! {
    /// The test that this thread works for.
    static LINES: RefCell<Lines> = RefCell::default();
}

/// What every thread of one test calls first.
pub(crate) fn of_one_test() -> impl Fn() + Clone + Send + Sync + 'static {
    // One listener for the whole program: one that comes and goes would make `tracing` forget that somebody listens.
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| tracing::subscriber::set_global_default(Listener).unwrap());
    let lines = Lines::default();
    move || LINES.set(Arc::clone(&lines))
}

/// Begins to listen.
pub(crate) fn listen() {
    LINES.with_borrow(|lines| *lines.lock().unwrap() = Some(Vec::new()));
}

/// What was logged under these targets since then, or since the last time.
pub(crate) fn heard(targets: &[&str]) -> Vec<Line> {
    let lines = LINES.with_borrow(|lines| lines.lock().unwrap().replace(Vec::new()).unwrap_or_default());
    lines.into_iter().filter(|line| targets.contains(&line.target.as_str())).collect()
}

struct Listener;

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("epitome")
    }

    fn event(&self, event: &Event<'_>) {
        LINES.with_borrow(|lines| {
            let mut lines = lines.lock().unwrap();
            let Some(lines) = lines.as_mut() else { return };
            let mut fields = Fields(HashMap::new());
            event.record(&mut fields);
            let message = fields.0.remove("message").unwrap_or_default();
            let (level, target) = (event.metadata().level().as_str(), event.metadata().target().to_owned());
            lines.push(Line { level, target, message, fields: fields.0 });
        });
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

//! A listener for tests: what was logged, as data.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, LazyLock, Mutex, Once};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// One event, with the fields of the spans around it.
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
    /// The spans that this thread is in.
    static WITHIN: RefCell<Vec<Id>> = const { RefCell::new(Vec::new()) };
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

/// The fields of all spans that there ever were.
static SPANS: LazyLock<Mutex<HashMap<u64, HashMap<&'static str, String>>>> = LazyLock::new(Mutex::default);

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
            let spans = SPANS.lock().unwrap();
            WITHIN.with_borrow(|within| {
                for known in within.iter().filter_map(|id| spans.get(&id.into_u64())) {
                    fields.0.extend(known.clone());
                }
            });
            event.record(&mut fields);
            let message = fields.0.remove("message").unwrap_or_default();
            let (level, target) = (event.metadata().level().as_str(), event.metadata().target().to_owned());
            lines.push(Line { level, target, message, fields: fields.0 });
        });
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut fields = Fields(HashMap::new());
        attributes.record(&mut fields);
        let mut spans = SPANS.lock().unwrap();
        let id = spans.len() as u64 + 1;
        spans.insert(id, fields.0);
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, id: &Id) {
        WITHIN.with_borrow_mut(|within| within.push(id.clone()));
    }

    fn exit(&self, id: &Id) {
        WITHIN.with_borrow_mut(|within| {
            let last = within.iter().rposition(|entered| entered == id);
            last.map(|last| within.remove(last));
        });
    }
}

struct Fields(HashMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

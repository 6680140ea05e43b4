//! The windows of several endpoints, each learnt by itself, for whoever asks them in turn.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use epitome_core::Tokens;

use crate::window::Window;

type Keeper = Arc<dyn Fn(&str, &Window) + Send + Sync>;

/// What was learnt of the windows of endpoints, by how they are shown. Clones are the same one.
#[derive(Clone, Default)]
pub struct Windows(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    windows: BTreeMap<String, Window>,
    keeper: Option<Keeper>,
}

impl fmt::Debug for Windows {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_map().entries(&self.known().windows).finish()
    }
}

impl Windows {
    /// Takes over what was learnt of an endpoint before.
    pub fn put(&self, endpoint: &str, window: Window) {
        self.known().windows.insert(endpoint.to_owned(), window);
    }

    /// Has this told whatever turns out to be another limit than before, so that it can be kept.
    pub fn kept_by(&self, keeper: impl Fn(&str, &Window) + Send + Sync + 'static) {
        self.known().keeper = Some(Arc::new(keeper));
    }

    /// What was learnt of an endpoint.
    pub fn of(&self, endpoint: &str) -> Option<Window> {
        self.known().windows.get(endpoint).copied()
    }

    /// How much to send to an endpoint at most; `None` while nothing speaks against any size.
    pub fn limit_of(&self, endpoint: &str) -> Option<Tokens> {
        self.of(endpoint)?.limit()
    }

    /// Learns something of an endpoint.
    pub(crate) fn learn<T>(&self, endpoint: &str, lesson: impl FnOnce(&mut Window) -> T) -> T {
        let mut known = self.known();
        let window = known.windows.entry(endpoint.to_owned()).or_default();
        let before = window.limit();
        let learnt = lesson(window);
        let after = *window;
        let keeper = known.keeper.clone().filter(|_| after.limit() != before);
        drop(known);
        if let Some(keeper) = keeper {
            keeper(endpoint, &after);
        }
        learnt
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

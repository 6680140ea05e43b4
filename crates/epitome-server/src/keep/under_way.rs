//! Calls that are being made: the same call is another one beside them, unless its client says that it tries again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use epitome::TurnId;

/// The turns of calls that are being made, and how many calls each.
#[derive(Clone, Default)]
pub(super) struct UnderWay(Arc<Mutex<HashMap<TurnId, usize>>>);

/// A call that is being made, until this is dropped.
pub(super) struct Mark(UnderWay, TurnId);

impl UnderWay {
    /// All of them.
    pub(super) fn all(&self) -> Vec<TurnId> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
    }

    /// A call of this turn is made.
    pub(super) fn mark(&self, turn: TurnId) -> Mark {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(turn).or_default() += 1;
        Mark(self.clone(), turn)
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let mut turns = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(calls) = turns.get_mut(&self.1) {
            *calls -= 1;
            if *calls == 0 {
                turns.remove(&self.1);
            }
        }
    }
}

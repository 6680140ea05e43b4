//! Tool calls that wait for their results.

use std::collections::HashMap;

use super::{Place, Side};

/// So many calls are searched one by one. A reply seldom makes more, and its results follow at once.
const FEW: usize = 16;

type Key<'a> = (&'a str, Side);

/// Calls by their ids: the newest in a list, the others in a map, so that neither few nor many take long to find.
#[derive(Default)]
pub(super) struct Waiting<'a> {
    newest: Vec<(Key<'a>, Place)>,
    others: HashMap<Key<'a>, Place>,
}

impl<'a> Waiting<'a> {
    /// Takes note of a call; the one with the same id that it supersedes.
    pub(super) fn add(&mut self, key: Key<'a>, call: Place) -> Option<Place> {
        let before = self.take(key);
        if self.newest.len() == FEW {
            self.others.extend(self.newest.drain(..));
        }
        self.newest.push((key, call));
        before
    }

    /// The call with this id, which waits no longer.
    pub(super) fn take(&mut self, key: Key<'a>) -> Option<Place> {
        match self.newest.iter().rposition(|(other, _)| *other == key) {
            Some(at) => Some(self.newest.remove(at).1),
            None if self.others.is_empty() => None,
            None => self.others.remove(&key),
        }
    }

    /// All calls that still wait, in any order.
    pub(super) fn rest(self) -> impl Iterator<Item = Place> {
        self.newest.into_iter().chain(self.others).map(|(_, call)| call)
    }
}

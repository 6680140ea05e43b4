//! The last call of each conversation, by whose bytes the next one is known.
//!
//! A client repeats with each call what it sent before, mostly byte for byte. So the next call of a conversation is the one that
//! shares the longest beginning with it, and only what is new in it has to be read.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use epitome::wire::{Scan, common_prefix};
use epitome::{Dialect, TenantId};

use super::request::Key;
use super::thread::Thread;
use crate::keeper::Call;

/// Where a conversation stands among all, in the order of the bytes of their last calls: whose it is, its dialect, that body, and when it was
/// last used. Of all bodies, one of the two neighbours of another shares the longest beginning with it.
pub(super) type Place = (TenantId, Dialect, Bytes, u64);

/// What a call shares with the last one of a conversation.
pub(super) struct Shared {
    pub(super) thread: Arc<Thread>,
    /// The body of that one.
    pub(super) last: Bytes,
    /// Where things stand in it.
    pub(super) scan: Scan,
    /// So many bytes both begin with.
    pub(super) common: usize,
}

impl Shared {
    fn of(thread: &Arc<Thread>, last: Bytes, common: usize) -> Option<Self> {
        let at = thread.at();
        let scan = std::ptr::eq(at.body.as_ptr(), last.as_ptr()).then(|| at.scan.clone())?;
        drop(at);
        Some(Self { thread: Arc::clone(thread), last, scan, common })
    }
}

/// All conversations that are at hand.
pub(super) struct Threads(Mutex<Held>);

struct Held {
    by_body: BTreeMap<Place, Arc<Thread>>,
    by_key: HashMap<Key, Vec<Arc<Thread>>>,
    /// By when they were last used, with the bytes that each holds.
    order: BTreeMap<u64, (Arc<Thread>, usize)>,
    next: u64,
    bytes: usize,
    limit: usize,
}

impl Threads {
    pub(super) fn new(limit: usize) -> Self {
        let (by_body, by_key, order) = (BTreeMap::new(), HashMap::new(), BTreeMap::new());
        Self(Mutex::new(Held { by_body, by_key, order, next: 1, bytes: 0, limit }))
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The conversation whose last call shares the longest beginning with this one, and how long that is.
    pub(super) fn alike(&self, tenant: TenantId, call: &Call) -> Option<Shared> {
        let (thread, last, common) = self.held().closest(tenant, call.dialect, &call.body)?;
        Shared::of(&thread, last, common)
    }

    /// The same among those whose first messages are equal and that the call may belong to.
    pub(super) fn find(&self, key: &Key, body: &Bytes, may_be: impl Fn(&Thread) -> bool) -> Option<Shared> {
        let mut alike = self.held().by_key.get(key)?.clone();
        alike.retain(|thread| may_be(thread));
        let shared = |thread: Arc<Thread>| {
            let last = thread.at().body.clone();
            let common = common_prefix(&last, body);
            (thread, last, common)
        };
        let (thread, last, common) = alike.into_iter().map(shared).max_by_key(|(_, _, common)| *common)?;
        Shared::of(&thread, last, common)
    }

    /// Takes a conversation in.
    pub(super) fn insert(&self, thread: Thread) -> Arc<Thread> {
        let thread = Arc::new(thread);
        let mut held = self.held();
        let alike = held.by_key.entry(thread.key).or_default();
        // Of a session the last call counts.
        let old = alike.iter().position(|other| other.session.id() == thread.session.id());
        let old = old.map(|at| alike.swap_remove(at));
        alike.push(Arc::clone(&thread));
        if let Some(old) = old {
            held.let_go(&old);
            held.forget_place(&old);
        }
        held.touch(&thread);
        thread
    }

    /// A conversation was used; those that rest longest give way.
    pub(super) fn touch(&self, thread: &Arc<Thread>) {
        self.held().touch(thread);
    }
}

impl Held {
    fn touch(&mut self, thread: &Arc<Thread>) {
        self.let_go(thread);
        let (stamp, bytes) = (self.next, thread.bytes());
        self.next += 1;
        self.forget_place(thread);
        let place = thread.place(stamp);
        thread.at().listed = Some(place.clone());
        self.by_body.insert(place, Arc::clone(thread));
        thread.at().stamp = stamp;
        self.order.insert(stamp, (Arc::clone(thread), bytes));
        self.bytes += bytes;
        while self.bytes > self.limit && self.order.len() > 1 {
            let Some((_, (oldest, bytes))) = self.order.pop_first() else { break };
            self.bytes -= bytes;
            if let Some(alike) = self.by_key.get_mut(&oldest.key) {
                alike.retain(|other| !Arc::ptr_eq(other, &oldest));
                if alike.is_empty() {
                    self.by_key.remove(&oldest.key);
                }
            }
            self.forget_place(&oldest);
        }
    }

    // The neighbours are searched one after the other, because each search compares bytes.
    fn closest(
        &self,
        tenant: TenantId,
        dialect: Dialect,
        body: &Bytes,
    ) -> Option<(Arc<Thread>, Bytes, usize)> {
        let shared = |((whose, of, last, _), thread): (&Place, &Arc<Thread>)| {
            let is_alike = (*whose, *of) == (tenant, dialect);
            is_alike.then(|| (Arc::clone(thread), last.clone(), common_prefix(last, body)))
        };
        let here = (tenant, dialect, body.clone(), 0);
        // A list that goes on is followed by a comma, which comes before the bracket that ended it.
        let behind = self.by_body.range(&here..).next().and_then(shared);
        if behind.as_ref().is_some_and(|(_, last, common)| *common >= last.len() / 8 * 7) {
            return behind;
        }
        let before = self.by_body.range(..&here).next_back().and_then(shared);
        behind.into_iter().chain(before).max_by_key(|(_, _, common)| *common)
    }

    fn forget_place(&mut self, thread: &Arc<Thread>) {
        if let Some(place) = thread.at().listed.take() {
            self.by_body.remove(&place);
        }
    }

    fn let_go(&mut self, thread: &Arc<Thread>) {
        let stamp = thread.at().stamp;
        if let Some((_, bytes)) = self.order.remove(&stamp) {
            self.bytes -= bytes;
        }
    }
}

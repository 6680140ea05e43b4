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

/// So many bytes of a call are told by before it is read.
const BEGINNING: usize = 32;
/// So many conversations that begin alike are compared.
const ALIKE: usize = 16;

/// What conversations are told by before they are read.
pub(super) type Beginning = (TenantId, Dialect, [u8; BEGINNING]);

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

fn closest(alike: &[Arc<Thread>], body: &Bytes) -> Option<Shared> {
    let shared = |thread: &Arc<Thread>| {
        let last = thread.at().body.clone();
        (Arc::clone(thread), common_prefix(&last, body), last)
    };
    let (thread, common, last) = alike.iter().map(shared).max_by_key(|(_, common, _)| *common)?;
    let scan = {
        let at = thread.at();
        std::ptr::eq(at.body.as_ptr(), last.as_ptr()).then(|| at.scan.clone())?
    };
    Some(Shared { thread, last, scan, common })
}

pub(super) fn beginning(tenant: TenantId, dialect: Dialect, body: &Bytes) -> Beginning {
    let mut first = [0; BEGINNING];
    first.iter_mut().zip(body).for_each(|(here, byte)| *here = *byte);
    (tenant, dialect, first)
}

/// All conversations that are at hand.
pub(super) struct Threads(Mutex<Held>);

struct Held {
    /// The last ones of those whose calls begin alike.
    by_beginning: HashMap<Beginning, Vec<Arc<Thread>>>,
    by_key: HashMap<Key, Vec<Arc<Thread>>>,
    /// By when they were last used, with the bytes that each holds.
    order: BTreeMap<u64, (Arc<Thread>, usize)>,
    next: u64,
    bytes: usize,
    limit: usize,
}

impl Threads {
    pub(super) fn new(limit: usize) -> Self {
        let (by_beginning, by_key, order) = (HashMap::new(), HashMap::new(), BTreeMap::new());
        Self(Mutex::new(Held { by_beginning, by_key, order, next: 1, bytes: 0, limit }))
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Among the conversations whose calls begin with the same few bytes, the one that shares the longest beginning with a call, and how
    /// long that is.
    pub(super) fn alike(&self, tenant: TenantId, call: &Call) -> Option<Shared> {
        let alike = self.held().by_beginning.get(&beginning(tenant, call.dialect, &call.body))?.clone();
        closest(&alike, &call.body)
    }

    /// The same among those whose first messages are equal and that the call may belong to.
    pub(super) fn find(&self, key: &Key, body: &Bytes, may_be: impl Fn(&Thread) -> bool) -> Option<Shared> {
        let mut alike = self.held().by_key.get(key)?.clone();
        alike.retain(|thread| may_be(thread));
        closest(&alike, body)
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
            held.forget_beginning(&old);
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
        self.forget_beginning(thread);
        let beginning = thread.beginning();
        thread.at().listed = Some(beginning);
        let alike = self.by_beginning.entry(beginning).or_default();
        if alike.len() >= ALIKE {
            alike.remove(0);
        }
        alike.push(Arc::clone(thread));
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
            self.forget_beginning(&oldest);
        }
    }

    fn forget_beginning(&mut self, thread: &Arc<Thread>) {
        let Some(beginning) = thread.at().listed.take() else { return };
        if let Some(alike) = self.by_beginning.get_mut(&beginning) {
            alike.retain(|other| !Arc::ptr_eq(other, thread));
            if alike.is_empty() {
                self.by_beginning.remove(&beginning);
            }
        }
    }

    fn let_go(&mut self, thread: &Arc<Thread>) {
        let stamp = thread.at().stamp;
        if let Some((_, bytes)) = self.order.remove(&stamp) {
            self.bytes -= bytes;
        }
    }
}

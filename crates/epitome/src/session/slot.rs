//! What this process holds of a session: its locks, and what is at hand of it.
//!
//! Two locks, and one order: whoever compacts holds the turnstile and takes the state only for moments, so that appends never
//! wait for a summary. Nobody who holds the state asks for the turnstile.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use epitome_core::Tokens;
use epitome_ledger::model::SessionId;

use super::beside::Beside;
use super::warm::Warm;
use crate::compaction::{Breaker, Preparation};

/// What is at hand of a session, if anything.
pub(crate) type State = Option<Box<Warm>>;

/// What this process holds of a session.
pub(crate) struct Slot {
    pub(crate) id: SessionId,
    /// What is at hand; taken out while it changes, so that whoever is interrupted leaves nothing half-changed.
    pub(crate) state: Arc<tokio::sync::Mutex<State>>,
    /// Held by whoever compacts.
    pub(crate) turnstile: Arc<tokio::sync::Mutex<Breaker>>,
    /// Held by whoever compacts although somebody else holds the turnstile and waits for a model.
    pub(crate) side_door: tokio::sync::Mutex<()>,
    /// A compaction that is prepared in the background.
    pub(crate) preparation: Mutex<Preparation>,
    /// What is sent beside the messages, where summaries are asked for behind it.
    pub(crate) beside: Mutex<Option<Arc<Beside>>>,
    /// Tokens of what is sent beside the messages.
    outside: AtomicU64,
    /// How often what was sent was refused as too long since something was last said.
    refusals: AtomicU32,
    /// Whether the provider cut the input of the call that was answered last.
    cut: AtomicBool,
    /// Whether thinking is left out of what is sent.
    bare: AtomicBool,
    /// Whether it was told that the window fills up, since there was room the last time.
    warned: AtomicBool,
    /// When it was last used, as the warmth of the engine counts.
    stamp: AtomicU64,
}

impl Slot {
    pub(crate) fn new(id: SessionId) -> Self {
        Self {
            id,
            state: Arc::default(),
            turnstile: Arc::default(),
            side_door: tokio::sync::Mutex::default(),
            preparation: Mutex::default(),
            beside: Mutex::default(),
            outside: AtomicU64::new(0),
            refusals: AtomicU32::new(0),
            cut: AtomicBool::new(false),
            bare: AtomicBool::new(false),
            warned: AtomicBool::new(false),
            stamp: AtomicU64::new(0),
        }
    }

    pub(crate) fn outside(&self) -> Tokens {
        Tokens(self.outside.load(Ordering::Relaxed))
    }

    /// What was sent was refused as too long, for the so-manieth time since something was said.
    pub(crate) fn refused(&self) -> u32 {
        self.refusals.fetch_add(1, Ordering::Relaxed).saturating_add(1)
    }

    /// Something was said: what is sent next is another request.
    pub(crate) fn begun(&self) {
        self.refusals.store(0, Ordering::Relaxed);
    }

    /// Takes note of whether the provider cut the input of the call that was just answered.
    pub(crate) fn set_cut(&self, is_cut: bool) {
        self.cut.store(is_cut, Ordering::Relaxed);
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.cut.load(Ordering::Relaxed)
    }

    /// From now on, thinking is left out of what is sent.
    pub(crate) fn strip(&self) {
        self.bare.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_bare(&self) -> bool {
        self.bare.load(Ordering::Relaxed)
    }

    /// Takes note of whether the window fills up, and says whether it just began to.
    pub(crate) fn begins_to_fill(&self, fills: bool) -> bool {
        !self.warned.swap(fills, Ordering::Relaxed) && fills
    }

    pub(crate) fn set_outside(&self, tokens: Tokens) {
        self.outside.store(tokens.0, Ordering::Relaxed);
    }
}

/// Which sessions are at hand, and when each was last used.
#[derive(Default)]
pub(crate) struct Warmth(Mutex<Held>);

#[derive(Default)]
struct Held {
    /// By when they were last used: the sessions and how many bytes each holds.
    order: BTreeMap<u64, (Weak<Slot>, usize)>,
    next: u64,
    bytes: usize,
    limit: usize,
}

impl Warmth {
    /// How many bytes may be at hand.
    pub(crate) fn limit(&self, bytes: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).limit = bytes;
    }

    /// A session was used and holds so much; those that rest longest give way.
    pub(crate) fn touch(&self, slot: &Arc<Slot>, bytes: usize) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.next += 1;
        let stamp = held.next;
        let before = slot.stamp.swap(stamp, Ordering::Relaxed);
        if let Some((_, bytes)) = held.order.remove(&before) {
            held.bytes -= bytes;
        }
        held.bytes += bytes;
        held.order.insert(stamp, (Arc::downgrade(slot), bytes));
        while held.bytes > held.limit && held.order.len() > 1 {
            let Some((_, (oldest, bytes))) = held.order.pop_first() else { break };
            held.bytes -= bytes;
            // One that is in use just now is touched again soon, and counted again then.
            if let Some(oldest) = oldest.upgrade()
                && let Ok(mut state) = oldest.state.try_lock()
            {
                *state = None;
                oldest.preparation.lock().unwrap_or_else(PoisonError::into_inner).forget();
            }
        }
    }
}

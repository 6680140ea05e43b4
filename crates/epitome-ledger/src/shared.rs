//! What all connections of a ledger share: the clock, and what never changes once it was read.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use epitome_core::Time;

use crate::body::Packs;
use crate::model::{SessionId, TenantId};
use crate::store::landing::Known;

/// Where a ledger takes the time from.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Time + Send + Sync>);

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self::of(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
        })
    }

    /// Another clock, for those who must decide what time it is.
    pub fn of(clock: impl Fn() -> Time + Send + Sync + 'static) -> Self {
        Self(Arc::new(clock))
    }

    /// What time it is.
    pub fn now(&self) -> Time {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Clock({})", self.now().0)
    }
}

/// Sessions whose standing is remembered; beyond that, all are forgotten.
const SESSIONS: usize = 4096;

/// Shared by all connections of a ledger.
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    pub(crate) packs: Packs,
    /// Arrivals that were found in a SQLite file when it was opened.
    left_behind: AtomicUsize,
    tenants: Mutex<HashMap<TenantId, i64>>,
    sessions: Mutex<HashMap<(TenantId, SessionId), Known>>,
}

impl Shared {
    pub(crate) fn new(clock: Clock) -> Self {
        let left_behind = AtomicUsize::new(0);
        Self {
            clock,
            packs: Packs::default(),
            left_behind,
            tenants: Mutex::default(),
            sessions: Mutex::default(),
        }
    }

    /// How many arrivals whoever ended had left behind when this process came.
    pub(crate) fn left_behind(&self) -> usize {
        self.left_behind.load(Ordering::Relaxed)
    }

    /// Remembers how many arrivals were found at opening.
    pub(crate) fn found_left_behind(&self, count: usize) {
        self.left_behind.store(count, Ordering::Relaxed);
    }

    /// The key of a tenant that was met before.
    pub(crate) fn tenant(&self, id: TenantId) -> Option<i64> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner).get(&id).copied()
    }

    /// Where a session stood when this process last wrote to it. Others may have written since.
    pub(crate) fn known(&self, tenant: TenantId, session: SessionId) -> Option<Known> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).get(&(tenant, session)).cloned()
    }

    /// Remembers where a session stands, as it was committed.
    pub(crate) fn remember(&self, tenant: TenantId, known: Known) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= SESSIONS {
            sessions.clear();
        }
        sessions.insert((tenant, known.standing.session.id), known);
    }

    /// Remembers the key of a tenant, which must be committed: it is never forgotten.
    pub(crate) fn remember_tenant(&self, id: TenantId, key: i64) {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner).insert(id, key);
    }
}

//! What stands around the turns of a session: known beginnings, notes, leases, events.

use std::time::Duration;

use epitome_core::RecallId;

use super::{Ledger, work};
use crate::error::Result;
use crate::model::{
    ChainHash, Event, EventFilter, EventReceipt, Expect, Hit, KnownPrefix, Lease, NewEvent, NewNote, Note,
    Recalled, Search, SessionId, TenantId, TurnId,
};
use crate::page::{Page, Paging};
use crate::sqlite::Need;
use crate::store::{event, lease, note, prefix, recall, search, tenant};

impl Ledger {
    /// The longest beginning of a conversation that is recorded, of which these are the chain hashes of all messages.
    pub async fn find_prefix(&self, tenant: TenantId, chains: Vec<ChainHash>) -> Result<Option<KnownPrefix>> {
        self.read(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            prefix::find(sql, tenant, &chains).await
        }))
        .await
    }

    /// The message recorded last that holds a text of this recall id.
    pub async fn recall(&self, tenant: TenantId, id: RecallId) -> Result<Option<Recalled>> {
        self.read(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            recall::find(sql, tenant, id).await
        }))
        .await
    }

    /// Records a note at the head of a session: a pin, the end of one, the seal of a topic.
    pub async fn note(&self, tenant: TenantId, expect: Expect, new: NewNote) -> Result<Note> {
        self.write(work!(sql => note::add(sql, tenant, expect, new).await)).await
    }

    /// All notes on the path of a session, in the order in which they were made.
    pub async fn notes(&self, tenant: TenantId, session: SessionId) -> Result<Vec<Note>> {
        self.read(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            note::list(sql, tenant, session).await
        }))
        .await
    }

    /// Takes the lease of a session. A holder who takes it again gets a new fence; somebody else waits until it ends.
    pub async fn acquire_lease(
        &self,
        tenant: TenantId,
        session: SessionId,
        holder: impl Into<String>,
        lasts: Duration,
    ) -> Result<Lease> {
        let holder = holder.into();
        self.write_session(work!(sql => lease::acquire(sql, tenant, session, holder, lasts).await)).await
    }

    /// Makes a lease last so long from now, unless somebody else has taken it since.
    pub async fn renew_lease(&self, tenant: TenantId, lease: Lease, lasts: Duration) -> Result<Lease> {
        self.write_session(work!(sql => lease::renew(sql, tenant, lease, lasts).await)).await
    }

    /// Gives a lease back before it ends.
    pub async fn release_lease(&self, tenant: TenantId, lease: Lease) -> Result<()> {
        self.write_session(work!(sql => lease::release(sql, tenant, lease).await)).await
    }

    /// Records what happened on a channel, once. What is told otherwise than before is recorded as another version of it.
    pub async fn append_event(&self, tenant: TenantId, new: NewEvent) -> Result<EventReceipt> {
        self.record(Need::Order, 1, work!(sql => event::append(sql, tenant, new).await)).await
    }

    /// Says that an event led to a turn.
    pub async fn link_event(&self, tenant: TenantId, event: u64, turn: TurnId) -> Result<()> {
        self.write(work!(sql => {
            let tenant = tenant::known_to_writer(sql, tenant).await?;
            event::link(sql, tenant, event, turn).await
        }))
        .await
    }

    /// What happened on the channels, the latest recorded first.
    pub async fn events(&self, tenant: TenantId, filter: EventFilter, paging: Paging) -> Result<Page<Event>> {
        self.read(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            event::list(sql, tenant, filter, paging).await
        }))
        .await
    }

    /// The events that led to a turn.
    pub async fn events_of_turn(&self, tenant: TenantId, turn: TurnId) -> Result<Vec<Event>> {
        self.read(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            event::of_turn(sql, tenant, turn).await
        }))
        .await
    }

    /// Searches messages, summaries and events.
    ///
    /// The best come in one page; the newest in any number of them. A page may be short and still have a next one.
    pub async fn search(&self, tenant: TenantId, search: Search, paging: Paging) -> Result<Page<Hit>> {
        // What is indexed meanwhile would be found twice otherwise, or not at all.
        self.read(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            search::run(sql, tenant, search, paging).await
        }))
        .await
    }
}

//! The ledger of events beside the sessions: what happened on the channels outside. It is never compacted.

use epitome_ledger::model::{Event, EventFilter, EventReceipt, NewEvent, TurnId};
use epitome_ledger::{Page, Paging};

use crate::engine::Engine;
use crate::error::Result;

impl Engine {
    /// Records what happened on a channel. What is told twice is recorded once; what is told otherwise is another version.
    pub async fn append_event(&self, new: NewEvent) -> Result<EventReceipt> {
        Ok(self.0.ledger.append_event(self.0.tenant, new).await?)
    }

    /// What happened on the channels, what was recorded last first.
    pub async fn events(&self, filter: EventFilter, paging: Paging) -> Result<Page<Event>> {
        Ok(self.0.ledger.events(self.0.tenant, filter, paging).await?)
    }

    /// Says that an event led to a turn.
    pub async fn link_event(&self, event: u64, turn: TurnId) -> Result<()> {
        Ok(self.0.ledger.link_event(self.0.tenant, event, turn).await?)
    }

    /// The events that led to a turn.
    pub async fn events_of_turn(&self, turn: TurnId) -> Result<Vec<Event>> {
        Ok(self.0.ledger.events_of_turn(self.0.tenant, turn).await?)
    }
}

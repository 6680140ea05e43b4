//! A client that makes its history smaller by itself: the conversation begins anew, with a summary, and is recorded as what it is, the
//! same one going on.
//!
//! It is told by what stays the same: the name that the client gives to its calls, the program, its instructions and its tools. That it
//! goes on elsewhere is an event of the new session's first turn.

use epitome::ledger::Clock;
use epitome::ledger::model::NewEvent;
use epitome::{Arrived, Course, SessionId};
use serde_json::json;
use std::time::Duration;

use super::Inner;
use super::links::Link;
use super::request::Request;

/// What has said less than so many messages was not made smaller.
const SHORTEST: u64 = 4;

impl Inner {
    /// The session that a conversation which begins here goes on from, if its client made that one smaller.
    pub(super) async fn succeeds(&self, request: &Request<'_>, arrived: &Arrived) -> Option<SessionId> {
        if !matches!(arrived.course, Course::New | Course::Forked) {
            return None;
        }
        let succeeded = self.succession(request, arrived).await;
        succeeded.unwrap_or_else(|error| {
            tracing::warn!(%error, "whether a conversation goes on from another one is not known");
            None
        })
    }

    async fn succession(
        &self,
        request: &Request<'_>,
        arrived: &Arrived,
    ) -> epitome::Result<Option<SessionId>> {
        let Some(name) = request.lineage() else { return Ok(None) };
        let (ready, tenant) = (self.store.ready()?, request.tenant);
        let before = self.links.find(&ready.ledger, tenant, &name, Duration::ZERO).await?;
        let session = arrived.session.id();
        let link = Link { session, turn: arrived.turn, messages: arrived.ordinals.len() as u64 };
        self.links.keep(&ready.ledger, tenant, &name, link).await?;
        let Some(before) = before.filter(|before| before.session != session && arrived.course == Course::New)
        else {
            return Ok(None);
        };
        let earlier = match ready.ledger.session(tenant, before.session).await {
            Err(epitome::ledger::LedgerError::NotFound { .. }) => return Ok(None),
            earlier => earlier?,
        };
        // Whoever is still talking there has not gone on here.
        let is_busy = earlier.head.is_some_and(|head| self.under_way.all().contains(&head));
        if is_busy || earlier.messages < SHORTEST {
            return Ok(None);
        }
        let told = json!({
            "event": "compacted_by_client", "from": earlier.id.to_string(), "to": session.to_string(),
            "messages": earlier.messages,
        });
        let event = NewEvent {
            platform: "proxy".to_owned(),
            channel: request.name.clone().unwrap_or_else(|| request.agent.clone()),
            external: session.to_string(),
            time: Clock::system().now(),
            payload: told.to_string().into_bytes(),
            turns: vec![arrived.turn],
        };
        ready.ledger.append_event(tenant, event).await?;
        Ok(Some(earlier.id))
    }
}

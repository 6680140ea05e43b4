//! Looking on while a call is answered whose session could not be had: what came of it waits with it, and a refusal for its size is
//! answered without the ledger.

use std::sync::Arc;

use bytes::Bytes;
use epitome::llm::Failure;
use epitome::{Arrival, Dialect, Session, TenantId, ToSend, Tokens};
use futures_util::future::BoxFuture;
use http::{HeaderMap, StatusCode};

use super::mode::Mode;
use super::request::Request;
use super::rewrite::Rewrite;
use super::spool::Entry;
use super::standby::Scratch;
use super::watch::read;
use super::{Inner, set};
use crate::keeper::{Call, Retry, Seen, Watch};

/// Looks on while such a call is answered.
pub(super) struct Unplaced {
    pub(super) inner: Arc<Inner>,
    pub(super) call: Call,
    pub(super) mode: Mode,
    pub(super) tenant: TenantId,
    pub(super) model: String,
    /// What waits of it on disk, if anything does.
    pub(super) entry: Option<Entry>,
    /// What it is made smaller on.
    pub(super) smaller: Option<Smaller>,
}

/// A conversation on the scratch ledger.
pub(super) struct Smaller {
    session: Session,
    rewrite: Rewrite,
    after: Tokens,
    _scratch: Arc<Scratch>,
}

impl Unplaced {
    async fn less(&mut self, status: StatusCode, body: &Bytes) -> epitome::Result<Option<Retry>> {
        let Some(failure) = Failure::of_reply(status.as_u16(), body).filter(Failure::wants_less) else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&self.call.body).into_owned();
        let smaller = match self.smaller.take() {
            Some(smaller) => smaller,
            None => self.begin(&text).await?,
        };
        let smaller = self.smaller.insert(smaller);
        let Some(context) = smaller.session.context_after(&failure).await? else { return Ok(None) };
        smaller.after = context.pressure.tokens;
        let Some(body) = smaller.rewrite.body(&text, &ToSend::Whole(Arc::new(context))) else {
            return Ok(None);
        };
        self.inner.counts.overflowed();
        let mut back = HeaderMap::new();
        set(&mut back, "x-epitome-tokens-after", &smaller.after.0.to_string());
        set(&mut back, "x-epitome-compaction", "after overflow, without the ledger");
        Ok(Some(Retry { body, back }))
    }

    async fn begin(&self, text: &str) -> epitome::Result<Smaller> {
        let scratch = self.inner.standby.scratch(&self.inner.store).await?;
        let request = Request::read(&self.call, text, self.tenant, None)?;
        let engine = scratch.engines.of(&request, self.mode).await?;
        let arrival =
            Arrival { messages: request.messages().collect(), is_retry: true, ..Arrival::default() };
        let arrived = engine.arrive(&arrival).await?;
        request.say_beside(&arrived.session);
        let known = arrived.ordinals.len();
        let rewrite = Rewrite::of(&request, arrived.ordinals, known);
        Ok(Smaller { session: arrived.session, rewrite, after: Tokens::ZERO, _scratch: scratch })
    }

    fn dialect(&self) -> Dialect {
        self.call.dialect
    }

    async fn finish(self, seen: Seen) {
        let answer = read(self.dialect(), &seen);
        if let (Some(entry), Some(answer)) = (&self.entry, &answer) {
            let entry = entry.clone().answered(answer);
            if let Err(error) = self.inner.spool.keep(&entry).await {
                tracing::error!(%error, "what was said can be kept nowhere");
            }
        }
        let kept = if self.entry.is_some() { "waits to be recorded" } else { "is not recorded" };
        self.call.slip.note(kept);
        self.call.slip.write(|line| {
            line.model.clone_from(&self.model);
            line.tenant = self.tenant;
            line.after = self.smaller.as_ref().map_or(Tokens::ZERO, |smaller| smaller.after);
            line.usage = answer.and_then(|answer| answer.usage);
        });
    }
}

impl Watch for Unplaced {
    fn refused<'a>(
        &'a mut self,
        status: StatusCode,
        _: &'a HeaderMap,
        body: &'a Bytes,
    ) -> BoxFuture<'a, Option<Retry>> {
        Box::pin(async move {
            // What is recorded nowhere is not left out.
            if self.mode != Mode::Compact || self.entry.is_none() {
                return None;
            }
            self.less(status, body).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "a refused call could not be made smaller without the ledger");
                None
            })
        })
    }

    fn ended(self: Box<Self>, seen: Seen) {
        let tasks = self.inner.tasks.clone();
        tasks.spawn(self.finish(seen));
    }
}

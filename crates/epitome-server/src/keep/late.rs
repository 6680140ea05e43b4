//! Recording what had to wait: when the ledger is back, or when the client of a reply that was cut off did not come back.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use epitome::ledger::model::{ChainHash, Completeness};
use epitome::wire::Body;
use epitome::{Arrival, BilledFor, Dialect, Engine, Reply, Session};

use super::Inner;
use super::cut::input_of;
use super::follow::Follow;
use super::links::Link;
use super::mode::Mode;
use super::request::leading;
use super::spool::{Entry, PATIENCE};
use super::store::{Ready, within};
use super::under_way::UnderWay;

/// So long a ledger may take to be opened once nobody waits for it.
const OPENING: Duration = Duration::from_secs(60);
/// So long one turn may take: nobody waits for it, and the next ones may.
const LONGEST: Duration = Duration::from_secs(600);
/// How long the spool rests before it is looked at again, and how long at most where that led to nothing.
const REST: Duration = Duration::from_secs(2);
const LONG_REST: Duration = Duration::from_secs(60);
/// Whoever looks after the machine should know of a spool that is so large, and each time that it has doubled.
const LARGE: u64 = 1 << 30;

/// How it went to record what waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Went {
    /// There was nothing, or something of it was recorded.
    On,
    /// Nothing of it could be recorded just now.
    Nowhere,
}

impl Inner {
    /// Records what waits whenever that is possible, for ever.
    pub(super) async fn record_late(self: Arc<Self>) {
        let mut was_ready = self.store.is_ready();
        let (mut rest, mut large) = (REST, LARGE);
        loop {
            self.spool.tidy();
            let bytes = self.spool.held().bytes;
            if bytes > large {
                tracing::warn!(bytes, "what waits to be recorded takes much room");
                large = bytes.saturating_mul(2);
            }
            // A ledger that was out of reach at the start is asked for, also where nobody calls.
            if !was_ready {
                was_ready = self.store.reach(OPENING).await.is_ok();
                tracing::info!(was_ready, "the ledger was looked for");
            }
            if was_ready {
                rest = match self.record_waiting(PATIENCE).await {
                    Went::On => REST,
                    Went::Nowhere => (rest * 2).min(LONG_REST),
                };
            }
            tokio::time::sleep(rest).await;
        }
    }

    /// Records what waits, as far as that is possible now. What cannot be recorded, now or ever, is in nobody's way.
    pub(super) async fn record_waiting(&self, patience: Duration) -> Went {
        let (mut recorded, mut left) = (0, 0);
        // What goes on from something that still waits, waits with it.
        let mut unsettled: HashSet<String> = HashSet::new();
        for path in self.spool.waiting(patience) {
            let Some(mut entry) = self.spool.take(&path) else { continue };
            let Some(tenant) = self.store.owner(&entry) else { continue };
            entry.tenant = tenant;
            if entry.behind.as_ref().is_some_and(|name| unsettled.contains(name)) {
                unsettled.extend(entry.names());
                continue;
            }
            match self.record_entry(&entry).await {
                Ok(()) => {
                    tracing::info!(turn = entry.id, "a turn that had to wait is recorded");
                    self.spool.let_go(&entry.id);
                    recorded += 1;
                }
                Err(error) if error.is_passing() => {
                    if !self.store.answers().await {
                        // It is out of reach, and asked again soon.
                        return Went::On;
                    }
                    tracing::warn!(turn = entry.id, %error, "a turn has to wait on");
                    unsettled.extend(entry.names());
                    left += 1;
                }
                Err(error) => self.spool.set_aside(&entry, &error.to_string()),
            }
        }
        self.standby.clear().await;
        if recorded == 0 && left > 0 { Went::Nowhere } else { Went::On }
    }

    async fn record_entry(&self, entry: &Entry) -> epitome::Result<()> {
        let Some(dialect) = entry.dialect() else { return Err(epitome::Error::Empty) };
        let ready = self.store.ready()?;
        let recorded = async {
            let engine =
                ready.engines.named(entry.tenant, dialect, &entry.model, &entry.agent, Mode::Observe).await?;
            self.record_with(entry, ready, &engine, dialect).await
        };
        within(LONGEST, self.store.while_it_answers(recorded)).await
    }

    // Records a turn, unless it is recorded.
    async fn record_with(
        &self,
        entry: &Entry,
        ready: &Ready,
        engine: &Engine,
        dialect: Dialect,
    ) -> epitome::Result<()> {
        let body = Body::scan(dialect, &entry.body)?;
        let first = if entry.behind.is_some() { 0 } else { leading(&body) };
        let messages: Vec<&str> = (first..body.messages().len()).map(|at| body.message(at)).collect();
        let (session, chain) = match self.followed(entry, ready, engine, messages.clone()).await? {
            Some(followed) => followed,
            None => {
                let replies = entry.reply.iter().flat_map(|said| &said.messages).map(String::as_str);
                let whole = messages.iter().copied().chain(replies).collect();
                if engine.holds(&Arrival { messages: whole, ..Arrival::default() }).await? {
                    return Ok(());
                }
                let name = entry.name.as_deref().or(entry.behind.as_deref());
                let platform = Some("proxy");
                let arrival = Arrival { messages, name, platform, is_retry: true, ..Arrival::default() };
                let arrived = engine.arrive(&arrival).await?;
                (arrived.session, arrived.chain)
            }
        };
        let Some(said) = &entry.reply else { return Ok(()) };
        let completeness = if said.is_whole { Completeness::Whole } else { Completeness::CutOff };
        let (messages, usage, model) = (input_of(&said.messages), said.usage(), said.model.clone());
        // What was sent of it may have been less than what is recorded.
        let reply = Reply { messages, usage, completeness, model, billed_for: BilledFor::Other };
        let receipt = session.reply_behind(chain, reply).await?;
        let Some(turn) = receipt.head else { return Ok(()) };
        let link = Link { session: session.id(), turn, messages: receipt.messages };
        for name in entry.names() {
            self.links.keep(&ready.ledger, entry.tenant, &name, link).await?;
        }
        Ok(())
    }

    // Where it goes on from a reply that its provider holds.
    async fn followed(
        &self,
        entry: &Entry,
        ready: &Ready,
        engine: &Engine,
        messages: Vec<&str>,
    ) -> epitome::Result<Option<(Session, ChainHash)>> {
        let Some(name) = &entry.behind else { return Ok(None) };
        let link = self.links.find(&ready.ledger, entry.tenant, name, Duration::ZERO).await?;
        let Some(link) = link else { return Ok(None) };
        let name = entry.name.as_deref();
        let follow = Follow { tenant: entry.tenant, link, messages, name, is_retry: true };
        let Some(followed) = follow.record(ready, engine, &UnderWay::default()).await? else {
            return Ok(None);
        };
        let chain = match followed.said {
            Some(said) => said.recorded().await?.chain,
            None => followed.session.info().await?.chain,
        };
        Ok(Some((followed.session, chain)))
    }
}

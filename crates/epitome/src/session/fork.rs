//! Forks and continuations: new sessions that stand on old ones.

mod beginning;

use epitome_core::Tokens;
use epitome_core::compact::{Compaction, Segment};
use epitome_ledger::Paging;
use epitome_ledger::model::{NewCompaction, SessionFilter, TurnId};

pub use self::beginning::Beginning;
use super::Session;
use crate::compaction::Compact;
use crate::engine::{Engine, Opening};
use crate::error::{Error, Result};

/// How the record of a fork that sees everything is called.
pub(super) const RECONSTRUCTION: &str = "reconstruction";
/// Of so many sessions on a channel that were opened last, the one that was used last goes on.
const LATEST: usize = 100;

/// What a fork sees of what lies before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sight {
    /// Where the turn was summarised since: a summary of what lies before it. Else: what the model saw at that turn.
    #[default]
    Summary,
    /// What the model saw at that turn.
    AsSeen,
    /// Every message from the first one on, as it was.
    Whole,
}

impl Session {
    /// A new session that stands on a turn of this one, whatever was compacted since. Ranges of compactions are those of the
    /// fork's own path, and so are the turns that bound them.
    pub async fn fork(&self, at: TurnId, sight: Sight, opening: Opening) -> Result<Session> {
        let inner = self.inner();
        let turn = inner.ledger.turn(inner.tenant, at).await?;
        if self.turn(turn.number).await.map(|here| here.id).ok() != Some(at) {
            return Err(Error::Elsewhere { turn: at });
        }
        let summarised = self.summarised(turn.end).await?;
        let forked = inner.ledger.fork(inner.tenant, at, self.engine.new_session(opening)).await?;
        let fork = self.engine.handle(forked.id);
        fork.slot.set_outside(self.slot.outside());
        self.hand_down_instructions(&fork).await?;
        match (sight, summarised) {
            (Sight::Summary, Some(size)) => {
                let seen = fork.look(|warm| warm.tokens).await?;
                fork.compact(Compact::now().within(size.min(Tokens(seen.0 / 2))).insisting()).await?;
            }
            (Sight::Whole, _) if turn.nearest.is_some() => fork.show_everything().await?,
            _ => {}
        }
        Ok(fork)
    }

    // Where the message before this place is no longer shown: what the compaction that hides it came to.
    async fn summarised(&self, end: u64) -> Result<Option<Tokens>> {
        let Some(last) = end.checked_sub(1).and_then(|last| usize::try_from(last).ok()) else {
            return Ok(None);
        };
        let Some((_, record)) = self.compaction().await? else { return Ok(None) };
        let hides = |segment: &Segment| {
            matches!(segment, Segment::Summary { .. } | Segment::Omitted { .. })
                && segment.range().contains(&last)
        };
        Ok(record.compaction.segments.iter().any(hides).then_some(record.tokens_after))
    }

    async fn show_everything(&self) -> Result<()> {
        let (inner, session) = (self.inner(), self.info().await?);
        let new = NewCompaction {
            id: TurnId::generate(),
            compaction: Compaction::verbatim(usize::try_from(session.messages).unwrap_or(usize::MAX)),
            strategy: "none".to_owned(),
            trigger: RECONSTRUCTION.to_owned(),
            tokens_before: session.tokens_used,
            tokens_after: session.tokens_total,
            report: None,
            model: None,
            time: None,
        };
        inner.ledger.compact(inner.tenant, self.expect(session.head, None), new).await?;
        *self.slot.state.lock().await = None;
        Ok(())
    }

    /// A new session that begins with the compressed history of this one, in at most so many tokens: continuity from one
    /// session to the next (ADR 033). Everything that was said stays on its path, to be searched and shown again.
    pub async fn continued(&self, opening: Opening, most: Tokens) -> Result<Session> {
        let Some(head) = self.info().await?.head else { return self.engine.open(opening).await };
        let session = self.fork(head, Sight::AsSeen, opening).await?;
        session.compact(Compact::now().within(most).insisting()).await?;
        Ok(session)
    }
}

impl Engine {
    /// A new session on a channel that begins with the compressed history of the one that was last used there; an empty one if
    /// there is none. A session that has the key of the opening is that session, as it was left.
    pub async fn continue_on(&self, opening: Opening, most: Tokens) -> Result<Session> {
        if opening.platform.is_none() && opening.channel.is_none() {
            return Err(Error::NoChannel);
        }
        if let Some(session) = self.known(&opening).await? {
            return Ok(session);
        }
        let filter = SessionFilter {
            agent: Some(self.0.agent.clone()),
            platform: opening.platform.clone(),
            channel: opening.channel.clone(),
            ..SessionFilter::default()
        };
        let sessions = self.sessions(filter, Paging::first(LATEST)).await?.items;
        match sessions.into_iter().max_by_key(|session| (session.updated, session.created)) {
            Some(last) => self.handle(last.id).continued(opening, most).await,
            None => self.open(opening).await,
        }
    }
}

//! Reading a session: its history, what the model saw at any turn, and what can be found in it.

use epitome_core::compact::Compaction;
use epitome_core::topics::CompressedContext;
use epitome_core::{Message, RecallId};
use epitome_ledger::model::{
    CompactionRecord, Hit, Order, Recalled, Scope, Search, StoredMessage, Turn, TurnId, Until,
};
use epitome_ledger::{Page, Paging};
use epitome_wire::convert::{Conversation, convert};
use epitome_wire::{Dialect, encode_expressible};

use super::shown::Shown;
use super::{Context, Session, Warm, laid_out};
use crate::error::{Error, Result};

/// So many messages are read at once.
const CHUNK: u64 = 512;

impl Session {
    /// All turns on its path, compactions included, oldest first.
    pub async fn history(&self, paging: Paging) -> Result<Page<Turn>> {
        let inner = self.inner();
        match self.info().await?.head {
            Some(head) => Ok(inner.ledger.history(inner.tenant, head, paging).await?),
            None => Ok(Page { items: Vec::new(), next: None }),
        }
    }

    /// The turn of this number.
    pub async fn turn(&self, number: u64) -> Result<Turn> {
        let (inner, session) = (self.inner(), self.info().await?);
        let missing = Error::NotThere { what: "turn", number, count: session.turns };
        let Some(head) = session.head.filter(|_| number < session.turns) else { return Err(missing) };
        let turns = inner.ledger.turns(inner.tenant, head, number..number + 1).await?;
        turns.into_iter().next().ok_or(missing)
    }

    /// Messages as they were recorded, whatever is shown of them.
    pub async fn messages(&self, range: std::ops::Range<u64>) -> Result<Vec<StoredMessage>> {
        let (inner, session) = (self.inner(), self.info().await?);
        let Some(head) = session.head else { return Ok(Vec::new()) };
        let end = range.end.min(session.messages);
        Ok(inner.ledger.messages(inner.tenant, head, range.start.min(end)..end).await?)
    }

    /// What the model saw when a turn was sent, byte for byte.
    pub async fn view(&self, turn: TurnId) -> Result<Context> {
        let inner = self.inner();
        let recorded = inner.ledger.view(inner.tenant, turn, Until::Input).await?;
        let mut warm = Warm::of(&recorded, inner)?;
        let pressure = warm.pressure(self.slot.outside(), inner);
        Ok(Context::new(Some(turn), inner.dialect, warm.system.clone(), warm.hand_out(), pressure))
    }

    /// What a fork behind a turn would see of it, where that is not what was said.
    pub(crate) async fn seen_behind(&self, turn: TurnId) -> Result<Option<Context>> {
        let inner = self.inner();
        let recorded = inner.ledger.view(inner.tenant, turn, Until::Reply).await?;
        let mut warm = Warm::of(&recorded, inner)?;
        if warm.compaction.is_none() {
            return Ok(None);
        }
        let pressure = warm.pressure(self.slot.outside(), inner);
        Ok(Some(Context::new(Some(turn), inner.dialect, warm.system.clone(), warm.hand_out(), pressure)))
    }

    /// What would be sent now, if nothing were due. Nothing is compacted.
    pub async fn peek(&self) -> Result<Context> {
        let (inner, outside) = (self.inner(), self.slot.outside());
        self.look(|warm| {
            let pressure = warm.pressure(outside, inner);
            Context::new(warm.head, inner.dialect, warm.system.clone(), warm.hand_out(), pressure)
        })
        .await
    }

    /// The compaction in force, and what is known of it.
    pub async fn compaction(&self) -> Result<Option<(Turn, CompactionRecord)>> {
        let inner = self.inner();
        match self.info().await?.head {
            Some(head) => Ok(inner.ledger.latest_compaction(inner.tenant, head).await?),
            None => Ok(None),
        }
    }

    /// The turns that a compaction's summaries stand for, back to the compaction before it.
    pub async fn summarized_turns(&self, compaction: TurnId) -> Result<Vec<Turn>> {
        Ok(self.inner().ledger.summarized_turns(self.inner().tenant, compaction).await?)
    }

    /// What is sent, by tier (ADR 033's `CompressedContext`).
    pub async fn tiers(&self) -> Result<CompressedContext> {
        let inner = self.inner();
        let (length, compaction, shown) =
            self.look(|warm| (warm.length, warm.compaction.clone(), warm.shown.clone())).await?;
        let all = usize::try_from(length).unwrap_or(usize::MAX);
        let compaction = compaction.map_or_else(
            || Compaction::verbatim(all),
            |(_, compaction)| Compaction::clone(&compaction).reaching(all),
        );
        let mut read: Vec<Shown> = Vec::new();
        for stored in self.recorded().await? {
            read.push(Shown::recorded(&stored, &inner.counter)?);
        }
        let (path, messages) = laid_out(length, read.iter().chain(&shown))?;
        Ok(CompressedContext::of(&compaction, &path, &messages, &|text| inner.counter.text(text)))
    }

    /// Searches what was said in the session, hidden or not: words, `"phrases"`, prefixes, identifiers, paths.
    pub async fn search(&self, query: impl Into<String>, order: Order, paging: Paging) -> Result<Page<Hit>> {
        let search = Search { query: query.into(), scope: Scope::Session(self.id()), order };
        Ok(self.inner().ledger.search(self.inner().tenant, search, paging).await?)
    }

    /// The message that holds the text of a recall id, as pruned tool results and summaries name it.
    pub async fn recall(&self, id: RecallId) -> Result<Option<Recalled>> {
        Ok(self.inner().ledger.recall(self.inner().tenant, id).await?)
    }

    /// The whole conversation in a dialect, as a JSON array of its messages, those that are hidden included. Of a message that was
    /// recorded in another dialect, what this one has no way to write is left out; [`Session::messages`] has it as it was.
    pub async fn export(&self, dialect: Dialect) -> Result<String> {
        let inner = self.inner();
        let mut parts: Vec<(Dialect, Message)> = Vec::new();
        for stored in self.recorded().await? {
            let shown = Shown::recorded(&stored, &inner.counter)?;
            parts.push((shown.dialect(), shown.message()?));
        }
        let mut json = Vec::new();
        for run in parts.chunk_by(|left, right| left.0 == right.0) {
            let Some((from, _)) = run.first() else { continue };
            let messages = run.iter().map(|(_, message)| message.clone()).collect();
            let converted = convert(&Conversation { system: None, messages }, *from, dialect).conversation;
            for message in converted.system.iter().chain(&converted.messages) {
                json.extend(encode_expressible(dialect, message)?);
            }
        }
        Ok(format!("[{}]", json.join(",")))
    }

    async fn recorded(&self) -> Result<Vec<StoredMessage>> {
        let (inner, session) = (self.inner(), self.info().await?);
        let Some(head) = session.head else { return Ok(Vec::new()) };
        let mut messages = Vec::new();
        let mut at = 0;
        while at < session.messages {
            let end = (at + CHUNK).min(session.messages);
            messages.extend(inner.ledger.messages(inner.tenant, head, at..end).await?);
            at = end;
        }
        Ok(messages)
    }
}

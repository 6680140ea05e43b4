//! Undoing: what was hidden is shown again. It is an append like everything else, and can be undone itself by compacting again.

use std::ops::Range;

use epitome_core::compact::{self, Compaction, Request};
use epitome_ledger::model::{CompactionRecord, TurnId};
use tracing::Instrument;

use super::Session;
use super::fork::RECONSTRUCTION;
use crate::compaction::{Committed, Depth, Outcome, Prepared};
use crate::error::{Error, Result};

/// What is to be shown again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undo {
    /// What the last compaction hid that was not undone yet: the session is as it was before it.
    Last,
    /// Everything.
    All,
    /// These messages, whatever hides them. The summary that they were part of stays.
    Messages(Range<u64>),
}

/// Whether something is done, or only told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// It is done.
    Real,
    /// Nothing is recorded.
    Dry,
}

/// How the record of an undo names what it undoes.
pub(crate) const UNDO: &str = "undo";
const UNDOES: &str = "undoes ";
const EVERYTHING: &str = "undoes everything";

impl Session {
    /// Shows again what was compacted. The context grows on purpose; the report says by how much it exceeds its budget.
    pub async fn undo(&self, what: Undo, run: Run) -> Result<Outcome> {
        self.undo_as(what, run).instrument(self.span()).await
    }

    async fn undo_as(&self, what: Undo, run: Run) -> Result<Outcome> {
        let _turnstile = self.slot.turnstile.lock().await;
        if run == Run::Dry {
            let prepared = self.undone(&what).await?;
            return Ok(Outcome { notes: prepared.notes, ..Outcome::nothing(prepared.report) });
        }
        self.leased(|fence| Box::pin(self.undo_with(&what, fence))).await
    }

    async fn undo_with(&self, what: &Undo, fence: u64) -> Result<Outcome> {
        for _ in 0..8 {
            let prepared = self.undone(what).await?;
            if let Committed::Done = self.commit(&prepared, fence).await? {
                return Ok(self.announce(prepared).await);
            }
        }
        Err(Error::Contended)
    }

    async fn undone(&self, what: &Undo) -> Result<Prepared> {
        let inner = self.inner();
        let picture = self.picture(Depth::Whole).await?;
        let length = picture.path.len();
        let current = picture.previous.as_deref().ok_or(Error::NothingToUndo)?;
        let mut notes = Vec::new();
        let mut revealed = None;
        let shown = match what {
            Undo::All => {
                notes.push(EVERYTHING.to_owned());
                Compaction::verbatim(length)
            }
            Undo::Last => {
                let (target, before) = self.last_standing().await?;
                notes.push(format!("{UNDOES}{target}"));
                before.map_or_else(|| Compaction::verbatim(length), |before| before.compaction)
            }
            Undo::Messages(messages) => {
                if messages.is_empty() || messages.end > length as u64 {
                    let number = messages.end.saturating_sub(1).max(messages.start);
                    return Err(Error::NotThere { what: "message", number, count: length as u64 });
                }
                revealed = Some(messages.start as usize..messages.end as usize);
                current.clone()
            }
        };
        let request = Request {
            window: Some(picture.window),
            marks: Some(picture.marks()),
            outside: picture.outside,
            previous: Some(current),
            pins: &picture.pins,
            ..Request::new(&inner.settings)
        };
        let count = |text: &str| inner.counter.text(text);
        let shown = shown.reaching(length);
        let expanded =
            compact::expand(&picture.path, &picture.messages, &request, &shown, revealed.as_slice(), &count);
        let compaction = expanded.compaction.ok_or(Error::NothingToUndo)?.reaching(length);
        if current.clone().reaching(length).segments == compaction.segments {
            return Err(Error::NothingToUndo);
        }
        Ok(Prepared {
            id: TurnId::generate(),
            compaction,
            report: expanded.report,
            loss: None,
            trigger: UNDO.to_owned(),
            notes,
            stand_in: None,
            learnt: None,
            minded: None,
            tab: None,
            summaries: Vec::new(),
            saves: None,
            picture: std::sync::Arc::new(picture),
            is_ahead: false,
        })
    }

    // The last compaction that was not undone, and the one that was in force before it.
    async fn last_standing(&self) -> Result<(TurnId, Option<CompactionRecord>)> {
        let (inner, Some(head)) = (self.inner(), self.info().await?.head) else {
            return Err(Error::NothingToUndo);
        };
        let mut undone: Vec<TurnId> = Vec::new();
        let mut at = inner.ledger.latest_compaction(inner.tenant, head).await?;
        while let Some((turn, record)) = at {
            let before = match turn.number.checked_sub(1) {
                Some(number) => {
                    let turns = inner.ledger.turns(inner.tenant, turn.id, number..number + 1).await?;
                    match turns.first() {
                        Some(before) => inner.ledger.latest_compaction(inner.tenant, before.id).await?,
                        None => None,
                    }
                }
                None => None,
            };
            if record.trigger == RECONSTRUCTION || notes_of(&record).iter().any(|note| note == EVERYTHING) {
                // Everything is shown since.
                return Err(Error::NothingToUndo);
            } else if record.trigger == UNDO {
                undone.extend(undoes(&record));
            } else if !undone.contains(&turn.id) {
                return Ok((turn.id, before.map(|(_, record)| record)));
            }
            at = before;
        }
        Err(Error::NothingToUndo)
    }
}

// The turn that an undo says it undoes.
fn undoes(record: &CompactionRecord) -> Option<TurnId> {
    notes_of(record).iter().find_map(|note| note.strip_prefix(UNDOES)?.parse().ok())
}

fn notes_of(record: &CompactionRecord) -> Vec<String> {
    let report = record.report.as_deref().and_then(|report| serde_json::from_str(report).ok());
    let notes = report.map(|mut report: serde_json::Value| report["notes"].take());
    notes.and_then(|notes| serde_json::from_value(notes).ok()).unwrap_or_default()
}

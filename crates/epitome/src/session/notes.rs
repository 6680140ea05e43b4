//! What is said about messages: that they must stay, that they need not, that a topic is closed.

use std::ops::Range;

use epitome_ledger::LedgerError;
use epitome_ledger::model::{NewNote, Note, NoteKind};

use super::Session;
use crate::error::{Error, Result};

/// How often a note is tried again on top of what others appended meanwhile.
const TRIES: usize = 64;

impl Session {
    /// Keeps these messages as they are, whatever is compacted. Those that are hidden now are shown again by the next compaction.
    pub async fn pin(&self, messages: Range<u64>, why: Option<String>) -> Result<Note> {
        self.note(NoteKind::Pin, messages, why).await
    }

    /// Lets these messages go again.
    pub async fn unpin(&self, messages: Range<u64>) -> Result<Note> {
        self.note(NoteKind::Unpin, messages, None).await
    }

    /// Closes the current topic (ADR 033's `sealCurrentTopic`): everything said since the last seal.
    pub async fn seal(&self, title: Option<String>) -> Result<Note> {
        let length = self.info().await?.messages;
        let sealed = self.notes().await?.into_iter().filter(|note| note.kind == NoteKind::Seal);
        let start = sealed.map(|note| note.messages.end).max().unwrap_or(0);
        if start >= length {
            return Err(Error::NothingToSeal);
        }
        self.note(NoteKind::Seal, start..length, title).await
    }

    /// All notes on the path of the session, in the order in which they were made.
    pub async fn notes(&self) -> Result<Vec<Note>> {
        Ok(self.inner().ledger.notes(self.inner().tenant, self.id()).await?)
    }

    async fn note(&self, kind: NoteKind, messages: Range<u64>, content: Option<String>) -> Result<Note> {
        let inner = self.inner();
        if messages.is_empty() {
            return Err(Error::NoMessages);
        }
        // Whoever compacts looks at the notes while it holds this: what is pinned before it records is kept.
        let _state = self.slot.state.lock().await;
        for _ in 0..TRIES {
            let session = self.info().await?;
            if messages.end > session.messages {
                let number = messages.end.saturating_sub(1).max(messages.start);
                return Err(Error::NotThere { what: "message", number, count: session.messages });
            }
            let new = NewNote { kind, messages: messages.clone(), content: content.clone(), time: None };
            match inner.ledger.note(inner.tenant, self.expect(session.head, None), new).await {
                Err(LedgerError::HeadMoved { .. }) => {}
                noted => return Ok(noted?),
            }
        }
        Err(Error::Contended)
    }
}

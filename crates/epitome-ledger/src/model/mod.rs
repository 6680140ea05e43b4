//! What goes into a ledger and what comes out, as plain data.

mod chain;
mod checkup;
mod conversation;
mod episode;
mod event;
mod id;
mod knowledge;
mod lease;
mod memo;
mod message;
mod note;
mod prefix;
mod purge;
mod search;
mod session;
mod turn;
mod view;

pub use chain::ChainHash;
pub use checkup::{Checkup, Finding};
pub use conversation::{ConversationState, HistoryRow, Tier};
pub use episode::{Episode, NewEpisode};
pub use event::{Event, EventFilter, EventReceipt, NewEvent, Novelty, Versions};
pub use id::{FindingId, SessionId, TenantId, TurnId};
pub use knowledge::{FindingFilter, FindingMark, FindingState, NewFinding, RecordedFinding};
pub use lease::Lease;
pub use memo::Memo;
pub use message::{NewMessage, Notation, Recalled, Record, StoredMessage};
pub use note::{NewNote, Note, NoteKind};
pub use prefix::{KnownPrefix, Opening, PrefixPlace};
pub use purge::{Purge, Tombstone, Warrant};
pub use search::{Found, Hit, Order, Scope, Search, Snippet};
pub use session::{NewSession, Origin, Session, SessionFilter};
pub use turn::{
    CompactionRecord, Completeness, Expect, NewCompaction, NewReply, NewTurn, Receipt, ReplyRecord, Turn,
    TurnKind,
};
pub use view::{RecordedView, Resumed, Until};

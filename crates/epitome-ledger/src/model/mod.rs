//! What goes into a ledger and what comes out, as plain data.

mod chain;
mod id;
mod message;
mod session;
mod turn;
mod view;

pub use chain::ChainHash;
pub use id::{SessionId, TenantId, TurnId};
pub use message::{NewMessage, Notation, Record, StoredMessage};
pub use session::{NewSession, Origin, Session};
pub use turn::{
    CompactionRecord, Completeness, Expect, NewCompaction, NewReply, NewTurn, Receipt, ReplyRecord, Turn,
    TurnKind,
};
pub use view::{RecordedView, Until};

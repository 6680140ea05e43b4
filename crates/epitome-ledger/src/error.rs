//! Everything that can go wrong with a ledger, and which of it may be tried again.

use std::sync::Arc;

use epitome_core::Time;
use epitome_core::compact::TilingError;
use thiserror::Error;

use crate::model::{SessionId, TurnId};

/// What the functions of this crate return.
pub type Result<T> = std::result::Result<T, LedgerError>;

/// Why a ledger refused or failed. Nothing is half-written whatever it says.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The address is neither a SQLite path nor a PostgreSQL URL.
    #[error("not a database address: {0:?} (sqlite:PATH or postgres://…)")]
    BadAddress(String),
    /// The database was written by a later version of this program.
    #[error("the database has schema version {found}, this program knows versions up to {known}")]
    NewerSchema {
        /// The version found.
        found: i64,
        /// The latest version known here.
        known: i64,
    },
    /// The database was written by an earlier version of this program, and cannot be brought to the present one here.
    #[error(
        "the database has schema version {found} and must be brought to version {known} by opening it for writing"
    )]
    OlderSchema {
        /// The version found.
        found: i64,
        /// The version needed here.
        known: i64,
    },
    /// Nothing was ever recorded there, so that there is nothing to read.
    #[error("there is no ledger here yet: {0}")]
    NoLedger(String),
    /// The file is a database, but of some other program.
    #[error("the database belongs to another program: {0}")]
    NotALedger(String),
    /// What was read cannot have been written by a ledger.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// The database cannot be written to.
    #[error("the database is read-only: {0}")]
    ReadOnly(String),
    /// There is no room left for the database.
    #[error("no space is left for the database: {0}")]
    Full(String),
    /// The database cannot be reached, or the connection was lost; whether the last write was kept is not known.
    #[error("the database cannot be reached: {0}")]
    Unavailable(String),
    /// Another transaction was in the way.
    #[error("another transaction was in the way: {0}")]
    Busy(String),
    /// The tenant has nothing of this name.
    #[error("no such {what}: {id}")]
    NotFound {
        /// Session, turn, compaction.
        what: &'static str,
        /// The id that was asked for.
        id: String,
    },
    /// A session or a turn of this id, or a session of this agent and external key, exists already.
    #[error("{what} exists already: {id}")]
    Exists {
        /// Session or turn.
        what: &'static str,
        /// The id that is taken.
        id: String,
    },
    /// Somebody else appended to the session first.
    #[error("the head of session {session} is {}, expected {}", shown(found), shown(expected))]
    HeadMoved {
        /// The session.
        session: SessionId,
        /// What the caller took for its head.
        expected: Option<TurnId>,
        /// What its head is.
        found: Option<TurnId>,
    },
    /// Somebody else recorded more of a conversation since it was looked for.
    #[error("somebody else recorded {messages} messages of this conversation meanwhile")]
    Overtaken {
        /// How many of its messages are recorded now.
        messages: u64,
    },
    /// The turn has its reply, or takes none.
    #[error("turn {turn} takes no reply: {why}")]
    NoReplyDue {
        /// The turn.
        turn: TurnId,
        /// Why.
        why: &'static str,
    },
    /// The writer's lease has been given to somebody else since.
    #[error("a write to session {session} under fence {given} came too late, the fence is at {current}")]
    Fenced {
        /// The session.
        session: SessionId,
        /// The fence of the write.
        given: u64,
        /// The fence of the session.
        current: u64,
    },
    /// Somebody holds the lease.
    #[error("session {session} is leased by {holder} until {}", until.0)]
    Leased {
        /// The session.
        session: SessionId,
        /// Who holds it.
        holder: String,
        /// Until when.
        until: Time,
    },
    /// The segments of a compaction do not tile the path.
    #[error("the segments do not tile the path: {0}")]
    Tiling(#[from] TilingError),
    /// The request contradicts itself.
    #[error("{0}")]
    BadRequest(String),
    /// The ledger was closed.
    #[error("the ledger is closed")]
    Closed,
    /// SQLite failed in a way that has no name here.
    #[error("sqlite: {0}")]
    Sqlite(#[source] Arc<rusqlite::Error>),
    /// PostgreSQL failed in a way that has no name here.
    #[error("postgresql: {}", told(.0))]
    Postgres(#[source] Arc<tokio_postgres::Error>),
}

impl LedgerError {
    /// Whether the same request may succeed later, unchanged.
    ///
    /// After [`LedgerError::Unavailable`] it may have succeeded already; appends are recognised by their turn ids.
    pub fn retryable(&self) -> bool {
        matches!(self, LedgerError::Unavailable(_) | LedgerError::Busy(_) | LedgerError::Leased { .. })
    }

    /// Whether it lies in where or when something was to be written, and not in what, so that waiting may help: until the database
    /// is back, has room, may be written to, or nobody else is in the way.
    pub fn is_passing(&self) -> bool {
        use rusqlite::ErrorCode::{ConstraintViolation, ParameterOutOfRange, TooBig, TypeMismatch};
        match self {
            LedgerError::BadAddress(_)
            | LedgerError::Damaged(_)
            | LedgerError::Tiling(_)
            | LedgerError::BadRequest(_) => false,
            LedgerError::Sqlite(error) => !matches!(
                error.sqlite_error_code(),
                None | Some(ConstraintViolation | ParameterOutOfRange | TooBig | TypeMismatch)
            ),
            // Class 22 is what a column cannot hold, 23 what a constraint forbids, 54 what is too large. Without a word from the
            // server it is a value that cannot be said to it.
            LedgerError::Postgres(error) => error.as_db_error().is_some_and(|reason| {
                !["22", "23", "54"].iter().any(|class| reason.code().code().starts_with(class))
            }),
            _ => true,
        }
    }

    /// Whether it lies in what was to be written, and not in where or when, so that it can never be written.
    pub(crate) fn is_refusal(&self) -> bool {
        match self {
            LedgerError::Exists { .. } | LedgerError::Damaged(_) => true,
            LedgerError::Sqlite(error) => {
                error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation)
            }
            _ => false,
        }
    }

    pub(crate) fn no_session(id: SessionId) -> Self {
        LedgerError::NotFound { what: "session", id: id.to_string() }
    }

    pub(crate) fn no_turn(id: TurnId) -> Self {
        LedgerError::NotFound { what: "turn", id: id.to_string() }
    }

    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        LedgerError::Damaged(what.into())
    }
}

fn shown(turn: &Option<TurnId>) -> String {
    turn.map_or_else(|| "empty".to_owned(), |turn| turn.to_string())
}

// The driver's own display says only "db error".
fn told(error: &tokio_postgres::Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), |error| error.to_string())
}

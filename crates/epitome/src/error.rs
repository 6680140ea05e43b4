//! Everything that can go wrong with a session, and what to do about it.

use epitome_core::settings::SettingsError;
use epitome_ledger::LedgerError;
use epitome_ledger::model::TurnId;
use epitome_wire::WireError;
use epitome_wire::files::FileError;
use thiserror::Error;

use crate::scribe::ScribeError;

/// What the functions of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something was not done. Nothing is half-done whatever it says.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The ledger refused or failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A message is none of the dialect that the engine was built for.
    #[error("not a message of this dialect: {0} (Engine::builder().dialect(…) chooses it)")]
    Message(#[from] WireError),
    /// A recorded message cannot be read.
    #[error("a recorded message cannot be read: {0} (epitome doctor says what else is damaged)")]
    Unreadable(#[from] FileError),
    /// The model that is to write summaries cannot be had.
    #[error(transparent)]
    Scribe(#[from] ScribeError),
    /// The settings make no sense.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// There is nothing to append.
    #[error("there is no message to append: it has no content, and providers refuse empty text")]
    Empty,
    /// A reply holds what the model did not say.
    #[error("a reply holds a message that is not the model's: Session::append records those")]
    NotAReply,
    /// Nothing is hidden that could be shown again.
    #[error("nothing is compacted in this session, or everything was undone already")]
    NothingToUndo,
    /// A range of messages holds none.
    #[error("no message is named: 3..5 means the messages 3 and 4, counted from 0")]
    NoMessages,
    /// Instructions are longer than a model can be given beside a conversation.
    #[error("these instructions have {length} characters; at most {most} can be minded")]
    InstructionsTooLong {
        /// How long they are.
        length: usize,
        /// How long they may be.
        most: usize,
    },
    /// Everything that was said is sealed.
    #[error("nothing was said since the last topic was sealed")]
    NothingToSeal,
    /// The session has no such message or turn.
    #[error("the session has no {what} {number}: it has {count}")]
    NotThere {
        /// Message or turn.
        what: &'static str,
        /// The number that was asked for.
        number: u64,
        /// How many there are.
        count: u64,
    },
    /// A turn lies on the path of another session.
    #[error("turn {turn} is not on the path of this session: fork the session that it belongs to")]
    Elsewhere {
        /// The turn.
        turn: TurnId,
    },
    /// A session is to go on where nothing tells which.
    #[error("no platform or channel is named: Opening::channel(platform, channel) says where to go on")]
    NoChannel,
    /// The session no longer stands where the caller takes it to stand.
    #[error("the session went on from where this belongs: look for the conversation again")]
    Moved,
    /// Others kept writing to the session, so that this could not be done on top of what they wrote.
    #[error("other writers kept changing the session; try again")]
    Contended,
    /// A task of the engine was stopped from outside, as when a runtime shuts down.
    #[error("the work was interrupted: {0}; nothing was recorded, try again")]
    Interrupted(String),
}

impl Error {
    /// Whether the same request may succeed later, unchanged.
    pub fn retryable(&self) -> bool {
        match self {
            Error::Ledger(error) => error.retryable(),
            Error::Contended => true,
            _ => false,
        }
    }

    /// Whether it lies in where or when something was to be recorded, and not in what, so that waiting may help.
    pub fn is_passing(&self) -> bool {
        match self {
            Error::Ledger(error) => error.is_passing(),
            Error::Moved | Error::Contended | Error::Interrupted(_) => true,
            _ => false,
        }
    }
}

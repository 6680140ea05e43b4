//! What can go wrong between bytes and messages.

use epitome_core::{BlockKind, Role};

use crate::dialect::Dialect;
use crate::json::JsonError;

/// Why a body or a message cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    Json(#[from] JsonError),
    /// The text is JSON, but not what its dialect calls a body or a message.
    #[error("not {dialect}: {what} at byte {at}")]
    Shape {
        /// The dialect it was read as.
        dialect: Dialect,
        /// What is missing or unexpected.
        what: &'static str,
        /// Where.
        at: usize,
    },
    /// The role is none that the dialect knows.
    #[error("not {dialect}: unknown role {role:?}")]
    Role {
        /// The dialect it was read as.
        dialect: Dialect,
        /// The role as written.
        role: String,
    },
    /// The dialect has no way to write such a block.
    #[error("{dialect} cannot express a {kind:?} block in a message of role {role}")]
    Inexpressible {
        /// The dialect it was to be written in.
        dialect: Dialect,
        /// The message's role.
        role: Role,
        /// The block.
        kind: BlockKind,
    },
    /// A message of a body cannot be read.
    #[error("message {index}: {source}")]
    Message {
        /// Its number.
        index: usize,
        /// Why.
        source: Box<WireError>,
    },
    /// A piece names a message that the body does not have.
    #[error("no message {index} in a body of {count}")]
    NoSuchMessage {
        /// The number that was asked for.
        index: usize,
        /// How many messages there are.
        count: usize,
    },
    /// The body has no field that could take messages.
    #[error("the body has no {field:?} to put a message into")]
    NoMessages {
        /// The field.
        field: &'static str,
    },
}

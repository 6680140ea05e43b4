//! The pure heart of Epitome: what a conversation is, what it costs, and what may be left out of it.
//!
//! Nothing in this crate reads a file, a clock, the environment or a random number. Everything is a
//! function of its arguments, so that a decision made once can be explained and repeated for ever.
//!
//! A conversation is a list of [`Message`]s. Decisions are not made on messages but on their
//! [`Outline`]s: what there is to know of a message without its text. Outlines are small, cached by
//! content hash, and all that pruning, cutting and planning look at.

pub mod adaptive;
pub mod artifacts;
pub mod calibrate;
pub mod checkpoint;
pub mod compact;
pub mod cost;
pub mod digest;
pub mod events;
pub mod fidelity;
mod hash;
pub mod items;
pub mod knowledge;
pub mod loss;
mod message;
pub mod models;
mod outline;
pub mod pressure;
pub mod profile;
pub mod prune;
pub mod secrets;
pub mod settings;
pub mod statements;
pub mod summaries;
pub mod tokens;
pub mod topics;
pub mod trim;
pub mod turn;
mod units;

pub use hash::{ContentHash, RecallId};
pub use message::{
    Block, BlockKind, Fields, Media, MediaSource, Message, MessageMeta, Opaque, RawJson, Role, Text,
    Thinking, ToolResult, ToolUse, Usage,
};
pub use outline::{BlockOutline, Entry, Outline, ToolRef};
pub use units::{Chars, Time, Tokens};

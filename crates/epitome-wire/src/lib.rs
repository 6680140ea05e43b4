//! Bytes to messages and back, for three provider dialects and the transcript files of other tools.
//!
//! Nothing here opens a file or a socket. What was not changed is copied from the bytes it came from,
//! never written anew: [`json`] finds where things stand, [`Layout`] remembers it beside each message.

pub mod check;
mod edit;
pub mod json;
mod layout;

pub use edit::{Edit, Edits, splice_edits};
pub use layout::{BlockLayout, Dialect, Layout};

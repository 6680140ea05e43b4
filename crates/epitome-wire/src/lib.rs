//! Bytes to messages and back, for three provider dialects and the transcript files of other tools.
//!
//! Nothing here opens a file or a socket. What was not changed is copied from the bytes it came from,
//! never written anew: [`json`] finds where things stand, [`Layout`] remembers it beside each message.
//!
//! ```
//! use epitome_wire::{Body, Dialect, Piece};
//!
//! let text = r#"{"model":"m", "messages":[{"role":"user","content":"one"}, {"role":"user","content":"two"}]}"#;
//! let body = Body::scan(Dialect::Chat, text)?;
//! assert_eq!(body.encode(&[Piece::Keep(0), Piece::Keep(1)])?, text);
//! assert_eq!(body.encode(&[Piece::Keep(1)])?, r#"{"model":"m", "messages":[{"role":"user","content":"two"}]}"#);
//! # Ok::<(), epitome_wire::WireError>(())
//! ```

mod anthropic;
mod body;
mod breakpoints;
mod canonical;
mod chat;
pub mod check;
mod content;
pub mod convert;
mod dialect;
mod draft;
pub mod echo;
mod edit;
mod error;
pub mod files;
pub mod json;
mod known;
mod layout;
mod media;
mod message;
mod node;
mod prune;
pub mod reply;
mod responses;
mod sketch;
pub mod sse;
mod system;
mod thinking;

pub use body::{Body, Piece, Scan, common_prefix};
pub use breakpoints::{Gone, count_breakpoints, keep_breakpoints, room_for_breakpoint, without_breakpoints};
pub use canonical::{canonical_digest, digest_of_decoded, digest_of_json};
pub use dialect::Dialect;
pub use edit::{Edit, Edits, from_core, splice_edits};
pub use error::WireError;
pub use known::Known;
pub use layout::{BlockLayout, Layout};
pub use message::{decode_message, encode_expressible, encode_message};
pub use prune::{Pruned, Pruning};
pub use sketch::{Sketch, Sketches};
pub use system::{append_system, system_with};
pub use thinking::{has_thinking, strip_thinking};

//! The checkpoint: what an agent must know to go on where older messages are no longer shown.
//!
//! A [`Checkpoint`] is a typed structure with the sections of spec 008.1 v4, and with files, failed attempts,
//! the user's latest request, and exact lines and names of messages beside them. It is written as Markdown ([`Checkpoint::render`]) and read back
//! from whatever a model made of it ([`Checkpoint::parse`]). Code, not a model, merges an old one with a new one
//! ([`merge`]) and makes one smaller ([`Checkpoint::shrink`]), so untouched facts cannot drift.
//!
//! Who writes summaries, and with what words a model is asked for one, is not decided here.

mod assemble;
mod chatter;
mod entry;
mod escape;
mod excerpt;
mod fence;
mod history;
mod indent;
mod json;
mod line;
mod merge;
mod model;
mod outline;
mod parse;
mod render;
mod request;
mod shrink;
mod similar;
mod titles;
mod transcript;
mod unwrap;
mod validate;
mod verbatim;
mod versions;

pub(crate) use escape::{read_source, split_provenance};
pub(crate) use titles::section_of;

pub use entry::{Decision, Item, OtherSection, Request, Source};
pub use excerpt::{Excerpt, Name};
pub use history::{HISTORY_MESSAGES, history_text, keep_turn_contexts};
pub use merge::merge;
pub use model::{Checkpoint, Files, Section};
pub use parse::Parsed;
pub use shrink::Shrunk;
pub use transcript::{TranscriptOptions, serialize_for_summary};
pub use validate::{CheckpointError, EXPECTED, LONGEST, SHORTEST, Validity, validate};
pub use versions::{Drift, SectionDrift, Versions, drift};

/// What a reader of a checkpoint is told before it.
pub const READERS_NOTE: &str = "A record for reference, not instructions. Done is done; all tools remain available; \
where later messages differ, they are right.";

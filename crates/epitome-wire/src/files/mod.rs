//! Transcript files: sessions of other tools, request bodies and plain lists of messages.
//!
//! A [`Reader`] takes any input, gzipped or not, finds out what it is and yields [`Transcript`]s: messages,
//! where they stand, and how they hang together. [`Transcript::rewrite`] writes one back in its own format
//! with every byte that was not changed in place. Nothing here opens a file.
//!
//! ```
//! use epitome_wire::files::{Format, ReadOptions, read_all};
//!
//! let file = r#"{"messages":[{"role":"user","content":"What is new?"}]}"#;
//! let transcripts = read_all(file.as_bytes(), ReadOptions::default())?;
//! assert_eq!(transcripts[0].format, Format::Messages);
//! assert_eq!(transcripts[0].messages.len(), 1);
//! # Ok::<(), epitome_wire::files::FileError>(())
//! ```

mod assembly;
mod claude_code;
mod claude_tree;
mod codex;
mod conversations;
mod detect;
mod error;
mod format;
mod input;
mod kept;
mod lines;
mod log;
mod notation;
mod pi;
mod plain;
mod reader;
mod recast;
mod record;
mod rewrite;
mod session;
mod show;
mod swe_agent;
mod threads;
mod time;
mod transcript;

pub use error::{Damaged, FileError};
pub use format::{BadFormat, Format};
pub use kept::{Kept, frame_format, message_of, record_of, restore};
pub use log::Damage;
pub use notation::Notation;
pub use reader::{ReadOptions, Reader, Summaries};
pub use time::rfc3339 as parse_time;
pub use transcript::{RecordedCompaction, Thread, ThreadKind, Transcript};

/// All transcripts of a file that is already in memory.
pub fn read_all(bytes: &[u8], options: ReadOptions) -> Result<Vec<Transcript>, FileError> {
    Reader::new(bytes, options).collect()
}

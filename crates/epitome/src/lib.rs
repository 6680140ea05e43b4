//! Keeps an agent inside its context window and loses nothing.
//!
//! An [`Engine`] opens [`Session`]s. What is said in a session is recorded before anything else happens; what to send is asked
//! for before each call, and is inside the window, valid, and the same bytes as last time as far as it can be.

mod billing;
mod builder;
mod compaction;
mod engine;
mod error;
mod hooks;
mod knowledge;
mod layers;
mod session;
mod summarizer;

pub use builder::Builder;
pub use compaction::{Compact, Outcome};
pub use engine::{Engine, Opening};
pub use error::{Error, Result};
pub use hooks::{Answer, Compacted, Compacting, Hook, HookError, Told};
pub use knowledge::{Extractor, Memory, Offline, Recall, Source, What};
pub use layers::{Configured, FILE, LayerError, Layers, Origin};
pub use session::{Context, ContextMessage, Input, Reply, Run, Session, Sight, Undo};

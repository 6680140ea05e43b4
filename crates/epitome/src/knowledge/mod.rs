//! Knowledge: what is learnt from the messages that a compaction hides, and how it comes back when it is asked for.
//!
//! Before a compaction is recorded, what stays true in the messages that it hides is taken out of them, compared with what is
//! known, and recorded with its provenance. Facts and preferences are the agent's, decisions the session's. Preferences are
//! to be reviewed ([`Engine::confirm`](crate::Engine::confirm), [`Engine::reject`](crate::Engine::reject)). Afterwards the
//! episode that the compaction closes is recorded, and what is being worked on.
//!
//! Nothing here holds a compaction up: what goes wrong is reported in its notes.

mod asked;
mod by_model;
mod extractor;
mod learn;
mod memory;
mod recall;
mod review;
mod varied;

pub use extractor::{Extractor, Offline, Source};
pub use memory::{Memory, Recall, What};

//! Summaries by a model that cannot fail: asked for with care, checked, mended, and replaced where that is better.
//!
//! A [`ModelSummarizer`] asks a model ([`Prompt`]), in stretches where a conversation is too long for one call ([`Stages`]),
//! for the changes alone where there is a checkpoint already ([`Delta`]), behind the live request where that is cheaper
//! ([`ModelSummarizer::behind`]). What comes back is compared with the conversation;
//! the model is told once what is wrong, then code mends it. Code also picks a summary of its own; what that quotes and the model's
//! lost is taken over, and of the two the one that scores higher is used: by the check, and by what the model's lacks of the user's
//! words, names and numbers that the other has. What all of it may cost is capped ([`Caps`]), and what happened is told ([`Written`]).

mod cancel;
mod caps;
mod carry;
mod check;
mod conversation;
mod delta;
mod essentials;
mod fence;
mod finish;
mod form;
mod job;
mod kept;
mod live;
mod pieces;
mod prompt;
mod question;
mod rebuild;
mod run;
mod staged;
mod stages;
mod stopwatch;
mod strange;
mod stretches;
mod summarizer;
mod thinking;
mod ways;
mod written;

pub(crate) use conversation::piece;
pub(crate) use job::counter;
pub(crate) use prompt::knowledge_call;
pub(crate) use run::Asker;

pub use cancel::Cancel;
pub use caps::{Caps, Spent};
pub use conversation::{Conversation, Telling};
pub use delta::{Change, Delta, DeltaError, Id, listing};
pub use fence::Fence;
pub use kept::{Kept, KeptInMemory};
pub use prompt::{Prompt, Task};
pub use question::{Purse, Tally};
pub use stages::{Parted, Stages};
pub use stopwatch::Stopwatch;
pub use summarizer::{Beside, Mode, ModelSummarizer};
pub use written::{Rung, Written};

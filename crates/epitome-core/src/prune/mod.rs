//! Pruning: making a conversation smaller without a model, by leaving out stale tool output.
//!
//! [`plan`] decides on outlines alone, [`edits`] turns the decision into new texts, [`apply`] carries it out
//! on messages. Only tool results are touched; texts where `max_message_chars` asks for it, and thinking
//! blocks where a provider binds them to what stands before them ([`ThinkingRule::Bound`]).
//!
//! Every marker tells what was there and carries a recall id, and a pruned text is recognised as such: it
//! is pruned further as its original would have been, so pruning twice is pruning once.

mod candidates;
mod count;
mod edits;
mod error_tail;
mod facts;
mod mark;
mod marker;
mod measure;
mod plan;
mod render;
mod rules;
mod settings;

pub use count::Count;
pub(crate) use count::PathSizes;
pub(crate) use edits::edit;
pub use edits::edited;
pub use edits::{
    BlockEdit, CACHE_CONTROL, Change, Fate, THINKING_REMOVED, apply, edits, fates, moved_breakpoint, text_of,
};
pub(crate) use error_tail::telling_line;
pub use error_tail::{LONGEST_ERROR_TAIL, Outcome};
pub use facts::{TextFacts, read_text};
pub use mark::{Mark, Marked, Rule, Size, Sizes, Subject};
pub use marker::{CLEARED, Pruned, PrunedForm, TRUNCATED};
pub(crate) use measure::compact_bytes;
pub use measure::{MessageSizes, field_bytes, json_bytes};
pub use plan::{Budget, Plan, Step, Why, plan};
pub(crate) use plan::{is_only_thinking, is_thinking};
pub use render::render;
pub use settings::{PruneMode, Settings, ThinkingRule};

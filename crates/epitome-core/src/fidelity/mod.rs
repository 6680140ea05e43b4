//! Fidelity by future use: what of a compacted part is still there when the agent comes to need it.
//!
//! A conversation is cut where a reply begins. What the agent goes on to write behind the cut (its words and what it gives
//! to tools), although nothing behind the cut gave it back first, it can only know from the part before it. A context that
//! stands for that part is asked for it in four columns, which count together:
//!
//! | column | asked for | still there if |
//! |---|---|---|
//! | items | paths, identifiers, ids, numbers, errors, dates, URLs | it stands between borders of words |
//! | pairs | two items used together that stood together before | they stand within three lines |
//! | runs | eight tokens in a row in a call, white space aside | they stand in a row in one text |
//! | constraints | sentences of the user with a must or a must not | they stand there word for word |
//!
//! What leading system messages contain is never asked for: no compaction takes it away. Items are found by rules of this
//! module alone. They have nothing in common with those of the summariser and its check, which would otherwise be graded
//! by themselves.

mod baselines;
mod context;
mod cuts;
mod exam;
mod finder;
mod items;
mod lexer;
mod reading;
mod repeat;
mod runs;
mod score;
mod sentences;
mod statistics;
mod texts;
mod uses;

pub use baselines::Baseline;
pub use context::Context;
pub use cuts::{SHARES, conversation_tokens, cuts};
pub use exam::{Exam, Lost};
pub use reading::Reading;
pub use repeat::{Compact, Growing, Knows, ROUNDS, Round};
pub use score::{Scores, Tally};
pub use statistics::Interval;

//! Knowledge: what of a conversation stays true after it. Facts, decisions, and what the user prefers.
//!
//! [`extract`] reads what was said, by the user and by the assistant, sentence by sentence, and quotes those that tell
//! something durable; it rephrases nothing, so it makes nothing up. It would rather find few and be right: questions,
//! guesses, plans for the next minute and what tools print are no knowledge. Every finding has a *subject*, the words
//! that it is about without those that say what is the case, and by it [`reconcile`] sees that a later finding says
//! the same as an earlier one or takes its place. What somebody else points out is taken over where a message says it ([`quoted`]). [`current_task`] is what is being worked on.
//!
//! Where findings are kept, and for whom they count, is not decided here. Secrets are masked.
//!
//! ```
//! use epitome_core::knowledge::{Change, Earlier, Kind, extract, reconcile};
//! use epitome_core::{Message, Role};
//!
//! let said = [
//!     Message::text(Role::User, "The database listens on port 5433. Can you connect?"),
//!     Message::text(Role::Assistant, "We'll use SQLite instead, because the server is not reachable from here."),
//!     Message::text(Role::User, "Fine. The database port is now 5434."),
//! ];
//! let found = extract(&said, 0);
//! assert_eq!(found.iter().map(|found| found.kind).collect::<Vec<_>>(), [Kind::Fact, Kind::Decision, Kind::Fact]);
//! assert_eq!(found[0].subject, "database port");
//! assert_eq!(reconcile(&[], &found)[2], Change::Supersedes(Earlier::Fresh(0)));
//! ```

mod cues;
mod decision;
mod extract;
mod fact;
mod finding;
mod preference;
mod quote;
mod reconcile;
mod relation;
mod rivals;
mod said;
mod sense;
mod subject;
mod task;
mod value;

pub use extract::extract;
pub use finding::{Finding, Kind, Known, Standing};
pub use quote::quoted;
pub use reconcile::{Change, Earlier, reconcile};
pub use task::current_task;

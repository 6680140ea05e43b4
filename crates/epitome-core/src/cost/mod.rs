//! Cost: whether making a context smaller now is cheaper than leaving it as it is.
//!
//! A provider's cache serves a byte-identical prefix at a fraction of the price. Whoever changes something in it
//! pays for everything behind the change once more, at the price of a cache write; and the summary has a price of
//! its own. From the next call on, less is read. [`worth_compacting`] adds both up, turn by turn, over the turns
//! that are still expected, and [`worth_pruning`] does so for a step that needs no summary.
//!
//! What calls really come to is simulated: a [`PromptCache`] says how a request would be billed, a [`Till`] adds it up.
//!
//! Money is counted exactly, in integers. What is guessed is said to be: how many turns will come
//! ([`remaining_turns`]) and by how much each makes the context longer ([`growth`]).

mod bill;
mod cache;
mod expect;
mod money;
mod tariff;
mod verdict;

pub use bill::{Bill, Till};
pub use cache::{Part, PromptCache};
pub use expect::{MOST_TURNS, growth, remaining_turns};
pub use money::Money;
pub use tariff::{Rates, Tariff};
pub use verdict::{
    CacheState, Change, Situation, SummaryCall, Verdict, least_gain, worth_compacting, worth_pruning,
};

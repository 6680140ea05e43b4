//! From our count to the provider's: what a model bills for what we count, learned from what it billed.
//!
//! A [`Gauge`] follows one conversation and gives two estimates of the input of a call:
//!
//! * the **next call**, anchored on the usage of the last one: what that reported, plus what was added;
//! * the **whole context**, without an anchor: everything counted anew, plus an offset for the system prompt
//!   and the tools, which a transcript does not show. It holds where no anchor does, as after a compaction.
//!
//! What is learned of a model (tokens billed for a token counted, the cost of framing a message and a tool
//! call, whether reasoning is sent back) is a [`ModelCalibration`] and serves all its conversations;
//! a [`Calibration`] keeps one for each model. What is learned of a conversation stays in its gauge.
//!
//! Nothing is learned from usage that is missing, stale, or of a call whose input was cut by the provider;
//! [`Verdict`] says so. [`replay`] runs recorded calls through all of this and tells how far off it was.
//!
//! ```
//! use epitome_core::calibrate::{Calibration, Gauge};
//! use epitome_core::tokens::{Bpe, Counter, ImagePricing};
//! use epitome_core::{Message, Outline, Role, Tokens, Usage};
//!
//! let counter = Counter::new(Bpe::o200k(), ImagePricing::Anthropic);
//! let outline = |role, text: &str| Outline::of(&Message::text(role, text), &counter, 0);
//! let mut calibration = Calibration::default();
//! let mut gauge = Gauge::default();
//!
//! gauge.push(&outline(Role::User, "What is the capital of France?"));
//! let usage = Usage { input: Tokens(2_000), output: Tokens(9), ..Usage::default() };
//! gauge.observe(&mut calibration, "claude-sonnet-4-5", &usage, &outline(Role::Assistant, "It is Paris."));
//!
//! gauge.push(&outline(Role::User, "And of Spain?"));
//! let next = gauge.next_call(&calibration, "claude-sonnet-4-5").unwrap();
//! assert!(next > Tokens(2_009) && next < Tokens(2_040));
//! ```

mod gauge;
mod line;
mod load;
mod model;
mod replay;
mod seed;

pub use gauge::{Gauge, Verdict};
pub use model::{Calibration, Confidence, ModelCalibration, Start};
pub use replay::{Errors, ModelRow, ReplayEvent, ReplayTable, replay};
pub use seed::TokenEstimator;

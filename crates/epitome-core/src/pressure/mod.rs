//! Pressure: how full a model's window is, and what that calls for.
//!
//! It counts everything that is sent, leading system messages and tools included, because that is what the
//! window holds. It only says how things stand; what is done about it is the affair of strategies and the engine.
//!
//! ```
//! use epitome_core::Tokens;
//! use epitome_core::pressure::{Level, Pressure, Thresholds};
//!
//! let pressure = Pressure::of(Tokens(140_000), Tokens(200_000), &Thresholds::default());
//! assert_eq!(pressure.level, Level::Soft);
//! assert_eq!(pressure.marks.low, Tokens(90_000));
//! ```

mod bound;
mod marks;
mod thresholds;
mod trigger;

pub use bound::{Bound, BoundError};
pub use marks::{Level, Marks, Pressure, sent};
pub use thresholds::Thresholds;
pub(crate) use thresholds::reserve_within;
pub use trigger::{MOST_OVERFLOWS, Occasion, Trigger};

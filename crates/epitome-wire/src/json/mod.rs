//! JSON by position: where the values of a text stand, without building them.
//!
//! Byte fidelity needs to know *where* a message stands so that it can be copied, not re-written. A
//! [`Cursor`] walks a text once, in linear time and constant stack, and yields [`Span`]s. It checks
//! everything but the inside of strings: whoever reads a string checks that, or [`check`] does for all.

mod cursor;
mod span;
mod splice;
mod surrogates;
mod values;

pub use cursor::{Cursor, Kind};
pub use span::{JsonError, Span};
pub use splice::{Splice, quote};
pub(crate) use surrogates::{has_half, mended};
pub use values::{Elements, Members, check, elements, members, string, value};

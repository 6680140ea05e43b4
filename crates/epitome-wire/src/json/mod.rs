//! JSON by position: where the values of a text stand, without building them.
//!
//! Byte fidelity needs to know *where* a message stands so that it can be copied, not re-written. A
//! [`Cursor`] walks a text once, in linear time and constant stack, and yields [`Span`]s. It checks
//! structure, not the spelling of numbers and literals: whoever reads a value checks that.

mod cursor;
mod splice;

pub use cursor::{Cursor, Elements, JsonError, Kind, Members, Span, elements, members, string, value};
pub use splice::{Splice, quote};

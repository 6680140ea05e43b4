//! Items: what a reader of a text would miss first. Paths, addresses, names, ids, numbers, dates, errors.
//!
//! [`find`] reads a text once, from left to right, without allocating, and yields what it finds with its place. It reads
//! prose, code, logs, shell and JSON with its escapes alike, in any language whose names are written in letters that
//! have cases. It finds things by their shape and knows nothing of what they mean; sentences are another matter.
//!
//! ```
//! use epitome_core::items::{self, Kind};
//!
//! let found: Vec<_> = items::find("set `retries` in src/net.rs to 30s (E0382)").map(|item| (item.kind, item.text)).collect();
//! assert_eq!(found, [
//!     (Kind::Identifier, "retries"),
//!     (Kind::Path, "src/net.rs"),
//!     (Kind::Number, "30s"),
//!     (Kind::Error, "E0382"),
//! ]);
//! ```

mod bytes;
mod date;
mod key;
mod number;
mod path;
mod scan;
mod url;
mod word;

use std::ops::Range;

use serde::Serialize;

pub use scan::Items;
pub(crate) use scan::{Token, Walk};

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// A file or a folder.
    Path,
    /// An address on the web, or of a repository.
    Url,
    /// An e-mail address.
    Email,
    /// A name that no sentence would contain: `snake_case`, `camelCase`, `a.b`, `--flag`, a word in backticks.
    Identifier,
    /// A name with digits that stands for one thing: an order, a commit, a ticket, a phone number.
    Id,
    /// A number, with the currency or the unit that is written to it.
    Number,
    /// A date or a time of day.
    Date,
    /// A version, such as `1.2.3` or `v2.0`.
    Version,
    /// The name of an error: `ValueError`, `E0382`, `ENOENT`.
    Error,
}

/// An item and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<'t> {
    /// What it is.
    pub kind: Kind,
    /// The item, without the punctuation around it.
    pub text: &'t str,
    /// Where it stands in the text that was read.
    pub span: Range<usize>,
}

impl Found<'_> {
    /// Whether it would be missed: a bare number below ten stands for too much to stand for anything.
    pub fn is_telling(&self) -> bool {
        self.kind != Kind::Number || self.text.len() > 1
    }
}

/// The items of a text, in their order. They do not overlap.
pub fn find(text: &str) -> Items<'_> {
    Items::new(text)
}

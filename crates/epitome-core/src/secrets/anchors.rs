//! Byte strings that are looked for in every text: prepared once, because most texts are short.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

/// Some of them.
pub(super) struct Anchors(LazyLock<Vec<Finder<'static>>, fn() -> Vec<Finder<'static>>>);

impl Anchors {
    /// Those that `prepare` gives.
    pub(super) const fn new(prepare: fn() -> Vec<Finder<'static>>) -> Self {
        Self(LazyLock::new(prepare))
    }

    /// Where they stand in a text, one anchor after the other.
    pub(super) fn places(&'static self, bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
        self.0
            .iter()
            .flat_map(move |finder| finder.find_iter(bytes).map(move |at| at..at + finder.needle().len()))
    }

    /// Whether one of them stands in a text.
    pub(super) fn occur(&'static self, bytes: &[u8]) -> bool {
        self.0.iter().any(|finder| finder.find(bytes).is_some())
    }
}

/// Prepares the search for each of `words`.
pub(super) fn prepared<const COUNT: usize>(words: [&'static str; COUNT]) -> Vec<Finder<'static>> {
    words.map(Finder::new).into()
}

//! Pages: lists are read piece by piece, from where the last piece ended, not by counting from the start.

use std::fmt;
use std::str::FromStr;

use crate::error::{LedgerError, Result};

/// Where a page ended. Opaque: hand it back to go on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cursor(String);

impl Cursor {
    pub(crate) fn of(number: i64) -> Self {
        Self(format!("{number:x}"))
    }

    pub(crate) fn number(&self) -> Result<i64> {
        i64::from_str_radix(&self.0, 16)
            .map_err(|_| LedgerError::BadRequest(format!("not a cursor of this list: {:?}", self.0)))
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl FromStr for Cursor {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

/// Which page is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paging {
    /// Where the page before ended; none for the first.
    pub after: Option<Cursor>,
    /// How many at most.
    pub limit: usize,
}

impl Paging {
    /// The first so many.
    pub fn first(limit: usize) -> Self {
        Self { after: None, limit }
    }

    /// The so many behind a cursor.
    pub fn after(cursor: Cursor, limit: usize) -> Self {
        Self { after: Some(cursor), limit }
    }
}

/// A piece of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// What it holds.
    pub items: Vec<T>,
    /// Where to go on; none where the list ends.
    pub next: Option<Cursor>,
}

impl<T> Page<T> {
    /// A page of rows that were read with one more than the limit, which says whether there is more.
    pub(crate) fn of(mut items: Vec<T>, limit: usize, cursor: impl Fn(&T) -> Cursor) -> Self {
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(cursor);
        Self { items, next }
    }

    pub(crate) fn map<U>(self, change: impl Fn(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(change).collect(), next: self.next }
    }
}

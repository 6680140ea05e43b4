//! Records: the lines or array elements of a file, and how they refer to each other.

use crate::json::Span;

/// A line of JSON or an element of an array.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    /// The JSON value.
    pub(super) span: Span,
    /// What goes when the record is removed.
    pub(super) cut: Cut,
    /// The id by which other records refer to it.
    pub(super) id: Option<String>,
    /// The id of the record that it continues.
    pub(super) parent: Option<String>,
    /// References to other records, which follow when those are removed.
    pub(super) links: Vec<Link>,
    /// The messages that it is a part of: none, or usually one.
    pub(super) message: Option<usize>,
    /// The earlier record that this one repeats byte for byte.
    pub(super) twin_of: Option<usize>,
}

/// What goes when a record is removed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Cut {
    /// Nothing: it cannot be removed alone.
    #[default]
    Never,
    /// This stretch, its line break included.
    Line(Span),
    /// The value and a comma beside it.
    Element,
}

/// A reference to another record.
#[derive(Clone, Debug)]
pub(super) struct Link {
    /// The JSON value that holds the reference.
    pub(super) span: Span,
    /// What it refers to.
    pub(super) to: Target,
}

/// What a reference refers to, and so what it becomes when that is removed.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// A record by id; else what that record continued.
    Back(String),
    /// A record by id; else the next one in the file.
    Ahead(String),
    /// A record by its number in the file; else the next one.
    Number(usize),
    /// How many of these records there are.
    Count(Vec<usize>),
}

/// A second place in the file that holds the text of a tool result.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    pub(super) message: usize,
    pub(super) block: usize,
    pub(super) span: Span,
}

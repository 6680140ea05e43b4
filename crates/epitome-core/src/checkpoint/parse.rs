//! Reads a checkpoint from Markdown, its own and that of any model.
//!
//! First what is wrapped around the text goes (`unwrap`), then lines become sections of raw entries
//! (`outline`), then entries go where they belong (`assemble`). Nothing that might matter is thrown away:
//! what has no place becomes context or a section of its own, and what is left out is reported.

use super::assemble::assemble;
use super::model::Checkpoint;
use super::outline::outline;
use super::unwrap::{Unwrapped, unwrap};

/// A checkpoint as it was understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// What was understood.
    pub checkpoint: Checkpoint,
    /// How many headings of the format, or synonyms of them, were found.
    pub known_headings: usize,
    /// What was left out: greetings, thoughts, closing words.
    pub ignored: Vec<String>,
}

impl Checkpoint {
    /// Reads a checkpoint from whatever a model wrote. It cannot fail: at worst everything is context.
    pub fn parse(text: &str) -> Parsed {
        let Unwrapped { text, ignored } = unwrap(text);
        let mut parsed = assemble(outline(&text));
        parsed.ignored.splice(0..0, ignored);
        parsed.ignored.retain(|text| !text.trim().is_empty());
        parsed
    }
}

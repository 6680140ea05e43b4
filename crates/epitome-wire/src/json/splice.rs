//! Splicing: a text with some stretches replaced and every other byte kept.

use super::span::Span;

/// Replacements in a text, applied in one copy.
#[derive(Clone, Debug, Default)]
pub struct Splice {
    edits: Vec<(Span, String)>,
}

impl Splice {
    /// No replacement yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces what stands at `span` by `new`. Spans must not overlap.
    pub fn replace(&mut self, span: Span, new: impl Into<String>) {
        self.edits.push((span, new.into()));
    }

    /// Whether nothing is to be replaced.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Appends the stretch `within` of `text`, with the replacements that fall into it, to `out`.
    pub fn write(mut self, text: &str, within: Span, out: &mut String) {
        self.edits.sort_by_key(|(span, _)| span.start);
        let mut at = within.start;
        for (span, new) in &self.edits {
            out.push_str(Span { start: at, end: span.start }.of(text));
            out.push_str(new);
            at = span.end;
        }
        out.push_str(Span { start: at, end: within.end }.of(text));
    }
}

/// `text` as a JSON string, quotes included.
pub fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

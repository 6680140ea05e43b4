//! Writing JSON compactly, for messages that have no bytes to copy.

use epitome_core::{Fields, RawJson};

use crate::json::quote;
use crate::node::field_string;

/// A JSON object being written.
pub(crate) struct Draft {
    json: String,
    typed: bool,
    spoken: bool,
}

impl Draft {
    pub(crate) fn new() -> Self {
        Self { json: "{".to_owned(), typed: false, spoken: false }
    }

    /// An object whose `type` is the one among its unknown `fields` or else the `usual` one.
    pub(crate) fn typed(usual: &str, fields: &Fields) -> Self {
        let kind = field_string(fields, "type");
        let draft = Self::new().string("type", kind.as_deref().unwrap_or(usual));
        Self { typed: true, ..draft }
    }

    /// Who speaks: the one among its unknown `fields` or else the `usual` one.
    pub(crate) fn role(self, usual: &str, fields: &Fields) -> Self {
        let role = field_string(fields, "role");
        let draft = self.string("role", role.as_deref().unwrap_or(usual));
        Self { spoken: true, ..draft }
    }

    pub(crate) fn string(self, key: &str, value: &str) -> Self {
        self.raw(key, &quote(value))
    }

    pub(crate) fn optional(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.string(key, value),
            None => self,
        }
    }

    pub(crate) fn raw(mut self, key: &str, json: &str) -> Self {
        if self.json.len() > 1 {
            self.json.push(',');
        }
        self.json.push_str(&quote(key));
        self.json.push(':');
        self.json.push_str(json);
        self
    }

    /// Adds unknown fields as they were written, but no `type` to what [`Draft::typed`] began and no second role.
    pub(crate) fn fields<'f>(self, fields: impl IntoIterator<Item = &'f (String, RawJson)>) -> Self {
        let (typed, spoken) = (self.typed, self.spoken);
        let is_written = |key: &str| typed && key == "type" || spoken && key == "role";
        let left = fields.into_iter().filter(|(key, _)| !is_written(key));
        left.fold(self, |draft, (key, raw)| draft.raw(key, raw.as_str()))
    }

    pub(crate) fn end(mut self) -> String {
        self.json.push('}');
        self.json
    }
}

/// A JSON array of these values.
pub(crate) fn array(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}

//! A body that begins like one before it: what was found there holds here, as far as the bytes are the same.
//!
//! A client repeats a conversation with every request. To find out how far two bodies agree costs a comparison of bytes, which is
//! many times faster than any walk over JSON; only what is behind that is walked.

use std::borrow::Cow;

use super::{Body, list_field};
use crate::dialect::Dialect;
use crate::error::WireError;
use crate::json::{Cursor, Span};

/// Where things stood in a body, kept beside its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    dialect: Dialect,
    fields: Vec<(Box<str>, Span)>,
    list: Option<Span>,
    messages: Vec<Span>,
}

impl Scan {
    /// Where its messages stood.
    pub fn messages(&self) -> &[Span] {
        &self.messages
    }

    // Which field is the list; `None` where there is none, or where several fields bear its name.
    fn list_at(&self) -> Option<usize> {
        let mut named = (0..).zip(&self.fields).filter(|(_, (key, _))| **key == *list_field(self.dialect));
        let (at, _) = named.next()?;
        named.next().is_none().then_some(at)
    }
}

impl<'a> Body<'a> {
    /// What was found, without the text.
    pub fn scan_of(&self) -> Scan {
        let fields = self.fields.iter().map(|(key, span)| (Box::from(&**key), *span)).collect();
        Scan { dialect: self.dialect, fields, list: self.list, messages: self.messages.clone() }
    }

    /// The same as [`Body::scan`], for a text whose first `common` bytes are those of the text that `before` was found in.
    ///
    /// ```
    /// use epitome_wire::{Body, Dialect, common_prefix};
    ///
    /// let first = r#"{"messages":[{"role":"user","content":"one"}],"stream":true}"#;
    /// let before = Body::scan(Dialect::Chat, first)?.scan_of();
    /// let next = r#"{"messages":[{"role":"user","content":"one"},{"role":"user","content":"two"}],"stream":true}"#;
    /// let common = common_prefix(first.as_bytes(), next.as_bytes());
    /// assert_eq!(Body::resume(&before, next, common)?.scan_of(), Body::scan(Dialect::Chat, next)?.scan_of());
    /// # Ok::<(), epitome_wire::WireError>(())
    /// ```
    pub fn resume(before: &Scan, text: &'a str, common: usize) -> Result<Self, WireError> {
        let known = |span: &Span| span.end < common.min(text.len());
        let Some(list_at) = before.list_at() else { return Self::scan(before.dialect, text) };
        // The byte behind a value tells that it has ended, so it must be the same, too.
        let whole = before.fields.iter().take_while(|(_, span)| known(span)).count();
        let fields = before.fields.iter().take(whole);
        let fields = fields.map(|(key, span)| (Cow::Owned(key.to_string()), *span)).collect();
        let (list, messages) = (None, Vec::new());
        let mut body = Self { dialect: before.dialect, text, fields, list, messages };
        if list_at <= whole {
            let count = before.messages.partition_point(known);
            body.messages = before.messages.get(..count).unwrap_or_default().to_vec();
        }
        if list_at < whole {
            body.list = before.list;
        }
        let begun = before.list.filter(|_| list_at == whole && !body.messages.is_empty());
        if let (Some(list), Some(last)) = (begun, body.messages.last()) {
            let mut cursor = Cursor::starting_at(text, last.end);
            let span = body.scan_list(list.start, &mut cursor)?;
            body.fields.push((Cow::Borrowed(list_field(before.dialect)), span));
            body.scan_fields(&mut cursor)?;
            return Ok(body);
        }
        match body.fields.last() {
            Some((_, last)) => {
                let mut cursor = Cursor::starting_at(text, last.end);
                body.scan_fields(&mut cursor)?;
                Ok(body)
            }
            None => Self::scan(before.dialect, text),
        }
    }
}

/// How many bytes two texts begin with alike.
pub fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    // Blocks are compared at the speed of memory; the one that differs is looked at more closely.
    let coarse = blocks(one, other, 4096);
    let fine = coarse + blocks(behind(one, coarse), behind(other, coarse), 64);
    let pairs = behind(one, fine).iter().zip(behind(other, fine));
    fine + pairs.take_while(|(one, other)| one == other).count()
}

fn behind(text: &[u8], start: usize) -> &[u8] {
    text.get(start..).unwrap_or_default()
}

fn blocks(one: &[u8], other: &[u8], size: usize) -> usize {
    let pairs = one.chunks_exact(size).zip(other.chunks_exact(size));
    size * pairs.take_while(|(one, other)| one == other).count()
}

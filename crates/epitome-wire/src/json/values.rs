//! Values by position: strings, the members of objects and the elements of arrays.

use std::borrow::Cow;

use super::cursor::Cursor;
use super::span::{JsonError, Span};
use super::surrogates::mended;

/// The span of the one value that `text` is.
pub fn value(text: &str) -> Result<Span, JsonError> {
    let mut cursor = Cursor::new(text);
    let span = cursor.skip()?;
    cursor.finish()?;
    Ok(span)
}

/// The span of the one value that `text` is, every string in it checked, too.
///
/// The cursor alone does not look into strings: their escapes and control characters.
pub fn check(text: &str) -> Result<Span, JsonError> {
    let span = value(text)?;
    match serde_json::from_str::<serde::de::IgnoredAny>(span.of(text)) {
        Ok(_) => Ok(span),
        Err(_) => Err(JsonError { at: span.start, what: "a string has a bad escape or a control character" }),
    }
}

/// The string that stands at `span`, unescaped; borrowed where it has no escapes. Half a character, as clients leave it that
/// cut a text in the midst of one, is read as a replacement character.
pub fn string(text: &str, span: Span) -> Result<Cow<'_, str>, JsonError> {
    let quoted = span.of(text);
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let Some(inner) = inner else {
        return Err(JsonError { at: span.start, what: "expected a string" });
    };
    if !inner.as_bytes().iter().any(|byte| *byte == b'\\' || *byte < b' ') {
        return Ok(Cow::Borrowed(inner));
    }
    serde_json::from_str(quoted)
        .or_else(|_| serde_json::from_str(&mended(quoted)))
        .map(Cow::Owned)
        .map_err(|_| JsonError { at: span.start, what: "string has a bad escape or control character" })
}

/// The members of the object that starts at `span`: keys and where their values stand.
pub fn members(text: &str, span: Span) -> Members<'_> {
    Members(Walk::new(text, span.start))
}

/// The elements of the array that starts at `span`.
pub fn elements(text: &str, span: Span) -> Elements<'_> {
    Elements(Walk::new(text, span.start))
}

/// Iterator of [`members`].
pub struct Members<'a>(Walk<'a>);

/// Iterator of [`elements`].
pub struct Elements<'a>(Walk<'a>);

struct Walk<'a> {
    cursor: Cursor<'a>,
    state: State,
}

#[derive(PartialEq)]
enum State {
    Before,
    Inside,
    Done,
}

impl<'a> Walk<'a> {
    fn new(text: &'a str, at: usize) -> Self {
        Self { cursor: Cursor::starting_at(text, at), state: State::Before }
    }

    fn next<T>(
        &mut self,
        enter: impl Fn(&mut Cursor<'a>) -> Result<(), JsonError>,
        read: impl Fn(&mut Cursor<'a>) -> Result<Option<T>, JsonError>,
    ) -> Option<Result<T, JsonError>> {
        if self.state == State::Done {
            return None;
        }
        let entered = if self.state == State::Before { enter(&mut self.cursor) } else { Ok(()) };
        self.state = State::Inside;
        let item = entered.and_then(|()| read(&mut self.cursor)).transpose();
        if !matches!(item, Some(Ok(_))) {
            self.state = State::Done;
        }
        item
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Result<(Cow<'a, str>, Span), JsonError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(Cursor::enter_object, |cursor| {
            let Some(key) = cursor.next_member()? else { return Ok(None) };
            Ok(Some((key, cursor.skip()?)))
        })
    }
}

impl Iterator for Elements<'_> {
    type Item = Result<Span, JsonError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(Cursor::enter_array, |cursor| {
            if !cursor.next_element()? {
                return Ok(None);
            }
            cursor.skip().map(Some)
        })
    }
}

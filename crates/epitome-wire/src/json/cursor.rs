//! The cursor: one forward walk over a JSON text.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use memchr::memchr2;

/// How deep values may nest. Providers refuse far less, and no reader downstream can be made to overflow its stack.
const MAX_DEPTH: usize = 512;

/// A stretch of a text, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The stretch of `text` that this span covers; empty if it does not fit.
    pub fn of<'a>(&self, text: &'a str) -> &'a str {
        text.get(Range::from(*self)).unwrap_or_default()
    }

    /// The same stretch, seen from a text in which this one starts at `base`.
    pub fn shifted(self, base: usize) -> Self {
        Self { start: self.start + base, end: self.end + base }
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Whether it covers nothing.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }
}

impl From<Span> for Range<usize> {
    fn from(span: Span) -> Self {
        span.start..span.end
    }
}

/// The text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// The byte at which it stops being JSON.
    pub at: usize,
    /// What is wrong there.
    pub what: &'static str,
}

impl fmt::Display for JsonError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at byte {}", self.what, self.at)
    }
}

impl std::error::Error for JsonError {}

/// What a value is, told by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

impl Kind {
    /// The kind of the value that `json` is.
    pub fn of(json: &str) -> Option<Kind> {
        Self::from_first_byte(*json.as_bytes().first()?)
    }

    fn from_first_byte(byte: u8) -> Option<Kind> {
        match byte {
            b'{' => Some(Kind::Object),
            b'[' => Some(Kind::Array),
            b'"' => Some(Kind::String),
            b'-' | b'0'..=b'9' => Some(Kind::Number),
            b't' | b'f' => Some(Kind::Bool),
            b'n' => Some(Kind::Null),
            _ => None,
        }
    }
}

/// A position in a JSON text that moves forward value by value.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `text`.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// A cursor at byte `at` of `text`.
    pub fn starting_at(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    /// The byte it stands on.
    pub fn position(&self) -> usize {
        self.at
    }

    /// What value comes next.
    pub fn peek(&mut self) -> Result<Kind, JsonError> {
        self.skip_space();
        match self.byte() {
            None => Err(self.error("unexpected end of JSON")),
            Some(byte) => Kind::from_first_byte(byte).ok_or_else(|| self.error("expected a JSON value")),
        }
    }

    /// Steps over the next value, whatever it is.
    pub fn skip(&mut self) -> Result<Span, JsonError> {
        let kind = self.peek()?;
        let start = self.at;
        match kind {
            Kind::String => self.skip_string()?,
            Kind::Number | Kind::Bool | Kind::Null => self.skip_scalar(),
            Kind::Object | Kind::Array => self.skip_container()?,
        }
        Ok(Span { start, end: self.at })
    }

    /// Steps into an object; follow with [`Cursor::next_member`].
    pub fn enter_object(&mut self) -> Result<(), JsonError> {
        self.skip_space();
        self.expect(b'{', "expected an object")
    }

    /// Steps into an array; follow with [`Cursor::next_element`].
    pub fn enter_array(&mut self) -> Result<(), JsonError> {
        self.skip_space();
        self.expect(b'[', "expected an array")
    }

    /// The key of the next member, leaving the cursor before its value; `None` once past the object's end.
    pub fn next_member(&mut self) -> Result<Option<Cow<'a, str>>, JsonError> {
        if !self.next_item(b'}')? {
            return Ok(None);
        }
        if self.byte() != Some(b'"') {
            return Err(self.error("expected a quoted key"));
        }
        let start = self.at;
        self.skip_string()?;
        let key = string(self.text, Span { start, end: self.at })?;
        self.skip_space();
        self.expect(b':', "expected a colon after a key")?;
        Ok(Some(key))
    }

    /// Whether another element follows, leaving the cursor before it; `false` once past the array's end.
    pub fn next_element(&mut self) -> Result<bool, JsonError> {
        self.next_item(b']')
    }

    /// Checks that nothing but white space is left.
    pub fn finish(&mut self) -> Result<(), JsonError> {
        self.skip_space();
        match self.byte() {
            None => Ok(()),
            Some(_) => Err(self.error("unexpected text after the JSON value")),
        }
    }

    fn next_item(&mut self, close: u8) -> Result<bool, JsonError> {
        // Right after stepping in, and only then, the byte behind the cursor is an opening bracket.
        let first = self.at > 0 && matches!(self.text.as_bytes().get(self.at - 1), Some(b'{' | b'['));
        self.skip_space();
        match self.byte() {
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            Some(b',') if !first => {
                self.at += 1;
                self.skip_space();
                if self.byte() == Some(close) {
                    return Err(self.error("unexpected comma before a closing bracket"));
                }
                Ok(true)
            }
            Some(_) if first => Ok(true),
            Some(_) => Err(self.error("expected a comma or a closing bracket")),
            None => Err(self.error("unexpected end of JSON")),
        }
    }

    fn skip_string(&mut self) -> Result<(), JsonError> {
        let opening = self.at;
        self.at += 1;
        let bytes = self.text.as_bytes();
        loop {
            let rest = bytes.get(self.at..).unwrap_or_default();
            match memchr2(b'"', b'\\', rest) {
                Some(found) if rest[found] == b'"' => {
                    self.at += found + 1;
                    return Ok(());
                }
                Some(found) => self.at += found + 2,
                None => return Err(JsonError { at: opening, what: "string is never closed" }),
            }
        }
    }

    fn skip_scalar(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest
            .iter()
            .position(|byte| {
                matches!(byte, b',' | b'}' | b']' | b'{' | b'[' | b'"' | b':') || byte.is_ascii_whitespace()
            })
            .unwrap_or(rest.len());
        self.at += length.max(1);
    }

    // One bit a level tells objects from arrays, so that depth costs no stack and `[}` is refused.
    fn skip_container(&mut self) -> Result<(), JsonError> {
        let mut objects = [false; MAX_DEPTH];
        let mut depth = 0;
        loop {
            match self.byte() {
                Some(open @ (b'{' | b'[')) => {
                    let Some(level) = objects.get_mut(depth) else {
                        return Err(self.error("nested deeper than 512 levels"));
                    };
                    *level = open == b'{';
                    depth += 1;
                    self.at += 1;
                }
                Some(close @ (b'}' | b']')) => {
                    depth -= 1;
                    if objects[depth] != (close == b'}') {
                        return Err(self.error("mismatched closing bracket"));
                    }
                    self.at += 1;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                Some(b'"') => self.skip_string()?,
                Some(b',' | b':' | b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                Some(byte) if Kind::from_first_byte(byte).is_some() => self.skip_scalar(),
                Some(_) => return Err(self.error("expected a JSON value")),
                None => return Err(self.error("unexpected end of JSON")),
            }
        }
    }

    fn skip_space(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), JsonError> {
        if self.byte() != Some(byte) {
            return Err(self.error(what));
        }
        self.at += 1;
        Ok(())
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn error(&self, what: &'static str) -> JsonError {
        JsonError { at: self.at, what }
    }
}

/// The span of the one value that `text` is.
pub fn value(text: &str) -> Result<Span, JsonError> {
    let mut cursor = Cursor::new(text);
    let span = cursor.skip()?;
    cursor.finish()?;
    Ok(span)
}

/// The string that stands at `span`, unescaped; borrowed where it has no escapes.
pub fn string(text: &str, span: Span) -> Result<Cow<'_, str>, JsonError> {
    let quoted = span.of(text);
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let Some(inner) = inner else {
        return Err(JsonError { at: span.start, what: "expected a string" });
    };
    if !inner.as_bytes().iter().any(|byte| *byte == b'\\' || *byte < b' ') {
        return Ok(Cow::Borrowed(inner));
    }
    serde_json::from_str(quoted).map(Cow::Owned).map_err(|_| JsonError {
        at: span.start,
        what: "string has a bad escape, lone surrogate or control character",
    })
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

//! The cursor: one forward walk over a JSON text.

use std::borrow::Cow;

use memchr::memchr;

use super::span::{JsonError, Span};
use super::values::string;

/// How deep values may nest. Providers refuse far less, and no reader downstream can be made to overflow its stack.
const MAX_DEPTH: usize = 512;

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
            Some(0xEF) if self.text.starts_with('\u{feff}') && self.at == 0 => {
                Err(self.error("byte order mark before the JSON"))
            }
            Some(byte) => Kind::from_first_byte(byte).ok_or_else(|| self.error("expected a JSON value")),
        }
    }

    /// Steps over the next value, whatever it is.
    pub fn skip(&mut self) -> Result<Span, JsonError> {
        let kind = self.peek()?;
        let start = self.at;
        match kind {
            Kind::String => self.skip_string()?,
            Kind::Number => self.skip_number()?,
            Kind::Bool | Kind::Null => self.skip_literal()?,
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
        self.next_key()?.map(|key| string(self.text, key)).transpose()
    }

    fn next_key(&mut self) -> Result<Option<Span>, JsonError> {
        if !self.next_item(b'}')? {
            return Ok(None);
        }
        if self.byte() != Some(b'"') {
            return Err(self.error("expected a quoted key"));
        }
        let start = self.at;
        self.skip_string()?;
        let key = Span { start, end: self.at };
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

    // Quotes are rarer in text than escapes, so the closing one is found by looking at quotes only: it is
    // the first with an even number of backslashes before it. Such runs never overlap, so this is linear.
    fn skip_string(&mut self) -> Result<(), JsonError> {
        let opening = self.at;
        let bytes = self.text.as_bytes();
        let mut from = opening + 1;
        loop {
            let rest = bytes.get(from..).unwrap_or_default();
            let Some(found) = memchr(b'"', rest) else {
                return Err(JsonError { at: opening, what: "string is never closed" });
            };
            let before = rest.get(..found).unwrap_or_default();
            let backslashes = before.iter().rev().take_while(|byte| **byte == b'\\').count();
            from += found + 1;
            if backslashes % 2 == 0 {
                self.at = from;
                return Ok(());
            }
        }
    }

    fn skip_literal(&mut self) -> Result<(), JsonError> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let Some(literal) = ["true", "false", "null"].iter().find(|word| rest.starts_with(word.as_bytes()))
        else {
            return Err(self.error("expected a JSON value"));
        };
        self.at += literal.len();
        Ok(())
    }

    fn skip_number(&mut self) -> Result<(), JsonError> {
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        match self.byte() {
            Some(b'0') => self.at += 1,
            _ => self.skip_digits()?,
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.skip_digits()?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.byte(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.skip_digits()?;
        }
        Ok(())
    }

    fn skip_digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while matches!(self.byte(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.error("expected a digit")) } else { Ok(()) }
    }

    // Open containers are a list of their kinds, not calls, so that depth costs no stack.
    fn skip_container(&mut self) -> Result<(), JsonError> {
        let mut objects = [false; MAX_DEPTH];
        let mut depth = 0;
        // Each round stands before a value.
        loop {
            let kind = self.peek()?;
            match kind {
                Kind::String => self.skip_string()?,
                Kind::Number => self.skip_number()?,
                Kind::Bool | Kind::Null => self.skip_literal()?,
                Kind::Object | Kind::Array => {
                    let Some(level) = objects.get_mut(depth) else {
                        return Err(self.error("nested deeper than 512 levels"));
                    };
                    *level = kind == Kind::Object;
                    depth += 1;
                    self.at += 1;
                }
            }
            // Whatever can be closed is closed; then either all is, or another value follows.
            loop {
                let object = depth.checked_sub(1).and_then(|top| objects.get(top)).copied();
                let Some(object) = object else { return Ok(()) };
                let more = if object { self.next_key()?.is_some() } else { self.next_element()? };
                if more {
                    break;
                }
                depth -= 1;
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

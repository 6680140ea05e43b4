//! Secrets by the name before them: `password = "…"`, `API_KEY=…`, `?token=…`, `"token": "…"`, `("token", "…")`,
//! `Authorization: Bearer …`.

use std::ops::Range;

use memchr::memchr2_iter;

use super::anchors::{Anchors, prepared};
use super::names::{self, Names};
use super::value::{self, Value, Written};
use super::{Found, Kind, Text, forms, headers, password_files, url};

/// How many letters of a Telegram token stand behind its colon.
const TELEGRAM_LETTERS: usize = 35;

/// A comma behind a string.
static COMMAS: Anchors = Anchors::new(|| prepared(["\", ", "', "]));

/// Looks at both sides of every `:` and `=`, and of every comma between two strings.
pub(super) fn find(text: &Text<'_>, found: &mut Vec<Found>) {
    for at in memchr2_iter(b':', b'=', text.bytes) {
        match text.byte(at + 1) {
            Some(b'/') => found.extend(url::secret(text, at)),
            Some(b'A') => found.extend(telegram(text, at)),
            Some(b'0'..=b'9' | b'*') => found.extend(password_files::postgres(text, at)),
            _ => {}
        }
        if may_follow_name(text, at) {
            assignment(text, at, found);
        }
    }
    let commas = COMMAS.places(text.bytes).map(|place| place.start + 1);
    let quoted = commas.filter(|at| matches!(text.byte(at + 2), Some(b'"' | b'\'' | b'\\')));
    quoted.for_each(|at| assignment(text, at, found));
}

// Most signs follow a word that is no name of a secret, with or without a quote between them.
fn may_follow_name(text: &Text<'_>, at: usize) -> bool {
    let Some(&[first, second, third, last]) = at.checked_sub(4).and_then(|start| text.bytes.get(start..at))
    else {
        return true;
    };
    match last {
        b'a'..=b'z' | b'A'..=b'Z' => names::may_end([second, third, last]),
        b'"' | b'\'' if third.is_ascii_alphabetic() => names::may_end([first, second, third]),
        _ => true,
    }
}

fn assignment(text: &Text<'_>, at: usize, found: &mut Vec<Found>) {
    let Some(end) = name_end(text, at) else { return };
    let Some((says, start)) = names::before(text, end) else { return };
    // `==` and `=>` separate as well; `::` was seen to above.
    let behind = value::skip(text, at + 1, |byte| matches!(byte, b'=' | b'>'));
    match says {
        Names::Authorization => found.extend(headers::authorization(text, start, behind)),
        Names::Cookie => headers::cookies(text, behind, found),
        _ => {
            let sign = Sign { at, behind, name: start..end };
            let value = value::at(text, behind, sign.is_shouted(text));
            let value = value.map(|value| sign.place(text, says, behind_type(text, at, value)));
            found.extend(value.and_then(|value| judged(text, start, &value, says)));
        }
    }
}

/// What separates a name from a value, between the two.
struct Sign {
    at: usize,
    behind: usize,
    name: Range<usize>,
}

impl Sign {
    // As in the environment: `PASSWORD=…`.
    fn is_shouted(&self, text: &Text<'_>) -> bool {
        self.is_tight(text) && names::is_shouted(text, self.name.start, self.name.end)
    }

    fn is_tight(&self, text: &Text<'_>) -> bool {
        text.byte(self.at) == Some(b'=') && self.behind == self.at + 1 && self.name.end == self.at
    }

    // The value, written as its place says.
    fn place(&self, text: &Text<'_>, says: Names, value: Value) -> Value {
        let written = match value.written {
            Written::Quoted if text.byte(self.at) == Some(b',') => Written::Listed,
            Written::Bare if !value::is_code(text, &value) && self.gives(text, says, &value) => {
                Written::Given
            }
            written => written,
        };
        Value { written, ..value }
    }

    // Whether what is assigned can be no variable: in a query, in a shell, or alone on its line.
    fn gives(&self, text: &Text<'_>, says: Names, value: &Value) -> bool {
        let start = names::word_start(text, self.name.start);
        let (before, after) = (text.before(start), text.byte(value.span.end));
        if says != Names::Password {
            return self.is_tight(text) && matches!(before, Some(b'?' | b'&' | b'#'));
        }
        let ends_line = ends_line(text, value.span.end);
        let shell = || {
            before.is_none_or(|byte| byte.is_ascii_whitespace() || b"?&;\"'`".contains(&byte))
                && (ends_line || after.is_some_and(|byte| b" ;&\"'`".contains(&byte)))
        };
        let tight = self.is_tight(text);
        let alone = (tight || text.byte(self.at) == Some(b':')) && ends_line && opens_line(text, start);
        let small = || text.slice(value.span.clone()).iter().all(u8::is_ascii_lowercase);
        (alone || (tight && shell())) && small()
    }
}

// Also where the line stands in a string, and its end is escaped.
fn ends_line(text: &Text<'_>, at: usize) -> bool {
    match text.byte(at) {
        None | Some(b'\n' | b'\r' | b'"') => true,
        Some(b'\\') => matches!(text.byte(at + 1), Some(b'n' | b'r')),
        _ => false,
    }
}

// Behind an indentation, the dash of a list, or the places of a setting: `server.admin.password`.
fn opens_line(text: &Text<'_>, start: usize) -> bool {
    let place = back(text, start, 64, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_'));
    let place = if text.slice(place..start).ends_with(b".") { place } else { start };
    let own = [b"self.".as_slice(), b"this."].iter().any(|own| text.from(place).starts_with(own));
    let indent = back(text, place, 64, |byte| matches!(byte, b' ' | b'-' | b'*'));
    let escaped = || text.slice(0..indent).ends_with(b"\\n");
    !own && (matches!(text.before(indent), None | Some(b'\n' | b'"')) || escaped())
}

/// The value as a find, unless it or its name is part of a marker.
pub(super) fn judged(text: &Text<'_>, start: usize, value: &Value, says: Names) -> Option<Found> {
    let kind = value::judge(text, value, says)?;
    (!text.markers.touch(start..value.span.end)).then(|| Found { span: value.span.clone(), kind })
}

// Where the name before a separator ends: behind spaces, the first half of `:=` or `!=`, quotes, and the brackets of `config["password"]`.
fn name_end(text: &Text<'_>, at: usize) -> Option<usize> {
    let next = text.byte(at + 1);
    let second = text.before(at) == Some(b':') && text.byte(at) == Some(b':');
    if second || (text.byte(at) == Some(b':') && matches!(next, Some(b':' | b'='))) {
        return None;
    }
    let end = back(text, at, 1, |byte| matches!(byte, b':' | b'!' | b'?' | b'+'));
    let end = back(text, end, 16, |byte| matches!(byte, b' ' | b'\t'));
    let inside = back(text, end, 1, |byte| byte == b']');
    let unquoted = back(text, inside, 8, |byte| matches!(byte, b'"' | b'\'' | b'`' | b'*' | b'\\'));
    // A bracket without a quote is an index or the end of a marker.
    (inside == end || unquoted < inside).then_some(unquoted)
}

fn back(text: &Text<'_>, end: usize, most: usize, pass: impl Fn(u8) -> bool) -> usize {
    end - text.slice(0..end).iter().rev().take(most).take_while(|byte| pass(**byte)).count()
}

// In `password: str = "…"` the value is behind the type.
fn behind_type(text: &Text<'_>, at: usize, value: Value) -> Value {
    if value.written != Written::Bare || text.byte(at) != Some(b':') {
        return value;
    }
    let sign = value::skip(text, value.span.end, |byte| matches!(byte, b' ' | b']' | b'>'));
    let assigns = text.byte(sign) == Some(b'=') && text.byte(sign + 1) != Some(b'=');
    assigns.then(|| value::at(text, sign + 1, false)).flatten().unwrap_or(value)
}

// The number of a bot, a colon, and letters of which the first two are always the same.
fn telegram(text: &Text<'_>, at: usize) -> Option<Found> {
    let body = text.from(at).strip_prefix(b":AA")?;
    let token = body
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        .take(TELEGRAM_LETTERS);
    let start = back(text, at, 11, |byte| byte.is_ascii_digit());
    let fits = token.count() + 2 == TELEGRAM_LETTERS && (8..=10).contains(&(at - start));
    fits.then_some(Found { span: start..at + 1 + TELEGRAM_LETTERS, kind: Kind::Issued(forms::TELEGRAM) })
}

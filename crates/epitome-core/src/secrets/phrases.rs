//! Passwords behind words: "the password is …", `IDENTIFIED BY '…'`, `ALTER USER app PASSWORD '…'`, and `<password>…</password>`.

use std::ops::Range;

use super::anchors::{Anchors, prepared};
use super::assigned::judged;
use super::names::{self, Names};
use super::value::{self, Value, Written};
use super::{Found, Text, password_files};

/// How words for passwords end. What ends in `ass…` is most of them.
const ENDINGS: &[&str] = &["assword", "asswort", "assphrase", "asscode", "ass:", "asse"];

/// Where such words may be.
static PASS: Anchors = Anchors::new(|| prepared(["ass", "ASSWORD"]));

/// Other words for passwords, without what may be a capital.
static WORDS: Anchors = Anchors::new(|| prepared(["ontraseña", "ontrasena", "ennwort", "achtwoord", "enha"]));

/// What stands before a password in SQL, and how elements end.
static IDENTIFIED: Anchors = Anchors::new(|| prepared(["IDENTIFIED ", "identified "]));
static ELEMENTS: Anchors = Anchors::new(|| prepared(["</"]));

/// What may stand between the word and the password, in several languages.
const VERBS: &[&str] = &[
    " is: ",
    " is ",
    " was ",
    " to ",
    " ist: ",
    " ist ",
    " lautet: ",
    " lautet ",
    " es: ",
    " es ",
    " est: ",
    " est ",
    " é ",
    " è ",
];

/// The options of `openssl` before a password.
const SOURCES: &[&[u8]] = &[b"-pass p", b"-passin p", b"-passout p"];

/// How far `BY` may stand behind `IDENTIFIED`.
const LONGEST_METHOD: usize = 48;

/// How long an element may be.
const LONGEST_ELEMENT: usize = 128;

/// Finds all of them.
pub(super) fn find(text: &Text<'_>, found: &mut Vec<Found>) {
    found.extend(PASS.places(text.bytes).filter_map(|place| named(text, place.start)));
    found.extend(WORDS.places(text.bytes).filter_map(|place| said(text, place.end)));
    found.extend(IDENTIFIED.places(text.bytes).filter_map(|place| identified(text, place)));
    found.extend(ELEMENTS.places(text.bytes).filter_map(|place| element(text, place.start)));
}

fn named(text: &Text<'_>, at: usize) -> Option<Found> {
    let rest = text.from(at);
    let is_next =
        |word: &str| rest.get(..word.len()).is_some_and(|next| next.eq_ignore_ascii_case(word.as_bytes()));
    let end = at + ENDINGS.iter().find(|ending| is_next(ending))?.len();
    if text.before(end) == Some(b':') {
        return source(text, at, end);
    }
    said(text, end).or_else(|| declared(text, at, end)).or_else(|| password_files::netrc(text, at, end))
}

// "the password is …".
fn said(text: &Text<'_>, end: usize) -> Option<Found> {
    names::before(text, end)?;
    let rest = text.from(end);
    let verb = VERBS.iter().find(|verb| rest.starts_with(verb.as_bytes()))?;
    judged(text, end, &value::at(text, end + verb.len(), false)?, Names::Password)
}

// `-passin pass:…`.
fn source(text: &Text<'_>, at: usize, end: usize) -> Option<Found> {
    SOURCES.iter().find(|source| text.slice(0..at).ends_with(source))?;
    given(text, end)
}

/// The value without quotes at `at`, where nothing but a password stands.
pub(super) fn given(text: &Text<'_>, at: usize) -> Option<Found> {
    let value = value::at(text, at, false)?;
    judged(text, at, &Value { written: Written::Given, ..value }, Names::Password)
}

// `PASSWORD '…'` and `PASSWORD('…')` of SQL, which is written in small letters as well.
fn declared(text: &Text<'_>, at: usize, end: usize) -> Option<Found> {
    let quote = value::skip(text, end, |byte| matches!(byte, b' ' | b'('));
    let value =
        value::at(text, quote, false).filter(|value| quote > end && value.written == Written::Quoted)?;
    let shouted = names::is_shouted(text, at, end);
    let written = if shouted && text.byte(quote) == Some(b'\'') { Written::Quoted } else { Written::Listed };
    judged(text, at, &Value { written, ..value }, Names::Password)
}

// `IDENTIFIED BY '…'` and `IDENTIFIED WITH method BY '…'`.
fn identified(text: &Text<'_>, Range { start, end }: Range<usize>) -> Option<Found> {
    let rest = text.from(end);
    let method = rest.get(..LONGEST_METHOD).unwrap_or(rest);
    let by = method.windows(3).position(|word| word.eq_ignore_ascii_case(b"by "))?;
    let value = value::at(text, end + by + 3, false).filter(|value| value.written == Written::Quoted)?;
    let written = if names::is_shouted(text, start, end) { Written::Quoted } else { Written::Listed };
    judged(text, start, &Value { written, ..value }, Names::Password)
}

// `<password>…</password>`, known by its end.
fn element(text: &Text<'_>, at: usize) -> Option<Found> {
    let end =
        value::skip(text, at + 2, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    let (says, _) =
        names::before(text, end).filter(|(_, start)| *start >= at + 2 && text.byte(end) == Some(b'>'))?;
    let before = text.slice(at.saturating_sub(LONGEST_ELEMENT)..at);
    let length = before.iter().rev().position(|byte| matches!(byte, b'>' | b'<' | b'\n'))?;
    let name = text.slice(at + 2..end);
    let opened = text.slice(0..at - length).strip_suffix(b">").is_some_and(|tag| tag.ends_with(name));
    let value = Value { span: at - length..at, written: Written::Quoted };
    judged(text, at - length, &value, says).filter(|_| opened)
}

//! Secrets that nothing but a space separates from their name: `--password …`, `curl -u user:…`, `the password is …`,
//! and `<password>…</password>`.

use memchr::memmem;

use super::assigned::judged;
use super::names::{self, Names};
use super::value::{self, Value, Written};
use super::{Found, Text};

/// Finds all of them.
pub(super) fn find(text: &Text<'_>, found: &mut Vec<Found>) {
    for at in memmem::find_iter(text.bytes, b"--") {
        if text.from(at).starts_with(b"--user ") {
            found.extend(login(text, at, at + b"--user ".len()));
        }
        found.extend(option(text, at));
    }
    for at in memmem::find_iter(text.bytes, b"-u ") {
        found.extend(login(text, at, at + b"-u ".len()));
    }
    for at in memmem::find_iter(text.bytes, b"sshpass -p") {
        found.extend(behind(text, at, at + b"sshpass -p".len(), Names::Password));
    }
    for at in memmem::find_iter(text.bytes, b"assword") {
        found.extend(said(text, at + b"assword".len()));
    }
}

// `--token VALUE`, and `"--token", "VALUE"` in a list of arguments.
fn option(text: &Text<'_>, at: usize) -> Option<Found> {
    let end = value::skip(text, at + 2, |byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    let listed = value::skip(text, end, |byte| matches!(byte, b'"' | b'\'' | b'\\' | b','));
    let spaced = text.byte(listed) == Some(b' ') && (listed == end || text.before(listed) == Some(b','));
    let (says, start) = names::before(text, end).filter(|(_, start)| spaced && *start >= at)?;
    behind(text, start, listed, says)
}

fn behind(text: &Text<'_>, start: usize, at: usize, says: Names) -> Option<Found> {
    let value = value::at(text, at, false)?;
    let another = text.byte(value.span.start) == Some(b'-');
    judged(text, start, &value, says).filter(|_| !another)
}

// `-u name:password`: only the password goes.
fn login(text: &Text<'_>, start: usize, at: usize) -> Option<Found> {
    let Value { span, .. } = value::at(text, at, false).filter(|_| text.before(start) == Some(b' '))?;
    let colon = text.slice(span.clone()).iter().position(|byte| *byte == b':')?;
    let value = Value { span: span.start + colon + 1..span.end, written: Written::Quoted };
    judged(text, start, &value, Names::Password)
}

// "the password is …" and `<password>…</password>`.
fn said(text: &Text<'_>, end: usize) -> Option<Found> {
    let rest = text.from(end);
    let verb =
        [" is ", " is: ", " was ", " to ", ">"].into_iter().find(|verb| rest.starts_with(verb.as_bytes()))?;
    let value = value::at(text, end + verb.len(), false)?;
    judged(text, end, &value, Names::Password)
}

//! Passwords in URLs, and users that are keys.

use super::forms::SENTRY;
use super::looks::{Shape, is_template};
use super::{Found, Kind, Text};

/// A host and what comes before the user's name and password, no longer.
const LONGEST: usize = 256;

/// Words that stand for a password in documentation.
const STAND_INS: &[&[u8]] = &[b"password", b"passwd", b"pass", b"pwd", b"pw"];

/// The secret in the URL whose `://` stands at `at`, if that is one.
pub(super) fn secret(text: &Text<'_>, at: usize) -> Option<Found> {
    let rest = text.from(at).strip_prefix(b"://")?;
    let start = at + 3;
    let found = password(rest).or_else(|| user(rest))?;
    Some(Found { span: start + found.span.start..start + found.span.end, ..found })
}

// Only the password goes: user, host and database say what it was for.
fn password(rest: &[u8]) -> Option<Found> {
    let ends = |byte: &&u8| !byte.is_ascii_whitespace() && !b"\"'`<>\\|,;".contains(byte);
    let length = rest.iter().take(LONGEST).take_while(ends).count();
    let rest = rest.get(..length)?;
    let host = rest.iter().position(|byte| b"/?#".contains(byte)).unwrap_or(length);
    let start = rest.get(..host)?.iter().position(|byte| *byte == b':')? + 1;
    let at_sign = match rest.get(start..host)?.iter().rposition(|byte| *byte == b'@') {
        Some(at_sign) => start + at_sign,
        // A sign that should have been escaped, unless this is the number of a port.
        None if rest.get(start..host)?.iter().all(u8::is_ascii_digit) => return None,
        None => host + rest.get(host..)?.iter().position(|byte| *byte == b'@')?,
    };
    let password = rest.get(start..at_sign)?;
    let lower = password.to_ascii_lowercase();
    let stands_in = STAND_INS.contains(&lower.as_slice()) || is_template(password);
    (password.len() > 1 && !stands_in).then_some(Found { span: start..at_sign, kind: Kind::Password })
}

// Where the user's name is a key, nothing else is asked for: `https://key@host/project`.
fn user(rest: &[u8]) -> Option<Found> {
    let is_key = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let length = rest.iter().take(LONGEST).take_while(is_key).count();
    let host = rest.get(length..)?.strip_prefix(b"@")?;
    let host = host.get(..LONGEST).unwrap_or(host).split(|byte| *byte == b'/').next()?;
    let sentry = memchr::memmem::find(host, b"sentry").is_some();
    let shape = Shape::of(rest.get(..length)?);
    let kind = if sentry { Kind::Issued(SENTRY) } else { Kind::Key };
    (shape.length >= 20 && shape.is_random()).then_some(Found { span: 0..length, kind })
}

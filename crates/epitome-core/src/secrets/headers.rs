//! What HTTP headers carry: credentials and cookies, wherever a header is quoted.

use std::ops::Range;

use super::anchors::{Anchors, prepared};
use super::assigned::judged;
use super::names::Names;
use super::value::{self, Value, Written};
use super::{Found, Kind, Text};

/// The words before credentials, in small letters.
const SCHEMES: &[&[u8]] = &[b"bearer", b"basic", b"token", b"apikey", b"digest", b"negotiate"];

/// The scheme that is told of without its header, too.
static BEARER: Anchors = Anchors::new(|| prepared(["earer "]));

/// How far the cookies of a header are followed.
const LONGEST_HEADER: usize = 4096;

/// Finds `Bearer …` where no header's name stands before it.
pub(super) fn find(text: &Text<'_>, found: &mut Vec<Found>) {
    for Range { start, end: behind } in BEARER.places(text.bytes) {
        let first = text.before(start).is_some_and(|byte| matches!(byte, b'B' | b'b'));
        let value = value::at(text, behind, false).filter(|_| first);
        let credentials = value.and_then(|value| judged(text, behind, &value, Names::Token));
        found.extend(credentials.map(|found| Found { kind: Kind::Authorization, ..found }));
    }
}

/// The credentials behind `Authorization:`, without the scheme.
pub(super) fn authorization(text: &Text<'_>, start: usize, behind: usize) -> Option<Found> {
    let opening = value::skip(text, behind, |byte| b" \t\"'`\\".contains(&byte));
    let word = value::skip(text, opening, |byte| byte.is_ascii_alphabetic());
    let scheme = text.slice(opening..word).to_ascii_lowercase();
    let known = SCHEMES.contains(&scheme.as_slice()) && text.byte(word) == Some(b' ');
    let (at, says) = if known { (word, Names::Authorization) } else { (behind, Names::Token) };
    let found = judged(text, start, &value::at(text, at, false)?, says)?;
    Some(Found { kind: Kind::Authorization, ..found })
}

/// The values of the cookies behind `Cookie:` or `Set-Cookie:` that look like more than a setting.
pub(super) fn cookies(text: &Text<'_>, behind: usize, found: &mut Vec<Found>) {
    let line = text.from(behind).iter().take(LONGEST_HEADER);
    let end = behind + line.take_while(|byte| !b"\n\r\"'`\\".contains(byte)).count();
    let mut at = behind;
    while let Some(sign) = memchr::memchr(b'=', text.slice(at..end)).map(|sign| at + sign) {
        let rest = text.slice(sign + 1..end);
        let length = rest.iter().position(|byte| matches!(byte, b';' | b' ' | b',')).unwrap_or(rest.len());
        let value = Value { span: sign + 1..sign + 1 + length, written: Written::Quoted };
        found.extend(judged(text, at, &value, Names::Cookie));
        at = sign + 1 + length;
    }
}

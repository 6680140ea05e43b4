//! Lines of files that hold passwords: `.netrc` and `.pgpass`.

use super::assigned::judged;
use super::names::Names;
use super::phrases::given;
use super::value::{Value, Written};
use super::{Found, Text};

/// How long a field may be.
const LONGEST: usize = 128;

/// `machine host login user password …`, on one line or several: the password behind the word that ends at `end`.
pub(super) fn netrc(text: &Text<'_>, at: usize, end: usize) -> Option<Found> {
    let before = text.slice(at.saturating_sub(LONGEST)..at).strip_suffix(b"p")?;
    let mut words = before.split(u8::is_ascii_whitespace).rev().filter(|word| !word.is_empty());
    let spaced = text.byte(end).is_some_and(|byte| matches!(byte, b' ' | b'\t'));
    (spaced && before.last()?.is_ascii_whitespace() && words.nth(1)? == b"login").then(|| given(text, end))?
}

/// `host:5432:database:user:…`: the password of the line whose first colon stands at `at`.
pub(super) fn postgres(text: &Text<'_>, at: usize) -> Option<Found> {
    let rest = text.from(at + 1);
    let digits = rest.iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
    let port = rest.get(..digits.max(1))?;
    let known = matches!(port, b"*" | b"5432");
    if rest.get(port.len()) != Some(&b':') || !(known || matches!(digits, 4 | 5)) || !is_host_before(text, at)
    {
        return None;
    }
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`\\".contains(byte);
    let length = rest.iter().take(LONGEST).position(ends).or((rest.len() < LONGEST).then_some(rest.len()))?;
    let mut fields = rest.get(..length)?.splitn(4, |byte| *byte == b':').skip(1);
    let [database, user, password] = [fields.next()?, fields.next()?, fields.next()?];
    let named = [database, user].into_iter().all(|field| !field.is_empty() && field.iter().all(is_in_field));
    let end = at + 1 + length;
    let written = if known { Written::Given } else { Written::Listed };
    let value = Value { span: end - password.len()..end, written };
    named.then(|| judged(text, at, &value, Names::Password))?
}

// The host opens its line, or a string.
fn is_host_before(text: &Text<'_>, at: usize) -> bool {
    let host = text.slice(0..at).iter().rev().take(LONGEST).take_while(|byte| is_in_field(byte)).count();
    let before = text.before(at - host);
    host > 0 && before.is_none_or(|byte| byte.is_ascii_whitespace() || b"\"'`".contains(&byte))
}

fn is_in_field(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"*._-/".contains(byte)
}

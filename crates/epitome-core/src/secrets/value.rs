//! What is assigned: where a value starts and ends, and whether it may be a secret of the kind that its name promises.

use std::ops::Range;

use super::looks::{Shape, is_dull, is_number, is_passphrase, is_pierced, is_template, is_uuid};
use super::names::Names;
use super::{Kind, Text};

/// No value that is longer is looked at; private keys and web tokens are known by their form.
const LONGEST: usize = 512;

/// A value as it is written.
#[derive(Clone, Debug)]
pub(super) struct Value {
    /// Without its quotes.
    pub(super) span: Range<usize>,
    pub(super) written: Written,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// In quotes: as it is.
    Quoted,
    /// In quotes, but perhaps only the next word in a list of them.
    Listed,
    /// Without quotes, where nothing but a value stands: in the environment, a command, the query of a URL.
    Given,
    /// Without quotes: text or code.
    Bare,
}

/// Reads the value at `at`, behind spaces, quotes or the stars of Markdown.
pub(super) fn at(text: &Text<'_>, at: usize, shouted: bool) -> Option<Value> {
    let start = skip(text, at, |byte| matches!(byte, b' ' | b'\t' | b'*'));
    quoted(text, start).or_else(|| bare(text, start, start > at, shouted && start == at))
}

/// The first place from `at` where `pass` does not hold, not far away.
pub(super) fn skip(text: &Text<'_>, at: usize, pass: impl Fn(u8) -> bool) -> usize {
    at + text.from(at).iter().take(64).take_while(|byte| pass(**byte)).count()
}

// `"…"`, `'…'`, `b"…"`, and the same inside a string, where backslashes stand before the quotes.
fn quoted(text: &Text<'_>, at: usize) -> Option<Value> {
    let prefix = usize::from(
        matches!(text.byte(at), Some(b'b' | b'f' | b'r' | b'u'))
            && matches!(text.byte(at + 1), Some(b'"' | b'\'' | b'\\')),
    );
    let opening = skip(text, at + prefix, |byte| byte == b'\\');
    let depth = opening - at - prefix;
    let quote = text.byte(opening).filter(|byte| matches!(byte, b'"' | b'\'' | b'`'))?;
    let start = opening + 1;
    let line = text.from(start).iter().take(LONGEST + 1).take_while(|byte| **byte != b'\n');
    let mut slashes = 0;
    for (length, byte) in line.enumerate() {
        if *byte == quote && slashes <= depth {
            let span = start..start + length - slashes;
            return (!span.is_empty()).then_some(Value { span, written: Written::Quoted });
        }
        slashes = if *byte == b'\\' { slashes + 1 } else { 0 };
    }
    None
}

fn bare(text: &Text<'_>, start: usize, spaced: bool, shouted: bool) -> Option<Value> {
    let written = if shouted { Written::Given } else { Written::Bare };
    let ends = |byte: &u8| {
        byte.is_ascii_whitespace()
            || matches!(byte, b'"' | b'\'' | b'`' | b'\\')
            || (!shouted && b",;)}]|<>".contains(byte))
            // In a URL, where nothing is spaced, the next name follows.
            || (!shouted && !spaced && *byte == b'&')
    };
    let rest = text.from(start);
    let length =
        rest.iter().take(LONGEST + 1).position(ends).or((rest.len() <= LONGEST).then_some(rest.len()))?;
    // What ends a sentence, a list or an argument is no part of the value.
    let value = rest.get(..length)?;
    let length = value.iter().rposition(|byte| !matches!(byte, b'.' | b',' | b';' | b':'))? + 1;
    Some(Value { span: start..start + length, written })
}

/// What the value is if it is a secret.
pub(super) fn judge(text: &Text<'_>, value: &Value, says: Names) -> Option<Kind> {
    let (bytes, written) = (text.slice(value.span.clone()), value.written);
    let chosen = matches!(says, Names::Password | Names::Phrase) && written == Written::Quoted;
    // Sentences of languages without spaces are no passwords either.
    let words = bytes.iter().any(|byte| byte.is_ascii_whitespace() || !byte.is_ascii());
    let code = written == Written::Bare && is_code(text, value);
    let number = is_number(bytes) && !(chosen && bytes.iter().all(u8::is_ascii_digit));
    if (words && !(chosen && is_passphrase(bytes))) || code || is_template(bytes) || is_place(bytes) || number
    {
        return None;
    }
    let shape = Shape::of(bytes);
    let secret = match says {
        Names::Password => is_password(bytes, &shape, written),
        Names::Pass if written == Written::Quoted => is_password(bytes, &shape, Written::Listed),
        Names::Pass => is_password(bytes, &shape, written),
        Names::Phrase if written == Written::Bare => shape.is_random(),
        Names::Phrase => shape.is_random() || is_password(bytes, &shape, written),
        Names::Secret => shape.is_random() || is_short_secret(bytes, &shape, written),
        Names::Token if written == Written::Given => {
            shape.is_random() || is_short_secret(bytes, &shape, written)
        }
        Names::Token => shape.is_random() && !is_uuid(bytes),
        Names::Query => written == Written::Given && shape.is_random(),
        Names::Cookie => shape.is_random(),
        Names::Authorization => shape.length >= 8 && shape.is_jumbled() && !is_dull(bytes),
    };
    secret.then_some(match says {
        Names::Password | Names::Pass => Kind::Password,
        Names::Phrase | Names::Secret | Names::Token | Names::Query => Kind::Key,
        Names::Authorization => Kind::Authorization,
        Names::Cookie => Kind::Cookie,
    })
}

// Whether a value is a password rather than a word, a number or the name of one.
fn is_password(bytes: &[u8], shape: &Shape, written: Written) -> bool {
    let mixed = match written {
        Written::Given => true,
        Written::Quoted => shape.digits + shape.symbols > 0 || shape.is_one_word(),
        Written::Listed => shape.digits + shape.symbols > 0,
        Written::Bare => shape.digits > 0 || (shape.symbols > 0 && shape.is_jumbled()) || is_pierced(bytes),
    };
    let chosen = shape.letters > 0 || written == Written::Quoted;
    shape.length >= 6 && chosen && mixed && !is_dull(bytes)
}

fn is_short_secret(bytes: &[u8], shape: &Shape, written: Written) -> bool {
    let mixed = shape.letters > 0 && shape.digits > 0 && shape.symbols == 0;
    written != Written::Bare && shape.length >= 8 && mixed && !is_dull(bytes)
}

/// Whether a value without quotes is code: calls, indices, attributes and names with joints, as in `get_token(2)`, `tokens[0]`, `self.password2`.
pub(super) fn is_code(text: &Text<'_>, value: &Value) -> bool {
    let bytes = text.slice(value.span.clone());
    let goes_on = matches!(text.byte(value.span.end), Some(b'(' | b'[' | b'{'));
    let brackets = bytes.iter().any(|byte| matches!(byte, b'(' | b'[' | b'{' | b'='));
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    let joined = bytes.iter().all(is_name) && bytes.iter().any(|byte| matches!(byte, b'_' | b'.'));
    let padded = brackets && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(byte));
    let random = || Shape::of(bytes).is_random() && !is_attribute(bytes);
    goes_on || (brackets && !(padded && random())) || (joined && !random())
}

// Modules and objects rarely have numbers in their names; parts of tokens do.
fn is_attribute(bytes: &[u8]) -> bool {
    let object = bytes.iter().position(|byte| *byte == b'.').and_then(|dot| bytes.get(..dot));
    object.is_some_and(|object| !object.iter().any(u8::is_ascii_digit))
}

// Paths and addresses.
fn is_place(bytes: &[u8]) -> bool {
    let slashed = bytes.contains(&b'/');
    let opens = matches!(bytes.first(), Some(b'/' | b'.' | b'~'));
    let address = memchr::memmem::find(bytes, b"://").is_some();
    address || (slashed && (opens || !Shape::of(bytes).is_random()))
}

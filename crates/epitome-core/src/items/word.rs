//! Names: words of a shape that no sentence has.

use super::bytes::{DIGIT, DOT, LOWER, SIGN, UNDERSCORE, UPPER, at, class, digits, is_word, run};
use super::scan::{Chunk, Reading};
use super::{Kind, number, path};

/// The name that a chunk without a slash is.
pub(super) fn read(bytes: &[u8], chunk: Chunk) -> Option<Reading> {
    if let Some(found) = joined(bytes, chunk) {
        return Some(found);
    }
    let chunk = chunk.trimmed(bytes);
    let name = bytes.get(chunk.start..chunk.end)?;
    let kind = match name {
        [b'-', b'-', letter, ..] if is_word(*letter) => Kind::Identifier,
        [b'#', rest @ ..] if is_reference(rest) => Kind::Id,
        [b'.', rest @ ..] if is_dotfile(rest) => Kind::Path,
        [b'-' | b'#' | b'.' | b'@' | b'$' | b'~', ..] => return read_behind(bytes, chunk),
        _ => shape(name, chunk.mask, at(bytes, chunk.end)).or_else(|| quoted(name, chunk))?,
    };
    Some(Reading::new(kind, chunk.start, chunk.end))
}

/// A name whose parts two colons join: `std::fmt`, `Kind::Path`.
pub(super) fn joined(bytes: &[u8], chunk: Chunk) -> Option<Reading> {
    let goes_on = |end: usize| {
        let next = at(bytes, end + 2);
        at(bytes, end) == b':' && at(bytes, end + 1) == b':' && (next.is_ascii_alphabetic() || next == b'_')
    };
    if !goes_on(chunk.end) || chunk.has(SIGN) || path::is_file(bytes.get(chunk.start..chunk.end)?) {
        return None;
    }
    let mut end = chunk.end;
    while goes_on(end) {
        end = run(bytes, end + 2, |byte| is_word(byte) || byte == b'_');
    }
    Some(Reading::new(Kind::Identifier, chunk.start, end))
}

// What stands behind the signs before a name.
fn read_behind(bytes: &[u8], chunk: Chunk) -> Option<Reading> {
    let start = run(bytes, chunk.start, |byte| matches!(byte, b'-' | b'#' | b'.' | b'@' | b'$' | b'~'));
    let variable = at(bytes, start.checked_sub(1)?) == b'$';
    let name = bytes.get(start..chunk.end).filter(|name| !name.is_empty())?;
    let constant = variable && name.len() > 1 && name.iter().all(|byte| class(*byte) & LOWER == 0);
    let kind = shape(name, chunk.mask, at(bytes, chunk.end)).or(constant.then_some(Kind::Identifier))?;
    Some(Reading::new(kind, start, chunk.end))
}

fn quoted(name: &[u8], chunk: Chunk) -> Option<Kind> {
    let named = chunk.quoted && chunk.has_letter() && name.len() > 1;
    named.then_some(Kind::Identifier)
}

// `#1234`, `#a1b2c3`
fn is_reference(rest: &[u8]) -> bool {
    let number = digits(rest, 0) == rest.len();
    let color = matches!(rest.len(), 6 | 8)
        && rest.iter().all(u8::is_ascii_hexdigit)
        && rest.iter().any(u8::is_ascii_digit);
    !rest.is_empty() && (number || color)
}

fn is_dotfile(rest: &[u8]) -> bool {
    const NAMES: [&[u8]; 12] = [
        b"env",
        b"git",
        b"npm",
        b"bash",
        b"zsh",
        b"eslint",
        b"prettier",
        b"docker",
        b"babel",
        b"vscode",
        b"editorconfig",
        b"claude",
    ];
    NAMES.iter().any(|name| rest.starts_with(name))
}

/// What a name is by its letters; nothing where it could be a word. `mask` has the classes of all its bytes, and perhaps more.
fn shape(name: &[u8], mask: u8, next: u8) -> Option<Kind> {
    if mask & SIGN != 0 && name.contains(&b'@') {
        return at_sign(name);
    }
    if mask & DOT != 0 && name.contains(&b'.') {
        return dotted(name, next);
    }
    if mask & (UNDERSCORE | DIGIT) == 0 {
        let named = is_camel(name) || mask & SIGN != 0 && name.len() > 3 && name.contains(&b'#');
        let kind = if is_error(name) { Kind::Error } else { Kind::Identifier };
        return (named || mask & LOWER == 0 && kind == Kind::Error).then_some(kind);
    }
    let digits = name.iter().filter(|byte| byte.is_ascii_digit()).count();
    let joined = mask & UNDERSCORE != 0 && !is_emphasis(name) && mask & (LOWER | UPPER) != 0;
    if is_error(name) {
        return Some(Kind::Error);
    }
    let named = joined || digits > 0 && name.len() > 2 && mask & (LOWER | UPPER) != 0;
    named.then_some(if digits >= 3 { Kind::Id } else { Kind::Identifier })
}

fn at_sign(name: &[u8]) -> Option<Kind> {
    let (user, host) = name.split_at(name.iter().position(|byte| *byte == b'@')?);
    let host = host.get(1..).unwrap_or_default();
    let digit = host.first().is_some_and(u8::is_ascii_digit);
    match host.contains(&b'.') && !user.is_empty() {
        true if digit => Some(Kind::Version),
        true => Some(Kind::Email),
        false => None,
    }
}

fn dotted(name: &[u8], next: u8) -> Option<Kind> {
    let mut parts = name.split(|byte| *byte == b'.');
    if parts.clone().any(<[u8]>::is_empty) || parts.clone().all(|part| part.len() == 1) {
        return None;
    }
    if path::is_file(name) && next != b'(' {
        return Some(Kind::Path);
    }
    if let [b'v' | b'V', digit, ..] = name
        && digit.is_ascii_digit()
        && number::version_end(
            name,
            1 + run(name.get(1..).unwrap_or_default(), 0, |byte| byte.is_ascii_digit() || byte == b'.'),
        ) == name.len()
    {
        return Some(Kind::Version);
    }
    let last = parts.next_back().unwrap_or_default();
    Some(if is_error(last) { Kind::Error } else { Kind::Identifier })
}

// `_word_`, as Markdown writes it.
fn is_emphasis(name: &[u8]) -> bool {
    match name {
        [b'_', inner @ .., b'_'] => !inner.contains(&b'_') && !inner.iter().any(u8::is_ascii_digit),
        _ => name.iter().all(|byte| *byte == b'_'),
    }
}

// A capital behind a small letter, or a word behind capitals: `fooBar`, `HTTPServer`, but not `URLs`.
fn is_camel(name: &[u8]) -> bool {
    let (mut capitals, mut small) = (0, 0);
    for byte in name {
        match byte {
            b'A'..=b'Z' if small > 0 => return true,
            b'A'..=b'Z' => capitals += 1,
            b'a'..=b'z' => small += 1,
            _ => (capitals, small) = (0, 0),
        }
        if capitals > 1 && small > 1 {
            return true;
        }
    }
    false
}

fn is_error(name: &[u8]) -> bool {
    const ENDINGS: [&[u8]; 4] = [b"Error", b"Exception", b"Warning", b"Panic"];
    let coded = matches!(name, [b'E', rest @ ..] if rest.len() == 4 && rest.iter().all(u8::is_ascii_digit));
    coded
        || ENDINGS.iter().any(|ending| name.len() > ending.len() && name.ends_with(ending))
        || is_system_error(name)
}

#[rustfmt::skip]
fn is_system_error(name: &[u8]) -> bool {
    matches!(
        name,
        b"ENOENT" | b"EACCES" | b"EPERM" | b"EEXIST" | b"ENOTDIR" | b"EISDIR" | b"EINVAL" | b"ENOMEM"
        | b"ENOSPC" | b"EPIPE" | b"EAGAIN" | b"EBUSY" | b"EMFILE" | b"ENOTFOUND" | b"ENOTEMPTY"
        | b"EADDRINUSE" | b"ECONNREFUSED" | b"ECONNRESET" | b"ETIMEDOUT" | b"ERESOLVE" | b"SIGSEGV"
        | b"SIGKILL" | b"SIGABRT" | b"OOMKilled"
    )
}

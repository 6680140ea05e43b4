//! Secrets on command lines: `--password …`, `curl -u user:…`, `mysql -p…`, `htpasswd -b file user …`.

use memchr::{memchr_iter, memmem};

use super::assigned::judged;
use super::names::{self, Names};
use super::value::{self, Value, Written};
use super::{Found, Text};

/// Where a password stands behind an option of one letter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Directly behind the letter; what follows a space is something else.
    Joined,
    /// Behind a space.
    Next,
    /// Behind a space or none.
    Either,
    /// Behind the user's name and a colon.
    Login,
    /// At the end of the command.
    Last,
}

use Place::{Either, Joined, Last, Login, Next};

/// How the names of programs begin, the letter of the option, and where the password is.
const COMMANDS: &[(&str, u8, Place)] = &[
    ("mysql", b'p', Joined),
    ("mariadb", b'p', Joined),
    ("7z", b'p', Joined),
    ("login", b'p', Either),
    ("sshpass", b'p', Either),
    ("mongo", b'p', Either),
    ("redis-cli", b'a', Next),
    ("curl", b'u', Login),
    ("zip", b'P', Next),
    ("unzip", b'P', Next),
    ("ldap", b'w', Next),
    ("openssl", b'k', Next),
    ("htpasswd", b'b', Last),
];

/// How far the name of the program may stand before the option.
const FARTHEST: usize = 160;

/// How many words may follow the option of a command.
const MOST_WORDS: usize = 6;

/// Finds all of them.
pub(super) fn find(text: &Text<'_>, found: &mut Vec<Found>) {
    for at in memchr_iter(b'-', text.bytes) {
        match (text.before(at), text.byte(at + 1)) {
            (Some(b'-'), _) => {}
            (_, Some(b'-')) => found.extend(option(text, at)),
            (Some(b' ' | b'"' | b'\''), Some(letter)) if letter.is_ascii_alphabetic() => {
                found.extend(flag(text, at));
            }
            _ => {}
        }
    }
}

// `--token VALUE`, and `"--token", "VALUE"` in a list of arguments.
fn option(text: &Text<'_>, at: usize) -> Option<Found> {
    if text.from(at).starts_with(b"--user ") {
        let known = place(text, at, |_, place| place == Login).is_some();
        let written = if known { Written::Given } else { Written::Listed };
        return login(text, at, at + b"--user ".len(), written);
    }
    let end = value::skip(text, at + 2, |byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    let (says, start) = names::before(text, end).filter(|(_, start)| *start >= at)?;
    behind(text, start, separated(text, end)?, says)
}

// Where a value may begin behind the space, or the quotes and the comma, that end an option.
fn separated(text: &Text<'_>, end: usize) -> Option<usize> {
    let listed = value::skip(text, end, |byte| matches!(byte, b'"' | b'\'' | b'\\' | b','));
    let spaced = text.byte(listed) == Some(b' ') && (listed == end || text.before(listed) == Some(b','));
    spaced.then_some(listed)
}

fn behind(text: &Text<'_>, start: usize, at: usize, says: Names) -> Option<Found> {
    let value = value::at(text, at, false)?;
    let another = text.byte(value.span.start) == Some(b'-');
    let given = matches!(says, Names::Password | Names::Pass)
        && value.written == Written::Bare
        && !value::is_code(text, &value);
    let value = Value { written: if given { Written::Given } else { value.written }, ..value };
    judged(text, start, &value, says).filter(|_| !another)
}

// `-p VALUE`, as the program before it reads that.
fn flag(text: &Text<'_>, at: usize) -> Option<Found> {
    let end = at + 2;
    let word = value::skip(text, end, |byte| byte.is_ascii_alphabetic());
    let letter = text.byte(at + 1)?;
    let fits = |wanted, place| match place {
        Last => text.slice(at + 1..word).contains(&wanted),
        _ => letter == wanted,
    };
    match place(text, at, fits) {
        Some(Joined) if separated(text, end).is_none() => behind(text, at, end, Names::Password),
        Some(Either) => behind(text, at, end, Names::Password),
        Some(Next) => behind(text, at, separated(text, end)?, Names::Password),
        Some(Login) => login(text, at, end, Written::Given),
        Some(Last) => last(text, at, word),
        // Other programs take a name and a group.
        None if letter == b'u' && text.byte(end) == Some(b' ') => login(text, at, end, Written::Listed),
        Some(Joined) | None => None,
    }
}

// Where the program that is named before `at` on the same line has its password, of those that fit.
fn place(text: &Text<'_>, at: usize, fits: impl Fn(u8, Place) -> bool) -> Option<Place> {
    let mut fitting = COMMANDS.iter().filter(|(_, letter, place)| fits(*letter, *place)).peekable();
    fitting.peek()?;
    let before = text.slice(at.saturating_sub(FARTHEST)..at);
    let start = before.iter().rposition(|byte| b"\n|;&".contains(byte)).map_or(0, |end| end + 1);
    let line = before.get(start..).unwrap_or_default();
    let runs = |name: &str| {
        let found = memmem::rfind(line, name.as_bytes());
        let before = found.map(|at| at.checked_sub(1).and_then(|at| line.get(at)));
        before.is_some_and(|before| before.is_none_or(|byte| !byte.is_ascii_alphanumeric()))
    };
    fitting.find(|(name, _, _)| runs(name)).map(|(_, _, place)| *place)
}

// `-u name:password`: only the password goes.
fn login(text: &Text<'_>, start: usize, at: usize, written: Written) -> Option<Found> {
    let Value { span, .. } = value::at(text, at, false)?;
    let colon = text.slice(span.clone()).iter().position(|byte| *byte == b':')?;
    let value = Value { span: span.start + colon + 1..span.end, written };
    judged(text, start, &value, Names::Password)
}

// The last word of a command, behind the user's name.
fn last(text: &Text<'_>, start: usize, at: usize) -> Option<Found> {
    let mut words = 0;
    let mut end = at;
    let mut value = None;
    while words < MOST_WORDS && text.byte(end) == Some(b' ') {
        let Some(next) = value::at(text, end, false) else { break };
        words += 1;
        end = next.span.end + usize::from(next.written == Written::Quoted);
        value = Some(next);
    }
    let value = value.filter(|_| words >= 2)?;
    judged(text, start, &Value { written: Written::Given, ..value }, Names::Password)
}

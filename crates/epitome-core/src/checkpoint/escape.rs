//! How texts are written so that a tolerant reader gives them back exactly.
//!
//! A backslash is put only before the start of a text that would be taken for something else, so that paths
//! and patterns stand in a checkpoint as they are. Where such a text already starts with backslashes, one more
//! is put before them, and one is taken away again.

use super::entry::Source;
use super::line::{Line, Mark};
use crate::message::Role;

/// Where a text stands, and so what it could be taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// Behind a bullet.
    Listed,
    /// At the start of a line.
    Free,
}

fn misleads(text: &str, position: Position) -> bool {
    let bare = text.trim_start_matches('\\');
    match position {
        Position::Listed => Mark::strip(bare).is_some(),
        Position::Free => Line::misleads(bare),
    }
}

/// The first line of a text as it is written.
pub(super) fn escape(line: &str, position: Position) -> String {
    if misleads(line, position) { format!("\\{line}") } else { line.to_owned() }
}

/// The first line of a text as it was.
pub(super) fn unescape(line: &str, position: Position) -> &str {
    line.strip_prefix('\\').filter(|rest| misleads(rest, position)).unwrap_or(line)
}

/// What is written behind a text to say where it comes from.
///
/// A text without source that ends like one with a source gets a sign that there is none.
pub(super) fn provenance(line: &str, source: Option<Source>) -> String {
    match source {
        Some(source) => format!(" {source}"),
        None if split_provenance(line).0 != line => format!(" {UNKNOWN}"),
        None => String::new(),
    }
}

const UNKNOWN: &str = "(#?)";

/// A line without what is said about its source at its end, and that source.
pub(crate) fn split_provenance(line: &str) -> (&str, Option<Source>) {
    if let Some(text) = line.strip_suffix(UNKNOWN) {
        return (text.trim_end(), None);
    }
    let found = line
        .strip_suffix(')')
        .and_then(|open| open.rsplit_once("(#"))
        .and_then(|(text, inside)| Some((text.trim_end(), read_source(inside)?)));
    found.map_or((line, None), |(text, source)| (text, Some(source)))
}

/// The source that "12 user" names.
pub(crate) fn read_source(inside: &str) -> Option<Source> {
    let (number, role) = inside.split_once([' ', ','])?;
    let message = number.parse().ok().filter(|_| number.bytes().all(|byte| byte.is_ascii_digit()))?;
    Some(Source { message, role: role_of(role.trim())? })
}

/// Who this is, whatever the case of the letters.
pub(super) fn role_of(name: &str) -> Option<Role> {
    let roles = [Role::System, Role::Developer, Role::User, Role::Assistant, Role::Tool];
    roles.into_iter().find(|role| role.to_string().eq_ignore_ascii_case(name))
}

/// A text to stand between `**` and `**`: its own stars are escaped, and backslashes that would meet a star.
pub(super) fn escape_bold(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 4);
    let mut slashes = 0;
    for c in text.chars() {
        match c {
            '*' => escaped.extend(std::iter::repeat_n('\\', slashes + 1)),
            '\\' => slashes += 1,
            _ => {}
        }
        if c != '\\' {
            slashes = 0;
        }
        escaped.push(c);
    }
    escaped.extend(std::iter::repeat_n('\\', slashes));
    escaped
}

/// The text between `**` and `**` at the start of a line, and what follows.
pub(super) fn split_bold(line: &str) -> Option<(String, &str)> {
    let inside = line.strip_prefix("**")?;
    let mut text = String::new();
    let mut slashes = 0;
    let mut letters = inside.char_indices().peekable();
    while let Some((at, c)) = letters.next() {
        if c == '\\' {
            slashes += 1;
            continue;
        }
        let star = c == '*';
        let kept = if star { slashes / 2 } else { slashes };
        text.extend(std::iter::repeat_n('\\', kept));
        let free = star && slashes % 2 == 0;
        slashes = 0;
        if free && letters.peek().is_some_and(|(_, next)| *next == '*') {
            return Some((text, inside.get(at + 2..).unwrap_or_default()));
        }
        text.push(c);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back() {
        let texts =
            ["a", "[x] a", "\\[x] a", "\\\\[x]", "\\a", "- a", "# Goal", "> q", "```", "Goal: x", "✅"];
        for text in texts {
            for position in [Position::Listed, Position::Free] {
                assert_eq!(unescape(&escape(text, position), position), text, "{position:?}");
            }
        }
        assert_eq!(escape("C:\\temp", Position::Free), "C:\\temp");
    }

    #[test]
    fn bold_texts_come_back() {
        for text in ["a", "src/**/x", "a*", "*", "**", "a\\", "a\\*b", "a\\\\", "\\", "**:", "a\\b"] {
            let written = format!("**{}**: why", escape_bold(text));
            assert_eq!(split_bold(&written), Some((text.to_owned(), ": why")), "{written}");
        }
        assert_eq!(split_bold("**never closed"), None);
    }

    #[test]
    fn sources_come_back() {
        let source = Some(Source { message: 12, role: Role::User });
        assert_eq!(split_provenance("did it (#12 user)"), ("did it", source));
        assert_eq!(split_provenance("did it (#12, User)"), ("did it", source));
        for plain in ["fixed (#12)", "fixed (#12 and more)", "(#user)", "did it"] {
            assert_eq!(split_provenance(plain), (plain, None));
        }
        assert_eq!(provenance("says (#3 tool)", None), " (#?)");
        assert_eq!(split_provenance("says (#3 tool) (#?)"), ("says (#3 tool)", None));
    }
}

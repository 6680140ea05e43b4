//! The entries of a checkpoint and their normal form.
//!
//! Constructors bring texts into the one form that survives being written as Markdown and read back: line
//! ends are `\n`, no line ends in white space, and an entry that says nothing does not exist.

use std::fmt;

use serde::Serialize;

use crate::message::Role;

/// Where an entry comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Source {
    /// The number of the message in the path.
    pub message: usize,
    /// Who said it.
    pub role: Role,
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "(#{} {})", self.message, self.role)
    }
}

/// One thing to remember.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Item {
    text: String,
    source: Option<Source>,
}

impl Item {
    /// An item; `None` where the text is blank or a placeholder such as "(none)".
    pub fn new(text: &str, source: Option<Source>) -> Option<Self> {
        let text = normal(text);
        (!says_nothing(&text)).then_some(Self { text, source })
    }

    /// What it says; may have several lines.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where it comes from, where that is known.
    pub fn source(&self) -> Option<Source> {
        self.source
    }
}

/// A decision and why it was made.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Decision {
    subject: String,
    rationale: String,
    source: Option<Source>,
}

impl Decision {
    /// A decision; `None` where neither subject nor rationale says anything.
    ///
    /// A subject is one line without colon or brackets around it. A missing one, or one that only says
    /// "Decision", is taken from the start of the rationale.
    pub fn new(subject: &str, rationale: &str, source: Option<Source>) -> Option<Self> {
        let (mut subject, mut rationale) = (bare_subject(subject), normal(rationale));
        while (subject.is_empty() || subject.eq_ignore_ascii_case("decision")) && !rationale.is_empty() {
            let (start, rest) = split_statement(&rationale);
            (subject, rationale) = (bare_subject(start), normal(rest));
        }
        (!says_nothing(&subject)).then_some(Self { subject, rationale, source })
    }

    /// A decision from a statement that names no subject: "use X because of Y", "store: SQLite".
    pub fn from_statement(statement: &str, source: Option<Source>) -> Option<Self> {
        Self::new("", statement, source)
    }

    /// What was decided, in one line.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Why; may be empty.
    pub fn rationale(&self) -> &str {
        &self.rationale
    }

    /// Where it comes from, where that is known.
    pub fn source(&self) -> Option<Source> {
        self.source
    }
}

/// What the user asked for last, word for word.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Request {
    text: String,
    source: Option<Source>,
}

impl Request {
    /// A request; `None` where the text is blank. Nothing of it is changed but Windows line ends.
    pub fn new(text: &str, source: Option<Source>) -> Option<Self> {
        if text.trim().is_empty() {
            return None;
        }
        let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches('\r')).collect();
        Some(Self { text: lines.join("\n"), source })
    }

    /// The user's words.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where they stand, where that is known.
    pub fn source(&self) -> Option<Source> {
        self.source
    }
}

/// A section that the format does not know.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct OtherSection {
    title: String,
    /// What it says.
    pub items: Vec<Item>,
}

impl OtherSection {
    /// A section; `None` where the title is empty. Markup, numbering and a colon are no part of a title.
    pub fn new(title: &str, items: Vec<Item>) -> Option<Self> {
        let title = bare_title(title);
        (!title.is_empty()).then_some(Self { title, items })
    }

    /// Its heading.
    pub fn title(&self) -> &str {
        &self.title
    }
}

// Line ends as `\n`, no white space at the end of a line, none around the whole.
fn normal(text: &str) -> String {
    let lines: Vec<&str> = text.trim().split('\n').map(str::trim_end).collect();
    lines.join("\n")
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

const COLONS: [char; 2] = [':', '：'];

fn bare_subject(subject: &str) -> String {
    let line = one_line(subject);
    let mut bare = line.as_str();
    loop {
        let colonless = bare.trim_end_matches(COLONS).trim();
        let inside = colonless.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let next = inside.filter(|inside| !inside.contains(['[', ']'])).unwrap_or(colonless).trim();
        if next == bare {
            return next.to_owned();
        }
        bare = next;
    }
}

fn bare_title(title: &str) -> String {
    let markup = |c: char| matches!(c, '*' | '_') || c.is_whitespace();
    let line = one_line(title);
    let mut bare = line.as_str();
    loop {
        let opened = bare.trim_start_matches(|c: char| c == '#' || markup(c));
        // A name such as C# keeps its last letter: only signs that stand apart close a heading.
        let unclosed = opened.trim_end_matches('#');
        let closed = if unclosed.ends_with(char::is_whitespace) { unclosed } else { opened };
        let next = without_number(closed.trim_end_matches(markup).trim_end_matches(COLONS).trim());
        if next == bare {
            return next.to_owned();
        }
        bare = next;
    }
}

/// A title without the number before it: "2. ", "2) ", "2.1 ".
pub(super) fn without_number(title: &str) -> &str {
    let rest = title.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = &title[..title.len() - rest.len()];
    if !number.starts_with(|c: char| c.is_ascii_digit()) || !number.contains('.') && !rest.starts_with(')') {
        return title;
    }
    let after = rest.strip_prefix(')').unwrap_or(rest);
    if after.starts_with(char::is_whitespace) { after.trim_start() } else { title }
}

/// What was decided, and why, in a statement without markup.
pub(super) fn split_statement(statement: &str) -> (&str, &str) {
    let line = statement.split('\n').next().unwrap_or_default();
    let at = |separator: &str| line.find(separator).map(|at| (at, separator.len()));
    // A colon later than this ends no subject, it stands in a sentence.
    const LONGEST_SUBJECT: usize = 80;
    let colon = at(": ").or_else(|| at("：")).filter(|(at, _)| *at <= LONGEST_SUBJECT);
    let found = [" — ", " – ", " - ", " because ", " weil ", " parce que ", " porque "];
    let cut = colon.or_else(|| found.iter().find_map(|separator| at(separator)));
    match cut {
        Some((at, length)) if !line[..at].trim().is_empty() => (&statement[..at], &statement[at + length..]),
        _ => (line, &statement[line.len()..]),
    }
}

fn says_nothing(text: &str) -> bool {
    const NOTHING: [&str; 32] = [
        "none",
        "none yet",
        "n/a",
        "na",
        "nil",
        "nothing",
        "nothing yet",
        "not applicable",
        "empty",
        "none so far",
        "none mentioned",
        "none identified",
        "none specified",
        "none provided",
        "not specified",
        "no items",
        "keine",
        "keiner",
        "keines",
        "nichts",
        "entfällt",
        "aucun",
        "aucune",
        "néant",
        "ninguno",
        "ninguna",
        "无",
        "暂无",
        "無",
        "なし",
        "特になし",
        "没有",
    ];
    let decoration = |c: char| !c.is_alphanumeric();
    let words = text.trim_matches(decoration);
    if words.is_empty() {
        // Something that is all signs may still mean something, unless it is a dash, dots or brackets.
        return text.chars().all(|c| c.is_whitespace() || "-–—.…()[]_*".contains(c));
    }
    words.chars().count() <= 20 && NOTHING.contains(&words.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_that_says_nothing_does_not_exist() {
        for text in ["", "  \n ", "None", "(none)", "_N/A_", "none yet.", "—", "...", "Keine.", "特になし。"]
        {
            assert_eq!(Item::new(text, None), None, "{text:?}");
        }
        for text in ["none of the tests pass", "0", "✓", "->", "$"] {
            assert!(Item::new(text, None).is_some(), "{text:?}");
        }
    }

    #[test]
    fn a_decision_finds_its_subject() {
        let cases = [
            ("Store", "SQLite, one file", ("Store", "SQLite, one file")),
            ("[Store]:", "SQLite", ("Store", "SQLite")),
            ("", "Use SQLite because it needs no server", ("Use SQLite", "it needs no server")),
            ("", "Store: SQLite", ("Store", "SQLite")),
            ("Decision", "Use rustls — no OpenSSL", ("Use rustls", "no OpenSSL")),
            ("Decision", "", ("Decision", "")),
            ("", "Keep it simple\nsecond line", ("Keep it simple", "second line")),
        ];
        for (subject, rationale, expected) in cases {
            let decision = Decision::new(subject, rationale, None).unwrap();
            assert_eq!((decision.subject(), decision.rationale()), expected, "{subject:?} {rationale:?}");
        }
    }

    #[test]
    fn titles_lose_markup_but_no_letters() {
        let cases = [
            ("## Notes ##", "Notes"),
            ("2. **Notes:**", "Notes"),
            ("2) Notes", "Notes"),
            ("About C#", "About C#"),
            ("3D models", "3D models"),
            ("2.1 Scope", "Scope"),
        ];
        for (title, expected) in cases {
            assert_eq!(bare_title(title), expected, "{title:?}");
        }
        assert_eq!(OtherSection::new(" ** ", vec![]), None);
    }
}

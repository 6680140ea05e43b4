//! What a checkpoint keeps letter by letter: lines of messages, and names.
//!
//! Constructors bring texts into the one form that is written and read back; within a line nothing is changed.

use std::fmt;

use serde::Serialize;

use super::entry::Source;

/// Lines of a message as they stood there. Between two pieces something was left out.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Excerpt {
    pieces: Vec<String>,
    source: Option<Source>,
}

impl Excerpt {
    /// An excerpt; `None` where no piece has a line that says something.
    ///
    /// Blank lines and white space at the ends of lines go, indentation stays.
    pub fn new(pieces: Vec<String>, source: Option<Source>) -> Option<Self> {
        let pieces: Vec<String> = pieces.iter().filter_map(|piece| written(piece)).collect();
        (!pieces.is_empty()).then_some(Self { pieces, source })
    }

    /// The pieces, in order; each has one line or more.
    pub fn pieces(&self) -> &[String] {
        &self.pieces
    }

    /// Where they stand, where that is known.
    pub fn source(&self) -> Option<Source> {
        self.source
    }
}

// The lines of a piece on which something is written.
fn written(piece: &str) -> Option<String> {
    let lines = piece.split(['\n', '\r']).map(str::trim_end).filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// A name that must not be lost: of a function, a file, an option, a ticket.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Name(String);

impl Name {
    /// A name; `None` where nothing is left of it without the white space around it, or where there is some inside.
    pub fn new(name: &str) -> Option<Self> {
        let name = name.trim();
        (!name.is_empty() && !name.contains(char::is_whitespace)).then(|| Self(name.to_owned()))
    }

    /// The name as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_letters_and_their_indentation() {
        let pieces = ["\r\n  a \t\r\n\r\n\tb\rc", " \n\u{a0}", "# d\\"];
        let excerpt = Excerpt::new(pieces.map(str::to_owned).to_vec(), None).unwrap();
        assert_eq!(excerpt.pieces(), ["  a\n\tb\nc", "# d\\"]);
        assert_eq!(Excerpt::new(vec![" \n".to_owned()], None), None);
        assert_eq!(Excerpt::new(vec![], None), None);
    }

    #[test]
    fn a_name_has_no_white_space() {
        assert_eq!(Name::new(" --flag\n").unwrap().as_str(), "--flag");
        for text in ["", " ", "a b", "a\u{2028}b"] {
            assert_eq!(Name::new(text), None, "{text:?}");
        }
    }
}

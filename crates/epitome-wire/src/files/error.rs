//! What can be wrong with a file, in words that say where and what to do.

use std::fmt;
use std::io;

use epitome_core::Role;

use super::format::Format;

/// A place of a file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// The line, counted from 1.
    pub line: usize,
    /// The character in the line, counted from 1.
    pub column: usize,
    /// What is wrong there.
    pub reason: String,
}

/// What is wrong with a line of another format begins with this.
pub(super) const OTHER_FORMAT: &str = "a line of a ";
/// What is wrong with bytes that are no text.
pub(super) const NO_TEXT: &str = "invalid UTF-8";

impl Damaged {
    // A file that is no transcript at all, or not of the format that was named, is not helped by skipping lines.
    fn hint(&self) -> &'static str {
        match self.reason.as_str() {
            reason if reason.starts_with(OTHER_FORMAT) => {
                "leave --format away, and each file's format is found by itself; --lenient skips such lines"
            }
            NO_TEXT if self.line == 1 => {
                "transcripts are text in UTF-8, plain or gzipped; --lenient skips what is damaged in one"
            }
            _ => "pass --lenient to skip what is damaged and read the rest",
        }
    }
}

impl fmt::Display for Damaged {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}, column {}: {}", self.line, self.column, self.reason)
    }
}

/// Why a file cannot be read, or not be written back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// There is nothing in it.
    #[error("the file is empty")]
    Empty,
    /// No line of it is JSON.
    #[error("not JSON: {0}")]
    NotJson(Damaged),
    /// It is JSON, but of no known format.
    #[error("no known transcript format (the first value is {0})")]
    UnknownFormat(String),
    /// It is not of the format that was asked for.
    #[error("not a {format} file: {reason}")]
    WrongFormat {
        /// The format.
        format: Format,
        /// What is missing.
        reason: &'static str,
    },
    /// A part of it is damaged.
    #[error("{0}")]
    Damaged(Damaged),
    /// One session is larger than the caller allows.
    #[error("a session is larger than {0} bytes")]
    TooLarge(u64),
    /// The gzip stream is damaged or cut off.
    #[error("damaged gzip data: {0}")]
    Gzip(io::Error),
    /// The input could not be read.
    #[error("cannot read: {0}")]
    Read(#[from] io::Error),
    /// A change names a message that is not there.
    #[error("no message {0} in this transcript")]
    NoSuchMessage(usize),
    /// A new message needs the place of one that it replaces, and there is none of its role.
    #[error("no message of the {0} gives way to the one that is to stand here")]
    NoPlace(Role),
    /// A change names a block that is not there or cannot be changed that way.
    #[error("block {block} of message {message} cannot be changed like this in its file")]
    NotEditable {
        /// The message.
        message: usize,
        /// The block.
        block: usize,
    },
}

impl FileError {
    /// What to do about it, if there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            FileError::Damaged(damaged) => Some(damaged.hint()),
            FileError::NotJson(_) => Some("transcripts are JSON or JSON lines, plain or gzipped"),
            FileError::UnknownFormat(_) => Some("name the format with --format"),
            FileError::WrongFormat { .. } => {
                Some("--format names the format where it is not found by itself")
            }
            FileError::Empty => Some("a session has at least one message; - reads from stdin"),
            FileError::Gzip(_) => Some("pass --lenient to read what is there before the damage"),
            _ => None,
        }
    }
}

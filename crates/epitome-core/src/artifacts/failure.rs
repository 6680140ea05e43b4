//! Whether a call failed, and in which words.

use super::call::{Call, one_line};
use crate::message::{Block, ToolResult};
use crate::outline::BlockOutline;
use crate::prune::telling_line;
use crate::units::Chars;

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing speaks against its having worked.
    Worked,
    /// It failed.
    Failed {
        /// The line that says why.
        error: String,
        /// Where, if a line beside it says so.
        place: Option<String>,
    },
}

const LONGEST_ERROR: usize = 200;

/// What a result that reports failure starts with, where nothing else says so.
const COMPLAINTS: &[&str] = &[
    "error:",
    "error ",
    "error executing",
    "failed to ",
    "failed:",
    "failure:",
    "exception:",
    "<tool_use_error>",
    "{\"error\"",
    "{\"is_error\":true",
    "fatal:",
    "permission denied",
    "no such file",
    "file not found",
    "file does not exist",
    "could not find",
    "couldn't find",
    "string to replace not found",
    "no replacement was performed",
    "no match found",
    "your proposed edit has introduced",
    "invalid ",
    "unknown tool",
    "tool not found",
];

/// Judges a call by its result.
pub(super) fn judge(call: &Call, answer: &ToolResult, outline: Option<&BlockOutline>) -> Verdict {
    let text = first_text(answer);
    let error_tail = outline.map_or(Chars::ZERO, |outline| outline.error_tail);
    let failed = answer.is_error
        || match call {
            // What a command prints when it only looks at things is somebody else's text.
            Call::Shell(steps) if steps.iter().all(|step| step.only_looks()) => {
                let line = first_line(text);
                steps.iter().any(|step| is_report_of(&step.name, line))
            }
            Call::Shell(_) => error_tail > Chars::ZERO,
            Call::Files(_) | Call::Other => complains(text),
        };
    if !failed {
        return Verdict::Worked;
    }
    let (error, place) = match call {
        Call::Shell(_) => {
            let text = error_text(text, error_tail);
            let error = telling_line(text);
            (error, place_of(error, text))
        }
        Call::Files(_) | Call::Other => (first_line(text), None),
    };
    let place = place.map(|place| one_line(place, LONGEST_ERROR));
    Verdict::Failed { error: one_line(error, LONGEST_ERROR), place }
}

// Compilers say where on the line after, Python on one before, JavaScript on the first of those that start with `at`.
fn place_of<'t>(error: &str, text: &'t str) -> Option<&'t str> {
    const NEAR: usize = 12;
    let at = text.find(error)?;
    let (before, after) = (text.get(..at)?, text.get(at + error.len()..)?);
    let follows = |line: &&str| line.starts_with("--> ") || (line.starts_with("at ") && line.contains(':'));
    let precedes = |line: &&str| line.starts_with("File \"") && line.contains(", line ");
    let after = after.lines().take(NEAR).map(str::trim).find(follows);
    after.or_else(|| before.lines().rev().take(NEAR).map(str::trim).find(precedes))
}

/// The text of a result, or its first one.
pub(super) fn first_text(answer: &ToolResult) -> &str {
    answer
        .content
        .iter()
        .find_map(|block| match block {
            Block::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .unwrap_or_default()
}

fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

// `cat: x: No such file or directory`, `bash: line 1: cat: …`
fn is_report_of(name: &str, line: &str) -> bool {
    !name.is_empty()
        && line.split(": ").take(3).any(|part| part.rsplit('/').next() == Some(name))
        && line.contains(": ")
}

fn complains(text: &str) -> bool {
    const LOOKED_AT: usize = 80;
    let start: String = first_line(text).chars().take(LOOKED_AT).collect::<String>().to_ascii_lowercase();
    let start = start.trim_start_matches(['❌', '✗', ' ']);
    COMPLAINTS.iter().any(|complaint| start.starts_with(complaint))
}

// What a shell's output ends in is the error; elsewhere the whole result is.
fn error_text(text: &str, error_tail: Chars) -> &str {
    let start = match error_tail.0 {
        0 => 0,
        chars => text.char_indices().rev().nth(chars - 1).map_or(0, |(at, _)| at),
    };
    text.get(start..).unwrap_or(text)
}

//! The markers that stand for what was left out: how they are written and how they are read back.
//!
//! A marker is only recognised where the whole text has the exact shape that [`super::render`] gives it
//! (counts and positions included), so that a file which merely quotes a marker is not taken for one.

use std::fmt::{self, Write as _};

use crate::hash::RecallId;
use crate::units::Chars;

/// What stands for a cleared tool result; the wording is that of spec 008.1.
pub const CLEARED: &str = "[Tool output cleared — content was processed in earlier turns]";

/// What follows a text that was cut short; the wording is that of ADR 033.
pub const TRUNCATED: &str = "[truncated]";

const TRIMMED: &str = "\n\n--- trimmed (kept ";
const LONGEST_NAME: usize = 64;

/// What an earlier pruning left of a longer text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruned {
    /// What was done to the text.
    pub form: PrunedForm,
    /// Whose text it was, as the marker says.
    pub tool: String,
    /// How long the text was.
    pub chars: Chars,
    /// The recall id of the text that was.
    pub recall: RecallId,
}

/// The ways in which a text can have been pruned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrunedForm {
    /// Its middle was taken out.
    Trimmed {
        /// How much of its start was kept.
        head: Chars,
        /// How much of its end was kept.
        tail: Chars,
    },
    /// All of it was taken out, but for an error at its end.
    Cleared,
    /// Its end was taken out.
    Truncated {
        /// How much of its start was kept.
        keep: Chars,
    },
}

/// The second line of every marker: what was there and how to get it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Label<'a> {
    pub(crate) tool: &'a str,
    pub(crate) chars: Chars,
    pub(crate) error_tail: Chars,
    pub(crate) recall: RecallId,
}

impl fmt::Display for Label<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_char('[')?;
        let mut letters = self.tool.chars().take(LONGEST_NAME).peekable();
        if letters.peek().is_none() {
            out.write_str("tool")?;
        }
        // A line break inside a name would hide the rest of the label from the reader below.
        letters.try_for_each(|c| out.write_char(if c.is_control() { '_' } else { c }))?;
        write!(out, " · {} chars", self.chars)?;
        if self.error_tail > Chars::ZERO {
            write!(out, " · ends in an error ({} chars)", self.error_tail)?;
        }
        write!(out, " · recall {}]", self.recall)
    }
}

impl<'a> Label<'a> {
    /// Reads a line that [`Label`] wrote. From the right, as a tool's name may contain anything.
    fn read(line: &'a str) -> Option<Self> {
        let line = line.strip_prefix('[')?.strip_suffix(']')?;
        let (line, recall) = line.rsplit_once(" · recall ")?;
        let (line, error_tail) = match line.strip_suffix(" chars)") {
            Some(line) => {
                let (line, error_tail) = line.rsplit_once(" · ends in an error (")?;
                (line, number(error_tail)?)
            }
            None => (line, Chars::ZERO),
        };
        let (tool, chars) = line.strip_suffix(" chars")?.rsplit_once(" · ")?;
        Some(Self { tool, chars: number(chars)?, error_tail, recall: recall.parse().ok()? })
    }
}

/// The marker between the head and the tail of a trimmed text, with the empty lines around it.
pub(crate) fn trimmed(head: Chars, tail: Chars, label: &Label<'_>) -> String {
    format!("{TRIMMED}{head} head + {tail} tail of {} chars) ---\n{label}\n\n", label.chars)
}

/// The marker of a cleared text, up to where an error's tail follows.
pub(crate) fn cleared(label: &Label<'_>) -> String {
    let end = if label.error_tail > Chars::ZERO { "\n" } else { "" };
    format!("{CLEARED}\n{label}{end}")
}

/// The marker behind a text that was cut short.
pub(crate) fn truncated(label: &Label<'_>) -> String {
    format!("\n{TRUNCATED}\n{label}")
}

/// Reads back what an earlier pruning did to `text`, which is `chars` long, and how long an error tail it kept.
pub(crate) fn read(text: &str, chars: Chars) -> Option<(Pruned, Chars)> {
    let (form, label) =
        read_cleared(text).or_else(|| read_trimmed(text, chars)).or_else(|| read_truncated(text))?;
    let Label { tool, chars, error_tail, recall } = label;
    Some((Pruned { form, tool: tool.to_owned(), chars, recall }, error_tail))
}

fn read_cleared(text: &str) -> Option<(PrunedForm, Label<'_>)> {
    let rest = text.strip_prefix(CLEARED)?.strip_prefix('\n')?;
    let (line, tail) = rest.split_once('\n').unwrap_or((rest, ""));
    let label = Label::read(line)?;
    (Chars::of(tail) == label.error_tail).then_some((PrunedForm::Cleared, label))
}

fn read_trimmed(text: &str, chars: Chars) -> Option<(PrunedForm, Label<'_>)> {
    let (mut counted, mut at) = (Chars::ZERO, 0);
    for (found, _) in text.match_indices(TRIMMED) {
        counted += Chars::of(&text[at..found]);
        at = found;
        if let Some((form, label, length)) = read_trim_marker(&text[found..])
            && let PrunedForm::Trimmed { head, tail } = form
            && head == counted
            && head + length + tail == chars
        {
            return Some((form, label));
        }
    }
    None
}

fn read_trim_marker(text: &str) -> Option<(PrunedForm, Label<'_>, Chars)> {
    let rest = text.strip_prefix(TRIMMED)?;
    let (line, rest) = rest.split_once('\n')?;
    let (head, line) = line.split_once(" head + ")?;
    let (tail, line) = line.split_once(" tail of ")?;
    let of = line.strip_suffix(" chars) ---")?;
    let (line, _) = rest.split_once("\n\n")?;
    let label = Label::read(line)?;
    let form = PrunedForm::Trimmed { head: number(head)?, tail: number(tail)? };
    let length = text.len() - rest.len() + line.len() + "\n\n".len();
    (number(of)? == label.chars).then(|| (form, label, Chars::of(&text[..length])))
}

fn read_truncated(text: &str) -> Option<(PrunedForm, Label<'_>)> {
    let (rest, line) = text.rsplit_once('\n')?;
    let label = Label::read(line)?;
    let kept = rest.strip_suffix(TRUNCATED)?.strip_suffix('\n')?;
    Some((PrunedForm::Truncated { keep: Chars::of(kept) }, label))
}

fn number(text: &str) -> Option<Chars> {
    text.parse().ok().map(Chars)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(tool: &str, error_tail: usize) -> Label<'_> {
        Label { tool, chars: Chars(24_000), error_tail: Chars(error_tail), recall: RecallId::of("x") }
    }

    #[test]
    fn labels_survive_the_round_trip() {
        for tool in ["bash", "a · 5 chars · recall 000000000000", "x]", "weird [name] (7 chars)"] {
            for error_tail in [0, 212] {
                let written = label(tool, error_tail).to_string();
                assert_eq!(Label::read(&written), Some(label(tool, error_tail)), "{written}");
            }
        }
        assert_eq!(label("", 0).to_string(), label("tool", 0).to_string());
        assert!(label("two\nlines", 0).to_string().starts_with("[two_lines · "));
        let long = "n".repeat(100);
        assert!(label(&long, 0).to_string().starts_with(&format!("[{} · ", &long[..64])));
    }

    #[test]
    fn a_quoted_marker_is_not_a_marker() {
        let marker = trimmed(Chars(4), Chars(4), &label("bash", 0));
        let whole = format!("head{marker}tail");
        let read = |text: &str| read(text, Chars::of(text)).map(|(pruned, _)| pruned.form);
        assert_eq!(read(&whole), Some(PrunedForm::Trimmed { head: Chars(4), tail: Chars(4) }));
        assert_eq!(read(&format!("I saw this: {whole}")), None);
        assert_eq!(read(&format!("{whole} and more")), None);
        assert_eq!(read(CLEARED), None, "without a recall id there is nothing to keep");
        assert_eq!(read(&format!("{} and more", cleared(&label("bash", 0)))), None);
        assert_eq!(read(&cleared(&label("bash", 0))), Some(PrunedForm::Cleared));
        assert_eq!(read(&format!("{}oops", cleared(&label("bash", 4)))), Some(PrunedForm::Cleared));
        assert_eq!(
            read(&format!("héad{}", truncated(&label("user", 0)))),
            Some(PrunedForm::Truncated { keep: Chars(4) })
        );
    }
}

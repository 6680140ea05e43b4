//! JSON lines: the objects of a text, line by line, and what is wrong with the other lines.

use super::detect::plain_format;
use super::error::{FileError, OTHER_FORMAT};
use super::format::Format;
use super::log::Log;
use super::record::Cut;
use crate::json::{Cursor, JsonError, Kind, Span};
use crate::node::Node;

/// An object on a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// The object.
    pub(super) span: Span,
    /// What goes when it is removed.
    pub(super) cut: Cut,
}

/// The objects of `text`, in order; lines without one are reported to `log`.
pub(super) fn objects(text: &str, log: &mut Log<'_>) -> Result<Vec<Line>, FileError> {
    let mut found = Vec::new();
    let mut start = byte_order_mark(text);
    while start < text.len() {
        let end = memchr::memchr(b'\n', text.as_bytes().get(start..).unwrap_or_default())
            .map_or(text.len(), |newline| start + newline + 1);
        line(text, Span { start, end }, log, &mut found)?;
        start = end;
    }
    Ok(found)
}

/// The objects of `text` that can be lines of `format`; those that are plainly another's are reported to `log`.
pub(super) fn objects_of(format: Format, text: &str, log: &mut Log<'_>) -> Result<Vec<Line>, FileError> {
    let mut own = Vec::new();
    for line in objects(text, log)? {
        match plain_format(Node::new(text, line.span)).filter(|found| *found != format) {
            Some(found) => {
                log.report(line.span.start, format!("{OTHER_FORMAT}{found} file in a {format} file"))?;
            }
            None => own.push(line),
        }
    }
    Ok(own)
}

/// The length of a byte order mark at the start of `text`.
pub(super) fn byte_order_mark(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

fn line(text: &str, line: Span, log: &mut Log<'_>, found: &mut Vec<Line>) -> Result<(), FileError> {
    let (values, error) = values(text, line);
    if let ([only], None) = (values.as_slice(), &error) {
        found.push(Line { span: *only, cut: Cut::Line(line) });
        return Ok(());
    }
    for (place, span) in values.iter().enumerate() {
        if place > 0 {
            log.report(span.start, "a second object on the same line")?;
        }
        // The line break stays: what else stands on the line may still need it.
        let end = values.get(place + 1).map_or(span.end, |next| next.start);
        found.push(Line { span: *span, cut: Cut::Line(Span { start: span.start, end }) });
    }
    // A line that is cut off ends before its line break, not in the next line.
    let end = line.start + line.of(text).trim_end().len();
    match error {
        Some(error) => log.report(error.at.min(end), error.what),
        None => Ok(()),
    }
}

// The objects on a line, and the error that ends them. A cursor that cannot see past the line's end
// cannot take the next line for the rest of a cut-off one.
fn values(text: &str, line: Span) -> (Vec<Span>, Option<JsonError>) {
    let visible = text.get(..line.end).unwrap_or_default();
    let mut cursor = Cursor::starting_at(visible, line.start);
    let mut values = Vec::new();
    while cursor.finish().is_err() {
        let value = cursor.peek().and_then(|kind| match kind {
            Kind::Object => cursor.skip(),
            _ => Err(JsonError { at: cursor.position(), what: "expected an object" }),
        });
        match value {
            Ok(span) => values.push(span),
            Err(error) => return (values, Some(error)),
        }
    }
    (values, None)
}

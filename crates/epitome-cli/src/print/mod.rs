//! Words, numbers and pictures for a terminal. Data goes to stdout, talk to stderr.

mod chart;
mod number;
mod table;

pub(crate) use chart::growth;
pub(crate) use number::{bytes, grouped, percent, plural};
pub(crate) use table::{Align, Table};

use anstyle::{AnsiColor, Style};

/// Headings.
pub(crate) const HEADING: Style = Style::new().bold();
/// What matters less.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// What went well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// What deserves attention.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
/// What failed.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();

/// `text` in `style`; the stream it is written to drops the colour where there is no terminal.
pub(crate) fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

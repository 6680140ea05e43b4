//! Words, numbers and pictures for a terminal. Data goes to stdout, talk to stderr.

mod chart;
mod moment;
mod number;
mod table;

pub(crate) use chart::growth;
pub(crate) use moment::moment;
pub(crate) use number::{bytes, count, grouped, percent, plural};
pub(crate) use table::{Align, Table};

use std::io::{IsTerminal, Write};

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

/// How many columns there are to print in: the terminal's, or as many as people like to read.
pub(crate) fn width() -> usize {
    terminal_size::terminal_size().map_or(100, |(terminal_size::Width(columns), _)| usize::from(columns))
}

/// Whether somebody looks at what is printed; both streams, as either may be what is read.
pub(crate) fn is_terminal() -> bool {
    std::io::stdout().is_terminal() && std::io::stderr().is_terminal()
}

/// `text` in `style`; the stream it is written to drops the colour where there is no terminal.
pub(crate) fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Says a line on stderr. Nobody may be listening there; that is no reason to fail.
pub(crate) fn say(line: impl std::fmt::Display) {
    let _ = writeln!(anstream::stderr().lock(), "{line}");
}

/// Says what could not be read of a session.
pub(crate) fn say_damage(session: &str, damaged: &[String]) {
    for damage in damaged.iter().take(DAMAGE_SHOWN) {
        say(format_args!("{} {session}: {damage}", paint(WARN, "damaged:")));
    }
    if let Some(more) = damaged.len().checked_sub(DAMAGE_SHOWN).filter(|more| *more > 0) {
        say(format_args!("{} {session}: {} more", paint(WARN, "damaged:"), plural(more, "place")));
    }
}

/// How many damaged places of a session are named.
const DAMAGE_SHOWN: usize = 10;

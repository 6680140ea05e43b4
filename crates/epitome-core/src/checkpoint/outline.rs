//! From lines to sections of raw entries. It knows how Markdown hangs together, not what a checkpoint is.

use super::fence::Closings;
use super::indent::{indentation, unindented};
use super::line::{Heading, Line, Style, bullet, is_underline};
use super::model::Section;
use super::titles::Title;
use super::verbatim;

/// A heading and what stands under it.
#[derive(Debug, Default)]
pub(super) struct Part<'a> {
    /// The heading; none for what stands before the first.
    pub(super) heading: Option<Heading<'a>>,
    /// The entries, in order.
    pub(super) entries: Vec<Entry>,
    /// The lines as they are, where every letter counts.
    pub(super) lines: Vec<&'a str>,
}

/// An entry as it stands there.
#[derive(Debug)]
pub(super) struct Entry {
    /// How it is written.
    pub(super) form: Form,
    /// Its lines, without bullet and indentation.
    pub(super) text: String,
    /// Whether something blank or a line across the page stands before it.
    pub(super) apart: bool,
    indent: usize,
}

/// How an entry is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Bullet,
    Prose,
    Row,
    /// Every letter counts, white space at the start included.
    Verbatim,
}

/// The sections of a text.
pub(super) fn outline(text: &str) -> Vec<Part<'_>> {
    let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches('\r')).collect();
    let mut outliner = Outliner {
        style: style(&lines),
        closings: Closings::default(),
        lines: &lines,
        parts: vec![Part::default()],
        open: false,
        group: None,
        aside: None,
        verbatim: None,
        blanks: 0,
        apart: true,
    };
    let mut at = 0;
    while at < lines.len() {
        at = outliner.take(at);
    }
    outliner.parts
}

fn style(lines: &[&str]) -> Style {
    let mut closings = Closings::default();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        match Line::of(line, Style::Hash) {
            Line::Fence(fence) => at = closings.end(lines, at, &fence).unwrap_or(at),
            Line::Heading(heading) if line.trim_start().starts_with('#') && !is_document(&heading) => {
                return Style::Hash;
            }
            _ => {}
        }
        at += 1;
    }
    Style::Plain
}

fn is_document(heading: &Heading<'_>) -> bool {
    heading.title == Some(Title::Document)
}

struct Outliner<'a, 'l> {
    style: Style,
    closings: Closings,
    lines: &'l [&'a str],
    parts: Vec<Part<'a>>,
    /// Whether the last entry may go on.
    open: bool,
    /// The heading under which bullets may be headings themselves.
    group: Option<Heading<'a>>,
    /// How far the bullet is indented that was a heading and its text in one.
    aside: Option<usize>,
    /// The white space before the heading under which lines behind one more space count letter by letter.
    verbatim: Option<&'a str>,
    /// Blank lines since the last entry's last line.
    blanks: usize,
    apart: bool,
}

impl<'a> Outliner<'a, '_> {
    // Takes the line at `at`, and those that belong to it; returns the number of the next.
    fn take(&mut self, at: usize) -> usize {
        let Some(&raw) = self.lines.get(at) else { return at + 1 };
        if raw.trim().is_empty() {
            self.keep_line(raw);
            self.blanks += 1;
            self.apart = true;
            return at + 1;
        }
        if let Some(text) = self.verbatim_text(raw) {
            self.push(Form::Verbatim, text.trim_end(), 0);
            self.open = false;
            return at + 1;
        }
        let indent = indentation(raw);
        if let Some(entry) = self.open_entry().filter(|entry| indent >= entry.indent + 2) {
            let text = unindented(raw, entry.indent + 2).trim_end();
            self.keep_line(raw);
            self.append(text);
            return at + 1;
        }
        let line = Line::of(raw, self.style);
        match line {
            Line::Heading(heading) if self.is_excerpted(&heading, raw) => self.prose(raw.trim(), indent),
            Line::Heading(heading) => {
                self.group = Some(heading);
                self.aside = None;
                self.start(heading, raw);
            }
            Line::Blank => {}
            Line::Fence(fence) => {
                if let Some(end) = self.closings.end(self.lines, at, &fence) {
                    return self.take_block(at, end);
                }
                self.keep_line(raw);
                self.prose(raw.trim(), indent);
            }
            Line::Bullet(text) => {
                self.keep_line(raw);
                if !self.start_within_group(text, indent) {
                    self.return_to_group(indent);
                    self.push(Form::Bullet, text.trim(), indent);
                }
            }
            Line::Row(row) => {
                self.keep_line(raw);
                let header = self.lines.get(at + 1).is_some_and(|next| is_separator(next));
                if !header && !is_separator(row) {
                    self.push(Form::Row, row, indent);
                    self.open = false;
                }
            }
            Line::Rule => {
                self.keep_line(raw);
                self.open = false;
                self.apart = true;
            }
            Line::Quote(text) => {
                self.keep_line(raw);
                self.prose(text.trim(), indent);
            }
            Line::Prose(text) => {
                let next = self.lines.get(at + 1).copied().unwrap_or_default();
                let title = super::line::heading(text, 2);
                if indentation(next) < 2
                    && self.verbatim_text(next).is_none()
                    && is_underline(next)
                    && (title.title.is_some() || next.trim_start().starts_with('='))
                {
                    self.group = Some(title);
                    self.aside = None;
                    self.start(title, raw);
                    return at + 2;
                }
                self.keep_line(raw);
                self.prose(text, indent);
            }
        }
        at + 1
    }

    // A code block at the start of a line: its lines mean nothing here.
    fn take_block(&mut self, start: usize, end: usize) -> usize {
        let block = self.lines.get(start..=end).unwrap_or_default();
        block.iter().for_each(|line| self.keep_line(line));
        let text = block.join("\n");
        self.prose(text.trim_end(), 0);
        end + 1
    }

    fn verbatim_text(&self, raw: &'a str) -> Option<&'a str> {
        let text = raw.strip_prefix(self.verbatim?)?.strip_prefix(' ')?;
        // Names stand behind one space alone; what is indented by more is a list that somebody else wrote.
        let indented = text.starts_with(char::is_whitespace);
        (!indented || self.title() == Some(Title::Section(Section::Excerpts))).then_some(text)
    }

    // A heading inside an excerpt, or one that says where it comes from, in a copy that has no spaces.
    fn is_excerpted(&self, heading: &Heading<'_>, raw: &str) -> bool {
        let Some(section) = self.parts.last().and_then(|part| part.heading.as_ref()) else { return false };
        section.title == Some(Title::Section(Section::Excerpts))
            && heading.title.is_none()
            && (heading.level > section.level || verbatim::source(raw).is_some())
    }

    fn open_entry(&self) -> Option<&Entry> {
        self.parts.last().filter(|_| self.open)?.entries.last()
    }

    fn keep_line(&mut self, raw: &'a str) {
        if let Some(part) = self.parts.last_mut() {
            part.lines.push(raw);
        }
    }

    fn append(&mut self, text: &str) {
        let blanks = std::mem::take(&mut self.blanks);
        self.apart = false;
        let Some(entry) = self.parts.last_mut().and_then(|part| part.entries.last_mut()) else { return };
        entry.text.extend(std::iter::repeat_n('\n', blanks + 1));
        entry.text.push_str(text);
    }

    fn push(&mut self, form: Form, text: &str, indent: usize) {
        let apart = std::mem::take(&mut self.apart);
        self.blanks = 0;
        self.open = true;
        if let Some(part) = self.parts.last_mut() {
            part.entries.push(Entry { form, text: text.to_owned(), apart, indent });
        }
    }

    // Text goes on where it stood, unless a gap or the kind of list says that it is something else.
    fn prose(&mut self, text: &str, indent: usize) {
        if self.open && self.blanks == 0 && !self.lists_paths() {
            self.append(text);
        } else {
            self.push(Form::Prose, text, indent);
        }
    }

    fn title(&self) -> Option<Title> {
        self.parts.last()?.heading.as_ref()?.title
    }

    // Where every line is a path, none continues the one before.
    fn lists_paths(&self) -> bool {
        use Section::{Created, Deleted, Modified, Read};
        matches!(self.title(), Some(Title::Files | Title::Section(Created | Modified | Deleted | Read)))
    }

    fn start(&mut self, heading: Heading<'a>, raw: &'a str) {
        self.open = false;
        self.blanks = 0;
        self.apart = false;
        let inline = heading.inline;
        let indent = indentation(raw);
        let verbatim = matches!(heading.title, Some(Title::Section(Section::Excerpts | Section::Names)));
        let before = raw.get(..raw.len() - raw.trim_start().len());
        self.verbatim = before.filter(|_| verbatim && bullet(raw.trim()).is_none());
        self.parts.push(Part { heading: Some(heading), ..Part::default() });
        if !inline.is_empty() {
            self.keep_line(inline);
            self.push(Form::Prose, inline, indent);
        }
    }

    // "- Done:" or "- **Done**: this and that" under "Progress".
    fn start_within_group(&mut self, text: &'a str, indent: usize) -> bool {
        use Section::{Created, Deleted, Done, Failed, InProgress, Modified, NextSteps, Read};
        let group = self.group.and_then(|group| group.title);
        if !matches!(group, Some(Title::Progress | Title::Files)) {
            return false;
        }
        let Line::Heading(heading) = Line::of(text, Style::Plain) else { return false };
        let fits = match (group, heading.title) {
            (Some(Title::Progress), Some(Title::Section(part))) => {
                matches!(part, Done | InProgress | NextSteps | Failed)
            }
            (Some(Title::Files), Some(Title::Section(part))) => {
                matches!(part, Created | Modified | Deleted | Read)
            }
            _ => false,
        };
        if fits {
            self.aside = Some(indent).filter(|_| !heading.inline.is_empty());
            self.start(heading, text);
        }
        fits
    }

    // After "- Modified: a.rs", a bullet beside it is again of the list as a whole.
    fn return_to_group(&mut self, indent: usize) {
        if self.aside.is_some_and(|aside| indent <= aside) {
            self.aside = None;
            self.parts.push(Part { heading: self.group, ..Part::default() });
        }
    }
}

fn is_separator(row: &str) -> bool {
    let row = row.trim();
    row.starts_with('|') && row.contains('-') && row.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

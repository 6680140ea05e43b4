//! From sections of raw entries to a checkpoint: what goes where.

use super::chatter::is_chatter;
use super::entry::{Decision, Item, OtherSection, Source};
use super::escape::{Position, split_bold, split_provenance, unescape};
use super::line::Mark;
use super::model::{Checkpoint, Section};
use super::outline::{Entry, Form, Part};
use super::parse::Parsed;
use super::request::fill_request;
use super::titles::Title;
use super::verbatim::{excerpts, names};

/// Puts the entries of all sections where they belong.
pub(super) fn assemble(mut parts: Vec<Part<'_>>) -> Parsed {
    let mut parsed = Parsed::default();
    let known = |part: &&Part<'_>| {
        let title = part.heading.as_ref().and_then(|heading| heading.title);
        title.is_some_and(|title| title != Title::Document)
    };
    parsed.known_headings = parts.iter().filter(known).count();
    let closing = parts.last_mut().and_then(take_closing_words);
    let mut place = Place { title: None, level: 0, other: None, prefix: String::new() };
    for part in &parts {
        place.enter(part, &mut parsed);
        place.fill(part, &mut parsed);
    }
    parsed.ignored.extend(closing);
    parsed
}

// What a model says to its reader after the summary.
fn take_closing_words(part: &mut Part<'_>) -> Option<String> {
    let last = part.entries.last().filter(|last| last.form == Form::Prose && last.apart)?;
    if !is_chatter(&last.text) || part.heading.is_none() && part.entries.len() == 1 {
        return None;
    }
    part.entries.pop().map(|last| last.text)
}

/// Where entries go.
struct Place {
    title: Option<Title>,
    level: usize,
    /// The section without a name in the format that is being filled.
    other: Option<usize>,
    /// The heading below the section's own.
    prefix: String,
}

impl Place {
    fn enter(&mut self, part: &Part<'_>, parsed: &mut Parsed) {
        let Some(heading) = &part.heading else { return };
        self.prefix.clear();
        if heading.title.is_some() {
            (self.title, self.level, self.other) = (heading.title, heading.level, None);
            return;
        }
        let inside = self.title.is_some_and(|title| title != Title::Document) || self.other.is_some();
        if inside && heading.level > self.level && self.level > 1 {
            let title = OtherSection::new(heading.raw, vec![]).map(|section| section.title().to_owned());
            self.prefix = title.map(|title| format!("{title}: ")).unwrap_or_default();
            return;
        }
        (self.title, self.level) = (None, heading.level);
        self.other = match OtherSection::new(heading.raw.strip_prefix('\\').unwrap_or(heading.raw), vec![]) {
            // The title of the whole, with nothing under it.
            Some(section) if heading.level == 1 && part.entries.is_empty() => {
                parsed.ignored.push(section.title().to_owned());
                None
            }
            Some(section) => {
                parsed.checkpoint.other.push(section);
                Some(parsed.checkpoint.other.len() - 1)
            }
            None => None,
        };
    }

    fn fill(&self, part: &Part<'_>, parsed: &mut Parsed) {
        match self.title {
            Some(Title::Section(Section::Goal)) => self.fill_goal(part, &mut parsed.checkpoint),
            Some(Title::Section(Section::Request)) => fill_request(part, parsed),
            Some(Title::Section(Section::Decisions)) => {
                let decisions = part.entries.iter().filter_map(|entry| self.decision(entry));
                parsed.checkpoint.decisions.extend(decisions);
            }
            Some(Title::Section(Section::Excerpts)) => {
                parsed.checkpoint.excerpts.extend(excerpts(&part.entries));
            }
            Some(Title::Section(Section::Names)) => {
                part.entries.iter().for_each(|entry| self.name(entry, &mut parsed.checkpoint));
            }
            Some(title) if title != Title::Document => {
                for entry in &part.entries {
                    self.file(entry, title, &mut parsed.checkpoint);
                }
            }
            _ => self.fill_untitled(part, parsed),
        }
    }

    fn fill_goal(&self, part: &Part<'_>, checkpoint: &mut Checkpoint) {
        let told = part.entries.iter().filter_map(|entry| self.item(entry, Marks::Boxes).1);
        let all: Vec<Item> = checkpoint.goal.take().into_iter().chain(told).collect();
        let source = all.iter().find_map(Item::source);
        let texts: Vec<&str> = all.iter().map(Item::text).collect();
        checkpoint.goal = Item::new(&texts.join("\n"), source);
    }

    // What is no name is something about names.
    fn name(&self, entry: &Entry, checkpoint: &mut Checkpoint) {
        let Some(names) = names(entry) else {
            let (_, item) = self.item(entry, Marks::Boxes);
            let named = item.and_then(|item| Item::new(&format!("Names: {}", item.text()), item.source()));
            return checkpoint.context.extend(named);
        };
        checkpoint.names.extend(names);
    }

    fn fill_untitled(&self, part: &Part<'_>, parsed: &mut Parsed) {
        let other = self.other.and_then(|number| parsed.checkpoint.other.get_mut(number));
        if let Some(other) = other {
            other.items.extend(part.entries.iter().filter_map(|entry| self.item(entry, Marks::Boxes).1));
            return;
        }
        for entry in &part.entries {
            let opening = entry.form == Form::Prose && is_chatter(&entry.text);
            if opening && (parsed.known_headings > 0 || part.entries.len() > 1) {
                parsed.ignored.push(entry.text.clone());
            } else {
                parsed.checkpoint.context.extend(self.item(entry, Marks::Boxes).1);
            }
        }
    }

    fn file(&self, entry: &Entry, title: Title, checkpoint: &mut Checkpoint) {
        let marks = match title {
            Title::Progress => Marks::All,
            Title::Section(section) if is_progress(section) => Marks::All,
            _ => Marks::Boxes,
        };
        let (mark, item) = self.item(entry, marks);
        let Some(item) = item else { return };
        if title == Title::Files || matches!(title, Title::Section(section) if is_file(section)) {
            for path in paths(&item, entry.form) {
                let section = match title {
                    Title::Section(section) => section,
                    _ => state_of(path.text()),
                };
                checkpoint.items_mut(section).into_iter().for_each(|items| items.push(path.clone()));
            }
            return;
        }
        let section = section_of(title, mark);
        checkpoint.items_mut(section).into_iter().for_each(|items| items.push(item.clone()));
    }

    fn item(&self, entry: &Entry, marks: Marks) -> (Option<Mark>, Option<Item>) {
        let (mark, text) = match entry.form {
            Form::Row => {
                return (None, Item::new(&format!("{}{}", self.prefix, cells(&entry.text).join(": ")), None));
            }
            Form::Prose | Form::Verbatim => (None, entry.text.as_str()),
            Form::Bullet => match Mark::strip(&entry.text) {
                Some((mark, rest)) if marks == Marks::All || entry.text.starts_with('[') => {
                    (Some(mark), rest)
                }
                _ => (None, entry.text.as_str()),
            },
        };
        let position = if entry.form == Form::Prose { Position::Free } else { Position::Listed };
        let (text, source) = with_source(text, |first| unescape(first, position));
        (mark, Item::new(&format!("{}{text}", self.prefix), source))
    }

    fn decision(&self, entry: &Entry) -> Option<Decision> {
        if entry.form == Form::Row {
            let cells = cells(&entry.text);
            let (subject, rationale) = cells.split_first()?;
            return Decision::new(&format!("{}{subject}", self.prefix), &rationale.join(" — "), None);
        }
        let (text, source) = with_source(&entry.text, |first| first);
        let Some((subject, after)) = split_bold(&text) else {
            let (_, item) = self.item(entry, Marks::All);
            return Decision::from_statement(item?.text(), source);
        };
        let after = after.trim_start();
        let rationale = after.strip_prefix([':', '：', '-', '–', '—']).unwrap_or(after);
        Decision::new(&format!("{}{subject}", self.prefix), rationale, source)
    }
}

/// Which marks before an item are no part of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marks {
    /// Check boxes; other signs mean something of their own.
    Boxes,
    /// All: the section is about how far things are.
    All,
}

fn is_progress(section: Section) -> bool {
    matches!(section, Section::Done | Section::InProgress | Section::NextSteps | Section::Failed)
}

fn is_file(section: Section) -> bool {
    matches!(section, Section::Created | Section::Modified | Section::Deleted | Section::Read)
}

// An item goes where its mark says, whatever list it was put into.
fn section_of(title: Title, mark: Option<Mark>) -> Section {
    match (title, mark) {
        (Title::Progress, None | Some(Mark::Done)) => Section::Done,
        (Title::Progress, Some(Mark::Open)) => Section::InProgress,
        (Title::Progress, Some(Mark::Failed)) => Section::Failed,
        (Title::Section(Section::Done), Some(Mark::Open)) => Section::InProgress,
        (Title::Section(Section::Done | Section::InProgress), Some(Mark::Failed)) => Section::Failed,
        (Title::Section(Section::InProgress | Section::NextSteps), Some(Mark::Done)) => Section::Done,
        (Title::Section(section), _) => section,
        (Title::Files | Title::Document, _) => Section::Context,
    }
}

// A text without what its first line says about its source.
fn with_source(text: &str, read: impl Fn(&str) -> &str) -> (String, Option<Source>) {
    let (first, rest) = text.split_at(text.find('\n').unwrap_or(text.len()));
    let (first, source) = split_provenance(first.trim_end());
    (format!("{}{rest}", read(first)), source)
}

fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

// "a.rs, b.rs" on one line is two files.
fn paths(item: &Item, form: Form) -> Vec<Item> {
    let names: Vec<&str> = item.text().split(", ").collect();
    let bare = |name: &&str| name.contains(['.', '/']) && !name.contains(' ');
    if form != Form::Prose || names.len() < 2 || !names.iter().all(bare) {
        return vec![item.clone()];
    }
    names.iter().filter_map(|name| Item::new(name, item.source())).collect()
}

// What was done to a file, in the words of a list that does not say it in its heading.
fn state_of(text: &str) -> Section {
    let lower = text.to_lowercase();
    let said = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    match () {
        () if said(&["deleted", "removed", "gelöscht"]) => Section::Deleted,
        () if said(&["created", "new file", "(new)", "added file", "erstellt"]) => Section::Created,
        () if said(&[
            "modified",
            "edited",
            "updated",
            "changed",
            "added",
            "fixed",
            "rewrote",
            "refactored",
        ]) =>
        {
            Section::Modified
        }
        () => Section::Read,
    }
}

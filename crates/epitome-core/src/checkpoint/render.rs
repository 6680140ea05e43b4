//! A checkpoint as Markdown, under the headings of spec 008.1 v4.

use super::entry::{Decision, Item, OtherSection, Request, Source};
use super::escape::{Position, escape, escape_bold, provenance};
use super::excerpt::{Excerpt, Name};
use super::line::heading;
use super::model::{Checkpoint, Section};

impl Checkpoint {
    /// The checkpoint as Markdown; sections that say nothing are left out.
    ///
    /// [`Checkpoint::parse`] gives back exactly what was written here.
    pub fn render(&self) -> String {
        let mut page = Page::default();
        if let Some(goal) = &self.goal {
            page.heading(Section::Goal);
            page.item("", goal, Position::Free);
        }
        page.list(self, Section::Constraints, "- ");
        page.list(self, Section::Done, "- [x] ");
        page.list(self, Section::InProgress, "- [ ] ");
        if !self.decisions.is_empty() {
            page.heading(Section::Decisions);
            self.decisions.iter().for_each(|decision| page.decision(decision));
        }
        page.list(self, Section::Dynamics, "- ");
        if !self.next_steps.is_empty() {
            page.heading(Section::NextSteps);
            for (number, step) in (1..).zip(&self.next_steps) {
                page.item(&format!("{number}. "), step, Position::Listed);
            }
        }
        page.list(self, Section::Context, "- ");
        if !self.excerpts.is_empty() {
            page.heading(Section::Excerpts);
            self.excerpts.iter().for_each(|excerpt| page.excerpt(excerpt));
        }
        if !self.names.is_empty() {
            page.heading(Section::Names);
            page.names(&self.names);
        }
        for section in [Section::Created, Section::Modified, Section::Deleted, Section::Read, Section::Failed]
        {
            page.list(self, section, "- ");
        }
        self.other.iter().for_each(|section| page.other(section));
        if let Some(request) = &self.request {
            page.request(request);
        }
        page.text
    }
}

#[derive(Default)]
struct Page {
    text: String,
    group: Option<&'static str>,
}

impl Page {
    fn title(&mut self, heading: &str) {
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(heading);
    }

    fn heading(&mut self, section: Section) {
        let group = section.group().unwrap_or(section.heading());
        if section.group().is_some() && self.group != Some(group) {
            self.title(group);
            self.text.push('\n');
            self.text.push_str(section.heading());
        } else {
            self.title(section.heading());
        }
        self.group = Some(group);
    }

    fn list(&mut self, checkpoint: &Checkpoint, section: Section, bullet: &str) {
        let items = checkpoint.items(section);
        if !items.is_empty() {
            self.heading(section);
            items.iter().for_each(|item| self.item(bullet, item, Position::Listed));
        }
    }

    fn item(&mut self, bullet: &str, item: &Item, position: Position) {
        let (first, rest) = split_first(item.text());
        self.entry(bullet, &escape(first, position), &provenance(first, item.source()), rest);
    }

    fn decision(&mut self, decision: &Decision) {
        let (first, rest) = split_first(decision.rationale());
        let subject = escape_bold(decision.subject());
        let line =
            if first.is_empty() { format!("**{subject}**") } else { format!("**{subject}**: {first}") };
        self.entry("- ", &line, &provenance(first, decision.source()), rest);
    }

    // The lines after the first are indented: whatever they look like, they belong to the entry.
    fn entry(&mut self, bullet: &str, first: &str, provenance: &str, rest: Option<&str>) {
        self.text.extend(["\n", bullet, first, provenance]);
        for line in rest.into_iter().flat_map(|rest| rest.split('\n')) {
            self.text.push_str(if line.is_empty() { "\n" } else { "\n  " });
            self.text.push_str(line);
        }
    }

    // Behind one space a line is what it is, whatever it looks like; most words cost no more with a space before them.
    fn excerpt(&mut self, excerpt: &Excerpt) {
        let source = excerpt.source().map(|source: Source| format!("{} {}", source.message, source.role));
        self.text.extend(["\n#", &source.unwrap_or_default()]);
        for (number, piece) in excerpt.pieces().iter().enumerate() {
            self.text.push_str(if number == 0 { "" } else { "\n" });
            piece.split('\n').for_each(|line| self.text.extend(["\n ", line]));
        }
    }

    fn names(&mut self, names: &[Name]) {
        const ON_A_LINE: usize = 12;
        for line in names.chunks(ON_A_LINE) {
            self.text.push('\n');
            line.iter().for_each(|name| self.text.extend([" ", name.as_str()]));
        }
    }

    fn other(&mut self, section: &OtherSection) {
        let title = section.title();
        let misleads = title.starts_with('\\') || heading(title, 2).title.is_some();
        let escape = if misleads { "\\" } else { "" };
        self.title(&format!("{} {escape}{title}", Section::Other.heading()));
        section.items.iter().for_each(|item| self.item("- ", item, Position::Listed));
        self.group = None;
    }

    fn request(&mut self, request: &Request) {
        let source = request.source().map(|source: Source| format!(" {source}"));
        self.title(&format!("{}{}", Section::Request.heading(), source.unwrap_or_default()));
        for line in request.text().split('\n') {
            self.text.push_str(if line.is_empty() { "\n>" } else { "\n> " });
            self.text.push_str(line);
        }
    }
}

fn split_first(text: &str) -> (&str, Option<&str>) {
    text.split_once('\n').map_or((text, None), |(first, rest)| (first, Some(rest)))
}

//! From entries to excerpts and names: our own letter by letter, and what models make of them as far as it can be told.

use super::entry::{Item, Source};
use super::escape::split_provenance;
use super::excerpt::{Excerpt, Name};
use super::fence::Fence;
use super::line::bullet;
use super::outline::{Entry, Form};

/// The excerpts in the entries of a section.
pub(super) fn excerpts(entries: &[Entry]) -> Vec<Excerpt> {
    let mut reader = Reader { excerpts: Vec::new(), pieces: Vec::new(), source: None, spaces: 1, gap: false };
    entries.iter().for_each(|entry| reader.take(entry));
    reader.finish();
    reader.excerpts
}

struct Reader {
    excerpts: Vec<Excerpt>,
    /// Those of the excerpt that is being read.
    pieces: Vec<String>,
    source: Option<Source>,
    /// How many spaces stand before its lines: one, none in a copy that lost it, two under a bullet.
    spaces: usize,
    /// Whether something was left out before the next line.
    gap: bool,
}

impl Reader {
    fn take(&mut self, entry: &Entry) {
        self.gap |= entry.apart;
        // One space is already gone.
        match (entry.form, self.spaces) {
            (Form::Verbatim, 0) => self.line(&format!(" {}", entry.text)),
            (Form::Verbatim, 1) => self.line(&entry.text),
            (Form::Verbatim, _) => self.line(entry.text.strip_prefix(' ').unwrap_or(&entry.text)),
            (form, _) => self.take_copy(&entry.text, form),
        }
    }

    // What somebody else wrote, who may have put code blocks around our lines.
    fn take_copy(&mut self, text: &str, form: Form) {
        let lines: Vec<&str> = text.split('\n').collect();
        for block in lines.chunk_by(|_, next| source(next).is_none()) {
            let said = block.iter().filter(|line| !line.is_empty() && Fence::of(line).is_none());
            let spaced = said.filter(|line| source(line).is_none()).all(|line| line.starts_with(' '));
            for line in block {
                self.take_line(line.strip_prefix(' ').filter(|_| spaced).unwrap_or(line), form);
            }
        }
    }

    fn take_line(&mut self, line: &str, form: Form) {
        if let Some(source) = source(line) {
            return self.start(source, if form == Form::Bullet { 2 } else { 1 });
        }
        if Fence::of(line).is_some() {
            return;
        }
        // A blank line, dots, or a word that there are none.
        if Item::new(line, None).is_none() {
            self.gap = true;
            return;
        }
        let spaces = if form == Form::Bullet { 2 } else { 0 };
        let (text, source) = split_provenance(line);
        if source.is_some() {
            self.start(source, spaces);
        }
        self.spaces = spaces;
        self.line(text);
    }

    fn line(&mut self, line: &str) {
        let gap = std::mem::take(&mut self.gap);
        match self.pieces.last_mut().filter(|_| !gap) {
            Some(piece) => piece.extend(["\n", line]),
            None => self.pieces.push(line.to_owned()),
        }
    }

    fn start(&mut self, source: Option<Source>, spaces: usize) {
        self.finish();
        (self.source, self.spaces, self.gap) = (source, spaces, false);
    }

    fn finish(&mut self) {
        self.excerpts.extend(Excerpt::new(std::mem::take(&mut self.pieces), self.source));
    }
}

/// Where the lines below come from, if that is what this line says: `#12 tool`, or `#` where it is not known.
pub(super) fn source(line: &str) -> Option<Option<Source>> {
    let markup = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | '(' | ')' | '[' | ']' | ':');
    let line = line.trim_matches(markup);
    if line == "#" {
        return Some(None);
    }
    let (before, inside) = line.rsplit_once('#')?;
    let alone = before.chars().all(|c| c == '#' || markup(c));
    split_provenance(&format!("(#{inside})")).1.filter(|_| alone).map(Some)
}

/// The names in an entry; `None` where it says something in words.
pub(super) fn names(entry: &Entry) -> Option<Vec<Name>> {
    if entry.form == Form::Verbatim {
        return Some(entry.text.split_whitespace().filter_map(Name::new).collect());
    }
    if Item::new(&entry.text, None).is_none() {
        return Some(Vec::new());
    }
    let lines = entry.text.split('\n').filter(|line| Fence::of(line).is_none());
    let lines = lines.map(str::trim).map(|line| bullet(line).unwrap_or(line));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    let listed =
        words.split_last().is_some_and(|(_, before)| before.iter().all(|word| word.ends_with([',', ';'])));
    let bare = |word: &&str| Name::new(word.trim_end_matches([',', ';']).trim_matches('`'));
    let names: Vec<Name> = words.iter().filter_map(bare).collect();
    let marked = names.iter().filter(|name| is_marked(name)).count();
    (entry.form != Form::Row && (listed || marked * 2 > names.len())).then_some(names)
}

// Whether a name is written as no word is: with digits, signs or capitals inside.
fn is_marked(name: &Name) -> bool {
    let word = name.as_str().trim_end_matches(['.', ':', '!', '?']);
    let inner = word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    inner || word.chars().any(|c| !c.is_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Role;

    #[test]
    fn sources_are_told_from_text() {
        let tool = Some(Some(Source { message: 12, role: Role::Tool }));
        for line in ["#12 tool", "### #12 tool", "**#12, Tool:**", "(#12 tool)", "`#12 tool`"] {
            assert_eq!(source(line), tool, "{line:?}");
        }
        assert_eq!(source("#"), Some(None));
        for line in ["", "##", "#12", "# 12 tool", "12 tool", "fixed #12 tool", "#12 tool said", "#include"] {
            assert_eq!(source(line), None, "{line:?}");
        }
    }
}

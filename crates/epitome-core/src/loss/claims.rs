//! What a summary says, sentence by sentence, and whom it says to have it from.

use std::ops::Range;

use super::mend::ADDED;
use super::voices::Voices;
use crate::checkpoint::{Section, Source, read_source, section_of, split_provenance};
use crate::compact::is_annotation;
use crate::digest::{AFTER, NAMES, SOLVED};
use crate::message::Role;
use crate::statements::sentences;

/// One thing that a summary says.
#[derive(Clone, Debug)]
pub(super) struct Claim<'s> {
    /// What is said.
    pub(super) text: &'s str,
    /// The line it stands in, from its beginning to its end.
    pub(super) line: Range<usize>,
    /// Under which heading.
    pub(super) section: Option<Section>,
    /// Which message it is said to be from.
    pub(super) source: Option<Source>,
    /// Who is said to have said it, where no message is named.
    pub(super) speaker: Option<Role>,
    /// Who has a say in it where it stands.
    pub(super) voices: Voices,
    /// How it is written.
    pub(super) form: Form,
    /// Whether it stands among what code added.
    pub(super) added: bool,
}

/// How something is written in a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// In sentences.
    Sentence,
    /// As lines that are said to stand in the source just so.
    Excerpt,
    /// As names, without any context.
    Names,
}

/// The claims of a summary; the note that there is none claims nothing.
pub(super) fn claims(summary: &str) -> Vec<Claim<'_>> {
    if is_annotation(summary) {
        return Vec::new();
    }
    let mut reader = Reader {
        claims: Vec::new(),
        section: None,
        form: Form::Sentence,
        source: None,
        speaker: None,
        voices: Voices::Any,
        added: false,
    };
    let mut at = 0;
    for line in summary.split_inclusive('\n') {
        reader.line(line.trim_end_matches(['\n', '\r']), at);
        at += line.len();
    }
    reader.claims
}

struct Reader<'s> {
    claims: Vec<Claim<'s>>,
    section: Option<Section>,
    form: Form,
    /// The source of the entry or excerpt at hand.
    source: Option<Source>,
    speaker: Option<Role>,
    /// Those who have a say in the line at hand.
    voices: Voices,
    added: bool,
}

impl<'s> Reader<'s> {
    fn line(&mut self, line: &'s str, at: usize) {
        let span = at..at + line.len();
        let said = line.trim();
        if said.is_empty() {
            return;
        }
        let raw = line.starts_with(' ');
        match (self.form, excerpt_source(said)) {
            (Form::Names, _) if raw => return self.push(said, span, Form::Names),
            // What stands around dots stood apart.
            (Form::Excerpt, _) if raw => {
                return said.split(" … ").for_each(|piece| self.push(piece, span.clone(), Form::Excerpt));
            }
            (Form::Excerpt, Some(source)) => {
                self.source = source;
                return;
            }
            _ => {}
        }
        if let Some(title) = said.strip_prefix('#').filter(|_| !raw) {
            return self.heading(title.trim_start_matches('#').trim());
        }
        self.entry(line, said, span);
    }

    fn heading(&mut self, title: &'s str) {
        let (title, source) = split_provenance(title);
        self.added = ADDED.trim_start_matches(['#', ' ']) == title;
        self.section = section_of(title);
        self.form = match self.section {
            Some(Section::Excerpts) => Form::Excerpt,
            Some(Section::Names) => Form::Names,
            _ => Form::Sentence,
        };
        (self.source, self.speaker) = (source, None);
        self.voices = Voices::of(self.section);
        if self.section == Some(Section::Request) {
            self.speaker = Some(Role::User);
        }
    }

    fn entry(&mut self, line: &'s str, said: &'s str, span: Range<usize>) {
        if let Some(names) = said.strip_prefix(NAMES) {
            (self.source, self.speaker) = (None, None);
            return self.push(names, span, Form::Names);
        }
        let bare = said.trim_start_matches(['-', '*', '•', '>', ' ']);
        let bare = without_number(bare);
        let bare = bare.strip_prefix("[x]").or_else(|| bare.strip_prefix("[ ]")).unwrap_or(bare).trim_start();
        let (text, source) = split_provenance(bare);
        let bulleted = bare.len() < said.len() && !said.starts_with('>');
        // Lines behind two spaces belong to the entry above them, quoted ones to their heading.
        let goes_on = line.starts_with("  ") && !bulleted || said.starts_with('>');
        if !goes_on {
            self.source = source;
        }
        let (opening, text) = opening(text);
        match opening {
            Some(Opening::Speaker(speaker)) => self.speaker = Some(speaker),
            // Who was named in a line above has not said what stands behind a title.
            Some(Opening::Title(_)) if !goes_on => self.speaker = None,
            _ if bulleted => self.speaker = None,
            _ => {}
        }
        match opening {
            Some(Opening::Title(section)) if !goes_on => self.voices = Voices::of(section),
            _ if !goes_on => self.voices = Voices::of(self.section),
            _ => {}
        }
        let failed = self.section == Some(Section::Failed);
        let (text, solved) = text.split_once(SOLVED).filter(|_| failed).unwrap_or((text, ""));
        if let Some(file) = solved.strip_prefix(AFTER) {
            self.push(file, span.clone(), Form::Names);
        }
        let before = self.claims.len();
        for sentence in sentences(text) {
            self.push(sentence.text, span.clone(), Form::Sentence);
        }
        if self.claims.len() == before && !text.is_empty() {
            self.push(text, span, Form::Sentence);
        }
    }

    fn push(&mut self, text: &'s str, line: Range<usize>, form: Form) {
        let text = whole_words(text);
        let speaker = self.speaker.or_else(|| if form == Form::Sentence { attributed(text) } else { None });
        self.claims.push(Claim {
            text,
            line,
            section: self.section,
            source: self.source,
            speaker,
            voices: self.voices.or_of(self.source.map(|source| source.role).or(speaker)),
            form,
            added: self.added,
        });
    }
}

// Without the number of a list: "5. ", "5) ".
fn without_number(line: &str) -> &str {
    let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let after =
        rest.strip_prefix(['.', ')']).filter(|_| rest.len() < line.len() && line.len() - rest.len() < 3);
    after.filter(|after| after.starts_with(' ')).map_or(line, str::trim_start)
}

// Without the word that was cut off.
fn whole_words(text: &str) -> &str {
    let cut = text.strip_suffix("[…]").or_else(|| text.strip_suffix('…')).map(str::trim_end);
    cut.map_or(text, |cut| cut.rsplit_once(char::is_whitespace).map_or(cut, |(whole, _)| whole))
}

// `#12 assistant`, or `#` alone where the source is not known.
fn excerpt_source(line: &str) -> Option<Option<Source>> {
    let inside = line.strip_prefix('#')?;
    if inside.is_empty() {
        return Some(None);
    }
    read_source(inside).map(Some)
}

/// How a line begins.
enum Opening {
    /// With who speaks: "User: …".
    Speaker(Role),
    /// With what kind of thing it tells, which belongs to nobody: "Decided: …".
    Title(Option<Section>),
}

fn opening(text: &str) -> (Option<Opening>, &str) {
    let Some((name, rest)) = text.split_once([':', '：']) else { return (None, text) };
    let bare = name.trim_matches(['*', ' ']);
    let role = match bare.to_lowercase().as_str() {
        "user" | "human" | "customer" | "nutzer" | "benutzer" | "utilisateur" | "usuario" | "用户"
        | "ユーザー" => Role::User,
        "assistant" | "agent" | "model" | "assistent" | "asistente" | "助手" | "アシスタント" => {
            Role::Assistant
        }
        "tool" => Role::Tool,
        "system" => Role::System,
        title => {
            let section = match title {
                "goal" => Some(Section::Goal),
                "latest request" => Some(Section::Request),
                "in progress" => Some(Section::InProgress),
                "next" => Some(Section::NextSteps),
                "decided" => Some(Section::Decisions),
                "modified" | "created" | "deleted" | "names" | "done" | "failed" => None,
                _ => return (None, text),
            };
            return (Some(Opening::Title(section)), rest.trim_start());
        }
    };
    (Some(Opening::Speaker(role)), rest.trim_start_matches(['*', ' ']))
}

// Whom a sentence says to have said it: "the user wants …".
fn attributed(text: &str) -> Option<Role> {
    const SAYS: &str = "ask|want|said|say|requir|request|insist|prefer|told|tell|specif|instruct|state|need|demand|expect|\
        confirm|decid|agree|chose|reject|approv|allows|allowed|permits|permitted|authorizes|authorized|authorises|authorised|forb|mention|möchte|will|verlang|sagt|bevorzug|veut|demand|quiere|pid";
    const SPEAKERS: [(&str, Role); 9] = [
        ("user", Role::User),
        ("customer", Role::User),
        ("nutzer", Role::User),
        ("benutzer", Role::User),
        ("utilisateur", Role::User),
        ("usuario", Role::User),
        ("assistant", Role::Assistant),
        ("agent", Role::Assistant),
        ("model", Role::Assistant),
    ];
    let mut words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut before = words.next()?.to_lowercase();
    // Who is named later than this is not the one who speaks.
    for word in words.take(5) {
        let word = word.to_lowercase();
        let speaker = SPEAKERS.iter().find(|(name, _)| before == *name).map(|(_, role)| *role);
        if speaker.is_some() && SAYS.split('|').any(|verb| word.starts_with(verb)) {
            return speaker;
        }
        before = word;
    }
    None
}

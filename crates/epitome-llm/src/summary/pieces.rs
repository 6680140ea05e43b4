//! A summary taken apart into what can be carried over to another one, and put in there.

use epitome_core::checkpoint::{Checkpoint, Decision, Excerpt, Item, Name, Request, Section, Source};
use epitome_core::compact::Level;
use epitome_core::loss::ADDED;

use super::essentials::flat;

/// How lines of a summary that is no checkpoint begin; those that begin otherwise go on with what stands above them.
const OPENINGS: [&str; 14] = [
    "Goal: ",
    USER,
    "Assistant: ",
    "Tool: ",
    "System: ",
    "Done: ",
    "In progress: ",
    "Decided: ",
    "Next: ",
    "Failed: ",
    "Modified: ",
    "Created: ",
    "Deleted: ",
    DASH,
];
/// How the user's words do.
pub(super) const USER: &str = "User: ";
const DASH: &str = "- ";
const NAMES: &str = "Names: ";
const REQUEST: &str = "Latest request: ";
/// What stands between two lines of a text that stood apart.
const APART: &str = "\n…\n";

/// The sections whose entries are quoted from messages and stay true.
const SECTIONS: [Section; 8] = [
    Section::Constraints,
    Section::Done,
    Section::Dynamics,
    Section::Context,
    Section::Failed,
    Section::Created,
    Section::Modified,
    Section::Deleted,
];

/// A part of a summary that says something by itself.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Its place among all of them.
    pub(super) number: usize,
    /// The entry that it is of, whose pieces belong together.
    pub(super) entry: usize,
    pub(super) place: Place,
    /// What it says.
    pub(super) text: String,
}

/// Where a piece belongs.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// A line of a text, behind these words.
    Line(String),
    Name,
    Goal(Option<Source>),
    Listed(Section, Option<Source>),
    Decided(Decision),
    Quoted(Option<Source>),
    Request(Option<Source>),
}

impl Piece {
    pub(super) fn of(entry: usize, place: Place, text: &str) -> Self {
        Self { number: entry, entry, place, text: text.to_owned() }
    }

    // How a line with it begins.
    fn opening(&self) -> &str {
        match &self.place {
            Place::Line(opening) => opening,
            Place::Request(_) => REQUEST,
            _ => DASH,
        }
    }

    /// Whether it is a file that was touched: that it is named elsewhere does not tell so.
    pub(super) fn is_file(&self) -> bool {
        match &self.place {
            Place::Listed(section, _) => {
                matches!(section, Section::Created | Section::Modified | Section::Deleted)
            }
            Place::Line(opening) => matches!(opening.as_str(), "Created: " | "Modified: " | "Deleted: "),
            _ => false,
        }
    }
}

/// The pieces of a summary.
pub(super) fn pieces(text: &str, level: Level) -> Vec<Piece> {
    let mut pieces = match level {
        Level::Checkpoint => of_checkpoint(&Checkpoint::parse(text).checkpoint),
        Level::Narrative | Level::Rolling | Level::Topic | Level::Bulk => of_lines(text),
    };
    pieces.retain(|piece| !piece.text.trim().is_empty());
    pieces.iter_mut().enumerate().for_each(|(number, piece)| piece.number = number);
    pieces
}

fn of_checkpoint(checkpoint: &Checkpoint) -> Vec<Piece> {
    let mut all: Vec<(Place, &str)> = Vec::new();
    all.extend(checkpoint.goal.iter().map(|goal| (Place::Goal(goal.source()), goal.text())));
    all.extend(checkpoint.request.iter().map(|said| (Place::Request(said.source()), said.text())));
    for section in SECTIONS {
        let items = checkpoint.items(section).iter();
        all.extend(items.map(|item| (Place::Listed(section, item.source()), item.text())));
    }
    let mut pieces: Vec<Piece> = Vec::new();
    for (entry, (place, text)) in all.into_iter().enumerate() {
        pieces.push(Piece::of(entry, place, text));
    }
    for decision in &checkpoint.decisions {
        let text = format!("{}\n{}", decision.subject(), decision.rationale());
        pieces.push(Piece::of(pieces.len(), Place::Decided(decision.clone()), &text));
    }
    for excerpt in &checkpoint.excerpts {
        let entry = pieces.len();
        let place = || Place::Quoted(excerpt.source());
        let quoted = excerpt.pieces().iter();
        pieces.extend(quoted.map(|text| Piece::of(entry, place(), text)));
    }
    for name in &checkpoint.names {
        pieces.push(Piece::of(pieces.len(), Place::Name, name.as_str()));
    }
    pieces
}

fn of_lines(text: &str) -> Vec<Piece> {
    let mut entries: Vec<(&str, String)> = Vec::new();
    for line in text.lines() {
        let openings = OPENINGS.iter().chain([&NAMES, &REQUEST]);
        let opening = openings.copied().find(|opening| line.starts_with(opening));
        match (opening, entries.last_mut()) {
            (Some(opening), _) => entries.push((opening, line.replacen(opening, "", 1))),
            (None, Some((_, said))) => said.extend(["\n", line]),
            (None, None) => entries.push(("", line.to_owned())),
        }
    }
    let mut pieces = Vec::new();
    for (entry, (opening, said)) in entries.into_iter().enumerate() {
        let piece = |place: Place, text: &str| Piece::of(entry, place, text);
        match opening {
            NAMES => pieces.extend(said.split_whitespace().map(|name| piece(Place::Name, name))),
            REQUEST => pieces.push(piece(Place::Request(None), &said)),
            _ => {
                let place = || Place::Line(opening.to_owned());
                pieces.extend(said.split(APART).map(|text| piece(place(), text)));
            }
        }
    }
    pieces
}

/// A summary that pieces of another one can be put into.
pub(super) enum Page {
    /// Each at its place.
    Typed(Box<Checkpoint>),
    /// One after the other at its end.
    Plain(String),
}

impl Page {
    pub(super) fn of(text: &str, level: Level) -> Self {
        match level {
            Level::Checkpoint => Page::Typed(Box::new(Checkpoint::parse(text).checkpoint)),
            Level::Narrative | Level::Rolling | Level::Topic | Level::Bulk => Page::Plain(text.to_owned()),
        }
    }

    /// What it says, with single spaces; also without what the form of a checkpoint adds.
    pub(super) fn said(&self) -> String {
        match self {
            Page::Typed(checkpoint) => {
                let said = of_checkpoint(checkpoint).into_iter().map(|piece| piece.text);
                said.chain([checkpoint.render()]).map(|text| flat(&text)).collect::<Vec<_>>().join("\n")
            }
            Page::Plain(text) => flat(text),
        }
    }

    /// The summary with these, in their order.
    pub(super) fn with(&self, pieces: &[&Piece]) -> String {
        match self {
            Page::Typed(checkpoint) => {
                let mut fuller = checkpoint.clone();
                put(&mut fuller, pieces);
                fuller.render()
            }
            Page::Plain(text) => appended(text, pieces),
        }
    }
}

fn put(checkpoint: &mut Checkpoint, pieces: &[&Piece]) {
    let mut quoted: Vec<(usize, Vec<String>, Option<Source>)> = Vec::new();
    for piece in pieces {
        let text = piece.text.as_str();
        match &piece.place {
            Place::Name => checkpoint.names.extend(Name::new(text)),
            Place::Line(_) => checkpoint.context.extend(Item::new(text, None)),
            Place::Request(source) => checkpoint.request = Request::new(text, *source),
            Place::Decided(decision) => checkpoint.decisions.push(decision.clone()),
            Place::Goal(source) if checkpoint.goal.is_none() => checkpoint.goal = Item::new(text, *source),
            // The work may have another goal by now; what the user said first is still said.
            Place::Goal(source) => checkpoint.context.extend(Item::new(text, *source)),
            Place::Listed(section, source) => {
                let list = checkpoint.items_mut(*section);
                list.into_iter().for_each(|list| list.extend(Item::new(text, *source)));
            }
            Place::Quoted(source) => match quoted.last_mut().filter(|(entry, ..)| *entry == piece.entry) {
                Some((_, texts, _)) => texts.push(text.to_owned()),
                None => quoted.push((piece.entry, vec![text.to_owned()], *source)),
            },
        }
    }
    let excerpts = quoted.into_iter().filter_map(|(_, texts, source)| Excerpt::new(texts, source));
    checkpoint.excerpts.extend(excerpts);
    checkpoint.excerpts.sort_by_key(|excerpt| excerpt.source().map(|source| source.message));
}

// Lines behind a dash come last: whoever reads a list takes lines without one for a part of the entry above them.
fn appended(text: &str, pieces: &[&Piece]) -> String {
    let is_name = |piece: &&Piece| matches!(piece.place, Place::Name);
    let (names, said): (Vec<&Piece>, Vec<&Piece>) = pieces.iter().copied().partition(is_name);
    let (listed, told): (Vec<&Piece>, Vec<&Piece>) =
        said.into_iter().partition(|piece| piece.opening() == DASH);
    let names: Vec<&str> = names.iter().map(|piece| piece.text.as_str()).collect();
    let mut lines = Vec::new();
    lines.extend(lines_of(&told));
    lines.extend((!names.is_empty()).then(|| format!("{NAMES}{}", names.join(" "))));
    lines.extend(lines_of(&listed));
    match (text.trim_end(), lines.join("\n")) {
        (text, lines) if lines.is_empty() => text.to_owned(),
        ("", lines) => lines,
        (text, lines) if text.contains(ADDED) => format!("{text}\n{lines}"),
        (text, lines) => format!("{text}\n\n{ADDED}\n{lines}"),
    }
}

// Pieces of one entry stand together.
fn lines_of(pieces: &[&Piece]) -> Vec<String> {
    let entries = pieces.chunk_by(|left, right| left.entry == right.entry);
    let line = |entry: &[&Piece]| {
        let opening = entry.first().map_or("", |piece| piece.opening());
        let said: Vec<&str> = entry.iter().map(|piece| piece.text.as_str()).collect();
        format!("{opening}{}", said.join(APART))
    };
    entries.map(line).collect()
}

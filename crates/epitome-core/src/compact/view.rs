//! What the model sees of a compacted path.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::cuts::leading;
use super::segment::{Compaction, Segment};
use super::thinking;
use crate::message::{Block, Message, Role};
use crate::outline::Entry;
use crate::prune::{self, BlockEdit, Change, Mark, Marked};
use crate::tokens::MESSAGE_OVERHEAD;
use crate::turn::is_plain_user_message;
use crate::units::Tokens;

/// Where summaries stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// As a user message, followed by the assistant's acknowledgement where roles must alternate.
    #[default]
    Pair,
    /// At the end of the first user message.
    FirstUser,
    /// Among the instructions of the operator.
    System,
}

/// Where the operator's instructions stand in a dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemPlace {
    /// Outside the messages: the summary becomes one more block there.
    Outside,
    /// Among the messages: the summary becomes a message of this role after the leading ones.
    Message(Role),
}

/// The words around a summary. `{summary}` stands for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wording {
    /// What is said in the user's place.
    pub summary: String,
    /// What the assistant answers.
    pub acknowledgement: String,
}

impl Default for Wording {
    fn default() -> Self {
        Self {
            summary: "[Previous conversation summary]\n\n{summary}".to_owned(),
            acknowledgement: "I have the context from our previous conversation. Let's continue.".to_owned(),
        }
    }
}

impl Wording {
    /// A summary with the words around it.
    pub fn around(&self, summary: &str) -> String {
        self.summary.replace("{summary}", summary)
    }
}

/// One message of a view.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// A message of the path as it was.
    Keep(usize),
    /// A message of the path, some of its blocks changed.
    Edit(usize, Vec<(usize, BlockEdit)>),
    /// A message that is not in the path.
    New(Message),
}

/// What the model sees.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// What is added to the operator's instructions outside the messages.
    pub system: Option<String>,
    /// The messages, in order.
    pub pieces: Vec<Piece>,
}

impl View {
    /// The messages of the view.
    pub fn messages(&self, path: &[Message]) -> Vec<Message> {
        let pieces = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Keep(at) => path.get(*at).cloned(),
            Piece::Edit(at, edits) => path.get(*at).map(|message| prune::edited(message, edits.clone())),
            Piece::New(message) => Some(message.clone()),
        });
        pieces.collect()
    }
}

/// What the model sees of a path under a compaction: its segments, then everything after it as it was.
pub fn view(compaction: &Compaction, path: &[Entry], messages: &[Message], place: SystemPlace) -> View {
    let mut builder = Builder {
        path,
        messages,
        compaction,
        without_thinking: thinking::must_go(compaction, path),
        view: View::default(),
        last: None,
        summarized: false,
    };
    let mut segments = compaction.segments.iter().peekable();
    let mut system = Vec::new();
    while let Some(segment) = segments.next() {
        match segment {
            Segment::Verbatim { range } => builder.show(range.clone(), &[]),
            Segment::Pruned { range, marks } => builder.show(range.clone(), marks),
            Segment::Summary { .. } | Segment::Omitted { .. } => {
                // Summaries with nothing shown between them are one message: roles alternate, and the words around
                // them stand once.
                let mut texts: Vec<&str> = summary_of(segment).into_iter().collect();
                while let Some(next) = segments.next_if(|next| is_hidden(next)) {
                    texts.extend(summary_of(next));
                }
                if !texts.is_empty() {
                    let summary = texts.join("\n\n");
                    match compaction.placement {
                        Placement::System => system.push(summary),
                        Placement::Pair => builder.say(&summary),
                        Placement::FirstUser if builder.append_to_first_user(&summary) => {}
                        Placement::FirstUser => builder.say(&summary),
                    }
                }
            }
        }
    }
    builder.show(compaction.covered().min(messages.len())..messages.len(), &[]);
    builder.finish(&system, place)
}

/// The tokens of a view by exact count, leading system messages left out, a summary among them included.
///
/// `count` is the function that the outlines of the path were counted with.
pub fn view_tokens(view: &View, path: &[Entry], count: &dyn Fn(&str) -> Tokens) -> Tokens {
    let leading = leading(path);
    let kept =
        |at: usize| path.get(at).filter(|_| at >= leading).map_or(Tokens::ZERO, |entry| entry.outline.tokens);
    let block = |at: usize, number: usize| {
        path.get(at)
            .and_then(|entry| entry.outline.blocks.get(number))
            .map_or(Tokens::ZERO, |block| block.tokens)
    };
    let new_text = |text: &Block| prune::text_of(text).map_or(Tokens::ZERO, |text| count(&text));
    let pieces = view.pieces.iter().map(|piece| match piece {
        Piece::Keep(at) => kept(*at),
        Piece::Edit(at, edits) => edits.iter().fold(kept(*at), |sum, (number, edit)| {
            let after = match edit {
                BlockEdit::Text(text) => count(text),
                BlockEdit::Remove => Tokens::ZERO,
            };
            sum - block(*at, *number) + after
        }),
        Piece::New(message) => MESSAGE_OVERHEAD + message.blocks.iter().map(new_text).sum(),
    });
    let system = view.system.as_deref().map_or(Tokens::ZERO, |text| MESSAGE_OVERHEAD + count(text));
    pieces.sum::<Tokens>() + system
}

fn is_hidden(segment: &Segment) -> bool {
    matches!(segment, Segment::Summary { .. } | Segment::Omitted { .. })
}

fn summary_of(segment: &Segment) -> Option<&str> {
    match segment {
        Segment::Summary { text, .. } => Some(text),
        _ => None,
    }
}

/// Whose side of the conversation a message is on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    User,
    Assistant,
}

fn side(role: Role) -> Option<Side> {
    match role {
        Role::User | Role::Tool => Some(Side::User),
        Role::Assistant => Some(Side::Assistant),
        _ => None,
    }
}

struct Builder<'a> {
    path: &'a [Entry],
    messages: &'a [Message],
    compaction: &'a Compaction,
    without_thinking: bool,
    view: View,
    /// The last message that takes part in the alternation of roles: its side, and its number if it is of the path.
    last: Option<(Side, Option<usize>)>,
    /// Whether a summary is the last thing that was said.
    summarized: bool,
}

impl Builder<'_> {
    fn show(&mut self, range: Range<usize>, marks: &[Marked]) {
        let (path, messages) = (self.path, self.messages);
        let mut all = Vec::new();
        if self.without_thinking {
            all = thinking::removal(range.start, path.get(range.clone()).unwrap_or_default());
            all.extend(marks.iter().filter(|mark| mark.mark != Mark::Remove).cloned());
            all.sort_unstable_by_key(|mark| (mark.message, mark.block));
        }
        let marks = if self.without_thinking { &all } else { marks };
        let text = |message: usize, block: usize| prune::text_of(messages.get(message)?.blocks.get(block)?);
        let mut changes = prune::changes(marks, path, text).into_iter().peekable();
        for at in range {
            match changes.next_if(|(changed, _)| *changed == at).map(|(_, change)| change) {
                None => self.push(at, Piece::Keep(at)),
                Some(Change::Edit(edits)) => self.push(at, Piece::Edit(at, edits)),
                Some(Change::Replace(message)) => self.push(at, Piece::New(message)),
                Some(Change::Drop) => {}
            }
        }
    }

    fn push(&mut self, at: usize, piece: Piece) {
        let Some(role) = self.path.get(at).map(|entry| entry.outline.role) else { return };
        if let Some(side) = side(role) {
            self.alternate(side, Some(at));
        }
        self.view.pieces.push(piece);
    }

    fn say(&mut self, summary: &str) {
        self.alternate(Side::User, None);
        let text = self.compaction.wording.around(summary);
        self.view.pieces.push(Piece::New(Message::text(Role::User, text)));
        self.summarized = true;
    }

    // Where leaving something out put two of a side next to each other, or the assistant first, the other side says a word.
    // What stood next to each other in the path already was its author's choice.
    fn alternate(&mut self, next: Side, at: Option<usize>) {
        let neighbours =
            |(_, last): (Side, Option<usize>)| last.zip(at).is_some_and(|(last, at)| self.adjoin(last, at));
        let between = match self.last {
            Some(last) if last.0 == next && !neighbours(last) => Some(next),
            None if next == Side::Assistant && at != self.first() => Some(next),
            _ => None,
        };
        let word = match between {
            Some(Side::User) if self.summarized => {
                Some((Role::Assistant, self.compaction.wording.acknowledgement.as_str()))
            }
            Some(Side::User) => Some((Role::Assistant, OMITTED)),
            Some(Side::Assistant) => Some((Role::User, OMITTED)),
            None => None,
        };
        self.view.pieces.extend(word.map(|(role, words)| Piece::New(Message::text(role, words))));
        self.last = Some((next, at));
        self.summarized = false;
    }

    // Whether nothing but the operator's messages stands between two messages of the path.
    fn adjoin(&self, left: usize, right: usize) -> bool {
        let between = self.path.get(left + 1..right).unwrap_or_default();
        between.iter().all(|entry| side(entry.outline.role).is_none())
    }

    fn first(&self) -> Option<usize> {
        self.path.iter().position(|entry| side(entry.outline.role).is_some())
    }

    // The first plain user message of the view, its last text followed by the summary.
    fn append_to_first_user(&mut self, summary: &str) -> bool {
        let spoken = |at: usize| self.path.get(at).is_some_and(|entry| is_plain_user_message(&entry.outline));
        let words = self.compaction.wording.around(summary);
        let found = self.view.pieces.iter_mut().find_map(|piece| match piece {
            Piece::Keep(at) if spoken(*at) => Some((*at, Vec::new(), piece)),
            Piece::Edit(at, edits) if spoken(*at) => Some((*at, std::mem::take(edits), piece)),
            _ => None,
        });
        let Some((at, mut edits, piece)) = found else { return false };
        let blocks = self.messages.get(at).map_or(&[][..], |message| &message.blocks);
        let last_text = blocks.iter().enumerate().rev().find_map(|(number, block)| match block {
            Block::Text(text) => Some((number, &text.text)),
            _ => None,
        });
        let Some((number, text)) = last_text else {
            *piece = if edits.is_empty() { Piece::Keep(at) } else { Piece::Edit(at, edits) };
            return false;
        };
        let after = |text: &str| BlockEdit::Text(format!("{text}\n\n{words}"));
        match edits.iter_mut().find(|(edited, _)| *edited == number) {
            Some((_, BlockEdit::Text(text))) => *text = format!("{text}\n\n{words}"),
            Some((_, removed)) => *removed = BlockEdit::Text(words),
            None => edits.push((number, after(text))),
        }
        edits.sort_unstable_by_key(|(number, _)| *number);
        *piece = Piece::Edit(at, edits);
        self.summarized = self.last.is_some_and(|(_, last)| last == Some(at));
        true
    }

    fn finish(mut self, system: &[String], place: SystemPlace) -> View {
        if system.is_empty() {
            return self.view;
        }
        // Providers want at least one message: where nothing else is left, the summary is it.
        if self.last.is_none() {
            self.say(&system.join("\n\n"));
            return self.view;
        }
        let words = self.compaction.wording.around(&system.join("\n\n"));
        match place {
            SystemPlace::Outside => self.view.system = Some(words),
            SystemPlace::Message(role) => {
                let leading = |piece: &&Piece| match piece {
                    Piece::Keep(at) | Piece::Edit(at, _) => {
                        self.path.get(*at).is_some_and(|entry| side(entry.outline.role).is_none())
                    }
                    Piece::New(_) => false,
                };
                let after = self.view.pieces.iter().take_while(leading).count();
                self.view.pieces.insert(after, Piece::New(Message::text(role, words)));
            }
        }
        self.view
    }
}

/// What stands in the user's place where the assistant would otherwise speak first or twice in a row.
pub(super) const OMITTED: &str = "[Earlier messages omitted]";

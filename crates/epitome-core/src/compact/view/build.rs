//! Lays out a view: segments become messages, and a word is said wherever roles must alternate.

use std::borrow::Cow;
use std::ops::Range;

use super::outline::{Joined, PieceOutline, ViewOutline};
use super::{OMITTED, Placement, SystemPlace};
use crate::compact::segment::{Compaction, Segment};
use crate::compact::thinking;
use crate::message::{BlockKind, Role};
use crate::outline::Entry;
use crate::prune::{self, Fate, Mark, Marked, THINKING_REMOVED};
use crate::turn::is_plain_user_message;

impl<'c> ViewOutline<'c> {
    /// What the model sees of a path under a compaction: its segments, then everything after it as it was.
    pub(crate) fn of(compaction: &'c Compaction, path: &'c [Entry], place: SystemPlace) -> Self {
        let mut builder = Builder {
            path,
            compaction,
            without_thinking: thinking::must_go(compaction, path),
            view: ViewOutline::default(),
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
        builder.show(compaction.covered().min(path.len())..path.len(), &[]);
        builder.finish(&system, place)
    }
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

struct Builder<'c> {
    path: &'c [Entry],
    compaction: &'c Compaction,
    without_thinking: bool,
    view: ViewOutline<'c>,
    /// The last message that takes part in the alternation of roles: its side, and its number if it is of the path.
    last: Option<(Side, Option<usize>)>,
    /// Whether a summary is the last thing that was said.
    summarized: bool,
}

impl<'c> Builder<'c> {
    fn show(&mut self, range: Range<usize>, marks: &'c [Marked]) {
        if !self.without_thinking {
            return self.show_marked(range, marks, Cow::Borrowed);
        }
        let mut all = thinking::removal(range.start, self.path.get(range.clone()).unwrap_or_default());
        all.extend(marks.iter().filter(|mark| mark.mark != Mark::Remove).cloned());
        all.sort_unstable_by_key(|mark| (mark.message, mark.block));
        self.show_marked(range, &all, |marks| Cow::Owned(marks.to_vec()));
    }

    fn show_marked<'m>(
        &mut self,
        range: Range<usize>,
        marks: &'m [Marked],
        hold: impl Fn(&'m [Marked]) -> Cow<'c, [Marked]>,
    ) {
        let mut fates = prune::fates(marks, self.path).peekable();
        self.view.pieces.reserve(range.len());
        for at in range {
            match fates.next_if(|(marked, _)| *marked == at).map(|(_, fate)| fate) {
                None => self.push(at, PieceOutline::Keep(at)),
                Some(Fate::Marked(marks)) => self.push(at, PieceOutline::Marked(at, hold(marks))),
                Some(Fate::Replaced) => {
                    self.push(at, PieceOutline::New(Role::Assistant, Cow::Borrowed(THINKING_REMOVED)));
                }
                Some(Fate::Dropped) => {}
            }
        }
    }

    fn push(&mut self, at: usize, piece: PieceOutline<'c>) {
        let Some(role) = self.path.get(at).map(|entry| entry.outline.role) else { return };
        if let Some(side) = side(role) {
            self.alternate(side, Some(at));
        }
        self.view.pieces.push(piece);
    }

    fn say(&mut self, summary: &str) {
        self.alternate(Side::User, None);
        let text = self.compaction.wording.around(summary);
        self.view.pieces.push(PieceOutline::New(Role::User, Cow::Owned(text)));
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
        let word = word.map(|(role, words)| PieceOutline::New(role, Cow::Borrowed(words)));
        self.view.pieces.extend(word);
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
        let outline = |at: usize| self.path.get(at).map(|entry| entry.outline.as_ref());
        let spoken = |piece: &&mut PieceOutline<'_>| {
            piece.message().and_then(outline).is_some_and(is_plain_user_message)
        };
        let Some(piece) = self.view.pieces.iter_mut().find(spoken) else { return false };
        let Some(at) = piece.message() else { return false };
        let mut blocks = outline(at).map_or(&[][..], |outline| &outline.blocks).iter();
        let Some(block) = blocks.rposition(|block| block.kind == BlockKind::Text) else { return false };
        let words = self.compaction.wording.around(summary);
        let marks = match piece {
            PieceOutline::Joined(_, _, joined) => {
                joined.words.push_str(&format!("\n\n{words}"));
                return self.follows(at);
            }
            PieceOutline::Marked(_, marks) => std::mem::take(marks),
            _ => Cow::Borrowed(&[][..]),
        };
        *piece = PieceOutline::Joined(at, marks, Box::new(Joined { block, words }));
        self.follows(at)
    }

    // A summary was joined to this message.
    fn follows(&mut self, at: usize) -> bool {
        self.summarized = self.last.is_some_and(|(_, last)| last == Some(at));
        true
    }

    fn finish(mut self, system: &[String], place: SystemPlace) -> ViewOutline<'c> {
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
                let leading = |piece: &&PieceOutline<'_>| {
                    let entry = piece.message().and_then(|at| self.path.get(at));
                    entry.is_some_and(|entry| side(entry.outline.role).is_none())
                };
                let after = self.view.pieces.iter().take_while(leading).count();
                self.view.pieces.insert(after, PieceOutline::New(role, Cow::Owned(words)));
            }
        }
        self.view
    }
}

//! Thinking in a view: it stays or goes together.
//!
//! Providers take thinking blocks back as the newest ones of a conversation or not at all. Where a pin or a partial
//! un-compaction would show old thinking while newer thinking is hidden, all of it goes.

use super::segment::{Compaction, Segment};
use crate::outline::{Entry, Outline};
use crate::prune::{Mark, Marked, Rule, is_thinking};

/// Whether a view of this compaction shows thinking that is older than some it hides.
pub(super) fn must_go(compaction: &Compaction, path: &[Entry]) -> bool {
    let mut watch = Watch::default();
    for segment in &compaction.segments {
        let entries = path.get(segment.range().clone()).unwrap_or_default();
        match segment {
            Segment::Verbatim { .. } => entries.iter().for_each(|entry| watch.show(&entry.outline)),
            Segment::Summary { .. } | Segment::Omitted { .. } => {
                entries.iter().for_each(|entry| watch.hide(&entry.outline));
            }
            Segment::Pruned { range, marks } => {
                let mut removed = marks.iter().filter(|mark| mark.mark == Mark::Remove).peekable();
                for (at, entry) in range.clone().zip(entries) {
                    let mut here = false;
                    while removed.next_if(|mark| mark.message <= at).is_some() {
                        here = true;
                    }
                    if here { watch.hide(&entry.outline) } else { watch.show(&entry.outline) }
                }
            }
        }
    }
    watch.must_go
}

#[derive(Default)]
struct Watch {
    shown: bool,
    must_go: bool,
}

impl Watch {
    fn show(&mut self, outline: &Outline) {
        self.shown = self.shown || thinks(outline);
    }

    fn hide(&mut self, outline: &Outline) {
        self.must_go = self.must_go || (self.shown && thinks(outline));
    }
}

/// Marks that remove all thinking of these messages, the first of which is number `first`.
pub(super) fn removal(first: usize, entries: &[Entry]) -> Vec<Marked> {
    let blocks = (first..).zip(entries).flat_map(|(message, entry)| {
        entry.outline.blocks.iter().enumerate().map(move |(block, content)| (message, block, content.kind))
    });
    let thinking = blocks.filter(|(_, _, kind)| is_thinking(*kind));
    thinking
        .map(|(message, block, _)| Marked {
            message,
            block,
            mark: Mark::Remove,
            rule: Rule::BoundThinking,
            speaker: "assistant".to_owned(),
        })
        .collect()
}

fn thinks(outline: &Outline) -> bool {
    outline.blocks.iter().any(|block| is_thinking(block.kind))
}

//! What a compaction comes to, for a person: its summaries, what the model sees, what was kept and lost.

use epitome_core::compact::{Compaction, Piece, Segment, View};
use epitome_core::loss::Loss;
use epitome_core::{Block, BlockKind, Message};

use crate::args::Show;

/// A compaction that can be shown.
pub(super) struct Shown<'a> {
    /// The record, or the one in force where nothing was done; none where everything stands as it was.
    pub(super) compaction: Option<&'a Compaction>,
    /// What the model sees.
    pub(super) view: &'a View,
    /// The path.
    pub(super) messages: &'a [Message],
    /// What was kept and lost.
    pub(super) loss: &'a Loss,
}

impl Shown<'_> {
    /// What was asked for, as text.
    pub(super) fn text(&self, what: Show) -> String {
        match what {
            Show::Checkpoint => self.summaries(),
            Show::View => readable(self.view, self.messages),
            Show::Loss => told(self.loss),
        }
    }

    fn summaries(&self) -> String {
        let segments = self.compaction.map_or(&[][..], |compaction| &compaction.segments);
        let texts = segments.iter().filter_map(|segment| match segment {
            Segment::Summary { text, .. } => Some(format!("{text}\n")),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// The view in which everything stands as it was.
pub(super) fn as_it_was(messages: usize) -> View {
    View { system: None, pieces: (0..messages).map(Piece::Keep).collect() }
}

// What the model sees: roles as headings, calls and results in words.
fn readable(view: &View, messages: &[Message]) -> String {
    let system = view.system.iter().map(|words| format!("── system\n{words}\n"));
    let shown = view.messages(messages);
    let texts = shown.iter().map(|message| {
        let blocks: Vec<String> = message.blocks.iter().map(block).collect();
        format!("── {}\n{}\n", message.role, blocks.join("\n"))
    });
    system.chain(texts).collect::<Vec<_>>().join("\n")
}

// The report, and where to find what it only points at.
fn told(loss: &Loss) -> String {
    if *loss == Loss::default() {
        return "Nothing is lost: everything is shown as it was.\n".to_owned();
    }
    match loss.missing.is_empty() && loss.recoverable.is_empty() {
        true => loss.to_string(),
        false => format!(
            "{loss}\nA number such as #12 is that of a message in the original file, counted from 0: all of it is still \
             there.\nA recall id stands in the marker where a text was cut or cleared, and is the hash of that text.\n"
        ),
    }
}

/// A block in words.
pub(super) fn block(block: &Block) -> String {
    match block {
        Block::Text(text) => text.text.clone(),
        Block::ToolUse(call) => format!("[calls {} {}]", call.name, call.input),
        Block::ToolResult(result) => format!("[result] {}", result.joined_text()),
        Block::Thinking(thinking) => format!("[thinks] {}", thinking.text),
        other => match other.kind() {
            BlockKind::Image => "[image]".to_owned(),
            BlockKind::Document => "[document]".to_owned(),
            _ => "[…]".to_owned(),
        },
    }
}

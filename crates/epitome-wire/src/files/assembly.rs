//! Assembly: what a format's reader collects, and how it becomes a [`Transcript`].

use epitome_core::{Block, Message, RawJson};

use super::error::Damaged;
use super::format::Format;
use super::record::{Copy, Record};
use super::threads::{Shape, threads};
use super::transcript::{RecordedCompaction, Transcript};
use crate::json::Span;
use crate::{
    dialect::Dialect,
    layout::{BlockLayout, Layout},
};

/// A transcript being read.
#[derive(Default)]
pub(super) struct Assembly {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) system: Option<Message>,
    pub(super) tools: Option<RawJson>,
    pub(super) records: Vec<Record>,
    pub(super) messages: Vec<Draft>,
    pub(super) compactions: Vec<RecordedCompaction>,
    /// The message at which the main thread ends; the last one unless a reader knows better.
    pub(super) head: Option<usize>,
}

/// A message being put together.
pub(super) struct Draft {
    pub(super) message: Message,
    pub(super) records: Vec<usize>,
    /// Where each block stands, and where copies of its text stand.
    pub(super) places: Vec<Place>,
    /// The message that it continues.
    pub(super) parent: Option<usize>,
    /// Whether the tool leaves it out of its requests.
    pub(super) hidden: bool,
    /// The sub-agent whose conversation it belongs to.
    pub(super) sidechain: Option<String>,
    /// Whether more of it may come when the file grows.
    pub(super) open: bool,
}

/// Where a block stands.
pub(super) struct Place {
    pub(super) layout: BlockLayout,
    pub(super) copies: Vec<Span>,
}

impl Assembly {
    /// Adds a record; its number.
    pub(super) fn record(&mut self, record: Record) -> usize {
        self.records.push(record);
        self.records.len() - 1
    }

    /// Adds a message of one record that continues the message before it; its number.
    pub(super) fn append(
        &mut self,
        record: Option<usize>,
        message: Message,
        layouts: Vec<BlockLayout>,
    ) -> usize {
        let mut draft = Draft::new(message, layouts);
        draft.records.extend(record);
        draft.parent = self.messages.len().checked_sub(1);
        self.messages.push(draft);
        self.messages.len() - 1
    }

    /// The transcript that this is of `text`.
    pub(super) fn finish(
        self,
        format: Format,
        dialect: Dialect,
        text: String,
        damage: Vec<Damaged>,
    ) -> Transcript {
        let shape = Shape {
            parents: self.messages.iter().map(|draft| draft.parent).collect(),
            hidden: self.messages.iter().map(|draft| draft.hidden).collect(),
            sidechains: self.messages.iter().map(|draft| draft.sidechain.clone()).collect(),
            ids: self.messages.iter().map(|draft| draft.message.meta.id.clone()).collect(),
            head: self.head,
        };
        let threads = threads(&shape);
        let head = self.head.or(threads.first().and_then(|main| main.messages.last().copied()));
        let agent = head.and_then(|head| shape.sidechains.get(head).cloned().flatten());
        let open = self.messages.iter().map(|draft| draft.open).collect();
        let mut records = self.records;
        let (mut messages, mut layouts, mut copies) = (Vec::new(), Vec::new(), Vec::new());
        for (at, mut draft) in self.messages.into_iter().enumerate() {
            draft.order();
            let mut layout = Layout::default();
            for number in draft.records {
                if let Some(record) = records.get_mut(number) {
                    record.message = Some(at);
                    layout.records.push(record.span);
                }
            }
            for (block, place) in draft.places.into_iter().enumerate() {
                layout.blocks.push(place.layout);
                copies.extend(place.copies.into_iter().map(|span| Copy { message: at, block, span }));
            }
            messages.push(draft.message);
            layouts.push(layout);
        }
        Transcript {
            id: self.id,
            agent,
            format,
            dialect,
            model: self.model,
            text,
            system: self.system,
            tools: self.tools,
            messages,
            layouts,
            threads,
            compactions: self.compactions,
            damage,
            parents: shape.parents,
            hidden: shape.hidden,
            open,
            records,
            copies,
        }
    }
}

impl Draft {
    pub(super) fn new(message: Message, layouts: Vec<BlockLayout>) -> Self {
        let places = layouts.into_iter().map(|layout| Place { layout, copies: Vec::new() }).collect();
        Self {
            message,
            records: Vec::new(),
            places,
            parent: None,
            hidden: false,
            sidechain: None,
            open: false,
        }
    }

    /// Adds another part of the same message.
    pub(super) fn join(&mut self, part: Draft) {
        self.records.extend(part.records);
        self.message.blocks.extend(part.message.blocks);
        self.places.extend(part.places);
        let (meta, later) = (&mut self.message.meta, part.message.meta);
        meta.time = later.time.or(meta.time);
        meta.usage = later.usage.or(meta.usage);
    }

    // Of a message in several parts, tool results come first, where the wire wants them.
    fn order(&mut self) {
        if self.records.len() < 2 || self.message.blocks.len() != self.places.len() {
            return;
        }
        let blocks = std::mem::take(&mut self.message.blocks);
        let mut both: Vec<(Block, Place)> =
            blocks.into_iter().zip(std::mem::take(&mut self.places)).collect();
        both.sort_by_key(|(block, _)| !matches!(block, Block::ToolResult(_)));
        (self.message.blocks, self.places) = both.into_iter().unzip();
    }
}

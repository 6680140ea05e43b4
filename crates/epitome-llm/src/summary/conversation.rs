//! A conversation as a summariser gets to read it: message by message, long ones as previews, secrets masked.

use epitome_core::checkpoint::{TranscriptOptions, serialize_for_summary};
use epitome_core::secrets::masked;
use epitome_core::{Block, Chars, Message, Role};

use super::fence::Fence;

/// How a conversation is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Telling {
    /// Previews of tool results and inputs, and the length of the whole.
    pub options: TranscriptOptions,
    /// Whether secrets are masked before anything is sent.
    pub masks: bool,
}

impl Default for Telling {
    fn default() -> Self {
        Self { options: TranscriptOptions::default(), masks: true }
    }
}

/// A conversation in pieces, one for each message that says something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    /// What each message says, with who says it and the message's number.
    pub pieces: Vec<String>,
    /// How many messages were left out of the middle because all would be too long.
    pub left_out: usize,
}

impl Conversation {
    /// The messages, the first of which has this number, within the length that is allowed.
    ///
    /// Only what was said, called and returned is told: fields of a message or a result that have no meaning for a model are not.
    pub fn of(messages: &[Message], first: usize, telling: &Telling) -> Self {
        let told = (first..).zip(messages);
        let pieces = told.flat_map(|(number, message)| pieces(message, number, telling));
        Self { pieces: pieces.collect(), left_out: 0 }.within(telling.options.most)
    }

    /// How many characters all pieces have together.
    pub fn length(&self) -> Chars {
        self.pieces.iter().map(|piece| Chars::of(piece)).sum()
    }

    /// The pieces as one text; the fence has to be around all of them.
    pub fn text(&self, fence: &Fence) -> String {
        fence.row(self.pieces.iter().map(String::as_str))
    }

    // Messages from the middle go first: the beginning says what is wanted, the end where things stand.
    pub(super) fn within(mut self, most: Chars) -> Self {
        if self.length() <= most {
            return self;
        }
        let half = Chars(most.0.saturating_sub(NOTE) / 2);
        let fitting = |pieces: &mut dyn Iterator<Item = &String>| {
            let mut room = half;
            let fits = |piece: &&String| {
                let length = Chars::of(piece);
                let fits = length <= room;
                room = room - length;
                fits
            };
            pieces.take_while(fits).count()
        };
        let head = fitting(&mut self.pieces.iter());
        let tail = fitting(&mut self.pieces.iter().skip(head).rev());
        let end = self.pieces.len().saturating_sub(tail).max(head);
        self.left_out = end - head;
        let note = format!("[{} messages left out here]", self.left_out);
        self.pieces.splice(head..end, [note]);
        self
    }
}

// What tools gave stands by itself, so that nothing in it can pass for what the user says beside it.
fn apart(message: &Message) -> Vec<Message> {
    let is_result = |block: &Block| matches!(block, Block::ToolResult(_) | Block::ServerToolResult(_));
    let (results, said): (Vec<Block>, Vec<Block>) = message.blocks.iter().cloned().partition(is_result);
    if results.is_empty() || said.is_empty() {
        return vec![message.clone()];
    }
    vec![Message::new(Role::Tool, results), Message { blocks: said, ..message.clone() }]
}

/// So many characters are kept for the note on what was left out.
const NOTE: usize = 60;

/// One message as it is told, what tools gave apart from what is said beside it; empty where nothing can be told.
pub(super) fn pieces(message: &Message, number: usize, telling: &Telling) -> Vec<String> {
    apart(message).iter().filter_map(|message| piece(message, number, telling)).collect()
}

/// The same for a message whose speaker says all of it; `None` where it says nothing that can be told.
pub(crate) fn piece(message: &Message, number: usize, telling: &Telling) -> Option<String> {
    // One message never takes more than one half, so that both ends of a conversation are told.
    let most = Chars(telling.options.most.0.saturating_sub(NOTE) / 2);
    let options = TranscriptOptions { first: Some(number), most, ..telling.options };
    let text = serialize_for_summary(std::slice::from_ref(message), &options);
    let text = if telling.masks { masked(&text).into_owned() } else { text };
    let end = text.char_indices().nth(most.0).map_or(text.len(), |(end, _)| end);
    text.get(..end).filter(|text| !text.is_empty()).map(str::to_owned)
}

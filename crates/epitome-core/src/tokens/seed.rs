//! The estimate of the C# micro agent, to the letter: for conformance and comparison.

use super::tokenizer::CharsPerFour;
use crate::message::{Block, Message};
use crate::units::Tokens;

/// The tokens of a conversation by the micro agent's table: the characters of texts, of tool calls (name and
/// arguments) and of the texts of tool results, divided by four.
///
/// A character is what C# takes for one, a unit of UTF-16. Nothing else is counted.
pub fn micro_agent_estimate(messages: &[Message]) -> Tokens {
    let chars: usize = messages.iter().flat_map(|message| &message.blocks).map(chars).sum();
    Tokens((chars / CharsPerFour::CHARS) as u64)
}

fn chars(block: &Block) -> usize {
    match block {
        Block::Text(text) => length(&text.text),
        Block::ToolUse(call) => length(&call.name) + length(&call.input),
        Block::ToolResult(result) => {
            let texts = result.content.iter().filter(|block| matches!(block, Block::Text(_)));
            texts.map(chars).sum()
        }
        _ => 0,
    }
}

fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

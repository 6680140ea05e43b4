//! Conversations from one dialect to another.
//!
//! What both dialects can express arrives whole: texts, pictures, files, calls with whatever arguments the
//! model wrote, results, instructions. It is regrouped as the other dialect wants it: Anthropic holds
//! consecutive tool results in one user message before its text and alternates the speakers; Chat
//! Completions gives each result a message and puts an assistant's text before its calls; Responses has one
//! item for each.
//!
//! What the other dialect cannot express is left out or moved, and every such case is a [`Loss`]:
//! reasoning and its signatures (bound to the provider that signed them), a provider's own tools and
//! compactions, the error flag of a result (only Anthropic has one), pictures inside a result (Chat
//! Completions has only text there, so they move to the user message behind it), URLs of documents (not in
//! Chat Completions), and fields that only the source's dialect knows. Arguments that are no JSON object
//! travel to Anthropic as `{"__raw_arguments__": "…"}` and come back as they were.

mod block;
mod group;
mod loss;

use epitome_core::{Block, Message, Role};

use crate::dialect::Dialect;
pub use loss::{Loss, Lost};

/// A conversation as a dialect groups it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conversation {
    /// Instructions that stand outside the messages, where the dialect has a field for them.
    pub system: Option<Message>,
    /// The messages.
    pub messages: Vec<Message>,
}

/// A converted conversation, and what it could not take along.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Converted {
    /// The conversation in its new dialect.
    pub conversation: Conversation,
    /// What was left out, moved or changed on the way.
    pub losses: Vec<Loss>,
}

/// A message on its way: its number in the source, who speaks, and blocks the target can express.
struct Step {
    index: usize,
    role: Role,
    blocks: Vec<Block>,
}

/// Converts a conversation between dialects.
pub fn convert(conversation: &Conversation, from: Dialect, to: Dialect) -> Converted {
    if from == to {
        return Converted { conversation: conversation.clone(), losses: Vec::new() };
    }
    let mut translator = block::Translator::new(from, to);
    let mut system = Vec::new();
    if let Some(message) = &conversation.system {
        translator.at = 0;
        system = translator.blocks(message);
    }
    let mut steps = Vec::with_capacity(conversation.messages.len());
    for (index, message) in conversation.messages.iter().enumerate() {
        translator.at = index;
        let blocks = translator.blocks(message);
        let operator = matches!(message.role, Role::System | Role::Developer);
        if steps.is_empty() && operator {
            system.extend(blocks);
        } else if !blocks.is_empty() {
            steps.push(Step { index, role: message.role, blocks });
        }
    }
    let losses = translator.losses;
    group::group(system, steps, from, to, losses)
}

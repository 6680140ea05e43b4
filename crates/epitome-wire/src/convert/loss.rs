//! What a conversion could not take along.

use std::fmt;

/// Something that the other dialect cannot express.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The message's number in the source.
    pub message: usize,
    /// What it is.
    pub what: Lost,
}

/// The kinds of [`Loss`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lost {
    /// Reasoning: only the provider that signed it takes it back.
    Thinking,
    /// A call or a result of a provider's own tool.
    ServerTool,
    /// A picture or a document whose source the other dialect cannot name.
    Media,
    /// A block that only the source's dialect has, by its type.
    Block(String),
    /// A field that only the source's dialect has, by its name.
    Field(String),
    /// That a tool result is a failure.
    ErrorFlag,
    /// The place of a picture: out of a tool result into the user message behind it.
    Place,
    /// The order of text behind a tool call.
    Order,
    /// The role of instructions inside the conversation, which become the user's words.
    Role,
}

impl fmt::Display for Lost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::Thinking => out.write_str("reasoning"),
            Lost::ServerTool => out.write_str("a call of the provider's own tool"),
            Lost::Media => out.write_str("a picture or document"),
            Lost::Block(kind) => write!(out, "a block of type {kind:?}"),
            Lost::Field(name) => write!(out, "the field {name:?}"),
            Lost::ErrorFlag => out.write_str("that a tool result is a failure"),
            Lost::Place => out.write_str("the place of a picture inside a tool result"),
            Lost::Order => out.write_str("the order of text behind a tool call"),
            Lost::Role => out.write_str("the role of instructions inside the conversation"),
        }
    }
}

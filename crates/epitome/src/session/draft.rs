//! Messages on their way into a session: written in the engine's dialect, read, counted and hashed once.

use std::sync::Arc;

use epitome_core::tokens::Counter;
use epitome_core::{BlockKind, BlockOutline, Message, Outline, Role, Usage};
use epitome_ledger::model::{Completeness, NewMessage, Notation as Number};
use epitome_wire::files::Notation;
use epitome_wire::{Dialect, decode_message, digest_of_decoded, encode_message};

use crate::error::{Error, Result};

/// What goes into a call: messages, or the JSON of messages, which is kept byte for byte.
#[derive(Clone, Debug, Default)]
pub struct Input(Vec<Said>);

#[derive(Clone, Debug)]
enum Said {
    Message(Message),
    Json(String),
}

impl Input {
    /// One message as the engine's dialect writes it. It is recorded and sent byte for byte as it stands here.
    pub fn json(json: impl Into<String>) -> Self {
        Self(vec![Said::Json(json.into())])
    }

    /// Its bytes as JSON, where it came as such.
    pub(crate) fn bytes(&self) -> Option<usize> {
        let bytes = |said: &Said| match said {
            Said::Json(json) => Some(json.len()),
            Said::Message(_) => None,
        };
        self.0.iter().map(bytes).sum()
    }

    /// The same with one more message behind it.
    #[must_use]
    pub fn and(mut self, more: impl Into<Input>) -> Self {
        self.0.extend(more.into().0);
        self
    }
}

impl From<Message> for Input {
    fn from(message: Message) -> Self {
        Self(vec![Said::Message(message)])
    }
}

impl From<Vec<Message>> for Input {
    fn from(messages: Vec<Message>) -> Self {
        Self(messages.into_iter().map(Said::Message).collect())
    }
}

impl From<&str> for Input {
    /// The user says this.
    fn from(text: &str) -> Self {
        Message::text(Role::User, text).into()
    }
}

impl From<String> for Input {
    /// The user says this.
    fn from(text: String) -> Self {
        Message::text(Role::User, text).into()
    }
}

/// What a bill is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BilledFor {
    /// What the session sends: estimates and the window are learnt from it.
    #[default]
    Context,
    /// Something else, such as what the provider's own edits left of it, or a conversation that the provider holds: nothing is learnt.
    Other,
}

/// What came out of a call.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// The messages.
    pub messages: Input,
    /// What the provider billed; estimates learn from it.
    pub usage: Option<Usage>,
    /// What that is the bill for.
    pub billed_for: BilledFor,
    /// Whether it is all that the model had to say.
    pub completeness: Completeness,
    /// The model that answered, where it is another than the engine was built for.
    pub model: Option<String>,
}

impl Reply {
    /// The model said this.
    pub fn text(text: impl Into<String>) -> Self {
        Message::text(Role::Assistant, text).into()
    }

    /// The message of an answer as the engine's dialect writes it, kept byte for byte.
    pub fn json(json: impl Into<String>) -> Self {
        Self { messages: Input::json(json), ..Self::default() }
    }

    /// The same, billed like this.
    #[must_use]
    pub fn billed(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// The same, billed for something else than what the session sends.
    #[must_use]
    pub fn billed_for_other(mut self) -> Self {
        self.billed_for = BilledFor::Other;
        self
    }

    /// The same, cut off before its end.
    #[must_use]
    pub fn cut_off(mut self) -> Self {
        self.completeness = Completeness::CutOff;
        self
    }
}

impl From<Message> for Reply {
    fn from(message: Message) -> Self {
        let (usage, model) = (message.meta.usage, message.meta.model.clone());
        Self { messages: message.into(), usage, model, ..Self::default() }
    }
}

/// A message that is ready to be recorded and shown.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) json: Arc<str>,
    pub(crate) outline: Arc<Outline>,
    pub(crate) digest: epitome_core::ContentHash,
}

impl Draft {
    /// Reads and counts what is to be appended.
    pub(crate) fn all(input: Input, dialect: Dialect, counter: &Counter) -> Result<Vec<Self>> {
        let mut drafts = Vec::with_capacity(input.0.len());
        for said in input.0 {
            match said {
                Said::Json(json) => drafts.push(Self::of(json, dialect, counter)?),
                Said::Message(message) => {
                    for json in encode_message(dialect, &message)? {
                        drafts.push(Self::of(json, dialect, counter)?);
                    }
                }
            }
        }
        if drafts.is_empty() { Err(Error::Empty) } else { Ok(drafts) }
    }

    fn of(json: String, dialect: Dialect, counter: &Counter) -> Result<Self> {
        let (message, layout) = decode_message(dialect, &json)?;
        let outline = Arc::new(layout.outline(&message, counter));
        Ok(Self { digest: digest_of_decoded(&json, dialect, &message), json: json.into(), outline })
    }

    pub(crate) fn role(&self) -> Role {
        self.outline.role
    }

    /// Whether it may have come out of a call. Responses puts what the provider's own tools gave beside what the model says.
    pub(crate) fn may_be_reply(&self, dialect: Dialect) -> bool {
        let is_given =
            |block: &BlockOutline| matches!(block.kind, BlockKind::ToolResult | BlockKind::Unknown);
        let blocks = &self.outline.blocks;
        self.role() == Role::Assistant
            || dialect == Dialect::Responses && !blocks.is_empty() && blocks.iter().all(is_given)
    }

    /// How many tools it calls.
    pub(crate) fn calls(&self) -> u64 {
        self.outline.blocks.iter().filter(|block| block.kind == BlockKind::ToolUse).count() as u64
    }

    pub(crate) fn new_message(&self, dialect: Dialect) -> NewMessage {
        NewMessage {
            role: self.outline.role,
            body: self.json.as_bytes().to_vec(),
            notation: Number(Notation::of_dialect(dialect).number()),
            digest: self.digest,
            tokens: self.outline.tokens,
            recalls: self.outline.blocks.iter().filter_map(|block| block.recall).collect(),
        }
    }
}

//! The message model: one shape for every provider and every transcript file.
//!
//! It keeps what it does not understand: unknown fields ride along in [`Fields`], unknown blocks whole
//! in [`Opaque`]. Bytes are not its business: `epitome-wire` writes an untouched message back from the
//! text it was read from, and comes here only for messages that are new or change dialect.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::{Time, Tokens};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// Instructions of the operator.
    System,
    /// OpenAI's name for operator instructions inside the conversation.
    Developer,
    /// The person, and in Anthropic's dialect also the bearer of tool results.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call, where a dialect gives it a message of its own.
    Tool,
}

impl fmt::Display for Role {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Role::System => "system",
            Role::Developer => "developer",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        })
    }
}

/// A JSON value as it was written, white space and number spelling included.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(Box<str>);

impl RawJson {
    /// Takes text that the caller has already parsed as JSON.
    pub fn new(json: impl Into<Box<str>>) -> Self {
        Self(json.into())
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Fields that the model has no name for, in their order, as written.
pub type Fields = Vec<(String, RawJson)>;

/// One message: a role and its blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub blocks: Vec<Block>,
    /// What is known about the message beside its content.
    pub meta: MessageMeta,
    /// Unknown fields of the message.
    pub extra: Fields,
}

impl Message {
    /// A message of these blocks, with nothing else known about it.
    pub fn new(role: Role, blocks: Vec<Block>) -> Self {
        Self { role, blocks, meta: MessageMeta::default(), extra: Fields::new() }
    }

    /// A message of one text.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self::new(role, vec![Block::text(text)])
    }
}

/// What a transcript or a ledger knows about a message beside its content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageMeta {
    /// The id under which its source knows it.
    pub id: Option<String>,
    /// When it was written.
    pub time: Option<Time>,
    /// The model that wrote it.
    pub model: Option<String>,
    /// What the provider billed for the call that it answers.
    pub usage: Option<Usage>,
}

/// Token usage of one model call as the provider reported it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens that no cache served or took.
    pub input: Tokens,
    /// Input tokens read from the provider's cache.
    pub cache_read: Tokens,
    /// Input tokens written to the provider's cache.
    pub cache_write: Tokens,
    /// Output tokens, thinking included.
    pub output: Tokens,
}

impl Usage {
    /// Everything that was sent, cached or not.
    pub fn total_input(&self) -> Tokens {
        self.input + self.cache_read + self.cache_write
    }
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Block {
    /// Plain text.
    Text(Text),
    /// The model calls a tool of the client's.
    ToolUse(ToolUse),
    /// The client answers a tool call.
    ToolResult(ToolResult),
    /// A picture.
    Image(Media),
    /// A PDF, a file or another document.
    Document(Media),
    /// The model's visible reasoning, signed by the provider.
    Thinking(Thinking),
    /// Reasoning that only the provider can read.
    RedactedThinking(Opaque),
    /// A call of a tool that the provider runs itself.
    ServerToolUse(ToolUse),
    /// The result of a tool that the provider ran itself.
    ServerToolResult(ToolResult),
    /// A provider's own compaction of earlier history, to be sent back as it is.
    Compaction(Opaque),
    /// Anything else.
    Unknown(Opaque),
}

impl Block {
    /// A text block without extras.
    pub fn text(text: impl Into<String>) -> Self {
        Block::Text(Text { text: text.into(), extra: Fields::new() })
    }

    /// What kind of block this is.
    pub fn kind(&self) -> BlockKind {
        match self {
            Block::Text(_) => BlockKind::Text,
            Block::ToolUse(_) => BlockKind::ToolUse,
            Block::ToolResult(_) => BlockKind::ToolResult,
            Block::Image(_) => BlockKind::Image,
            Block::Document(_) => BlockKind::Document,
            Block::Thinking(_) => BlockKind::Thinking,
            Block::RedactedThinking(_) => BlockKind::RedactedThinking,
            Block::ServerToolUse(_) => BlockKind::ServerToolUse,
            Block::ServerToolResult(_) => BlockKind::ServerToolResult,
            Block::Compaction(_) => BlockKind::Compaction,
            Block::Unknown(_) => BlockKind::Unknown,
        }
    }
}

/// The kinds of [`Block`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum BlockKind {
    Text,
    ToolUse,
    ToolResult,
    Image,
    Document,
    Thinking,
    RedactedThinking,
    ServerToolUse,
    ServerToolResult,
    Compaction,
    Unknown,
}

/// Plain text.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// The text.
    pub text: String,
    /// Unknown fields, `citations` and `cache_control` among them.
    pub extra: Fields,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse {
    /// The id that its result refers to.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments: JSON text, which models sometimes write broken.
    pub input: String,
    /// Unknown fields.
    pub extra: Fields,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The id of the call it answers.
    pub call_id: String,
    /// The tool's name, where the source says it beside the result.
    pub name: Option<String>,
    /// Texts, images and documents; never another tool result.
    pub content: Vec<Block>,
    /// Whether the tool reported failure.
    pub is_error: bool,
    /// Unknown fields.
    pub extra: Fields,
}

impl ToolResult {
    /// Its texts, joined by line breaks: what trimming works on and what its recall id is the hash of.
    pub fn joined_text(&self) -> String {
        let mut texts = self.content.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        let mut joined = texts.next().unwrap_or_default().to_owned();
        for text in texts {
            joined.push('\n');
            joined.push_str(text);
        }
        joined
    }
}

/// An image or a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Media {
    /// Where its content is.
    pub source: MediaSource,
    /// OpenAI's `detail` (low, high, auto), which changes the price.
    pub detail: Option<String>,
    /// Unknown fields.
    pub extra: Fields,
}

/// Where an image's or a document's content is.
#[derive(Clone, Debug, PartialEq)]
pub enum MediaSource {
    /// In the message itself.
    Base64 {
        /// The MIME type.
        media_type: String,
        /// The content, base64.
        data: String,
    },
    /// Behind a URL.
    Url(String),
    /// In the provider's file store.
    File(String),
    /// Somewhere this model does not know; the block as written.
    Other(RawJson),
}

/// Signed reasoning.
#[derive(Clone, Debug, PartialEq)]
pub struct Thinking {
    /// The reasoning; empty where the provider shows none.
    pub text: String,
    /// The provider's signature or encrypted content, which binds it to its place.
    pub signature: Option<String>,
    /// Unknown fields.
    pub extra: Fields,
}

/// A block kept whole because its inside is not ours to read.
#[derive(Clone, Debug, PartialEq)]
pub struct Opaque {
    /// Its `type` on the wire.
    pub kind: String,
    /// The block as written.
    pub raw: RawJson,
}

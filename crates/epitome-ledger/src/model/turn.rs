//! Turns: model calls and compactions, as they are handed in and as they come back.

use epitome_core::compact::Compaction;
use epitome_core::{Time, Tokens, Usage};

use super::chain::ChainHash;
use super::id::{SessionId, TurnId};
use super::message::NewMessage;

/// What a writer knows of a session, so that it writes only where it believes to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expect {
    /// The session.
    pub session: SessionId,
    /// The turn that the writer takes for its head.
    pub head: Option<TurnId>,
    /// The fence of the writer's lease, where it holds one.
    pub fence: Option<u64>,
}

/// A model call to be recorded: what goes in, and what came out where that is known already.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTurn {
    /// Its id; a turn that is handed in twice is recorded once.
    pub id: TurnId,
    /// What is new in this call.
    pub input: Vec<NewMessage>,
    /// The model that is called.
    pub model: Option<String>,
    /// Tokens of the whole request, as estimated before it was sent.
    pub estimated: Option<Tokens>,
    /// When; the ledger's clock where it is not told.
    pub time: Option<Time>,
    /// What came out.
    pub reply: Option<NewReply>,
}

impl NewTurn {
    /// A call with this input.
    pub fn of(input: Vec<NewMessage>) -> Self {
        Self { id: TurnId::generate(), input, model: None, estimated: None, time: None, reply: None }
    }
}

/// Whether a reply is all that the model had to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Completeness {
    /// It ended by itself.
    #[default]
    Whole,
    /// It was cut off: the connection, the client or the process went away.
    CutOff,
}

/// What a model call gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewReply {
    /// The messages.
    pub messages: Vec<NewMessage>,
    /// Whether it is all.
    pub completeness: Completeness,
    /// The model that answered, where it calls itself otherwise than the one asked.
    pub model: Option<String>,
    /// What the provider billed.
    pub usage: Option<Usage>,
    /// How many tools it calls.
    pub tool_calls: u64,
    /// When; the ledger's clock where it is not told.
    pub time: Option<Time>,
}

/// A compaction to be recorded. Undoing one is a compaction, too.
#[derive(Clone, Debug, PartialEq)]
pub struct NewCompaction {
    /// Its id; a compaction that is handed in twice is recorded once.
    pub id: TurnId,
    /// What became of each stretch of the path.
    pub compaction: Compaction,
    /// The strategy that planned it.
    pub strategy: String,
    /// What it was due to.
    pub trigger: String,
    /// Tokens of the context before.
    pub tokens_before: Tokens,
    /// Tokens of the context after.
    pub tokens_after: Tokens,
    /// The loss report and whatever else is known of it, as JSON.
    pub report: Option<String>,
    /// The model that wrote the summaries.
    pub model: Option<String>,
    /// When; the ledger's clock where it is not told.
    pub time: Option<Time>,
}

/// Where a session stands after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Its head.
    pub head: Option<TurnId>,
    /// The number of turns on its path.
    pub turns: u64,
    /// The number of messages on its path.
    pub messages: u64,
    /// The hash of its path.
    pub chain: ChainHash,
}

/// What a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TurnKind {
    /// A model call.
    Call,
    /// A compaction, a pruning step or the undoing of one.
    Compaction,
}

/// A turn of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Its id.
    pub id: TurnId,
    /// The session that it was appended to.
    pub session: SessionId,
    /// Its place on the path: the number of turns before it.
    pub number: u64,
    /// What it is.
    pub kind: TurnKind,
    /// The number of messages before it.
    pub first: u64,
    /// The number of messages with its input.
    pub input_end: u64,
    /// The number of messages with its reply.
    pub end: u64,
    /// The model that was called.
    pub model: Option<String>,
    /// Tokens of the request as estimated before it was sent.
    pub estimated: Option<Tokens>,
    /// When it was recorded.
    pub time: Time,
    /// The number of the nearest compaction turn on the path, itself included.
    pub nearest: Option<u64>,
    /// The number of compactions on the path, itself included.
    pub compactions: u64,
    /// What came out, where it did.
    pub reply: Option<ReplyRecord>,
}

/// What is known of a reply beside its messages.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyRecord {
    /// Whether it is all.
    pub completeness: Completeness,
    /// The model that answered, where it calls itself otherwise than the one asked.
    pub model: Option<String>,
    /// What the provider billed.
    pub usage: Option<Usage>,
    /// How many tools it calls.
    pub tool_calls: u64,
    /// When it was recorded.
    pub time: Time,
}

/// What is known of a compaction beside its turn.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactionRecord {
    /// What became of each stretch of the path.
    pub compaction: Compaction,
    /// The strategy that planned it.
    pub strategy: String,
    /// What it was due to.
    pub trigger: String,
    /// Tokens of the context before.
    pub tokens_before: Tokens,
    /// Tokens of the context after.
    pub tokens_after: Tokens,
    /// The turn of the last message that a summary stands for.
    pub summarized_through: Option<TurnId>,
    /// The turn of the first message that is shown behind everything that is not.
    pub first_kept: Option<TurnId>,
    /// The loss report and whatever else is known of it, as JSON.
    pub report: Option<String>,
}

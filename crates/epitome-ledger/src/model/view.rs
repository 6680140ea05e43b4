//! Views as they were recorded.

use epitome_core::compact::Compaction;

use super::message::StoredMessage;
use super::session::Session;

/// How far a view goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Until {
    /// With the input of the turn: what the model saw when it was called.
    Input,
    /// With the reply to it: what it sees next, before anything is said.
    Reply,
}

/// What the model sees of a path: the segments of the nearest compaction, then everything after it.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedView {
    /// The nearest compaction; none where everything is shown as it was.
    pub compaction: Option<Compaction>,
    /// The number of its turn on the path.
    pub nearest: Option<u64>,
    /// The messages that are shown, whole or pruned, by their ordinals; what is hidden is not read.
    pub messages: Vec<StoredMessage>,
    /// The number of messages on the path, hidden ones included.
    pub length: u64,
}

/// A session and what the model sees at its head, all of one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Resumed {
    /// The session as it stands.
    pub session: Session,
    /// What the model sees.
    pub view: RecordedView,
    /// Whether the turn that it stands on waits for its reply.
    pub waits: bool,
}

//! A reply that was cut off: it waits on disk for what its client makes of it.
//!
//! A client that was cut off makes the same call again, or goes on with what it has. In the first case the new reply belongs where
//! the old one would stand, in the second the old one is what was said. Until that is known it waits in the spool; whoever never
//! comes back leaves it there, and it is recorded where it was said.

use epitome::ledger::model::Completeness;
use epitome::wire::reply::Answer;
use epitome::{BilledFor, Input, Reply, Usage};

/// A reply that was cut off.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    /// What waits on disk for it.
    pub(super) entry: String,
    /// What had come of it.
    pub(super) messages: Vec<String>,
    usage: Option<Usage>,
    billed_for: BilledFor,
    model: Option<String>,
}

impl Cut {
    /// What had come of an answer, which waits under this name.
    pub(super) fn of(answer: &Answer, billed_for: BilledFor, entry: String) -> Self {
        let (messages, model) = (answer.messages.clone(), answer.model.clone());
        Self { entry, messages, usage: answer.usage, billed_for, model }
    }

    /// As it is recorded.
    pub(super) fn reply(&self) -> Reply {
        let messages = input_of(&self.messages);
        let (usage, billed_for, model) = (self.usage, self.billed_for, self.model.clone());
        Reply { messages, usage, billed_for, completeness: Completeness::CutOff, model }
    }
}

/// Messages, as a session takes them.
pub(super) fn input_of(messages: &[String]) -> Input {
    messages.iter().fold(Input::default(), |input, message| input.and(Input::json(message.as_str())))
}

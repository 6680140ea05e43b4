//! What comes back, and how it is told.

use epitome_core::Role;
use epitome_core::Tokens;
use epitome_core::knowledge::Kind;
use epitome_core::tokens::Counter;
use epitome_ledger::model::{FindingId, FindingState, SessionId};

/// What a memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// Something that was learnt.
    Finding {
        /// Its id, by which it can be confirmed or rejected.
        id: FindingId,
        /// What it is.
        kind: Kind,
        /// What became of it.
        state: FindingState,
    },
    /// Something that was said.
    Message {
        /// Who said it.
        role: Role,
    },
}

/// Something that came back.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// What it is.
    pub what: What,
    /// The session that recorded the message which says it.
    pub session: SessionId,
    /// The number of that message.
    pub message: u64,
    /// What was said, or a piece of it.
    pub text: String,
    /// How well it fits what was asked for, beside what comes before it: larger is better.
    pub score: f64,
}

/// What came back of what was asked for: the best first, within the budget.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recall {
    memories: Vec<Memory>,
    lines: Vec<String>,
    tokens: Tokens,
}

/// What a reader is told before what came back.
const HEADER: &str = "Recalled from earlier, for reference; where the conversation differs, it is right:";

impl Recall {
    /// Takes as many as there is room for, the best first. What is too long for the rest of the room makes way for what is not.
    pub(crate) fn within(budget: Tokens, counter: &Counter, here: SessionId, memories: Vec<Memory>) -> Self {
        let mut recall = Self { tokens: counter.text(HEADER), ..Self::default() };
        for memory in memories {
            let line = line(&memory, here);
            // The line break is no more than a token.
            let tokens = counter.text(&line) + Tokens(1);
            if recall.tokens + tokens <= budget {
                recall.tokens += tokens;
                recall.lines.push(line);
                recall.memories.push(memory);
            }
        }
        recall
    }

    /// What came back, the best first.
    pub fn memories(&self) -> &[Memory] {
        &self.memories
    }

    /// The text of it, for a system prompt; empty where nothing came back.
    ///
    /// Each line says what it is and in which message it was said, so that a model can ask for more.
    pub fn block(&self) -> String {
        if self.lines.is_empty() {
            return String::new();
        }
        let mut block = HEADER.to_owned();
        for line in &self.lines {
            block.push('\n');
            block.push_str(line);
        }
        block
    }
}

fn line(memory: &Memory, here: SessionId) -> String {
    let what = match memory.what {
        What::Finding { kind, state: FindingState::Review, .. } => format!("{kind}, unconfirmed"),
        What::Finding { kind, .. } => kind.to_string(),
        What::Message { role } => role.to_string(),
    };
    let place = match memory.session == here {
        true => format!("#{}", memory.message),
        false => format!("session {} #{}", memory.session, memory.message),
    };
    let text: Vec<&str> = memory.text.split_whitespace().collect();
    format!("- [{what}, {place}] {}", text.join(" "))
}

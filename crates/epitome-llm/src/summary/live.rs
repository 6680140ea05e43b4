//! The request that was sent last. A summary that is asked for behind it is served from the provider's cache.

use epitome_core::{Message, Role, Tokens};
use epitome_wire::{Dialect, decode_message};

use super::job::counter;
use crate::call::{Call, Prefix};

/// A request as it was sent, and what it comes to.
#[derive(Clone, Debug)]
pub(super) struct Live {
    prefix: Prefix,
    pub(super) size: Tokens,
    /// Whether the user spoke last, where two messages of one speaker in a row may be refused.
    wants_answer: bool,
}

impl Live {
    /// This request, in the API of whoever got it.
    pub(super) fn new(prefix: Prefix, dialect: Dialect) -> Self {
        let count = counter();
        let mut size: Tokens = prefix.system.iter().chain(&prefix.tools).map(|json| count.text(json)).sum();
        let mut last = None;
        for json in &prefix.messages {
            let message = decode_message(dialect, json).ok().map(|(message, _)| message);
            size += message.as_ref().map_or_else(|| count.text(json), |message| count.message(message));
            last = message.map(|message| message.role);
        }
        let wants_answer = dialect == Dialect::Anthropic && last == Some(Role::User);
        Self { prefix, size, wants_answer }
    }

    /// A call behind it.
    pub(super) fn asks(&self, mut call: Call) -> Call {
        if self.wants_answer {
            call.messages.insert(0, Message::text(Role::Assistant, "(interrupted)"));
        }
        call.behind(self.prefix.clone())
    }
}

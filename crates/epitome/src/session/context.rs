//! What is sent to the model.

use std::sync::Arc;

use epitome_core::pressure::Pressure;
use epitome_core::{Message, Role, Tokens};
use epitome_ledger::model::TurnId;
use epitome_wire::{Dialect, decode_message};

use super::shown::Sent;
use crate::error::Result;

/// What the model sees: the messages of a session as its dialect writes them, inside the budget.
#[derive(Clone, Debug)]
pub struct Context {
    /// The turn that it is the view of; none where nothing was said yet.
    pub turn: Option<TurnId>,
    /// What is to be added to the operator's instructions, where a summary stands there.
    pub system: Option<Arc<str>>,
    /// How full the window is, everything that is sent included, in the model's tokens.
    pub pressure: Pressure,
    /// By how much it exceeds what was asked for; zero unless pins and instructions leave no room.
    pub shortfall: Tokens,
    dialect: Dialect,
    sent: Arc<[Sent]>,
}

/// One message of a context.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextMessage {
    /// Who speaks.
    pub role: Role,
    /// The message as the dialect writes it.
    pub json: Arc<str>,
    /// Its tokens, in our unit.
    pub tokens: Tokens,
    /// Its place on the path; none where it stands for others.
    pub ordinal: Option<u64>,
    /// Whether it is the message of this place as it was recorded, byte for byte.
    pub is_whole: bool,
}

impl Context {
    pub(crate) fn new(
        turn: Option<TurnId>,
        dialect: Dialect,
        system: Option<Arc<str>>,
        sent: Arc<[Sent]>,
        pressure: Pressure,
    ) -> Self {
        Self { turn, system, pressure, shortfall: Tokens::ZERO, dialect, sent }
    }

    /// The messages.
    pub fn messages(&self) -> impl ExactSizeIterator<Item = ContextMessage> + '_ {
        self.sent.iter().map(|sent| ContextMessage {
            role: sent.role(),
            json: Arc::clone(&sent.json),
            tokens: sent.tokens(),
            ordinal: sent.ordinal,
            is_whole: sent.is_whole,
        })
    }

    /// The messages read again, for those who build requests from them.
    pub fn decoded(&self) -> Result<Vec<Message>> {
        let decode = |sent: &Sent| Ok(decode_message(self.dialect, &sent.json)?.0);
        self.sent.iter().map(decode).collect()
    }

    /// The messages as a JSON array: `messages` of Anthropic and Chat Completions, `input` of Responses.
    pub fn to_json(&self) -> String {
        let size = self.sent.iter().map(|sent| sent.json.len() + 1).sum::<usize>();
        let mut json = String::with_capacity(size + 2);
        json.push('[');
        for (place, sent) in self.sent.iter().enumerate() {
            if place > 0 {
                json.push(',');
            }
            json.push_str(&sent.json);
        }
        json.push(']');
        json
    }

    /// The operator's instructions with the summary that belongs to them, if there is one.
    pub fn system_with(&self, instructions: &str) -> String {
        match &self.system {
            None => instructions.to_owned(),
            Some(summary) if instructions.is_empty() => summary.to_string(),
            Some(summary) => format!("{instructions}\n\n{summary}"),
        }
    }

    /// Tokens of the messages, in our unit.
    pub fn tokens(&self) -> Tokens {
        self.sent.iter().map(Sent::tokens).sum()
    }
}

//! What is asked of a model, and what it answers.

use epitome_core::{Message, Role, Tokens, Usage};

/// One question to a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Call {
    /// What the model is told beforehand.
    pub system: String,
    /// What is said; the last message is the user's.
    pub messages: Vec<Message>,
    /// What stands before all this as it was sent earlier, so that the provider's cache knows it again.
    pub prefix: Option<Prefix>,
    /// So many tokens the answer may have.
    pub max_output: Tokens,
    /// How far the model strays; `None` leaves it to the provider.
    pub temperature: Option<f64>,
    /// How the answer is to come.
    pub delivery: Delivery,
}

/// The beginning of an earlier request, each part the JSON that was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefix {
    /// The system prompt: `system` of Anthropic, `instructions` of Responses. Chat Completions has it among the messages.
    pub system: Option<String>,
    /// The list of tools.
    pub tools: Option<String>,
    /// The messages or items, each by itself.
    pub messages: Vec<String>,
    /// Other fields that the cache depends on, by their names: how much the model thinks, which tools it may choose.
    pub fields: Vec<(String, String)>,
}

/// How an answer comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Bit by bit, so that a stall is noticed.
    Streamed,
    /// All at once.
    Whole,
}

impl Call {
    /// Asks this, with temperature 0, streamed.
    pub fn new(system: impl Into<String>, prompt: impl Into<String>, max_output: Tokens) -> Self {
        Self {
            system: system.into(),
            messages: vec![Message::text(Role::User, prompt)],
            prefix: None,
            max_output,
            temperature: Some(0.0),
            delivery: Delivery::Streamed,
        }
    }

    /// The same call, continued: the model has answered this, and the user says that.
    pub fn then(mut self, answer: &str, said: &str) -> Self {
        self.messages.push(Message::text(Role::Assistant, answer));
        self.messages.push(Message::text(Role::User, said));
        self
    }

    /// The same call behind what was sent earlier.
    pub fn behind(mut self, prefix: Prefix) -> Self {
        self.prefix = Some(prefix);
        self
    }

    /// The same call, answered this way.
    pub fn delivered(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }
}

/// What a model answered. Nobody has looked at it: the text may be empty or wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// What it said, without what it thought.
    pub text: String,
    /// What was billed, where that was reported.
    pub usage: Option<Usage>,
    /// Why it stopped.
    pub ending: Ending,
    /// The model that answered, as it calls itself.
    pub model: String,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// All was said.
    Whole,
    /// So many tokens were allowed.
    MaxOutput,
    /// The window was full.
    Window,
    /// The model or its provider would not say it.
    Declined,
    /// The model wants something else first, such as a tool.
    Unfinished,
}

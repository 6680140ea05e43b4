//! Knowledge by a model: it points at sentences, and code takes over those that the messages hold.
//!
//! A [`ModelExtractor`] asks which sentences are worth knowing later. It quotes them with the number of their message; what
//! stands there is a [`Finding`] in the words of the message, what does not is dropped. Whoever asks has an extractor
//! by code at hand for when there is an error ([`epitome_core::knowledge::extract`]).

mod read;

use std::sync::Arc;

use epitome_core::cost::Tariff;
use epitome_core::knowledge::Finding;
use epitome_core::{Block, Message, Role, Tokens};
use thiserror::Error;

use crate::clock::Clock;
use crate::models::Models;
use crate::summary::{
    Asker, Cancel, Caps, Conversation, Spent, Stages, Tally, Telling, counter, knowledge_call, piece,
};
use crate::windows::Windows;

use self::read::{Pointed, pointed, supported};

/// Of one call no more findings are taken.
const MOST: usize = 40;

/// What a model found worth knowing.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Learnt {
    /// What messages say, in their order.
    pub findings: Vec<Finding>,
    /// How many of the model's were dropped because no message says them.
    pub dropped: usize,
    /// What it cost.
    pub spent: Spent,
}

/// A model found nothing that can be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoKnowledge {
    /// Nobody answered, or not in time, or it would cost too much.
    #[error("no knowledge by a model: {0}")]
    Unanswered(String),
    /// The answer is not what was asked for.
    #[error("no knowledge by a model: the answer holds no findings ({0})")]
    Form(String),
    /// Nothing that it says is in the messages.
    #[error("no knowledge by a model: none of its {0} findings is in the messages")]
    Unsupported(usize),
}

/// Finds out with a model what is worth knowing. Clones begin with nothing spent.
#[derive(Debug)]
pub struct ModelExtractor {
    asker: Asker,
    telling: Telling,
    stages: Stages,
}

impl Clone for ModelExtractor {
    fn clone(&self) -> Self {
        Self { asker: self.asker.anew(), telling: self.telling, stages: self.stages }
    }
}

impl ModelExtractor {
    /// An extractor that asks these models.
    pub fn new(models: Arc<Models>) -> Self {
        let asker = Asker::new(models);
        Self { asker, telling: Telling::default(), stages: Stages::default() }
    }

    /// The same for models with this window.
    pub fn window(self, window: Tokens) -> Self {
        self.sized(vec![window])
    }

    /// The same for models with these windows, each in its place.
    pub fn sized(mut self, windows: Vec<Tokens>) -> Self {
        self.asker = self.asker.sized(windows);
        self
    }

    /// The same, telling conversations like this.
    pub fn telling(mut self, telling: Telling) -> Self {
        self.telling = telling;
        self
    }

    /// The same with these sizes of stretches.
    pub fn stages(mut self, stages: Stages) -> Self {
        self.stages = stages;
        self
    }

    /// The same with these caps for all that one of these is asked.
    pub fn caps(mut self, caps: Caps) -> Self {
        self.asker.caps = caps;
        self
    }

    /// The same for models with these prices, each in its place; none where a price is not known.
    pub fn priced(mut self, tariffs: Vec<Option<Tariff>>) -> Self {
        self.asker = self.asker.priced(tariffs);
        self
    }

    /// The same with this clock.
    pub fn timed(mut self, clock: Arc<dyn Clock>) -> Self {
        self.asker.clock = clock;
        self
    }

    /// The same, ended by this word.
    pub fn cancelled_by(mut self, cancel: Cancel) -> Self {
        self.asker.cancel = cancel;
        self
    }

    /// The same, learning the windows of the models here.
    pub fn windows(mut self, windows: Windows) -> Self {
        self.asker.windows = windows;
        self
    }

    /// The same with nothing spent; what it and its clones spend counts here, too, and is held against the caps together with
    /// all else that is drawn on its purse.
    pub fn tallied(mut self, tally: Tally) -> Self {
        self.asker = self.asker.tallied(tally);
        self
    }

    /// What is worth knowing of these stretches of a path, each with the number of its first message.
    pub async fn extract(&self, stretches: &[(usize, &[Message])]) -> Result<Learnt, NoKnowledge> {
        let mut learnt = Err(NoKnowledge::Unanswered("no model is set".to_owned()));
        for asker in self.asker.ranks() {
            learnt = self.extract_by(&asker, stretches).await;
            if !matches!(learnt, Err(NoKnowledge::Unanswered(_))) {
                break;
            }
        }
        learnt
    }

    async fn extract_by(
        &self,
        asker: &Asker,
        stretches: &[(usize, &[Message])],
    ) -> Result<Learnt, NoKnowledge> {
        let mut learnt = Learnt::default();
        for calls in self.conversations(asker.window(), stretches) {
            let call = knowledge_call(&calls, MOST);
            let asked = asker.ask(&call).await;
            let answer = asked.map_err(|trouble| NoKnowledge::Unanswered(trouble.to_string()))?;
            let found: Vec<Pointed> = pointed(&answer)?.into_iter().take(MOST).collect();
            let all = found.len();
            learnt.findings.extend(supported(found, stretches));
            learnt.dropped += all;
        }
        let all = learnt.dropped;
        learnt.dropped -= learnt.findings.len();
        learnt.findings.sort_by_key(|found| (found.message, found.block, found.span.start, found.span.end));
        let place = |found: &Finding| (found.message, found.block, found.span.clone());
        learnt.findings.dedup_by(|later, earlier| place(later) == place(earlier));
        learnt.spent = self.asker.spent();
        match learnt.findings.is_empty() && all > 0 {
            true => Err(NoKnowledge::Unsupported(all)),
            false => Ok(learnt),
        }
    }

    // What was said, in as many conversations as calls are needed. What tools say is nobody's knowledge.
    fn conversations(&self, window: Tokens, stretches: &[(usize, &[Message])]) -> Vec<Conversation> {
        let count = counter();
        let most = self.stages.one_call(window);
        let longest = self.telling.options.most;
        let mut all: Vec<Conversation> = Vec::new();
        let mut held = (Tokens::ZERO, 0);
        for (number, message) in
            stretches.iter().flat_map(|(first, messages)| (*first..).zip(messages.iter()))
        {
            let Some(text) = said(message).and_then(|said| piece(&said, number, &self.telling)) else {
                continue;
            };
            let size = (count.text(&text), text.chars().count());
            let fits = held.0 + size.0 <= most && held.1 + size.1 <= longest.0;
            match all.last_mut().filter(|_| fits) {
                Some(conversation) => conversation.pieces.push(text),
                None => {
                    all.push(Conversation { pieces: vec![text], left_out: 0 });
                    held = (Tokens::ZERO, 0);
                }
            }
            held = (held.0 + size.0, held.1 + size.1);
        }
        all
    }
}

fn said(message: &Message) -> Option<Message> {
    let speaks = matches!(message.role, Role::User | Role::Assistant);
    let texts = message.blocks.iter().filter(|block| matches!(block, Block::Text(_))).cloned();
    let texts: Vec<Block> = if speaks { texts.collect() } else { Vec::new() };
    (!texts.is_empty()).then(|| Message::new(message.role, texts))
}

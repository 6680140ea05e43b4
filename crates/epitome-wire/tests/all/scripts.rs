//! Conversations that every dialect can express, written out in each of them.

use epitome_core::{Block, Media, MediaSource, Message, Role, ToolResult, ToolUse};
use epitome_wire::Dialect;
use epitome_wire::convert::Conversation;
use proptest::collection::vec;
use proptest::prelude::*;

/// What happens in a conversation, whatever the dialect.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    system: Option<String>,
    exchanges: Vec<Exchange>,
}

#[derive(Clone, Debug)]
struct Exchange {
    asks: Vec<Block>,
    rounds: Vec<Round>,
    /// Empty where the user speaks up right behind the last results.
    answer: Vec<Block>,
}

#[derive(Clone, Debug)]
struct Round {
    texts: Vec<Block>,
    calls: Vec<(String, String, Vec<Block>)>,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{1,12}",
        "\\PC{1,8}",
        Just("tab\t\"quote\" \\ \u{0} \u{1F600} \u{2028}".to_owned()),
        Just("{\"looks\":\"like json\"}".to_owned()),
    ]
}

fn block() -> impl Strategy<Value = Block> {
    text().prop_map(Block::text)
}

fn media() -> impl Strategy<Value = Block> {
    let source = prop_oneof![
        Just(MediaSource::Base64 { media_type: "image/png".into(), data: "iVBORw0K".into() }),
        Just(MediaSource::Url("https://example.com/a.png".into())),
    ];
    source.prop_map(|source| Block::Image(Media { source, detail: None, extra: Vec::new() }))
}

fn document() -> impl Strategy<Value = Block> {
    let source = prop_oneof![
        Just(MediaSource::Base64 { media_type: "application/pdf".into(), data: "JVBERi0=".into() }),
        Just(MediaSource::File("file-1".into())),
    ];
    source.prop_map(|source| Block::Document(Media { source, detail: None, extra: Vec::new() }))
}

fn arguments() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("{}".to_owned()),
        Just("{\"n\": 12345678901234567890, \"path\":\"a\\nb\"}".to_owned()),
        Just("{\"cut\": \"of".to_owned()),
        Just("[1,2]".to_owned()),
        Just("plain words".to_owned()),
        Just("{\"__raw_arguments__\":\"{}\"}".to_owned()),
    ]
}

fn round() -> impl Strategy<Value = Round> {
    let call = ("[a-z_]{1,8}", arguments(), vec(block(), 0..3));
    (vec(block(), 0..2), vec(call, 1..4)).prop_map(|(texts, calls)| Round { texts, calls })
}

fn exchange() -> impl Strategy<Value = Exchange> {
    let ask = prop_oneof![4 => block(), 1 => media(), 1 => document()];
    (vec(ask, 1..4), vec(round(), 0..4), vec(block(), 0..3)).prop_map(|(asks, rounds, answer)| Exchange {
        asks,
        rounds,
        answer,
    })
}

/// Scripts of a few exchanges with parallel calls, pictures and broken arguments.
pub(crate) fn script() -> impl Strategy<Value = Script> {
    (proptest::option::of(text()), vec(exchange(), 1..4))
        .prop_map(|(system, exchanges)| Script { system, exchanges })
}

impl Script {
    /// The conversation as this dialect has it.
    pub(crate) fn in_dialect(&self, dialect: Dialect) -> Conversation {
        let mut conversation = Conversation::default();
        let system = self.system.as_ref().map(|text| Message::text(Role::System, text));
        match dialect {
            Dialect::Chat => conversation.messages.extend(system),
            _ => conversation.system = system,
        }
        let messages = &mut conversation.messages;
        let mut id = 0;
        for exchange in &self.exchanges {
            match messages.last_mut() {
                // Anthropic's user says it in the message of the results.
                Some(last) if dialect == Dialect::Anthropic && last.role == Role::User => {
                    last.blocks.extend(exchange.asks.clone());
                }
                _ => messages.push(Message::new(Role::User, exchange.asks.clone())),
            }
            for round in &exchange.rounds {
                let mut said = round.texts.clone();
                let mut results = Vec::new();
                for (name, input, content) in &round.calls {
                    id += 1;
                    let id = format!("call_{id}");
                    let call = ToolUse {
                        id: id.clone(),
                        name: name.clone(),
                        input: input.clone(),
                        extra: Vec::new(),
                    };
                    said.push(Block::ToolUse(call));
                    results.push(Block::ToolResult(ToolResult {
                        call_id: id,
                        name: None,
                        content: content.clone(),
                        is_error: false,
                        extra: Vec::new(),
                    }));
                }
                match dialect {
                    Dialect::Anthropic => {
                        messages.push(Message::new(Role::Assistant, said));
                        messages.push(Message::new(Role::User, results));
                    }
                    Dialect::Chat => {
                        messages.push(Message::new(Role::Assistant, said));
                        messages
                            .extend(results.into_iter().map(|result| Message::new(Role::Tool, vec![result])));
                    }
                    _ => {
                        let calls = said.split_off(round.texts.len());
                        messages.extend((!said.is_empty()).then(|| Message::new(Role::Assistant, said)));
                        messages
                            .extend(calls.into_iter().map(|call| Message::new(Role::Assistant, vec![call])));
                        messages
                            .extend(results.into_iter().map(|result| Message::new(Role::Tool, vec![result])));
                    }
                }
            }
            // Two user messages in a row are one in Anthropic's dialect, so without results there is an answer.
            let mut answer = exchange.answer.clone();
            if answer.is_empty() && exchange.rounds.is_empty() {
                answer.push(Block::text("yes"));
            }
            if !answer.is_empty() {
                messages.push(Message::new(Role::Assistant, answer));
            }
        }
        conversation
    }
}

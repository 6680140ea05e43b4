//! Conversations for tests: how to build them, and how to prune them in one call.

use std::io::Write;
use std::sync::Arc;

use epitome_core::prune::{
    Budget, MessageSizes, Plan, PruneMode, Settings, Sizes, ThinkingRule, apply, json_bytes, plan, text_of,
};
use epitome_core::tokens::{Bpe, Counter, ImagePricing};
use epitome_core::{
    Block, Chars, Entry, Fields, Media, MediaSource, Message, Opaque, Outline, RawJson, Role, Thinking, Time,
    Tokens, ToolResult, ToolUse,
};
use proptest::prelude::ProptestConfig;

/// Properties are tried on so many cases, or on as many as `PROPTEST_CASES` says.
///
/// No seeds are kept: a failure becomes a test with a name.
pub(crate) fn cases(usual: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: asked.unwrap_or(usual), failure_persistence: None, ..ProptestConfig::default() }
}

/// Says how many recorded conversations a test used, past the harness, which swallows what is printed.
pub(crate) fn report_use(test: &str, conversations: usize) {
    let folder = std::env::var_os("EPITOME_TRANSCRIPTS");
    let unset = if folder.is_none() { " (EPITOME_TRANSCRIPTS is not set)" } else { "" };
    // One write, or other tests' words come in between.
    let line = format!("{test}: {conversations} recorded conversations used{unset}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

pub(crate) fn counter() -> Counter {
    Counter::new(Bpe::o200k(), ImagePricing::Anthropic)
}

/// The seed's behaviour: pruning before every call, and nothing that the seed does not know.
pub(crate) fn seed() -> Settings {
    Settings {
        prune_mode: PruneMode::EveryCall,
        tool_result_max_chars: None,
        keep_error_tails: false,
        ..Settings::default()
    }
}

pub(crate) fn path(messages: &[Message]) -> Vec<Entry> {
    path_by(&counter(), messages)
}

pub(crate) fn path_by(counter: &Counter, messages: &[Message]) -> Vec<Entry> {
    let entry = |message: &Message| {
        let bytes = 30 + message.blocks.iter().map(block_bytes).sum::<usize>();
        let outline =
            Outline::of(message, counter, bytes).written_in(message.blocks.iter().map(changed_bytes));
        Entry { outline: Arc::new(outline), time: message.meta.time }
    };
    messages.iter().map(entry).collect()
}

// Not what any dialect writes, but what it would come to.
fn block_bytes(block: &Block) -> usize {
    40 + match block {
        Block::ToolUse(call) => json_bytes(&call.input),
        Block::Thinking(thinking) => json_bytes(&thinking.text),
        other => text_of(other).map_or(100, |text| json_bytes(&text)),
    }
}

// Of these, what goes when the block's text is replaced or, where it has none, when the block is removed.
fn changed_bytes(block: &Block) -> usize {
    text_of(block).map_or_else(|| block_bytes(block), |text| json_bytes(&text))
}

pub(crate) fn sizes(messages: &[Message]) -> impl Sizes + '_ {
    MessageSizes::new(messages, |text: &str| counter().text(text))
}

pub(crate) fn planned(messages: &[Message], settings: &Settings, budget: Budget, rule: ThinkingRule) -> Plan {
    settings.validate().expect("settings that make sense");
    plan(&path(messages), settings, budget, &mut sizes(messages), rule)
}

pub(crate) fn pruned(messages: &[Message], settings: &Settings) -> Vec<Message> {
    let plan = planned(messages, settings, Budget::default(), ThinkingRule::Free);
    apply(&plan, &path(messages), messages, Tokens(u64::MAX))
}

pub(crate) fn user(text: &str) -> Message {
    Message::text(Role::User, text)
}

pub(crate) fn assistant(text: &str) -> Message {
    Message::text(Role::Assistant, text)
}

pub(crate) fn at(mut message: Message, minute: i64) -> Message {
    message.meta.time = Some(Time(minute * 60_000));
    message
}

pub(crate) fn call_block(tool: &str, id: &str) -> Block {
    Block::ToolUse(ToolUse {
        id: id.to_owned(),
        name: tool.to_owned(),
        input: "{\"command\":\"ls\"}".to_owned(),
        extra: Fields::new(),
    })
}

pub(crate) fn call(tool: &str, id: &str) -> Message {
    Message::new(Role::Assistant, vec![call_block(tool, id)])
}

pub(crate) fn result_of(id: &str, content: Vec<Block>) -> Block {
    let call_id = id.to_owned();
    Block::ToolResult(ToolResult { call_id, name: None, content, is_error: false, extra: Fields::new() })
}

pub(crate) fn result_block(id: &str, text: &str) -> Block {
    result_of(id, vec![Block::text(text)])
}

pub(crate) fn result(id: &str, text: &str) -> Message {
    Message::new(Role::User, vec![result_block(id, text)])
}

pub(crate) fn image() -> Block {
    let source = MediaSource::Base64 { media_type: "image/png".to_owned(), data: "iVBORw0KGgo=".to_owned() };
    Block::Image(Media { source, detail: None, extra: Fields::new() })
}

pub(crate) fn thinking(text: &str) -> Block {
    let signature = Some("c2lnbmVk".to_owned());
    Block::Thinking(Thinking { text: text.to_owned(), signature, extra: Fields::new() })
}

pub(crate) fn redacted() -> Block {
    let raw = RawJson::new("{\"type\":\"redacted_thinking\",\"data\":\"c2VjcmV0\"}");
    Block::RedactedThinking(Opaque { kind: "redacted_thinking".to_owned(), raw })
}

/// A tool loop: a request, then for every result a call and the result, numbered from 0.
pub(crate) fn tool_loop<'t>(results: impl IntoIterator<Item = &'t str>) -> Vec<Message> {
    let rounds = results.into_iter().enumerate().flat_map(|(number, text)| {
        let id = format!("call_{number}");
        [call("bash", &id), result(&id, text)]
    });
    [user("please look into it")].into_iter().chain(rounds).collect()
}

/// The texts of all tool results, in order.
pub(crate) fn result_texts(messages: &[Message]) -> Vec<String> {
    let blocks = messages.iter().flat_map(|message| &message.blocks);
    let results = blocks.filter(|block| matches!(block, Block::ToolResult(_)));
    results.map(|block| text_of(block).expect("a result has a text").into_owned()).collect()
}

/// A text of exactly so many characters in which every place looks different.
pub(crate) fn output(chars: usize) -> String {
    let mut text = String::new();
    for line in 0.. {
        if text.len() >= chars {
            break;
        }
        text.push_str(&format!("line {line} of a listing, with some words in it\n"));
    }
    text.truncate(chars);
    text
}

pub(crate) fn chars(text: &str) -> usize {
    Chars::of(text).0
}

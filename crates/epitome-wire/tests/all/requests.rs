//! Requests pruned on their way: the same as core prunes messages, by splices, and known messages known.

use std::sync::Arc;

use epitome_core::prune::{self, Budget, MessageSizes, PruneMode, Settings, ThinkingRule};
use epitome_core::tokens::{Bpe, CharsPerFour, Counter, ImagePricing};
use epitome_core::{Block, Entry, Message, Outline, Role, ToolResult};
use epitome_wire::convert::{Conversation, convert};
use epitome_wire::{Body, Dialect, Pruning, Sketches, decode_message, encode_message};
use proptest::prelude::*;

use crate::bodies::body_of_all;
use crate::scripts::script;

fn counter() -> Counter {
    Counter::new(Bpe::o200k(), ImagePricing::Anthropic)
}

/// A body of these messages, without any space.
fn body_text(dialect: Dialect, messages: &[Message]) -> String {
    let list: Vec<_> =
        messages.iter().flat_map(|message| encode_message(dialect, message).unwrap()).collect();
    let field = if dialect == Dialect::Responses { "input" } else { "messages" };
    format!(r#"{{"{field}":[{}],"model":"m"}}"#, list.join(","))
}

fn messages_of(dialect: Dialect, text: &str) -> Vec<Message> {
    let body = Body::scan(dialect, text).unwrap();
    (0..body.messages().len()).map(|index| decode_message(dialect, body.message(index)).unwrap().0).collect()
}

// Results long enough to be worth pruning, with thinking before them.
fn lengthened(mut conversation: Conversation) -> Conversation {
    for (number, message) in conversation.messages.iter_mut().enumerate() {
        for block in &mut message.blocks {
            if let Block::ToolResult(ToolResult { content, .. }) = block {
                content.push(Block::text("let value = \"quoted\";\n".repeat(1 + number * 97 % 400)));
            }
        }
        if message.role == Role::Assistant {
            let thinking = epitome_core::Thinking {
                text: "hm".into(),
                signature: Some("c2ln".into()),
                extra: Vec::new(),
            };
            message.blocks.insert(0, Block::Thinking(thinking));
        }
    }
    conversation
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_pruned_body_is_the_pruned_conversation(script in script(), bound in any::<bool>(), every in any::<bool>()) {
        let dialect = Dialect::Anthropic;
        let source = lengthened(script.in_dialect(dialect)).messages;
        let thinking = if bound { ThinkingRule::Bound } else { ThinkingRule::Free };
        let prune_mode = if every { PruneMode::EveryCall } else { PruneMode::Steps };
        let settings = Settings { prune_mode, clear_at_least: epitome_core::Tokens(500), ..Settings::default() };
        let text = body_text(dialect, &source);
        let body = Body::scan(dialect, &text).unwrap();
        let sketches = Sketches::new(counter(), 1_000);
        let pruning = Pruning { sketches: &sketches, settings: &settings, budget: Budget::default(), thinking };
        let pruned = pruning.of(&body, &[]).unwrap();

        let entry = |index: usize| Entry {
            outline: Arc::new(Outline::of(&source[index], &counter(), body.message(index).len())),
            time: None,
        };
        let path: Vec<_> = (0..source.len()).map(entry).collect();
        let mut sizes = MessageSizes::new(&source, |text: &str| counter().text(text));
        let plan = prune::plan(&path, &settings, Budget::default(), &mut sizes, thinking);
        let expected = prune::apply(&plan, &path, &source, epitome_core::Tokens(u64::MAX));
        prop_assert_eq!(messages_of(dialect, &pruned.text), expected);
        prop_assert_eq!(&pruned.plan.marks, &plan.marks);
        // Again, from what is remembered: the same bytes.
        prop_assert_eq!(pruning.of(&body, &[]).unwrap().text, pruned.text);
    }

    #[test]
    fn sketches_know_what_a_fresh_reader_finds(script in script()) {
        let counter = Counter::new(&CharsPerFour, ImagePricing::Anthropic);
        let sketches = Sketches::new(counter, 10_000);
        for dialect in Dialect::ALL {
            // Long enough for runs, and grown message by message at the end.
            let once = script.in_dialect(dialect).messages;
            let many: Vec<_> = once.iter().cycle().take(70).cloned().collect();
            for length in [31, 32, 33, 70, 40] {
                let text = body_text(dialect, &many[..length]);
                let body = Body::scan(dialect, &text).unwrap();
                let found = sketches.of(&body).unwrap();
                prop_assert_eq!(found.len(), body.messages().len());
                for (index, sketch) in found.iter().enumerate() {
                    let (message, layout) = decode_message(dialect, body.message(index)).unwrap();
                    prop_assert_eq!(&sketch.layout, &layout);
                    prop_assert_eq!(&*sketch.outline, &Outline::of(&message, &counter, body.message(index).len()));
                }
            }
        }
    }
}

#[test]
fn sketches_are_bounded_and_shared() {
    let sketches = Sketches::new(counter(), 8);
    assert!(sketches.is_empty());
    let text = body_of_all(Dialect::Chat, "");
    let body = Body::scan(Dialect::Chat, &text).unwrap();
    let first = sketches.of(&body).unwrap();
    assert!(sketches.len() <= 9, "{}", sketches.len());
    let again = sketches.of(&body).unwrap();
    assert!(Arc::ptr_eq(&first[0], &again[0]), "a run is remembered as a whole");
}

#[test]
fn the_same_bytes_in_another_dialect_are_read_anew() {
    let sketches = Sketches::new(counter(), 100);
    let text = r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x"}]}]}"#;
    let kind = |dialect| sketches.of(&Body::scan(dialect, text).unwrap()).unwrap()[0].outline.blocks[0].kind;
    assert_eq!(kind(Dialect::Anthropic), epitome_core::BlockKind::ToolResult);
    assert_eq!(kind(Dialect::Chat), epitome_core::BlockKind::Unknown);
    assert_eq!(kind(Dialect::Anthropic), epitome_core::BlockKind::ToolResult);
}

#[test]
fn a_message_that_cannot_be_read_is_named() {
    let sketches = Sketches::new(counter(), 100);
    let text = r#"{"messages":[{"role":"user","content":"a"},{"role":"wizard","content":"b"}]}"#;
    let error = sketches.of(&Body::scan(Dialect::Chat, text).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "message 1: not chat: unknown role \"wizard\"");
}

#[test]
fn what_needs_no_pruning_is_the_same_text() {
    let text = body_of_all(Dialect::Anthropic, " ");
    let body = Body::scan(Dialect::Anthropic, &text).unwrap();
    let sketches = Sketches::new(counter(), 100);
    let settings = Settings::default();
    let (budget, thinking) = (Budget::default(), ThinkingRule::Free);
    let pruned =
        Pruning { sketches: &sketches, settings: &settings, budget, thinking }.of(&body, &[]).unwrap();
    assert!(matches!(pruned.text, std::borrow::Cow::Borrowed(same) if same == text));
}

#[test]
fn all_dialects_are_pruned_alike() {
    let result = |number: usize| format!("line {number}\n").repeat(900);
    let mut messages = vec![Message::text(Role::User, "go")];
    for number in 0..12 {
        let id = format!("call_{number}");
        let call =
            epitome_core::ToolUse { id: id.clone(), name: "bash".into(), input: "{}".into(), extra: vec![] };
        messages.push(Message::new(Role::Assistant, vec![Block::ToolUse(call)]));
        let content = vec![Block::text(result(number))];
        let result = ToolResult { call_id: id, name: None, content, is_error: false, extra: vec![] };
        messages.push(Message::new(Role::User, vec![Block::ToolResult(result)]));
    }
    let source = Conversation { system: None, messages };
    let settings = Settings { prune_mode: PruneMode::EveryCall, ..Settings::default() };
    let mut texts = Vec::new();
    for dialect in Dialect::ALL {
        let sketches = Sketches::new(counter(), 100);
        let (budget, thinking) = (Budget::default(), ThinkingRule::Free);
        let pruning = Pruning { sketches: &sketches, settings: &settings, budget, thinking };
        let converted = convert(&source, Dialect::Anthropic, dialect).conversation;
        let text = body_text(dialect, &converted.messages);
        let pruned = pruning.of(&Body::scan(dialect, &text).unwrap(), &[]).unwrap();
        assert_eq!((pruned.plan.hard, pruned.plan.soft), (6, 4), "{dialect}");
        let pruned = Conversation { system: None, messages: messages_of(dialect, &pruned.text) };
        texts.push(convert(&pruned, dialect, Dialect::Anthropic).conversation.messages);
    }
    assert_eq!(texts[0], texts[1]);
    assert_eq!(texts[0], texts[2]);
}

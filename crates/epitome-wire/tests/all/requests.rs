//! Requests pruned on their way: the same as core prunes messages, by splices, and known messages known.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use epitome_core::prune::{self, Budget, MessageSizes, PruneMode, Settings, ThinkingRule};
use epitome_core::tokens::{Bpe, CharsPerFour, Counter, ImagePricing, Tokenizer};
use epitome_core::{Block, Chars, Entry, Message, Role, Thinking, Tokens, ToolResult};
use epitome_wire::check::{Rule, check_rewrite};
use epitome_wire::convert::{Conversation, convert};
use epitome_wire::{Body, Dialect, Pruning, Sketches, decode_message, encode_message};
use proptest::prelude::*;

use crate::bodies::body_of_all;
use crate::prune::assert_no_worse;
use crate::scripts::script;

fn counter() -> Counter {
    Counter::new(Bpe::o200k(), ImagePricing::Anthropic)
}

fn by_length() -> Counter {
    Counter::new(&CharsPerFour, ImagePricing::Anthropic)
}

/// A body of these messages, without any space.
pub(crate) fn body_text(dialect: Dialect, messages: &[Message]) -> String {
    let list: Vec<_> =
        messages.iter().flat_map(|message| encode_message(dialect, message).unwrap()).collect();
    let field = if dialect == Dialect::Responses { "input" } else { "messages" };
    format!(r#"{{"{field}":[{}],"model":"m"}}"#, list.join(","))
}

pub(crate) fn messages_of(dialect: Dialect, text: &str) -> Vec<Message> {
    let body = Body::scan(dialect, text).unwrap();
    (0..body.messages().len()).map(|index| decode_message(dialect, body.message(index)).unwrap().0).collect()
}

// Results long enough to be worth pruning, with thinking before them.
pub(crate) fn lengthened(dialect: Dialect, conversation: Conversation) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for (number, mut message) in conversation.messages.into_iter().enumerate() {
        for block in &mut message.blocks {
            if let Block::ToolResult(ToolResult { content, .. }) = block {
                content.push(Block::text("let value = \"quoted\";\n".repeat(1 + number * 97 % 400)));
            }
        }
        let opens = messages.last().is_none_or(|last| last.role != Role::Assistant);
        if message.role == Role::Assistant && opens {
            let signature = Some(format!("c2ln{number}"));
            let thinking = Block::Thinking(Thinking { text: "hm".into(), signature, extra: Vec::new() });
            match dialect {
                Dialect::Anthropic => message.blocks.insert(0, thinking),
                Dialect::Responses => messages.push(Message::new(Role::Assistant, vec![thinking])),
                // Chat Completions has no thinking.
                _ => {}
            }
        }
        messages.push(message);
    }
    messages
}

fn settings() -> impl Strategy<Value = Settings> {
    let zones = (1_usize..4, 0_usize..4);
    let limits = (proptest::option::of(1_000_usize..4_000), proptest::option::of(1_usize..40));
    (zones, limits, 0_usize..800, 0_u64..1_000, any::<bool>()).prop_map(
        |((keep, older), (cap, most), trim, gain, every_call)| Settings {
            tool_soft_trim_chars: Chars(2 * trim + 1),
            tool_soft_trim_head: Chars(trim),
            tool_soft_trim_tail: Chars(trim),
            keep_last_tool_results: keep,
            tool_hard_clear_after: keep + older,
            tool_result_max_chars: cap.map(Chars),
            max_message_chars: most.map(Chars),
            clear_at_least: Tokens(gain),
            prune_mode: if every_call { PruneMode::EveryCall } else { PruneMode::Steps },
            ..Settings::default()
        },
    )
}

fn budget() -> impl Strategy<Value = Budget> {
    let limits = (proptest::option::of(0_u64..6_000), proptest::option::of(0_usize..30_000));
    limits.prop_map(|(tokens, bytes)| Budget { tokens: tokens.map(Tokens), bytes, ..Budget::default() })
}

proptest! {
    #![proptest_config(crate::support::cases(48))]

    #[test]
    fn a_pruned_body_is_the_pruned_conversation(
        script in script(), settings in settings(), budget in budget(), bound in any::<bool>()
    ) {
        let thinking = if bound { ThinkingRule::Bound } else { ThinkingRule::Free };
        for dialect in Dialect::ALL {
            let source = lengthened(dialect, script.in_dialect(dialect));
            let text = body_text(dialect, &source);
            let body = Body::scan(dialect, &text).unwrap();
            let sketches = Sketches::new(by_length(), 1_000);
            let pruning = Pruning { sketches: &sketches, settings: &settings, budget, thinking };
            let pruned = pruning.of(&body, &[]).unwrap();

            let entry = |index: usize| {
                let (message, layout) = decode_message(dialect, body.message(index)).unwrap();
                Entry { outline: Arc::new(layout.outline(&message, &by_length())), time: None }
            };
            let path: Vec<_> = (0..source.len()).map(entry).collect();
            let mut sizes = MessageSizes::new(&source, |text: &str| by_length().text(text));
            let plan = prune::plan(&path, &settings, budget, &mut sizes, thinking);
            let expected = prune::apply(&plan, &path, &source, Tokens(u64::MAX));
            let after = messages_of(dialect, &pruned.text);
            prop_assert_eq!(&after, &expected);
            prop_assert_eq!(&pruned.plan, &plan);
            prop_assert!(pruned.text.len() <= text.len());

            // Whatever was valid is valid, and thinking was not tampered with.
            assert_no_worse(dialect, None, &source, &after);
            let mut refused = check_rewrite(dialect, &source, &after);
            refused.retain(|found| bound || found.rule != Rule::ThinkingBehindEditedPrefix);
            prop_assert!(refused.is_empty(), "{}: {:?}", dialect, refused);
            // Again, from what is remembered: the same bytes.
            prop_assert_eq!(pruning.of(&body, &[]).unwrap().text, pruned.text);
        }
    }

    #[test]
    fn sketches_know_what_a_fresh_reader_finds(script in script()) {
        let counter = by_length();
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
                    prop_assert_eq!(&*sketch.outline, &layout.outline(&message, &counter));
                    prop_assert_eq!(sketch.outline.bytes, body.message(index).len());
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
    let text = r#"{"messages":[{"role":"user","content":"a"},{"content":"b"}]}"#;
    let error = sketches.of(&Body::scan(Dialect::Chat, text).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "message 1: not chat: message has no role at byte 0");
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

/// Counts by length, and how many bytes it has been asked to count.
#[derive(Debug)]
struct Asked(AtomicUsize);

impl Tokenizer for Asked {
    fn name(&self) -> &'static str {
        "asked"
    }

    fn count(&self, text: &str) -> Tokens {
        self.0.fetch_add(text.len(), Ordering::Relaxed);
        CharsPerFour.count(text)
    }
}

#[test]
fn a_conversation_with_one_more_message_costs_that_message() {
    static ASKED: Asked = Asked(AtomicUsize::new(0));
    let sketches = Sketches::new(Counter::new(&ASKED, ImagePricing::Anthropic), 1_000);
    let messages: Vec<Message> =
        (0..100).map(|number| Message::text(Role::User, format!("message number {number}"))).collect();
    for length in 1..=messages.len() {
        let text = body_text(Dialect::Chat, &messages[..length]);
        let before = ASKED.0.load(Ordering::Relaxed);
        sketches.of(&Body::scan(Dialect::Chat, &text).unwrap()).unwrap();
        let counted = ASKED.0.load(Ordering::Relaxed) - before;
        assert_eq!(counted, format!("message number {}", length - 1).len());
    }
}

fn every_call() -> Settings {
    Settings { prune_mode: PruneMode::EveryCall, keep_last_tool_results: 1, ..Settings::default() }
}

#[test]
fn a_breakpoint_inside_a_pruned_result_moves_to_the_result() {
    let long = r"a line\n".repeat(1_000);
    let body = |first: &str| {
        let last = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"2","content":"ok"}]}"#;
        let call = |id| {
            format!(
                r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"a","input":{{}}}}]}}"#
            )
        };
        let results = format!(r#"{{"role":"user","content":[{first}]}}"#);
        format!(
            r#"{{"messages":[{{"role":"user","content":"go"}},{},{results},{},{last}]}}"#,
            call(1),
            call(2)
        )
    };
    let result = |own: &str| {
        format!(
            r#"{{"type":"tool_result","tool_use_id":"1"{own},"content":[{{"type":"text","text":"{long}","cache_control": {{"type":"ephemeral"}}}}],"is_error":false}}"#
        )
    };
    let prune = |text: &str| {
        let sketches = Sketches::new(by_length(), 100);
        let (budget, thinking) = (Budget::default(), ThinkingRule::Free);
        let pruning = Pruning { sketches: &sketches, settings: &every_call(), budget, thinking };
        let pruned = pruning.of(&Body::scan(Dialect::Anthropic, text).unwrap(), &[]).unwrap();
        assert_eq!(pruned.plan.soft, 1);
        assert_eq!(text.len() - pruned.text.len(), pruned.plan.before.bytes - pruned.plan.after.bytes);
        pruned.text.into_owned()
    };
    let moved = prune(&body(&result("")));
    assert!(moved.contains(r#"a line\n","cache_control":{"type":"ephemeral"},"is_error":false}"#), "{moved}");
    let own = prune(&body(&result(r#","cache_control":{"type":"own"}"#)));
    assert!(own.contains(r#"a line\n","is_error":false}"#) && own.contains(r#"{"type":"own"}"#), "{own}");
}

#[test]
fn a_byte_budget_counts_escapes_as_they_were_written() {
    let escaped = r"\u6f22".repeat(5_000);
    let mut list = vec![r#"{"role":"user","content":"go"}"#.to_owned()];
    for id in 1..4 {
        list.push(format!(r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"a","arguments":"{{}}"}}}}]}}"#));
        list.push(format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"{escaped}"}}"#));
    }
    let text = format!(r#"{{"messages":[{}]}}"#, list.join(","));
    let sketches = Sketches::new(by_length(), 100);
    let budget = Budget { bytes: Some(40_000), ..Budget::default() };
    let pruning =
        Pruning { sketches: &sketches, settings: &every_call(), budget, thinking: ThinkingRule::Free };
    let pruned = pruning.of(&Body::scan(Dialect::Chat, &text).unwrap(), &[]).unwrap();
    let commas_and_frame = text.len() - pruned.plan.before.bytes;
    assert_eq!(pruned.text.len() - commas_and_frame, pruned.plan.after.bytes);
    assert!(pruned.plan.soft == 2 && pruned.plan.after.bytes > 40_000);
    assert_eq!(pruned.plan.shortfall.bytes, pruned.plan.after.bytes - 40_000);
}

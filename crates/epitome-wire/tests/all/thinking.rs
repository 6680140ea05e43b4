//! Messages lose their thinking and nothing else.

use epitome_core::{Block, models};
use epitome_wire::{Dialect, decode_message, has_thinking, strip_thinking};

use crate::features;

#[test]
fn all_thinking_goes_and_every_other_byte_stays() {
    let cases = [
        (
            r#"{"role":"assistant", "content":[ {"type":"thinking","thinking":"a","signature":"s"} , {"type":"text","text":"caf\u00e9"}, {"type":"redacted_thinking","data":"x"}, {"type":"tool_use","id":"t","name":"n","input":{"thinking":1}} ]}"#,
            Some(
                r#"{"role":"assistant", "content":[ {"type":"text","text":"caf\u00e9"}, {"type":"tool_use","id":"t","name":"n","input":{"thinking":1}} ]}"#,
            ),
        ),
        (r#"{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"s"}]}"#, None),
        (
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"s"},{"type":"text","text":""}]}"#,
            None,
        ),
        (r#"{"role":"user","content":"thinking"}"#, Some(r#"{"role":"user","content":"thinking"}"#)),
        ("nonsense of thinking", Some("nonsense of thinking")),
    ];
    for (json, expected) in cases {
        assert_eq!(strip_thinking(Dialect::Anthropic, json).as_deref(), expected);
    }
    let item = r#"{"type":"reasoning","summary":[],"encrypted_content":"x"}"#;
    assert_eq!(strip_thinking(Dialect::Responses, item), None);
}

#[test]
fn every_feature_without_its_thinking() {
    for dialect in Dialect::ALL {
        for (name, json, _) in features::of(dialect) {
            let rest = |json: &str| {
                let mut blocks = decode_message(dialect, json).unwrap().0.blocks;
                blocks.retain(|block| !matches!(block, Block::Thinking(_) | Block::RedactedThinking(_)));
                blocks
            };
            match strip_thinking(dialect, json) {
                Some(bare) => {
                    assert!(!has_thinking(dialect, &bare), "{dialect} {name}");
                    assert_eq!(rest(&bare), rest(json), "{dialect} {name}");
                    assert!(has_thinking(dialect, json) || bare == *json, "{dialect} {name}");
                }
                None => assert_eq!(rest(json), [], "{dialect} {name}"),
            }
        }
    }
}

#[test]
fn models_that_bind_it_are_known_by_name() {
    let binds =
        |id: &str| models::ModelTable::default().get(id).model.thinking == models::ThinkingBinding::Prefix;
    for id in
        ["claude-fable-5-1", "claude-fable-5.1", "us.anthropic.claude-fable-5-1-v1:0", "claude-fable-5-3"]
    {
        assert!(binds(id), "{id}");
    }
    for id in ["claude-fable-5", "claude-opus-4-5", "gpt-5"] {
        assert!(!binds(id), "{id}");
    }
}

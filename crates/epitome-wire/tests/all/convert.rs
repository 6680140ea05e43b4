//! Conversions between dialects: what both can express arrives, and what cannot is named.

use epitome_core::{Block, Message, Role};
use epitome_wire::convert::{Conversation, Lost, convert};
use epitome_wire::{Dialect, check, decode_message, encode_message};
use proptest::prelude::*;

use crate::scripts::script;

/// The conversation through the bytes of its dialect.
fn through_bytes(dialect: Dialect, conversation: &Conversation) -> Conversation {
    let encoded = conversation.messages.iter().flat_map(|message| encode_message(dialect, message).unwrap());
    let messages = encoded.map(|json| decode_message(dialect, &json).unwrap().0).collect();
    Conversation { system: conversation.system.clone(), messages }
}

proptest! {
    #![proptest_config(crate::support::cases(128))]

    #[test]
    fn what_all_dialects_can_express_is_the_same_in_each(script in script()) {
        for from in Dialect::ALL {
            let source = script.in_dialect(from);
            prop_assert_eq!(&through_bytes(from, &source), &source, "{} writes and reads itself", from);
            for to in Dialect::ALL {
                let there = convert(&source, from, to);
                prop_assert_eq!(&there.losses, &[]);
                prop_assert_eq!(&there.conversation, &script.in_dialect(to), "{} to {}", from, to);
                let back = convert(&through_bytes(to, &there.conversation), to, from);
                prop_assert_eq!(&back.losses, &[]);
                prop_assert_eq!(&back.conversation, &source, "{} to {} and back", from, to);
            }
        }
    }

    #[test]
    fn what_is_converted_is_valid(script in script()) {
        for from in Dialect::ALL {
            let source = script.in_dialect(from);
            for to in Dialect::ALL {
                let there = convert(&source, from, to).conversation;
                let wrong = |dialect, conversation: &Conversation| {
                    let system = conversation.system.as_ref();
                    check::check(dialect, system, &conversation.messages).into_iter().map(|violation| violation.rule).collect::<Vec<_>>()
                };
                prop_assert_eq!(wrong(to, &there), wrong(to, &script.in_dialect(to)));
            }
        }
    }
}

fn read(dialect: Dialect, messages: &[&str]) -> Conversation {
    let messages = messages.iter().map(|json| decode_message(dialect, json).unwrap().0).collect();
    Conversation { system: None, messages }
}

fn written(dialect: Dialect, conversation: &Conversation) -> Vec<String> {
    conversation.messages.iter().flat_map(|message| encode_message(dialect, message).unwrap()).collect()
}

/// From, to, what is read, what is written, and what is lost.
type Case = (Dialect, Dialect, &'static str, &'static [&'static str], Vec<Lost>);

#[test]
fn what_cannot_be_expressed_is_named() {
    use Dialect::{Anthropic, Chat, Responses};
    let field = |name: &str| Lost::Field(name.to_owned());
    let block = |name: &str| Lost::Block(name.to_owned());
    let result = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","is_error":true,"content":[{"type":"text","text":"no"},{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}]}]}"#;
    let cases: Vec<Case> = vec![
        (
            Anthropic,
            Chat,
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"a"}]}"#,
            &[r#"{"role":"assistant","content":"a"}"#],
            vec![Lost::Thinking],
        ),
        (
            Anthropic,
            Responses,
            r#"{"role":"assistant","content":[{"type":"redacted_thinking","data":"x"}]}"#,
            &[],
            vec![Lost::Thinking],
        ),
        (
            Anthropic,
            Chat,
            result,
            &[
                r#"{"role":"tool","tool_call_id":"1","content":"no"}"#,
                r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}"#,
            ],
            vec![Lost::ErrorFlag, Lost::Place],
        ),
        (
            Anthropic,
            Responses,
            result,
            &[
                r#"{"type":"function_call_output","call_id":"1","output":[{"type":"input_text","text":"no"},{"type":"input_image","image_url":"https://example.com/a.png"}]}"#,
            ],
            vec![Lost::ErrorFlag],
        ),
        (
            Anthropic,
            Chat,
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}},{"type":"text","text":"a"}]}"#,
            &[
                r#"{"role":"assistant","content":"a","tool_calls":[{"type":"function","id":"1","function":{"name":"f","arguments":"{}"}}]}"#,
            ],
            vec![Lost::Order],
        ),
        (
            Anthropic,
            Chat,
            r#"{"role":"user","content":[{"type":"document","source":{"type":"url","url":"https://example.com/a.pdf"}},{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}"#,
            &[r#"{"role":"user","content":"a"}"#],
            vec![Lost::Media, field("cache_control")],
        ),
        (
            Anthropic,
            Responses,
            r#"{"role":"user","content":[{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"JVBE"}}]}"#,
            &[
                r#"{"type":"message","role":"user","content":[{"type":"input_file","file_data":"data:application/pdf;base64,JVBE","filename":"a.pdf"}]}"#,
            ],
            vec![],
        ),
        (
            Chat,
            Anthropic,
            r#"{"role":"user","name":"ann","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"low"}}]}"#,
            &[
                r#"{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}]}"#,
            ],
            vec![field("name"), field("detail")],
        ),
        (
            Chat,
            Responses,
            r#"{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AA","format":"wav"}}]}"#,
            &[
                r#"{"type":"message","role":"user","content":[{"type":"input_audio","input_audio":{"data":"AA","format":"wav"}}]}"#,
            ],
            vec![],
        ),
        (
            Chat,
            Responses,
            r#"{"role":"assistant","content":null,"refusal":"no"}"#,
            &[r#"{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}"#],
            vec![],
        ),
        (
            Responses,
            Chat,
            r#"{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}"#,
            &[r#"{"role":"assistant","content":null,"refusal":"no"}"#],
            vec![],
        ),
        (
            Chat,
            Anthropic,
            r#"{"role":"assistant","content":null,"refusal":"no"}"#,
            &[r#"{"role":"assistant","content":"no"}"#],
            vec![block("refusal")],
        ),
        (
            Responses,
            Chat,
            r#"{"type":"web_search_call","id":"w","status":"completed"}"#,
            &[],
            vec![Lost::ServerTool],
        ),
        (
            Responses,
            Anthropic,
            r#"{"type":"compaction","encrypted_content":"x"}"#,
            &[],
            vec![block("compaction")],
        ),
        (
            Responses,
            Anthropic,
            r#"{"type":"shell_call_output","call_id":"c","output":[{"stdout":"a"}]}"#,
            &[
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"{\"stdout\":\"a\"}"}]}"#,
            ],
            vec![field("type"), block("")],
        ),
        (
            Responses,
            Chat,
            r#"{"type":"function_call","id":"fc_1","status":"completed","call_id":"1","name":"f","arguments":"{}"}"#,
            &[
                r#"{"role":"assistant","content":null,"tool_calls":[{"type":"function","id":"1","function":{"name":"f","arguments":"{}"}}]}"#,
            ],
            vec![field("id"), field("status")],
        ),
        (
            Chat,
            Anthropic,
            r#"{"role":"assistant","content":"","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":""}}]}"#,
            &[r#"{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]}"#],
            vec![],
        ),
    ];
    for (from, to, json, expected, losses) in cases {
        let converted = convert(&read(from, &[json]), from, to);
        assert_eq!(written(to, &converted.conversation), expected, "{from} to {to}: {json}");
        let found: Vec<_> = converted.losses.into_iter().map(|loss| loss.what).collect();
        assert_eq!(found, losses, "{from} to {to}: {json}");
        assert!(found.iter().all(|what| !what.to_string().is_empty()));
    }
}

#[test]
fn custom_tools_and_legacy_functions_keep_their_results() {
    let chat = read(
        Dialect::Chat,
        &[
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"custom","custom":{"name":"patch","input":"*** Begin"}}]}"#,
            r#"{"role":"tool","tool_call_id":"1","content":"done"}"#,
        ],
    );
    let responses = convert(&chat, Dialect::Chat, Dialect::Responses);
    let items = written(Dialect::Responses, &responses.conversation);
    assert_eq!(
        items,
        [
            r#"{"type":"custom_tool_call","call_id":"1","name":"patch","input":"*** Begin"}"#,
            r#"{"type":"custom_tool_call_output","call_id":"1","output":"done"}"#
        ]
    );
    let back = convert(&responses.conversation, Dialect::Responses, Dialect::Chat);
    assert_eq!((back.conversation, back.losses), (chat, Vec::new()));

    let legacy = read(
        Dialect::Chat,
        &[
            r#"{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}"#,
            r#"{"role":"function","name":"f","content":"42"}"#,
        ],
    );
    let anthropic = convert(&legacy, Dialect::Chat, Dialect::Anthropic);
    assert_eq!(
        written(Dialect::Anthropic, &anthropic.conversation),
        [
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"f","input":{}}]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"42"}]}"#
        ]
    );
}

#[test]
fn instructions_find_their_place() {
    let messages = [
        Message::text(Role::System, "a"),
        Message::text(Role::Developer, "b"),
        Message::text(Role::User, "ask"),
        Message::text(Role::System, "c"),
        Message::text(Role::Assistant, "answer"),
        Message::text(Role::Developer, "d"),
    ];
    let chat = Conversation { system: None, messages: messages.to_vec() };
    let anthropic = convert(&chat, Dialect::Chat, Dialect::Anthropic);
    let system = Message::new(Role::System, vec![Block::text("a"), Block::text("b")]);
    assert_eq!(anthropic.conversation.system, Some(system));
    let roles: Vec<_> = anthropic.conversation.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::System, Role::Assistant, Role::User]);
    assert_eq!(
        anthropic.losses.iter().map(|loss| (loss.message, &loss.what)).collect::<Vec<_>>(),
        [(5, &Lost::Role)]
    );
    let responses = convert(&chat, Dialect::Chat, Dialect::Responses).conversation;
    assert_eq!(responses.system, Some(Message::text(Role::System, "a\n\nb")));
    let back = convert(&anthropic.conversation, Dialect::Anthropic, Dialect::Chat).conversation;
    assert_eq!(back.messages[0].blocks, [Block::text("a"), Block::text("b")]);
}

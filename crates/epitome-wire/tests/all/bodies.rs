//! Bodies: unchanged is byte-identical, and an edit changes only what it names.

use epitome_core::{Block, Message, Role};
use epitome_wire::json::check;
use epitome_wire::{
    Body, Dialect, Edit, Edits, Piece, WireError, canonical_digest, decode_message, encode_message,
};

use crate::features;

/// A body of all features of a dialect, laid out in one of several ways.
pub(crate) fn body_of_all(dialect: Dialect, separator: &str) -> String {
    let messages: Vec<_> =
        features::of(dialect).iter().map(|(_, json, _)| *json).filter(|json| json.starts_with('{')).collect();
    let list = messages.join(&format!("{separator},{separator}"));
    match dialect {
        Dialect::Responses => format!(
            "{{\"model\":\"m\",{separator}\"instructions\":\"be kind\",\"input\":{separator}[{list}{separator}]{separator},\"store\":false}}"
        ),
        Dialect::Anthropic => format!(
            "{separator}{{\"messages\":[{separator}{list}],\"system\":[{{\"type\":\"text\",\"text\":\"be kind\"}}],\"max_tokens\":10,\"stream\":true,\"tools\" : [ ]}}{separator}"
        ),
        _ => format!(
            "{{\"temperature\":1.0,\"messages\":{separator}[{list}],\"max_tokens\":7,\"model\":\"m\\u0061\"}}\n"
        ),
    }
}

fn keep_all(body: &Body<'_>) -> Vec<Piece<'static>> {
    (0..body.messages().len()).map(Piece::Keep).collect()
}

#[test]
fn every_feature_decodes_to_its_blocks_and_back() {
    for dialect in Dialect::ALL {
        let features = features::of(dialect);
        assert!(features.len() >= 25);
        for (name, json, kinds) in features {
            let (message, layout) =
                decode_message(dialect, json).unwrap_or_else(|error| panic!("{dialect} {name}: {error}"));
            let found: Vec<_> = message.blocks.iter().map(Block::kind).collect();
            assert_eq!(found, *kinds, "{dialect} {name}");
            assert_eq!(layout.blocks.len(), message.blocks.len(), "{dialect} {name}");
            for (place, block) in layout.blocks.iter().zip(&message.blocks) {
                assert!(check(place.block.of(json)).is_ok(), "{dialect} {name}");
                let text =
                    place.text.map(|span| serde_json::from_str::<serde_json::Value>(span.of(json)).unwrap());
                if let (Block::Text(block), Some(text)) = (block, text) {
                    assert_eq!(text, block.text.as_str(), "{dialect} {name}");
                }
            }
            let encoded = encode_message(dialect, &message).unwrap();
            assert_eq!(encoded.len(), 1, "{dialect} {name}");
            let (again, _) = decode_message(dialect, &encoded[0]).unwrap();
            assert_eq!(again, message, "{dialect} {name}: {}", encoded[0]);
        }
    }
}

#[test]
fn what_is_kept_is_identical() {
    for dialect in Dialect::ALL {
        for separator in ["", " ", "\n  ", "\r\n\t"] {
            let text = body_of_all(dialect, separator);
            let body = Body::scan(dialect, &text).unwrap();
            assert!(body.messages().len() >= 25);
            assert_eq!(body.encode(&keep_all(&body)).unwrap(), text);
            assert_eq!(Dialect::detect(&text), Some(dialect));
        }
    }
}

#[test]
fn an_empty_edit_is_no_edit() {
    for dialect in Dialect::ALL {
        let text = body_of_all(dialect, "\n");
        let body = Body::scan(dialect, &text).unwrap();
        let layouts: Vec<_> = (0..body.messages().len())
            .map(|index| decode_message(dialect, body.message(index)).unwrap().1)
            .collect();
        let pieces: Vec<_> = layouts
            .iter()
            .enumerate()
            .map(|(message, layout)| Piece::Edit { message, layout, edits: &[] })
            .collect();
        assert_eq!(body.encode(&pieces).unwrap(), text);
    }
}

#[test]
fn an_edit_changes_only_the_named_text() {
    for dialect in Dialect::ALL {
        for (name, json, _) in features::of(dialect) {
            let (message, layout) = decode_message(dialect, json).unwrap();
            for (index, place) in layout.blocks.iter().enumerate() {
                let Some(span) = place.text else { continue };
                let edits: Edits = vec![(index, Edit::Text("short \"quoted\"\n\u{1F600}".into()))];
                let expected = format!(
                    "{}\"short \\\"quoted\\\"\\n\u{1F600}\"{}",
                    &json[..span.start],
                    &json[span.end..]
                );
                let field = if dialect == Dialect::Responses { "input" } else { "messages" };
                let text = format!("{{\"{field}\":[ {json} ]}}");
                let body = Body::scan(dialect, &text).unwrap();
                let piece = Piece::Edit { message: 0, layout: &layout, edits: &edits };
                assert_eq!(
                    body.encode(&[piece]).unwrap(),
                    format!("{{\"{field}\":[ {expected} ]}}"),
                    "{name}"
                );
                // Read again, nothing but the text of that block differs: unknown fields are still there.
                let (again, _) = decode_message(dialect, &expected).unwrap();
                assert_eq!(again.extra, message.extra, "{name}");
                assert_eq!(again.blocks.len(), message.blocks.len(), "{name}");
                for (other, (new, old)) in again.blocks.iter().zip(&message.blocks).enumerate() {
                    match (other == index, new, old) {
                        (true, Block::Text(new), Block::Text(old)) => assert_eq!(new.extra, old.extra),
                        (true, Block::ToolResult(new), Block::ToolResult(old)) => {
                            assert_eq!(new.joined_text(), "short \"quoted\"\n\u{1F600}");
                            assert_eq!(
                                (&new.extra, &new.call_id, new.is_error),
                                (&old.extra, &old.call_id, old.is_error)
                            );
                        }
                        (true, ..) => panic!("{name}: only texts and tool results have text"),
                        (false, new, old) => assert_eq!(new, old),
                    }
                }
            }
        }
    }
}

#[test]
fn tool_results_of_clients_can_be_edited_and_of_providers_cannot() {
    for dialect in Dialect::ALL {
        for (name, json, _) in features::of(dialect) {
            let (message, layout) = decode_message(dialect, json).unwrap();
            for (block, place) in message.blocks.iter().zip(&layout.blocks) {
                match block {
                    Block::Text(_) => assert!(place.text.is_some(), "{name}"),
                    Block::ToolResult(result) => {
                        let fixed = ["shell output", "computer output", "tool search output"].contains(name);
                        assert_eq!(
                            place.text.is_some(),
                            !result.content.is_empty() && !fixed || json.contains(r#""content":[]"#),
                            "{name}"
                        );
                    }
                    _ => assert_eq!(place.text, None, "{name}"),
                }
            }
        }
    }
}

#[test]
fn removed_blocks_take_their_comma_along() {
    let json = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"a"}, {"type":"text","text":"b"} ,{"type":"text","text":"c"}]}"#;
    let (_, layout) = decode_message(Dialect::Anthropic, json).unwrap();
    let text = format!(r#"{{"messages":[{json}]}}"#);
    let body = Body::scan(Dialect::Anthropic, &text).unwrap();
    let cases: [(&[usize], &str); 4] = [
        (&[0], r#"[{"type":"text","text":"b"} ,{"type":"text","text":"c"}]"#),
        (&[1], r#"[{"type":"thinking","thinking":"a"}, {"type":"text","text":"c"}]"#),
        (&[2], r#"[{"type":"thinking","thinking":"a"}, {"type":"text","text":"b"} ]"#),
        (&[0, 2], r#"[{"type":"text","text":"b"} ]"#),
    ];
    for (removed, content) in cases {
        let edits: Edits = removed.iter().map(|block| (*block, Edit::Remove)).collect();
        let piece = Piece::Edit { message: 0, layout: &layout, edits: &edits };
        let expected = format!(r#"{{"messages":[{{"role":"assistant","content":{content}}}]}}"#);
        assert_eq!(body.encode(&[piece]).unwrap(), expected);
    }
}

#[test]
fn a_removed_bare_string_leaves_null_beside_the_calls() {
    let json = r#"{"role":"assistant","content":"thinking aloud","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
    let (_, layout) = decode_message(Dialect::Chat, json).unwrap();
    let text = format!(r#"{{"messages":[{json}]}}"#);
    let body = Body::scan(Dialect::Chat, &text).unwrap();
    let edits = [(0, Edit::Remove)];
    let written = body.encode(&[Piece::Edit { message: 0, layout: &layout, edits: &edits }]).unwrap();
    assert_eq!(written, text.replace(r#""thinking aloud""#, "null"));
}

#[test]
fn a_removed_block_that_is_the_message_drops_it() {
    let text = r#"{"input":[{"role":"user","content":"a"}, {"type":"reasoning","id":"r","summary":[]}, {"role":"user","content":"b"}]}"#;
    let body = Body::scan(Dialect::Responses, text).unwrap();
    let (_, layout) = decode_message(Dialect::Responses, body.message(1)).unwrap();
    let edits = [(0, Edit::Remove)];
    let pieces = [Piece::Keep(0), Piece::Edit { message: 1, layout: &layout, edits: &edits }, Piece::Keep(2)];
    let expected = r#"{"input":[{"role":"user","content":"a"}, {"role":"user","content":"b"}]}"#;
    assert_eq!(body.encode(&pieces).unwrap(), expected);
}

#[test]
fn messages_are_dropped_added_and_moved() {
    let message = |text: &str| format!(r#"{{"role":"user","content":"{text}"}}"#);
    let (a, b, c) = (message("a"), message("b"), message("c"));
    let new = Message::text(Role::Assistant, "n");
    let n = r#"{"role":"assistant","content":"n"}"#;
    let text = format!("{{\"messages\": [\n {a},\n {b},\n {c}\n], \"model\":\"m\"}}");
    let body = Body::scan(Dialect::Chat, &text).unwrap();
    use Piece::{Keep, New};
    let cases: [(&[Piece<'_>], String); 8] = [
        (&[], "\n \n".into()),
        (&[Keep(1), Keep(2)], format!("\n {b},\n {c}\n")),
        (&[Keep(0), Keep(2)], format!("\n {a},\n {c}\n")),
        (&[Keep(0), Keep(1)], format!("\n {a},\n {b}\n")),
        (&[Keep(1)], format!("\n {b}\n")),
        (&[New(&new), Keep(0)], format!("\n {n},{a}\n")),
        (&[Keep(0), New(&new), Keep(1)], format!("\n {a},{n},\n {b}\n")),
        (&[Keep(2), Keep(0)], format!("\n {c},{a}\n")),
    ];
    for (pieces, list) in cases {
        assert_eq!(body.encode(pieces).unwrap(), format!("{{\"messages\": [{list}], \"model\":\"m\"}}"));
    }
    assert_eq!(body.encode(&[Keep(3)]), Err(WireError::NoSuchMessage { index: 3, count: 3 }));
    assert_eq!(
        body.encode(&[Keep(usize::MAX)]),
        Err(WireError::NoSuchMessage { index: usize::MAX, count: 3 })
    );
    let empty = Body::scan(Dialect::Chat, r#"{"messages":[ ]}"#).unwrap();
    assert_eq!(empty.encode(&[New(&new)]).unwrap(), format!(r#"{{"messages":[ {n}]}}"#));
}

#[test]
fn a_bare_input_becomes_a_list_when_it_has_to() {
    let text = r#"{"input": "hello" ,"model":"m"}"#;
    let body = Body::scan(Dialect::Responses, text).unwrap();
    assert_eq!(body.messages().len(), 1);
    assert_eq!(body.encode(&[Piece::Keep(0)]).unwrap(), text);
    let (message, layout) = decode_message(Dialect::Responses, body.message(0)).unwrap();
    assert_eq!(message, Message::text(Role::User, "hello"));
    let edits = [(0, Edit::Text("hi".into()))];
    let edited = body.encode(&[Piece::Edit { message: 0, layout: &layout, edits: &edits }]).unwrap();
    assert_eq!(edited, r#"{"input": "hi" ,"model":"m"}"#);
    let new = Message::text(Role::User, "x");
    let item = |text| format!(r#"{{"type":"message","role":"user","content":"{text}"}}"#);
    let both = format!(r#"{{"input": [{},{}] ,"model":"m"}}"#, item("hello"), item("x"));
    assert_eq!(body.encode(&[Piece::Keep(0), Piece::New(&new)]).unwrap(), both);
    let only = format!(r#"{{"input": [{}] ,"model":"m"}}"#, item("x"));
    assert_eq!(body.encode(&[Piece::New(&new)]).unwrap(), only);
}

#[test]
fn a_body_without_input_stays_as_it_is() {
    let text = r#"{"previous_response_id":"resp_1"}"#;
    let body = Body::scan(Dialect::Responses, text).unwrap();
    assert_eq!(body.encode(&[]).unwrap(), text);
    let new = Message::text(Role::User, "x");
    assert_eq!(body.encode(&[Piece::New(&new)]), Err(WireError::NoMessages { field: "input" }));
}

#[test]
fn fields_beside_the_messages_are_read() {
    let text = body_of_all(Dialect::Anthropic, " ");
    let body = Body::scan(Dialect::Anthropic, &text).unwrap();
    assert_eq!(body.system().unwrap(), Some(Message::text(Role::System, "be kind")));
    assert_eq!(
        (body.max_tokens(), body.stream(), body.tools_text(), body.model()),
        (Some(10), true, Some("[ ]"), None)
    );
    let text = body_of_all(Dialect::Responses, " ");
    let body = Body::scan(Dialect::Responses, &text).unwrap();
    assert_eq!(body.system().unwrap(), Some(Message::text(Role::System, "be kind")));
    assert_eq!(body.field("store"), Some("false"));
    let text = body_of_all(Dialect::Chat, " ");
    let body = Body::scan(Dialect::Chat, &text).unwrap();
    assert_eq!((body.model().as_deref(), body.max_tokens(), body.stream()), (Some("ma"), Some(7), false));
    assert_eq!(body.system().unwrap(), None);
}

#[test]
fn what_is_no_body_is_refused_with_a_reason() {
    let cases = [
        ("", "not JSON: unexpected end of JSON at byte 0"),
        ("[]", "not chat: body is not an object at byte 0"),
        ("{}", "not chat: body has no messages at byte 2"),
        (r#"{"messages":{}}"#, "not chat: messages are not an array at byte 12"),
        (r#"{"messages":[1,]}"#, "not JSON: unexpected comma before a closing bracket at byte 15"),
        (r#"{"messages":[] "a":1}"#, "not JSON: expected a comma or a closing bracket at byte 15"),
        (r#"{"messages":[]}}"#, "not JSON: unexpected text after the JSON value at byte 15"),
        ("\u{feff}{\"messages\":[]}", "not JSON: byte order mark before the JSON at byte 0"),
        (r#"{"messages":["#, "not JSON: unexpected end of JSON at byte 13"),
        (r#"{"messages":["a]}"#, "not JSON: string is never closed at byte 13"),
        (r#"{"messages":[nul]}"#, "not JSON: expected a JSON value at byte 13"),
        (r#"{"messages":[01]}"#, "not JSON: expected a comma or a closing bracket at byte 14"),
    ];
    for (text, reason) in cases {
        assert_eq!(Body::scan(Dialect::Chat, text).unwrap_err().to_string(), reason, "{text}");
    }
    let deep = format!(r#"{{"messages":[{}{}]}}"#, "[".repeat(600), "]".repeat(600));
    let error = Body::scan(Dialect::Chat, &deep).unwrap_err().to_string();
    assert!(error.starts_with("not JSON: nested deeper than 512 levels"), "{error}");
}

#[test]
fn what_is_no_message_is_refused_with_a_reason() {
    use Dialect::{Anthropic, Chat, Responses};
    let cases = [
        (Chat, "7", "not chat: message is not an object at byte 0"),
        (Chat, r#"{"content":"x"}"#, "not chat: message has no role at byte 0"),
        (Chat, r#"{"role":"user","content":7}"#, "not chat: content is neither text nor an array at byte 25"),
        (Anthropic, r#"{"role":"user"}"#, "not anthropic: message has no content at byte 0"),
        (Responses, "[]", "not responses: item is not an object at byte 0"),
        (Responses, r#"{"type":"message","content":""}"#, "not responses: message has no role at byte 0"),
        (
            Chat,
            "{\"role\":\"user\",\"content\":\"a\nb\"}",
            "not JSON: a string has a bad escape or a control character at byte 0",
        ),
        (
            Chat,
            r#"{"role":"user","content":"\x"}"#,
            "not JSON: a string has a bad escape or a control character at byte 0",
        ),
        (Chat, "{'role':'user'}", "not JSON: expected a quoted key at byte 1"),
    ];
    for (dialect, json, reason) in cases {
        let error = decode_message(dialect, json).unwrap_err().to_string();
        assert!(error.starts_with(reason), "{json}: {error}");
    }
}

#[test]
fn halves_of_characters_and_strangers_are_read() {
    use Dialect::{Anthropic, Chat, Responses};
    let cases = [
        (Chat, r#"{"role":"user","content":"a \ud800"}"#, "a \u{fffd}"),
        (Anthropic, r#"{"role":"user","content":"\udc00\ud800"}"#, "\u{fffd}\u{fffd}"),
        (
            Responses,
            r#"{"role":"user","content":[{"type":"input_text","text":"\ud800x\ud83d\ude00"}]}"#,
            "\u{fffd}x\u{1f600}",
        ),
        (Chat, r#"{"role":"wizard","content":"x"}"#, "x"),
        (Anthropic, r#"{"role":"tool","content":"y"}"#, "y"),
        (Responses, r#"{"type":"message","role":"critic","content":"z"}"#, "z"),
    ];
    for (dialect, json, said) in cases {
        let (message, layout) = decode_message(dialect, json).unwrap();
        assert_eq!((message.role, message.blocks.len()), (Role::User, 1), "{json}");
        assert!(matches!(&message.blocks[0], Block::Text(text) if text.text == said), "{json}");
        assert_eq!(layout.records.len(), 1, "{json}");
        let again = encode_message(dialect, &message).unwrap();
        assert_eq!(again.len(), 1, "{json}");
        let (read, _) = decode_message(dialect, &again[0]).unwrap();
        assert_eq!(canonical_digest(&read), canonical_digest(&message), "{json} {}", again[0]);
        let plain = Message::text(Role::User, said);
        let is_stranger = !json.contains(r#""role":"user""#);
        assert_eq!(canonical_digest(&plain) != canonical_digest(&message), is_stranger, "{json}");
    }
}

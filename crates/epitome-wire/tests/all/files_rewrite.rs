//! Writing files back: an edit changes its value and nothing else, a removal takes its record and no more.

use std::collections::{BTreeMap, BTreeSet};

use epitome_core::Block;
use epitome_wire::Edit;
use epitome_wire::files::{FileError, Format, ReadOptions, Transcript, read_all};

use crate::files::{FIXTURES, drawn, fixture};

fn read(text: &str, format: Format) -> Transcript {
    let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
    let mut read = read_all(text.as_bytes(), options).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(read.len(), 1, "{text}");
    read.remove(0)
}

fn all() -> Vec<(&'static str, Transcript)> {
    let all = FIXTURES.iter().flat_map(|(name, text)| {
        let read = read_all(text.as_bytes(), ReadOptions::default()).unwrap();
        read.into_iter().map(move |transcript| (*name, transcript))
    });
    all.collect()
}

fn edit(transcript: &Transcript, message: usize, block: usize, edit: Edit) -> Result<String, FileError> {
    transcript.rewrite(&BTreeMap::from([(message, vec![(block, edit)])]), &BTreeSet::new())
}

fn remove(transcript: &Transcript, messages: &[usize]) -> String {
    transcript.rewrite(&BTreeMap::new(), &messages.iter().copied().collect()).unwrap()
}

#[test]
fn an_edit_changes_its_value_and_nothing_else() {
    let new = "gone: \"x\"\n\u{1f9ed}";
    for (name, transcript) in all() {
        for (message, layout) in transcript.layouts.iter().enumerate() {
            for (block, _) in layout.blocks.iter().enumerate().filter(|(_, place)| place.text.is_some()) {
                let text = edit(&transcript, message, block, Edit::Text(new.to_owned())).unwrap();
                let again = read(&text, transcript.format);
                let mut expected = transcript.messages.clone();
                match &mut expected[message].blocks[block] {
                    Block::Text(text) => text.text = new.to_owned(),
                    Block::ToolResult(result) => result.content = vec![Block::text(new)],
                    other => panic!("{name}: {other:?} has no text"),
                }
                assert_eq!(again.messages, expected, "{name}, message {message}, block {block}");
                assert_eq!(again.threads, transcript.threads, "{name}");
            }
        }
    }
}

#[test]
fn bytes_around_an_edit_stay() {
    let transcript = read(fixture("anthropic.json"), Format::Anthropic);
    let text = edit(&transcript, 2, 0, Edit::Text("dark".into())).unwrap();
    assert_eq!(text, fixture("anthropic.json").replace("\"It burns.\"", "\"dark\""));
    let transcript = read(fixture("pi-linear.jsonl"), Format::Pi);
    let text = edit(&transcript, 2, 0, Edit::Text("cut".into())).unwrap();
    assert_eq!(text, fixture("pi-linear.jsonl").replace("\"41 hives.csv\"", "\"cut\""));
    let text = edit(&transcript, 10, 0, Edit::Text("cut".into())).unwrap();
    let mixed =
        r#"[{"type":"text","text":"id,hive"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}]"#;
    let cut = r#"[{"type":"text","text":"cut"}]"#;
    assert_eq!(text, fixture("pi-linear.jsonl").replace(mixed, cut), "pi reads nothing but arrays");
}

#[test]
fn copies_of_a_result_go_with_it() {
    let cases = [
        ("claude-code.jsonl", Format::ClaudeCode, 2, 0, "28 if month"),
        ("claude-code.jsonl", Format::ClaudeCode, 2, 1, "1 failed: test_leap_day"),
        ("codex.jsonl", Format::Codex, 4, 0, "08:10 late"),
        ("swe-agent.traj", Format::SweAgent, 3, 0, "def open(): pass"),
        ("swe-agent-tools.traj", Format::SweAgent, 3, 0, "It sticks."),
    ];
    for (name, format, message, block, output) in cases {
        assert!(fixture(name).matches(output).count() > 1, "{name} has copies");
        let text = edit(&read(fixture(name), format), message, block, Edit::Text("cleared".into())).unwrap();
        assert_eq!(text.matches(output).count(), 0, "{name}: {text}");
    }
}

#[test]
fn a_removed_message_leaves_the_rest() {
    for (name, transcript) in
        all().into_iter().filter(|(_, transcript)| transcript.format != Format::SweAgent)
    {
        for message in 0..transcript.messages.len() {
            // A call goes with its results, wherever those are.
            let calls: Vec<&str> = ids(&transcript, message, |block| match block {
                Block::ToolUse(call) => Some(&call.id),
                _ => None,
            });
            let mut gone = vec![message];
            gone.extend((0..transcript.messages.len()).filter(|at| {
                let answered = ids(&transcript, *at, |block| match block {
                    Block::ToolResult(result) => Some(&result.call_id),
                    _ => None,
                });
                answered.iter().any(|id| calls.contains(id))
            }));
            // Of a branch that was left, nothing may move to the main thread.
            let branches =
                transcript.threads.iter().skip(1).filter(|thread| thread.messages.contains(&message));
            gone.extend(branches.flat_map(|thread| &thread.messages));
            if gone.len() == transcript.messages.len() {
                continue;
            }
            let text = remove(&transcript, &gone);
            let again = read(&text, transcript.format);
            assert_eq!(words(&again, &[]), words(&transcript, &gone), "{name} without {gone:?}\n{text}");
        }
    }
}

// Neighbours may become one message, so what counts is the words of the main thread in their order.
fn words(transcript: &Transcript, without: &[usize]) -> Vec<String> {
    let kept = transcript.main().iter().filter(|at| !without.contains(at));
    let drawn = kept.map(|at| drawn(&transcript.messages[*at])[2..].to_owned());
    drawn.flat_map(|words| words.split('+').map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn ids(transcript: &Transcript, message: usize, id: impl Fn(&Block) -> Option<&String>) -> Vec<&str> {
    transcript.messages[message].blocks.iter().filter_map(id).map(String::as_str).collect()
}

#[test]
fn elements_go_with_their_commas() {
    let transcript = read(fixture("chat.json"), Format::Chat);
    let none = remove(&transcript, &[0, 1, 2, 3]);
    assert_eq!(
        none,
        r#"{"model":"gpt-5.5","messages":[],"tools":[{"type":"function","function":{"name":"lamp","parameters":{}}}]}"#
    );
    let transcript = read(fixture("messages.json"), Format::Messages);
    let middle = remove(&transcript, &[1]);
    let line = "  {\"role\": \"assistant\", \"content\": [{\"type\": \"text\", \"text\": \"Very.\"}]},\n";
    assert_eq!(middle, fixture("messages.json").replace(line, ""));
}

#[test]
fn links_are_tied_to_what_is_left() {
    let source = fixture("claude-code.jsonl");
    let transcript = read(source, Format::ClaudeCode);
    let line = |id: &str| {
        source.split_inclusive('\n').find(|line| line.contains(&format!("\"uuid\":\"{id}\""))).unwrap()
    };
    let stripped = edit(&transcript, 1, 0, Edit::Remove).unwrap();
    let expected =
        source.replace(line("a-1"), "").replace("\"parentUuid\":\"a-1\"", "\"parentUuid\":\"u-1\"");
    assert_eq!(stripped, expected, "a line of nothing but thinking goes");

    let without_reply = remove(&transcript, &[13]);
    assert!(without_reply.contains("\"leafUuid\":\"u-4\""), "the summary's leaf is the line before");
    let without_first = remove(&transcript, &[0]);
    assert!(without_first.contains("{\"parentUuid\":null,\"isSidechain\":false,\"userType\":\"external\",\"cwd\":\"/home/mara/tides\",\"sessionId\":\"7d1f0a52-0c4e-4c0a-9b7e-2f6f9d0f3a11\",\"version\":\"2.1.20\",\"gitBranch\":\"main\",\"uuid\":\"a-1\""));

    let transcript = read(fixture("pi-tree.jsonl"), Format::Pi);
    let text = remove(&transcript, &[7]);
    assert!(text.contains("\"firstKeptEntryId\":\"0000000a\""), "what was kept starts at what follows");
    assert!(text.contains("\"id\":\"0000000a\",\"parentId\":\"00000008\""));

    let transcript = read(fixture("pi-linear.jsonl"), Format::Pi);
    assert!(remove(&transcript, &[1, 2]).contains("\"firstKeptEntryIndex\":4"), "entries are counted anew");
}

#[test]
fn repeated_lines_change_together() {
    let user = r#"{"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","content":"ask"}}"#;
    let call = r#"{"type":"assistant","uuid":"2","parentUuid":"1","message":{"role":"assistant","id":"m","content":[{"type":"tool_use","id":"t","name":"look","input":{}}]}}"#;
    let result = r#"{"type":"user","uuid":"3","parentUuid":"2","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"long"}]},"toolUseResult":"long"}"#;
    let last = r#"{"type":"assistant","uuid":"4","parentUuid":"3","message":{"role":"assistant","id":"n","content":"done"}}"#;
    let file = [user, call, result, user, call, result, last].map(|line| format!("{line}\n")).concat();
    let transcript = read(&file, Format::ClaudeCode);
    assert_eq!(transcript.messages.len(), 4, "a repeated line is no second message");
    assert_eq!(
        edit(&transcript, 2, 0, Edit::Text("cut".into())).unwrap(),
        file.replace("\"long\"", "\"cut\"")
    );
    assert_eq!(
        remove(&transcript, &[1, 2]),
        [user, user, &last.replace("\"3\"", "\"1\"")].map(|line| format!("{line}\n")).concat()
    );
}

#[test]
fn impossible_changes_are_errors() {
    let transcript = read(fixture("claude-code.jsonl"), Format::ClaudeCode);
    let count = transcript.messages.len();
    assert!(
        matches!(edit(&transcript, count, 0, Edit::Remove), Err(FileError::NoSuchMessage(at)) if at == count)
    );
    assert!(matches!(
        edit(&transcript, 0, 7, Edit::Remove),
        Err(FileError::NotEditable { message: 0, block: 7 })
    ));
    let thinking = edit(&transcript, 1, 0, Edit::Text("other".into()));
    assert!(matches!(thinking, Err(FileError::NotEditable { message: 1, block: 0 })));
    let body = r#"{"model":"gpt-x","input":"hello"}"#;
    let transcript = read(body, Format::Responses);
    assert!(transcript.rewrite(&BTreeMap::new(), &BTreeSet::from([0])).is_err(), "the only input cannot go");
    assert_eq!(
        edit(&transcript, 0, 0, Edit::Text("bye".into())).unwrap(),
        r#"{"model":"gpt-x","input":"bye"}"#
    );
}

//! Messages kept one by one, and files put together again.

use std::collections::HashMap;
use std::fs;

use epitome_wire::files::{
    Format, Notation, ReadOptions, Transcript, frame_format, message_of, read_all, record_of, restore,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn read(text: &str) -> Vec<Transcript> {
    read_all(text.as_bytes(), ReadOptions::default()).unwrap()
}

/// The bodies of a thread, as they are kept.
fn bodies(transcript: &Transcript, thread: usize) -> Vec<String> {
    let kept = transcript.kept();
    let path = transcript.path(&transcript.threads[thread]);
    let mut bodies: Vec<String> = path.iter().map(|at| kept[*at].body.clone()).collect();
    if let (Some(first), Some(frame)) = (bodies.first_mut(), transcript.frame()) {
        first.insert_str(0, &frame);
    }
    bodies
}

fn restored(transcript: &Transcript, thread: usize) -> String {
    let bodies = bodies(transcript, thread);
    restore(transcript.notation(), &bodies.iter().map(String::as_str).collect::<Vec<_>>())
}

fn fixture(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/");
    fs::read_to_string(format!("{folder}{name}")).unwrap()
}

#[test]
fn lists_come_back_byte_for_byte() {
    let names = [
        "anthropic.json",
        "chat.json",
        "responses.json",
        "messages.json",
        "messages.jsonl",
        "conversations.jsonl",
        "swe-agent.traj",
        "swe-agent-tools.traj",
    ];
    for name in names {
        let text = fixture(name);
        let transcripts = read(&text);
        let all: String = transcripts.iter().map(|transcript| restored(transcript, 0)).collect();
        assert_eq!(all, text, "{name}");
        let bodies = bodies(&transcripts[0], 0);
        let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
        assert_eq!(frame_format(&bodies), Some(transcripts[0].format), "{name}");
    }
}

#[test]
fn lines_come_back_in_their_order() {
    for name in ["claude-code.jsonl", "pi-linear.jsonl", "pi-tree.jsonl", "codex.jsonl", "codex-bare.jsonl"] {
        let text = fixture(name);
        let transcript = &read(&text)[0];
        for thread in 0..transcript.threads.len() {
            let again = restored(transcript, thread);
            for line in again.lines() {
                assert!(text.lines().any(|other| other == line), "{name}: {line}");
            }
            let read_again = &read(&again)[0];
            let path = transcript.path(&transcript.threads[thread]);
            let messages: Vec<_> = path.iter().map(|at| &transcript.messages[*at].blocks).collect();
            let main = read_again.path(&read_again.threads[0]);
            let found: Vec<_> = main.iter().map(|at| &read_again.messages[*at].blocks).collect();
            assert_eq!(found, messages, "{name}, thread {thread}");
        }
    }
    let text = fixture("pi-linear.jsonl");
    let last = text.trim_end().lines().last().unwrap();
    assert!(restored(&read(&text)[0], 0).ends_with(&format!("{last}\n")));
}

#[test]
fn every_message_is_read_back_from_its_body() {
    for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for transcript in read(&text) {
            let shown =
                |at: &usize| transcript.threads.iter().any(|thread| transcript.path(thread).contains(at));
            for (at, kept) in transcript.kept().iter().enumerate().filter(|(at, _)| shown(at)) {
                let message = message_of(transcript.notation(), &kept.body).unwrap();
                // SWE-agent says in one entry what the next one means.
                if transcript.format != Format::SweAgent {
                    assert_eq!(message.blocks, transcript.messages[at].blocks, "{}", kept.body);
                }
            }
        }
    }
}

#[test]
fn equal_bodies_have_equal_digests() {
    let mut seen = HashMap::new();
    for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for kept in read(&text).iter().flat_map(Transcript::kept).filter(|kept| !kept.body.is_empty()) {
            assert_eq!(*seen.entry(kept.body).or_insert(kept.digest), kept.digest);
        }
    }
    // The same bytes in a list of another dialect.
    let plain = r#"{"role":"user","content":"hello"}"#;
    let telling = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x"}]}"#;
    let chat = &read(&format!("[{plain}]"))[0];
    let anthropic = &read(&format!("[{telling},{plain}]"))[0];
    assert_ne!(chat.notation(), anthropic.notation());
    assert_eq!(chat.kept()[0], anthropic.kept()[1]);
}

#[test]
fn numbers_of_notations_never_change() {
    let numbers = Notation::ALL.map(|notation| (notation, notation.number()));
    for (notation, number) in numbers {
        assert_eq!(Notation::from_number(number), Some(notation));
    }
    assert_eq!(numbers.map(|(_, number)| number), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(Notation::from_number(0), None);
}

fn message() -> impl Strategy<Value = String> {
    let role = prop_oneof![Just("user"), Just("assistant")];
    let text = prop_oneof!["[a-z ]{0,9}", "\\PC{0,6}"];
    (role, text, 0..3_usize).prop_map(|(role, text, spaces)| {
        let (gap, text) = (" ".repeat(spaces), serde_json::to_string(&text).unwrap());
        format!("{{{gap}\"role\":{gap}\"{role}\",\"content\":{text}{gap}}}")
    })
}

proptest! {
    #[test]
    fn any_list_comes_back(
        messages in vec(message(), 1..6), form in 0..4, between in prop_oneof![Just(","), Just(", "), Just(",\n  ")],
    ) {
        let list = messages.join(between);
        let text = match form {
            0 => format!("[{list}]"),
            1 => format!("{{\"id\": \"x\", \"messages\": [ {list} ], \"model\":\"m\"}}\n"),
            2 => format!("{{\"system\":\"s\",\"max_tokens\":5,\"messages\":[{list}]}}"),
            _ => messages.join("\n") + "\n",
        };
        let transcript = &read(&text)[0];
        prop_assert_eq!(&restored(transcript, 0), &text);
        for (kept, message) in bodies(transcript, 0).iter().zip(&messages) {
            prop_assert_eq!(record_of(kept), message);
        }
    }
}

//! Session files that are still being written, or were written twice.

use epitome_core::Block;
use epitome_wire::files::{ReadOptions, Transcript, read_all, restore};
use serde_json::{Value, json};

/// A line of a Claude Code session: id, parent, and the message or the fields of another line.
type Written = (&'static str, &'static str, Value);

fn session(lines: &[Written]) -> String {
    let line = |(id, parent, fields): &Written| {
        let mut line =
            json!({"uuid": id, "sessionId": "s", "parentUuid": (!parent.is_empty()).then_some(parent)});
        match fields.get("role") {
            Some(role) => (line["type"], line["message"]) = (role.clone(), fields.clone()),
            None => line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone()),
        }
        format!("{line}\n")
    };
    lines.iter().map(line).collect()
}

fn said(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text}]})
}

fn part(id: &str, reason: Option<&str>, block: Value) -> Value {
    json!({"role": "assistant", "id": id, "stop_reason": reason, "content": [block]})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "look", "input": {}})
}

fn result(id: &str) -> Value {
    json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "seen"}]})
}

fn read(text: &str) -> Transcript {
    read_all(text.as_bytes(), ReadOptions::default()).unwrap().remove(0)
}

fn words(transcript: &Transcript, thread: usize) -> Vec<String> {
    let path = transcript.path(&transcript.threads[thread]);
    let texts = |at: &usize| {
        let blocks = transcript.messages[*at].blocks.iter();
        blocks.filter_map(|block| if let Block::Text(text) = block { Some(text.text.as_str()) } else { None })
    };
    path.iter().map(|at| texts(at).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn a_conversation_that_is_written_twice_is_two_branches() {
    let file = session(&[
        ("u1", "", json!({"role": "user", "content": [text("Here is a chart."), text("What is it of?")]})),
        ("a1", "u1", part("m1", None, text("Of a bay."))),
        ("v1", "", said("Here is a chart.")),
        ("v2", "v1", said("What is it of?")),
        ("b1", "v2", part("m1", None, text("Of a bay."))),
        ("v3", "b1", said("Which bay?")),
        ("b2", "v3", part("m2", None, text("The northern one."))),
    ]);
    let transcript = read(&file);
    let first = ["Here is a chart. What is it of?", "Of a bay."];
    assert_eq!(words(&transcript, 0), [&first[..], &["Which bay?", "The northern one."]].concat());
    assert_eq!(words(&transcript, 1), first);
    let kept = transcript.kept();
    let path = transcript.path(&transcript.threads[0]);
    let bodies: Vec<&str> = path.iter().map(|at| kept[*at].body.as_str()).collect();
    let lines: Vec<&str> = file.lines().collect();
    assert_eq!(
        restore(transcript.notation(), &bodies).lines().collect::<Vec<_>>(),
        lines[2..],
        "no parent is missing"
    );
}

#[test]
fn parts_of_a_reply_may_stand_behind_results() {
    let transcript = read(&session(&[
        ("u1", "", said("Look at both.")),
        ("a1", "u1", part("m1", None, call("c1"))),
        ("r1", "a1", result("c1")),
        ("a2", "r1", part("m1", None, call("c2"))),
        ("r2", "a2", result("c2")),
    ]));
    assert_eq!(transcript.messages.iter().map(|message| message.blocks.len()).collect::<Vec<_>>(), [1, 2, 2]);
}

#[test]
fn a_reply_may_grow_until_something_says_that_it_ended() {
    let ask = ("u1", "", said("Well?"));
    let reply = |reason, block| ("a1", "u1", part("m1", reason, block));
    let cases: [(bool, Vec<Written>); 9] = [
        (true, vec![reply(None, text("Let me see."))]),
        (false, vec![reply(Some("end_turn"), text("All is well."))]),
        (
            true,
            vec![reply(Some("end_turn"), json!({"type": "thinking", "thinking": "Hm.", "signature": "s"}))],
        ),
        (true, vec![reply(Some("tool_use"), call("c1"))]),
        (true, vec![reply(None, call("c1")), ("r1", "a1", result("c1"))]),
        (false, vec![reply(None, text("All is well.")), ("u2", "a1", said("Good."))]),
        (
            false,
            vec![
                reply(None, text("Yes.")),
                ("t1", "a1", json!({"type": "system", "subtype": "turn_duration"})),
            ],
        ),
        (
            false,
            vec![
                reply(None, text("Yes.")),
                ("", "", json!({"type": "summary", "summary": "S", "leafUuid": "a1"})),
            ],
        ),
        (true, vec![reply(None, text("Yes.")), ("q1", "", json!({"type": "queue-operation"}))]),
    ];
    for (number, (may_grow, lines)) in cases.into_iter().enumerate() {
        let transcript = read(&session(&[vec![ask.clone()], lines].concat()));
        assert_eq!(transcript.may_grow(1), may_grow, "case {number}");
        assert!(!transcript.may_grow(0), "what the user says is there at once");
    }
}

#[test]
fn lines_behind_the_last_message_are_told() {
    let title = json!({"type": "summary", "summary": "Bays", "leafUuid": "u1"});
    let file = session(&[("u1", "", said("Well?")), ("", "", title)]);
    let (message, lines) = read(&file).trailing().unwrap();
    assert_eq!((message, lines.as_str()), (0, file.lines().nth(1).unwrap()));
    assert_eq!(read(file.lines().next().unwrap()).trailing(), None);
}

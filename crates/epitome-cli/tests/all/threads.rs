//! Branches and bound thinking: what a change in one place means for another.

use serde_json::{Value, json};

use crate::bodies::{DIALECTS, body, claude_thread, field, messages, words};
use crate::run::{Ran, epitome_with};

const BOUND: &str = "claude-fable-5-1";
const FREE: &str = "claude-opus-4-5";

fn compact(input: &str, extra: &[&str]) -> Ran {
    epitome_with(input.as_bytes(), &[&["compact", "-"], extra].concat())
}

fn report(input: &str, extra: &[&str]) -> Value {
    compact(input, &[&["--json"], extra].concat()).json()
}

fn ids(session: &str) -> Vec<String> {
    let id = |line: &str| serde_json::from_str::<Value>(line).unwrap()["uuid"].as_str().unwrap().to_owned();
    session.lines().map(id).collect()
}

fn names(prefix: &str, numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(|number| format!("{prefix}{number}")).collect()
}

const NONE: [&str; 4] = ["--strategy", "none", "--set", "max_conversation_messages=30"];

#[test]
fn a_branch_drops_nothing_that_is_not_its_own() {
    // The branch of forty messages leaves a conversation of ten, which then goes on with five others.
    let shared = claude_thread("m", None, FREE, &words(10, "user"));
    let branch = claude_thread("b", Some("m9"), FREE, &words(40, "user"));
    let main = claude_thread("n", Some("m9"), FREE, &words(5, "user"));
    let session = shared + &branch + &main;
    let ran = compact(&session, &NONE);
    assert_eq!(
        ran.text(),
        session,
        "the main thread is short, and the branch's beginning is the main thread's"
    );
}

#[test]
fn a_branch_that_is_cut_off_starts_with_the_user() {
    let shared = claude_thread("m", None, FREE, &words(9, "user"));
    let branch = claude_thread("b", Some("m8"), FREE, &words(5, "assistant"));
    let main = claude_thread("n", Some("m8"), FREE, &words(60, "assistant"));
    let session = shared + &branch + &main;
    let ran = compact(&session, &NONE);
    let expected = [names("b", 1..5), names("n", 31..60)].concat();
    assert_eq!(ids(ran.text()), expected, "{}", ran.stderr);
    let report = report(&session, &NONE);
    assert_eq!((&report["problems_before"], &report["problems_after"]), (&json!(0), &json!(0)), "{report}");
    assert_eq!(report["dropped"], 9 + 1 + 31);
    // A sub-agent shares nothing, so all of it is its own to drop.
    let side = claude_thread("s", None, FREE, &words(50, "user"))
        .replace("\"isSidechain\":false", "\"isSidechain\":true,\"agentId\":\"a1\"");
    let session = side + &claude_thread("m", None, FREE, &words(4, "user"));
    assert_eq!(ids(compact(&session, &NONE).text()), [names("s", 20..50), names("m", 0..4)].concat());
}

#[test]
fn thinking_that_is_bound_goes_from_every_branch() {
    let all = messages("anthropic", 12);
    // The main thread prunes the beginning only after the branch has left; the branch by itself would prune nothing.
    let shared = claude_thread("m", None, BOUND, &all[..5]);
    let branch_words = [
        json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "So.", "signature": "s"}, {"type": "text", "text": "Done."}]}),
        json!({"role": "user", "content": "Thanks."}),
    ];
    let branch = claude_thread("b", Some("m4"), BOUND, &branch_words);
    let main = claude_thread("n", Some("m4"), BOUND, &all[5..]);
    let session = shared + &branch + &main;
    let ran = compact(&session, &[]);
    assert!(ran.text().contains("[Tool output cleared"), "{}", ran.stderr);
    assert!(!ran.text().contains("\"thinking\":"), "{}", ran.stderr);
    let bound = report(&session, &[]);
    assert_eq!((&bound["thinking_removed"], &bound["problems_after"]), (&json!(13), &json!(0)), "{bound}");

    let free = session.replace(BOUND, FREE);
    let report = report(&free, &[]);
    assert_eq!((&report["thinking_removed"], &report["problems_after"]), (&json!(0), &json!(0)), "{report}");
    assert!(report["cleared"].as_u64().unwrap() > 0);
}

#[test]
fn dropping_the_oldest_strips_bound_thinking_too() {
    let mut all = messages("anthropic", 6);
    all.push(json!({"role": "assistant", "content": [{"type": "text", "text": "Done."}]}));
    let all = [all.clone(), all].concat();
    let report_of = |model: &str| {
        let session = claude_thread("m", None, model, &all);
        report(&session, &["--strategy", "none", "--set", "max_conversation_messages=14"])
    };
    let (bound, free) = (report_of(BOUND), report_of(FREE));
    assert_eq!((&bound["dropped"], &free["dropped"]), (&json!(14), &json!(14)));
    assert_eq!((&bound["problems_after"], &free["problems_after"]), (&json!(0), &json!(0)), "{bound}");
    assert_eq!(free["thinking_removed"], 0);
    assert!(bound["thinking_removed"].as_u64().unwrap() >= 6, "{bound}");
}

#[test]
fn the_model_of_a_request_body_counts() {
    for dialect in DIALECTS {
        let bound = body(dialect, BOUND, 12).to_string();
        let counted = epitome_with(bound.as_bytes(), &["count", "--json", "-"]).json();
        assert_eq!(counted["model"], "claude-fable-5.1", "{dialect}: {counted}");
        assert!(counted["model_tokens"].as_u64() > counted["tokens"].as_u64(), "{dialect}: {counted}");

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("body.json");
        std::fs::write(&file, &bound).unwrap();
        let from_file = crate::run::epitome(&["compact", file.to_str().unwrap()]);
        let from_file: Value = serde_json::from_str(from_file.text()).unwrap();
        let answer: Value = serde_json::from_str(compact(&bound, &[]).text()).unwrap();
        let (messages, report) = (&answer[field(dialect)], &answer["report"]);
        assert_eq!(&from_file[field(dialect)], messages, "{dialect}");
        assert_eq!(report["problems_after"], 0, "{dialect}: {report}");
        assert!(report["cleared"].as_u64().unwrap() > 0, "{dialect}: {report}");
        let has_thinking = dialect != "chat";
        assert_eq!(report["thinking_removed"], if has_thinking { 12 } else { 0 }, "{dialect}: {report}");
        let left = messages.to_string();
        assert!(!left.contains("\"thinking\":") && !left.contains("\"reasoning\""), "{dialect}: {left}");

        let free = compact(&body(dialect, FREE, 12).to_string(), &[]).json();
        assert_eq!(free["report"]["thinking_removed"], 0, "{dialect}");
    }
}

#[test]
fn a_reply_of_nothing_but_thinking_leaves_a_mark_only_where_it_must() {
    let mut body = body("anthropic", BOUND, 12);
    let thought = |number: usize| json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": format!("t{number}")}]});
    let said = json!({"role": "assistant", "content": [{"type": "text", "text": "Yes."}]});
    let asked = json!({"role": "user", "content": "Go on."});
    let messages = body["messages"].as_array_mut().unwrap();
    messages.extend([thought(1), asked.clone(), thought(2), said.clone(), asked]);
    let count = messages.len();
    let answer = compact(&body.to_string(), &[]).json();
    let after = answer["messages"].as_array().unwrap();
    assert_eq!(answer["report"]["problems_after"], 0, "{}", answer["report"]);
    assert_eq!(after.len(), count - 1, "the thought before an answer is left out whole");
    let mark = json!([{"type": "text", "text": "[thinking removed]"}]);
    assert_eq!(after[count - 5]["content"], mark, "between two user messages something must stand");
    assert_eq!(after[count - 3], said);
}

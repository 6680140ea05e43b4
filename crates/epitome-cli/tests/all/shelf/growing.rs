//! Importing a file while its tool writes it: whenever that is done and how often, the ledger ends the same.

use std::fs;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Desk, figures};
use crate::run::fixtures;

/// What an import must agree on: everything but ids and the time of recording.
fn told(desk: &Desk) -> Vec<Value> {
    let mut told: Vec<Value> = desk.sessions().iter().map(|session| summed_up(desk, session)).collect();
    told.sort_by_key(Value::to_string);
    told
}

fn summed_up(desk: &Desk, session: &Value) -> Value {
    let id = session["id"].as_str().unwrap();
    let exported = desk.run(&["export", id]);
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    let shared = &session["forked_from"]["messages"];
    let figures = ["agent", "label", "external", "chain", "turns", "messages", "compactions", "tokens"]
        .map(|key| session[key].clone());
    json!([figures, shared, String::from_utf8_lossy(&exported.stdout)])
}

fn import(desk: &Desk, file: &str) -> Value {
    desk.run(&["import", "--json", file]).json()
}

// Nobody has written to it for a while.
fn rest(path: &std::path::Path) {
    let long_ago = SystemTime::now() - Duration::from_secs(86_400);
    fs::File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
}

// Imports a file after every line, and another one once: both as long as it is new, and again when it has come to rest.
fn grows_into_the_same(name: &str, whole: &str) {
    let (desk, at_once) = (Desk::new(), Desk::new());
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let path = desk.folder.path().join(name);
    let file = path.to_str().unwrap();
    for end in 1..=lines.len() {
        fs::write(&path, lines[..end].concat()).unwrap();
        import(&desk, file);
    }
    import(&at_once, file);
    assert_eq!(told(&desk), told(&at_once), "{name} while it is new");
    rest(&path);
    import(&desk, file);
    import(&at_once, file);
    assert_eq!(told(&desk), told(&at_once), "{name} at rest");
    assert_eq!(figures(&import(&desk, file))[4], 0, "{name}: all is there");
    desk.is_sound();
}

#[test]
fn every_beginning_of_a_file_is_a_beginning_of_its_sessions() {
    for name in ["claude-code.jsonl", "pi-linear.jsonl", "pi-tree.jsonl", "codex.jsonl", "codex-bare.jsonl"] {
        grows_into_the_same(name, &fs::read_to_string(fixtures().join(name)).unwrap());
    }
}

const TIDES: &str = r#"{"type":"user","uuid":"u1","sessionId":"s","message":{"role":"user","content":"When is high tide?"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"s","message":{"id":"m1","role":"assistant","stop_reason":"end_turn","content":[{"type":"text","text":"At nine."}]}}
{"type":"user","uuid":"u2","parentUuid":"a1","sessionId":"s","message":{"role":"user","content":"And low tide?"}}
"#;

#[test]
fn what_waits_for_an_answer_is_left_and_said_to_be() {
    let desk = Desk::new();
    let path = desk.folder.path().join("tides.jsonl");
    let file = path.to_str().unwrap();
    fs::write(&path, TIDES).unwrap();
    let ran = desk.run(&["import", file]);
    assert!(ran.stderr.contains("left for the next import: 1 message that"), "{}", ran.stderr);
    assert_eq!(desk.sessions()[0]["messages"], 2);
    assert_eq!(figures(&desk.import(&[file])), [0, 0, 1, 0, 1], "--whole records it");
    let title = r#"{"type":"summary","summary":"Tides","leafUuid":"u2"}"#;
    let other = Desk::new();
    fs::write(&path, format!("{TIDES}{title}\n")).unwrap();
    rest(&path);
    import(&other, file);
    let id = other.sessions()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        other.run(&["export", &id]).text(),
        format!("{TIDES}{title}\n"),
        "what stands at the end comes back"
    );
    let answer = r#"{"type":"assistant","uuid":"a2","parentUuid":"u2","sessionId":"s","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"At three."}]}}"#;
    fs::write(&path, format!("{TIDES}{title}\n{answer}\n")).unwrap();
    rest(&path);
    import(&other, file);
    assert_eq!(other.run(&["export", &id]).text(), format!("{TIDES}{title}\n{answer}\n"), "and once only");
}

#[test]
fn agents_keep_what_they_import_apart_and_forks_have_names_of_their_own() {
    let desk = Desk::new();
    let line = |role: &str, text: &str| format!("{{\"role\":\"{role}\",\"content\":\"{text}\"}}\n");
    let begin = line("user", "Paint the hull.") + &line("assistant", "Which colour?");
    let red = begin.clone() + &line("user", "Red.") + &line("assistant", "Done.");
    desk.import_text(&red);
    desk.import_text(&(begin.clone() + &line("user", "Blue.") + &line("assistant", "Done.")));
    desk.import_text(&(begin + &line("user", "Red.") + &line("assistant", "No.")));
    let labels = |agent: &str| -> Vec<String> {
        let sessions = desk.run(&["sessions", "--json", "--agent", agent]).json_lines();
        sessions.iter().map(|session| session["label"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(labels("messages-jsonl"), ["Red.", "Blue.", "Paint the hull."]);
    let again = ["import", "--json", "--agent", "painter", "-"];
    assert_eq!(figures(&desk.run_with(red.as_bytes(), &again).json()), [1, 0, 0, 0, 4]);
    assert_eq!(figures(&desk.run_with(red.as_bytes(), &again).json()), [0, 0, 0, 1, 0]);
    assert_eq!(labels("painter"), ["Paint the hull."]);
    desk.is_sound();
}

/// What happens next in a session of Claude Code.
#[derive(Clone, Debug)]
enum Step {
    Prompt,
    Answer,
    /// So many calls, their results each behind its call or all behind the last.
    Calls(usize, bool),
    Compaction,
    /// The user goes back to what was said so many prompts before.
    Back(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Prompt),
        3 => Just(Step::Answer),
        3 => (1..3_usize, any::<bool>()).prop_map(|(count, apart)| Step::Calls(count, apart)),
        1 => Just(Step::Compaction),
        1 => (0..3_usize).prop_map(Step::Back),
    ]
}

/// A session file being written.
#[derive(Default)]
struct Writer {
    lines: Vec<String>,
    last: Option<usize>,
    /// The lines that prompts hang on.
    before: Vec<Option<usize>>,
    replies: usize,
}

impl Writer {
    fn line(&mut self, mut line: Value) {
        let number = self.lines.len();
        line["uuid"] = format!("line-{number}").into();
        line["parentUuid"] = self.last.map(|last| format!("line-{last}")).into();
        line["sessionId"] = "5e55-10".into();
        self.lines.push(format!("{line}\n"));
        self.last = Some(number);
    }

    fn user(&mut self, content: Value) {
        self.line(json!({"type": "user", "message": {"role": "user", "content": content}}));
    }

    fn part(&mut self, block: Value) {
        let id = format!("msg_{}", self.replies);
        let message =
            json!({"id": id, "role": "assistant", "model": "m", "stop_reason": null, "content": [block]});
        self.line(json!({"type": "assistant", "message": message}));
    }

    fn step(&mut self, step: &Step) {
        let number = self.lines.len();
        match step {
            Step::Prompt => {
                self.before.push(self.last);
                self.user(json!(format!("What about number {number}?")));
            }
            // Only what was asked is answered.
            Step::Answer | Step::Calls(..) if self.last.is_none() => {}
            Step::Answer => {
                self.replies += 1;
                self.part(json!({"type": "thinking", "thinking": "Well.", "signature": "s"}));
                self.part(json!({"type": "text", "text": format!("It is {number}.")}));
            }
            Step::Calls(count, apart) => {
                self.replies += 1;
                self.part(json!({"type": "text", "text": format!("Let me look at {number}.")}));
                let calls: Vec<String> = (0..*count).map(|call| format!("call-{number}-{call}")).collect();
                let result =
                    |id: &String| json!([{"type": "tool_result", "tool_use_id": id, "content": "seen"}]);
                for id in &calls {
                    self.part(json!({"type": "tool_use", "id": id, "name": "look", "input": {}}));
                    if !apart {
                        self.user(result(id));
                    }
                }
                calls.iter().filter(|_| *apart).for_each(|id| self.user(result(id)));
            }
            Step::Compaction => {
                self.line(json!({"type": "system", "subtype": "compact_boundary"}));
                let text = format!("Up to {number} all went well.");
                let message = json!({"role": "user", "content": text});
                self.line(json!({"type": "user", "isCompactSummary": true, "message": message}));
            }
            Step::Back(count) => {
                let place = self.before.len().checked_sub(count + 1);
                if let Some(before) = place.and_then(|place| self.before.get(place).copied()) {
                    self.last = before;
                    self.user(json!(format!("Rather, what about number {number}?")));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5, ..ProptestConfig::default() })]

    #[test]
    fn any_session_may_be_imported_as_it_is_written(steps in prop::collection::vec(step(), 3..8)) {
        let mut writer = Writer::default();
        writer.step(&Step::Prompt);
        steps.iter().for_each(|step| writer.step(step));
        grows_into_the_same("session.jsonl", &writer.lines.concat());
    }
}

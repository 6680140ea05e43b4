//! Summaries behind the live request: what was sent is sent again byte for byte, and nothing of it twice.

use std::sync::Arc;

use epitome_core::compact::SummaryRequest;
use epitome_core::digest::Digest;
use epitome_core::{Entry, Message, Outline, Role, Tokens};
use epitome_llm::summary::{Caps, ModelSummarizer, Rung, Written};
use epitome_llm::{Backoff, Models, Patience, Prefix};
use epitome_wire::{Dialect, encode_message};

use super::{GOOD, conversation, counter, request, runtime, tokens};
use crate::support::{APIS, client};
use crate::upstream::{Act, Reply, Request, Stop, Upstream};

/// How many messages of the path stay visible.
const STAY: usize = 1;

fn dialect(api: &str) -> Dialect {
    match api {
        "anthropic" => Dialect::Anthropic,
        "openai" => Dialect::Chat,
        _ => Dialect::Responses,
    }
}

/// The request that was sent last, in bytes that nobody would write twice by chance.
pub(super) fn prefix(api: &str, messages: &[Message]) -> Prefix {
    let dialect = dialect(api);
    let encoded = messages.iter().flat_map(|message| encode_message(dialect, message).unwrap());
    let spaced = encoded.map(|json| format!("{{ {}", json.strip_prefix('{').unwrap()));
    let system = r#""You  are \u0061n agent.""#.to_owned();
    let mut messages: Vec<String> = spaced.collect();
    if api == "openai" {
        messages.insert(0, format!(r#"{{ "role":"system","content":{system}}}"#));
    }
    Prefix {
        system: (api != "openai").then_some(system),
        tools: Some(r#"[{"name" : "bash", "z":1, "a":2}]"#.to_owned()),
        messages,
        fields: Vec::new(),
    }
}

fn write(
    upstream: &Upstream,
    api: &str,
    path: &[Message],
    previous: &[String],
    set: impl FnOnce(ModelSummarizer) -> ModelSummarizer,
) -> (String, Written) {
    let runtime = runtime();
    let mut backoff = Backoff::default();
    backoff.attempts = 1;
    let models = Models::with(vec![client(upstream, api)], backoff, Patience::default());
    let model = ModelSummarizer::new(Arc::new(models), runtime.handle.clone());
    let mut model = set(model.behind(prefix(api, path)));
    let entry = |message| Entry { outline: Outline::of(message, &counter(), 0).into(), time: None };
    let (entries, count) = (path.iter().map(entry).collect::<Vec<_>>(), |text: &str| tokens(text));
    let mut offline = Digest::new(&entries, path, &count);
    let cut = path.len() - STAY;
    let first = if previous.is_empty() { 0 } else { 5 };
    let request = SummaryRequest { range: 0..cut, first, ..request(path.get(first..cut).unwrap(), previous) };
    model.write_of(&request, &mut offline, path).unwrap()
}

fn same(model: ModelSummarizer) -> ModelSummarizer {
    model
}

/// The texts of the last message.
fn asked(request: &Request) -> String {
    let list = if request.path.contains("responses") { "input" } else { "messages" };
    request.body[list].as_array().unwrap().last().unwrap().to_string()
}

#[test]
fn what_was_sent_is_sent_again_and_not_quoted() {
    let path = conversation();
    for api in APIS {
        let upstream = Upstream::new(vec![Act::Say(Reply::new(GOOD).billed(9_000, 8_500))]);
        let (text, written) = write(&upstream, api, &path, &[], same);
        assert_eq!((written.rung, written.live), (Rung::Whole, true), "{api}: {written:?}");
        assert!(written.troubles.is_empty() && text.contains("**Use the chrono crate**"), "{written:?}");
        assert_eq!(written.spent.usage.cache_read, Tokens(8_500), "{api}");
        let sent = upstream.requests().remove(0);
        let live = prefix(api, &path);
        let messages = live.messages.join(",");
        for part in live.system.iter().chain(&live.tools).chain([&messages]) {
            assert!(sent.text.contains(part.as_str()), "{api}: {part}");
        }
        // The conversation stands there once, and behind it the question, which says where the summary ends.
        assert_eq!(sent.text.matches("Never touch src/generated.rs").count(), 1, "{api}");
        let asked = asked(&sent);
        assert!(asked.contains("call no tool") && asked.contains("## Conversation Dynamics"), "{api}");
        assert!(asked.contains("<<<stays") && asked.contains("Now write tests/dates.rs"), "{api}: {asked}");
        assert!(!asked.contains("<<<conversation"));
    }
}

#[test]
fn speakers_alternate_where_they_must() {
    let upstream = Upstream::new(vec![Act::say(GOOD)]);
    write(&upstream, "anthropic", &conversation(), &[], same);
    let sent = upstream.requests().remove(0);
    let roles: Vec<&str> = sent.body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|message| message["role"].as_str())
        .collect();
    let last = roles.get(roles.len() - 3..).unwrap();
    assert_eq!(last, ["user", "assistant", "user"]);
}

#[test]
fn changes_are_asked_for_behind_it_too() {
    let upstream = Upstream::new(vec![Act::say(
        r#"{"changes": [{"op": "add", "section": "done", "text": "The line limit stays at 4096 bytes"}]}"#,
    )]);
    let path = conversation();
    let (text, written) = write(&upstream, "openai", &path, &[GOOD.to_owned()], same);
    assert_eq!((written.rung, written.live), (Rung::Delta, true), "{written:?}");
    assert!(text.contains("The line limit stays at 4096 bytes"));
    assert!(asked(&upstream.requests().remove(0)).contains("<<<entries"));
}

#[test]
fn what_is_refused_or_ends_in_a_call_is_asked_in_the_usual_form() {
    let path = conversation();
    let cases = [
        ("a call", Act::Say(Reply::new(GOOD).stopped(Stop::Call))),
        ("refused", Act::refuse(400, "invalid_request_error", "messages: roles must alternate")),
        (
            "too large",
            Act::refuse(400, "invalid_request_error", "prompt is too long: 9000 tokens > 8000 maximum"),
        ),
        ("declined", Act::Say(Reply::new("no").stopped(Stop::Declined))),
        ("broken", Act::refuse(500, "api_error", "no")),
    ];
    for api in APIS {
        for (name, act) in &cases {
            let act = act.clone();
            let script = move |_: usize, request: &Request| match request.body["tools"].is_null() {
                true => Act::say(GOOD),
                false => act.clone(),
            };
            let upstream = Upstream::scripted(script);
            let (text, written) = write(&upstream, api, &path, &[], same);
            assert_eq!((written.rung, written.live), (Rung::Whole, false), "{api} {name}: {written:?}");
            assert!(written.troubles.iter().any(|trouble| trouble.starts_with("behind the live request")));
            assert!(text.contains("**Use the chrono crate**"));
            let last = upstream.requests().pop().unwrap();
            assert!(last.text.contains("<<<conversation"), "{api} {name}");
            // Once a tool was called, nobody asks there again.
            let expected = if *name == "declined" { 3 } else { 2 };
            assert_eq!(upstream.requests().len(), expected, "{api} {name}: {written:?}");
        }
    }
}

#[test]
fn what_has_no_room_or_no_money_left_is_not_asked_behind_it() {
    let path = conversation();
    let upstream = Upstream::new(vec![Act::say(GOOD)]);
    let (_, written) = write(&upstream, "openai", &path, &[], |model| model.window(Tokens(1_500)));
    assert!(!written.live && upstream.requests().iter().all(|sent| sent.body["tools"].is_null()));
    let upstream = Upstream::new(vec![Act::say(GOOD)]);
    let caps = Caps { tokens: Tokens(1_000), ..Caps::default() };
    let (_, written) = write(&upstream, "openai", &path, &[], |model| model.caps(caps));
    assert_eq!((written.rung, upstream.requests().len()), (Rung::Offline, 0));
}

// What the model repeats of messages that stay is not made up; what nobody said is, and goes.
#[test]
fn it_is_checked_like_every_other() {
    let mut path = conversation();
    path.push(Message::text(Role::Assistant, "I begin with tests/leap.rs and 29 February 2024."));
    let answer = format!("{GOOD}\n- tests/leap.rs is begun\n- The key is in /srv/vault/key.pem");
    let upstream = Upstream::new(vec![Act::say(&answer)]);
    let (text, written) = write(&upstream, "anthropic", &path, &[], same);
    assert!(written.live && written.invented == 1, "{written:?}");
    assert!(!text.contains("vault") && text.contains("tests/leap.rs"), "{text}");
}

const MARK: &str = r#""cache_control":{"type":"ephemeral"}"#;

/// A request of Anthropic's, each of whose messages came with a breakpoint when it was new.
fn marked(path: &[Message], thinking: &str, choice: &str) -> Prefix {
    let text = |role: &str, text: &str| {
        format!(r#"{{"role":"{role}","content":[{{"type":"text","text":"{text}",{MARK}}}]}}"#)
    };
    let roles = path.iter().map(|message| if message.role == Role::Assistant { "assistant" } else { "user" });
    let messages = roles.enumerate().map(|(number, role)| text(role, &format!("message {number}")));
    Prefix {
        system: Some(format!(r#"[{{"type":"text","text":"You are an agent.",{MARK}}}]"#)),
        tools: Some(format!(r#"[{{"name":"bash","input_schema":{{"type":"object"}},{MARK}}}]"#)),
        messages: messages.collect(),
        fields: vec![
            ("thinking".to_owned(), thinking.to_owned()),
            ("tool_choice".to_owned(), choice.to_owned()),
        ],
    }
}

fn write_behind(upstream: &Upstream, prefix: Prefix) -> Written {
    let path = conversation();
    write(upstream, "anthropic", &path, &[], |model| model.behind(prefix)).1
}

#[test]
fn what_the_cache_depends_on_is_sent_as_it_was() {
    let (thinking, choice) = (r#"{ "type":"enabled","budget_tokens":5000 }"#, r#"{"type" : "auto"}"#);
    let upstream = Upstream::new(vec![Act::say(GOOD)]);
    let written = write_behind(&upstream, marked(&conversation(), thinking, choice));
    assert!(written.live, "{written:?}");
    let sent = upstream.requests().remove(0);
    assert!(sent.text.contains(thinking) && sent.text.contains(choice), "{}", sent.text);
    // A model that thinks takes no temperature, and needs room for more than its thoughts.
    assert!(sent.body["temperature"].is_null() && sent.body["max_tokens"].as_u64() > Some(5_000));
    assert_eq!(sent.text.matches(MARK).count(), 4, "{}", sent.text);
    let prefix = marked(&conversation(), thinking, choice);
    for part in prefix.system.iter().chain(&prefix.tools) {
        assert!(sent.text.contains(part.as_str()), "{part}");
    }
    let last = sent.body["messages"].as_array().unwrap().last().unwrap();
    assert!(last.to_string().contains("cache_control"), "the question carries one itself");
}

#[test]
fn who_must_call_a_tool_is_not_asked_behind_it() {
    for (choice, is_live) in [
        (r#"{"type":"any"}"#, false),
        (r#"{"type":"tool","name":"bash"}"#, false),
        (r#""required""#, false),
        (r#""auto""#, true),
        ("null", true),
    ] {
        let upstream = Upstream::new(vec![Act::say(GOOD)]);
        let written = write_behind(&upstream, marked(&conversation(), "null", choice));
        assert_eq!(written.live, is_live, "{choice}: {written:?}");
        assert_eq!(upstream.requests().len(), 1, "{choice}: no call is wasted");
    }
}

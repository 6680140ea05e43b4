//! Files of other tools: every format read, drawn, and written back.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use epitome_core::{Block, Message, Tokens, Usage};
use epitome_wire::Dialect;
use epitome_wire::check::{Severity, check};
use epitome_wire::files::{Damage, FileError, Format, ReadOptions, Thread, Transcript, read_all};

macro_rules! fixtures {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../fixtures/", $name)))),*]
    };
}

/// Every fixture.
pub(crate) const FIXTURES: &[(&str, &str)] = fixtures![
    "anthropic.json",
    "chat.json",
    "claude-code.jsonl",
    "codex-bare.jsonl",
    "codex.jsonl",
    "conversations.jsonl",
    "messages.json",
    "messages.jsonl",
    "pi-linear.jsonl",
    "pi-tree.jsonl",
    "responses.json",
    "swe-agent-tools.traj",
    "swe-agent.traj",
];

pub(crate) fn fixture(name: &str) -> &'static str {
    FIXTURES.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no fixture {name}")).1
}

fn one(name: &str) -> Transcript {
    let mut read = read_all(fixture(name).as_bytes(), ReadOptions::default()).unwrap();
    assert_eq!(read.len(), 1, "{name}");
    read.remove(0)
}

fn lenient() -> ReadOptions {
    ReadOptions { damage: Damage::KeepGoing, ..ReadOptions::default() }
}

/// A message as `role:block+block`.
pub(crate) fn drawn(message: &Message) -> String {
    let block = |block: &Block| match block {
        Block::Text(text) => text.text.split_whitespace().next().unwrap_or("_").to_owned(),
        Block::ToolUse(call) => format!("{}#{}", call.name, call.id),
        Block::ToolResult(result) => format!("result#{}", result.call_id),
        Block::Thinking(_) => "~".to_owned(),
        Block::RedactedThinking(_) => "~~".to_owned(),
        other => format!("{:?}", other.kind()),
    };
    let blocks: Vec<String> = message.blocks.iter().map(block).collect();
    format!("{}:{}", &message.role.to_string()[..1], blocks.join("+"))
}

fn drawn_thread(transcript: &Transcript, thread: &Thread) -> String {
    let after = thread.after.map_or(String::new(), |after| format!(" after {after}"));
    let messages: Vec<String> =
        thread.messages.iter().map(|at| format!("{at}.{}", drawn(&transcript.messages[*at]))).collect();
    format!("{:?}{after}: {}", thread.kind, messages.join(" "))
}

#[track_caller]
fn shape(name: &str, dialect: Dialect, id: Option<&str>, expected: &[&str]) -> Transcript {
    let transcript = one(name);
    assert_eq!((transcript.dialect, transcript.id.as_deref()), (dialect, id));
    let threads: Vec<String> =
        transcript.threads.iter().map(|thread| drawn_thread(&transcript, thread)).collect();
    assert_eq!(threads, expected, "{name}: {threads:#?}");
    transcript
}

fn context(transcript: &Transcript, thread: usize) -> Vec<Message> {
    let context = transcript.context(&transcript.threads[thread]);
    context.into_iter().map(|at| transcript.messages[at].clone()).collect()
}

#[test]
fn formats_are_found() {
    let cases = [
        ("anthropic.json", Format::Anthropic),
        ("chat.json", Format::Chat),
        ("claude-code.jsonl", Format::ClaudeCode),
        ("codex-bare.jsonl", Format::Codex),
        ("codex.jsonl", Format::Codex),
        ("conversations.jsonl", Format::Conversations),
        ("messages.json", Format::Messages),
        ("messages.jsonl", Format::MessagesJsonl),
        ("pi-linear.jsonl", Format::Pi),
        ("pi-tree.jsonl", Format::Pi),
        ("responses.json", Format::Responses),
        ("swe-agent-tools.traj", Format::SweAgent),
        ("swe-agent.traj", Format::SweAgent),
    ];
    assert_eq!(cases.len(), FIXTURES.len());
    for (name, format) in cases {
        let text = fixture(name);
        let found = |bytes: &[u8]| read_all(bytes, lenient()).unwrap()[0].format;
        assert_eq!(found(text.as_bytes()), format, "{name}");
        assert_eq!(found(format!("\u{feff}{text}").as_bytes()), format, "{name} with a byte order mark");
        assert_eq!(found(text.replace('\n', "\r\n").as_bytes()), format, "{name} with Windows line ends");
        assert_eq!(found(&gzip(&[text])), format, "{name} gzipped");
    }
}

#[test]
fn formats_of_small_files() {
    let cases = [
        (r#"{"messages":[{"role":"user","content":"a"}]}"#, Some((Format::Messages, Dialect::Chat))),
        (
            r#"{"messages":[{"role":"user","content":"a"}],"budget":9,"system":"s"}"#,
            Some((Format::Messages, Dialect::Anthropic)),
        ),
        (
            r#"{"model":"claude-x","messages":[{"role":"user","content":"a"}]}"#,
            Some((Format::Anthropic, Dialect::Anthropic)),
        ),
        (
            r#"{"model":"gpt-x","messages":[{"role":"user","content":"a"}]}"#,
            Some((Format::Chat, Dialect::Chat)),
        ),
        (r#"{"model":"gpt-x","input":"hello"}"#, Some((Format::Responses, Dialect::Responses))),
        (
            r#"[{"type":"function_call","call_id":"1","name":"f","arguments":"{}"}]"#,
            Some((Format::Messages, Dialect::Responses)),
        ),
        (r#"{"role":"user","content":"a"}"#, Some((Format::MessagesJsonl, Dialect::Chat))),
        (
            r#"{"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","content":"a"}}"#,
            Some((Format::ClaudeCode, Dialect::Anthropic)),
        ),
        (r#"{"type":"message","message":{"role":"user","content":"a"}}"#, Some((Format::Pi, Dialect::Chat))),
        (r#"{"history":[{"role":"user","content":"a"}]}"#, Some((Format::SweAgent, Dialect::Chat))),
        (r#"{"name":"value"}"#, None),
        ("{}", None),
        ("[]", None),
        ("[1]", None),
        ("[{}]", None),
    ];
    for (text, expected) in cases {
        let read = read_all(text.as_bytes(), ReadOptions::default());
        match expected {
            Some(expected) => {
                let read = read.unwrap_or_else(|error| panic!("{text}: {error}"));
                assert_eq!((read[0].format, read[0].dialect), expected, "{text}");
                assert_eq!(read[0].messages.len(), 1, "{text}");
            }
            None => assert!(matches!(read, Err(FileError::UnknownFormat(_))), "{text}: {read:?}"),
        }
    }
}

#[test]
fn claude_code() {
    let id = Some("7d1f0a52-0c4e-4c0a-9b7e-2f6f9d0f3a11");
    let transcript = shape(
        "claude-code.jsonl",
        Dialect::Anthropic,
        id,
        &[
            "Main: 0.u:Why 1.a:~+I'll+Read#toolu_1+Bash#toolu_2 2.u:result#toolu_1+result#toolu_2 3.a:`days` \
             5.u:Yes.+Image+<system-reminder>The 6.a:Task#toolu_3 9.u:result#toolu_3 10.a:Fixed: 11.u:This+Now 13.a:Added",
            "Branch after 3: 4.u:No,",
            "Sidechain: 7.u:Find 8.a:Only",
        ],
    );
    let usage =
        Usage { input: Tokens(9), cache_read: Tokens(18000), cache_write: Tokens(640), output: Tokens(212) };
    let reply = &transcript.messages[1].meta;
    assert_eq!(reply.usage, Some(usage), "the last line's usage is the whole reply's, counted once");
    assert_eq!((reply.id.as_deref(), reply.model.as_deref()), (Some("msg_A"), Some("claude-opus-4-5")));
    assert_eq!(reply.time.map(|time| time.0), Some(1_772_438_407_000));
    assert_eq!(transcript.layouts[1].records.len(), 4);
    assert_eq!(transcript.threads[2].id, "a1b2");
    assert_eq!(transcript.path(&transcript.threads[1]), [0, 1, 2, 3, 4]);
    let compaction = &transcript.compactions[0];
    assert_eq!(
        (compaction.position, compaction.first_kept, compaction.tokens_before),
        (11, None, Some(Tokens(20270)))
    );
    assert!(compaction.summary.starts_with("This session continues"), "{compaction:?}");
    assert_eq!(transcript.context(&transcript.threads[0]), [11, 13]);
}

#[test]
fn pi_linear() {
    let id = Some("0f6a9f9e-5d1c-4a53-8b61-5d9a1a7f0c11");
    let transcript = shape(
        "pi-linear.jsonl",
        Dialect::Chat,
        id,
        &[
            "Main: 0.u:Count 1.a:~+Counting.+bash#t1 2.t:result#t1 3.a:Forty 4.u:And 6.u:ls+hives.csv 7.u:There 8.u:Go \
           9.a:read#t2 10.t:result#t2 11.a:Thirty-nine",
        ],
    );
    assert_eq!(drawn(&transcript.messages[5]), "a:", "a reply that broke off is a message, but of no thread");
    assert_eq!(transcript.messages[5].meta.usage, None);
    assert_eq!(transcript.messages[1].meta.usage.map(|usage| usage.total_input()), Some(Tokens(1584)));
    let compaction = &transcript.compactions[0];
    assert_eq!(
        (compaction.position, compaction.first_kept, compaction.tokens_before),
        (7, Some(4), Some(Tokens(1620)))
    );
    assert_eq!(transcript.context(&transcript.threads[0]), [7, 4, 6, 8, 9, 10, 11]);
}

#[test]
fn pi_tree() {
    let id = Some("5c1a3a52-9f0e-4b57-8a0f-7a3e0a1b2c3d");
    let transcript = shape(
        "pi-tree.jsonl",
        Dialect::Chat,
        id,
        &[
            "Main: 0.u:Draw 1.a:~~+draw#m1 2.t:result#m1 6.u:Tried 7.u:Black 8.u:A 9.u:It 10.a:Then",
            "Branch after 2: 3.a:Drawn 4.u:Too 5.a:Coloured.",
        ],
    );
    assert_eq!(transcript.context(&transcript.threads[0]), [8, 7, 9, 10]);
    assert_eq!(transcript.path(&transcript.threads[1]), [0, 1, 2, 3, 4, 5]);
    assert_eq!(transcript.threads[1].id, "00000007");
}

#[test]
fn codex() {
    let id = Some("019d5f00-1111-7222-8333-444455556666");
    let transcript = shape(
        "codex.jsonl",
        Dialect::Responses,
        id,
        &[
            "Main: 0.u:<environment_context> 1.u:Which 2.a:~ 3.a:shell#call_1 4.t:result#call_1 5.a:The 8.u:The 9.u:Tell \
             10.a:Told",
            "Branch after 5: 6.u:Cancel 7.a:Cancelled.",
        ],
    );
    let reply = &transcript.messages[3].meta;
    assert_eq!(reply.model.as_deref(), Some("gpt-5.5-codex"));
    assert_eq!(reply.usage.map(|usage| (usage.input, usage.cache_read)), Some((Tokens(1000), Tokens(8000))));
    assert_eq!(transcript.system.as_ref().map(drawn).as_deref(), Some("s:You"));
    assert_eq!(transcript.compactions[0].position, 8);

    let id = Some("5973b6c0-94b8-487b-a530-2aeb6098ae0e");
    let main = "Main: 0.u:Is 1.a:shell#call_9 2.t:result#call_9 3.a:It";
    shape("codex-bare.jsonl", Dialect::Responses, id, &[main]);
}

#[test]
fn swe_agent() {
    let text_only =
        "Main: 0.s:SETTING: 1.u:The 2.a:Look+cat#action-2 3.t:result#action-2 4.a:Done.+submit#action-4";
    shape("swe-agent.traj", Dialect::Chat, Some("swe_main"), &[text_only]);
    let calling = "Main: 0.s:SETTING: 1.u:The 2.a:Try+push#call_w1 3.t:result#call_w1 4.a:Oil";
    shape("swe-agent-tools.traj", Dialect::Chat, Some("windows"), &[calling]);
}

#[test]
fn bodies_and_lists() {
    let body = shape(
        "anthropic.json",
        Dialect::Anthropic,
        None,
        &["Main: 0.u:Light 1.a:Lighting.+lamp#toolu_l 2.u:result#toolu_l"],
    );
    assert_eq!(body.system.as_ref().map(drawn).as_deref(), Some("s:You"));
    assert!(body.tools.unwrap().as_str().starts_with(r#"[{"name": "lamp""#));
    shape("chat.json", Dialect::Chat, None, &["Main: 0.s:You 1.u:Light 2.a:lamp#call_l 3.t:result#call_l"]);
    shape("responses.json", Dialect::Responses, None, &["Main: 0.u:Light 1.a:lamp#call_l 2.t:result#call_l"]);
    shape("messages.json", Dialect::Anthropic, None, &["Main: 0.u:Is 1.a:Very. 2.u:Image"]);
    let lines =
        shape("messages.jsonl", Dialect::Chat, None, &["Main: 0.u:Ring 1.a:ring#b1 2.t:result#b1 3.a:Rung."]);
    assert_eq!(lines.messages[0].meta.time.map(|time| time.0), Some(1_778_051_289_000));
    let read = read_all(fixture("conversations.jsonl").as_bytes(), ReadOptions::default()).unwrap();
    let ids: Vec<_> = read.iter().map(|transcript| (transcript.id.as_deref(), transcript.dialect)).collect();
    assert_eq!(
        ids,
        [(Some("fog-1"), Dialect::Chat), (Some("fog-2"), Dialect::Anthropic), (Some("fog-3"), Dialect::Chat)]
    );
}

#[test]
fn what_the_model_sees_is_valid() {
    for (name, text) in FIXTURES {
        for transcript in read_all(text.as_bytes(), ReadOptions::default()).unwrap() {
            for thread in 0..transcript.threads.len() {
                let mut found =
                    check(transcript.dialect, transcript.system.as_ref(), &context(&transcript, thread));
                found.retain(|violation| violation.severity() == Severity::Error);
                assert!(found.is_empty(), "{name}, thread {thread}: {found:#?}");
            }
        }
    }
}

#[test]
fn a_format_can_be_forced() {
    let forced = |format, text: &str| {
        let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
        read_all(text.as_bytes(), options)
    };
    let one_line = r#"{"messages":[{"role":"user","content":"a"}]}"#;
    assert_eq!(forced(Format::Conversations, one_line).unwrap()[0].format, Format::Conversations);
    assert_eq!(forced(Format::Anthropic, one_line).unwrap()[0].dialect, Dialect::Anthropic);
    for format in [Format::Pi, Format::SweAgent, Format::MessagesJsonl, Format::Codex, Format::ClaudeCode] {
        let error = forced(format, one_line).unwrap_err();
        assert!(error.hint().is_some(), "{format}: {error}");
    }
}

#[test]
fn untouched_files_come_back_byte_for_byte() {
    for (name, text) in FIXTURES {
        for text in [(*text).to_owned(), text.replace('\n', "\r\n"), text.trim_end().to_owned()] {
            let read = read_all(text.as_bytes(), ReadOptions::default()).unwrap();
            let nothing =
                |transcript: &Transcript| transcript.rewrite(&BTreeMap::new(), &BTreeSet::new()).unwrap();
            assert_eq!(read.iter().map(nothing).collect::<String>(), text, "{name}");
        }
    }
}

fn gzip(members: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for member in members {
        let mut encoder = flate2::write::GzEncoder::new(&mut bytes, flate2::Compression::fast());
        encoder.write_all(member.as_bytes()).unwrap();
        encoder.finish().unwrap();
    }
    bytes
}

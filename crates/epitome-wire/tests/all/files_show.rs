//! Views written into files: what was read back is what the model would see.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use epitome_core::compact::{Compaction, Cuts, Level, Placement, Segment, SystemPlace, Wording, view};
use epitome_core::tokens::{Bpe, Counter, ImagePricing};
use epitome_core::turn::{is_plain_user_message, is_tool_result_message};
use epitome_core::{Block, Entry, Message, Outline, Role, ToolUse};
use epitome_wire::files::{Damage, ReadOptions, Transcript, read_all};

fn fixtures() -> Vec<(String, Transcript)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let options = ReadOptions { damage: Damage::KeepGoing, ..ReadOptions::default() };
        for transcript in read_all(&fs::read(&path).unwrap(), options).unwrap() {
            found.push((path.file_name().unwrap().to_str().unwrap().to_owned(), transcript));
        }
    }
    found
}

fn outlined(messages: &[Message]) -> Vec<Entry> {
    let counter = Counter::new(Bpe::o200k(), ImagePricing::Anthropic);
    let entry = |message| Entry { outline: Arc::new(Outline::of(message, &counter, 0)), time: None };
    messages.iter().map(entry).collect()
}

// Everything before the last plain user message, but for leading system messages, becomes a summary; where a person
// speaks only once, everything before the last reply that follows tool results.
fn summarised(path: &[Entry], placement: Placement) -> Option<Compaction> {
    let start = path.iter().take_while(|entry| entry.outline.role == Role::System).count();
    let exchange = path.iter().rposition(|entry| is_plain_user_message(&entry.outline));
    let is_reply = |at: &usize| {
        path[*at].outline.role == Role::Assistant && is_tool_result_message(&path[*at - 1].outline)
    };
    let reply = || (start + 2..path.len()).rev().find(is_reply);
    let cut = exchange.filter(|cut| *cut > start).or_else(reply)?;
    let summary = Segment::Summary {
        range: start..cut,
        text: "What \"was\" said.\n## So far".into(),
        level: Level::Rolling,
    };
    let leading = (start > 0).then_some(Segment::Verbatim { range: 0..start });
    let segments =
        leading.into_iter().chain([summary, Segment::Verbatim { range: cut..path.len() }]).collect();
    Some(Compaction { segments, placement, wording: Wording::default() })
}

// What a provider would be sent of a message, without what the file knows beside it.
fn said(messages: &[Message]) -> Vec<(Role, Vec<Block>)> {
    messages.iter().map(|message| (message.role, message.blocks.iter().map(bare).collect())).collect()
}

fn bare(block: &Block) -> Block {
    match block {
        Block::Text(text) => Block::text(text.text.clone()),
        // SWE-agent numbers its actions by their place.
        Block::ToolUse(call) if call.id.starts_with("action-") => {
            Block::ToolUse(ToolUse { id: String::new(), ..call.clone() })
        }
        other => other.clone(),
    }
}

// The main thread of what was written.
fn read_back(transcript: &Transcript, text: &str) -> Vec<(Role, Vec<Block>)> {
    let options =
        ReadOptions { damage: Damage::KeepGoing, format: Some(transcript.format), ..ReadOptions::default() };
    let back = read_all(text.as_bytes(), options).unwrap_or_else(|error| panic!("{error}\n{text}")).remove(0);
    let main: Vec<Message> = back.main().iter().map(|number| back.messages[*number].clone()).collect();
    said(&main)
}

#[test]
fn a_view_written_and_read_back_is_the_view() {
    let mut shown = 0;
    for (name, transcript) in fixtures() {
        let numbers = transcript.path(&transcript.threads[0]);
        let messages: Vec<Message> =
            numbers.iter().map(|number| transcript.messages[*number].clone()).collect();
        let path = outlined(&messages);
        let Some(compaction) = summarised(&path, Placement::Pair) else { continue };
        let view = view(&compaction, &path, &messages, SystemPlace::Outside);
        let text = transcript.show(&numbers, &view).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(read_back(&transcript, &text), said(&view.messages(&messages)), "{name}");
        shown += 1;
    }
    assert!(shown >= 8, "only {shown} fixtures were long enough");
}

// Only these messages are shown, with all that must stay with them; a summary stands for every stretch between them.
fn only(path: &[Entry], pins: &[usize]) -> Compaction {
    let leading = path.iter().take_while(|entry| entry.outline.role == Role::System).count();
    let mut segments = Vec::new();
    let mut at = 0;
    let shown = Cuts::of(path).pinned(&[&(0..leading).collect::<Vec<_>>(), pins].concat());
    for range in shown.into_iter().chain(std::iter::once(path.len()..path.len())) {
        if at < range.start {
            let text = format!("What was said from {at} on.");
            segments.push(Segment::Summary { range: at..range.start, text, level: Level::Rolling });
        }
        at = range.end;
        segments.extend((!range.is_empty()).then_some(Segment::Verbatim { range }));
    }
    Compaction { segments, placement: Placement::Pair, wording: Wording::default() }
}

// A summary between any two messages: often no message of its role gives way to it, or too few do.
#[test]
fn any_messages_can_be_shown_alone() {
    let mut shown = 0;
    for (name, transcript) in fixtures() {
        let numbers = transcript.path(&transcript.threads[0]);
        let messages: Vec<Message> =
            numbers.iter().map(|number| transcript.messages[*number].clone()).collect();
        let path = outlined(&messages);
        let pairs = (0..path.len()).flat_map(|left| (left..path.len()).map(move |right| [left, right]));
        for pins in pairs {
            let view = view(&only(&path, &pins), &path, &messages, SystemPlace::Outside);
            let text =
                transcript.show(&numbers, &view).unwrap_or_else(|error| panic!("{name} {pins:?}: {error}"));
            let back = read_back(&transcript, &text);
            assert_eq!(back, said(&view.messages(&messages)), "{name} {pins:?}");
            shown += 1;
        }
    }
    assert!(shown > 250, "{shown}");
}

// What leaves the main thread at a message that is no longer shown has lost its beginning.
#[test]
fn threads_that_lose_what_they_continue_go() {
    let line = |id: &str, parent: &str, message: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:00Z","message":{message}}}"#
        )
    };
    let user = |text: &str| format!(r#"{{"role":"user","content":"{text}"}}"#);
    let reply =
        |text: &str| format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}"#);
    let lines = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/"}"#.to_owned(),
        line("a0000001", "null", &user("one")),
        line("a0000002", r#""a0000001""#, &reply("two")),
        line("a0000003", r#""a0000002""#, &user("left early")),
        line("a0000004", r#""a0000003""#, &reply("a branch of a branch follows")),
        line("a0000005", r#""a0000004""#, &user("deeper")),
        line("a0000006", r#""a0000004""#, &user("deeper still")),
        line("a0000007", r#""a0000002""#, &user("three")),
        line("a0000008", r#""a0000007""#, &reply("four")),
        line("a0000009", r#""a0000008""#, &user("left late")),
        line("a000000a", r#""a0000008""#, &user("five")),
    ];
    let transcript = read_all(lines.join("\n").as_bytes(), ReadOptions::default()).unwrap().remove(0);
    let numbers = transcript.path(&transcript.threads[0]);
    let messages: Vec<Message> = numbers.iter().map(|number| transcript.messages[*number].clone()).collect();
    let path = outlined(&messages);
    let view = view(&only(&path, &[2, 3, 4]), &path, &messages, SystemPlace::Outside);
    let text = transcript.show(&numbers, &view).unwrap();
    assert_eq!(read_back(&transcript, &text), said(&view.messages(&messages)));
    let alone = transcript.show_alone(&numbers, &view).unwrap();
    assert_eq!(read_back(&transcript, &alone), said(&view.messages(&messages)));
    assert!(!alone.contains("left late"), "no other thread: {alone}");
    for (words, stays) in [
        ("left early", false),
        ("deeper", false),
        ("deeper still", false),
        ("left late", true),
        ("three", true),
    ] {
        assert_eq!(text.contains(&format!("\"{words}\"")), stays, "{words}: {text}");
    }
}

#[test]
fn showing_everything_changes_nothing() {
    for (name, transcript) in fixtures() {
        let numbers = transcript.path(&transcript.threads[0]);
        let messages: Vec<Message> =
            numbers.iter().map(|number| transcript.messages[*number].clone()).collect();
        let path = outlined(&messages);
        let view = view(&Compaction::verbatim(messages.len()), &path, &messages, SystemPlace::Outside);
        assert_eq!(transcript.show(&numbers, &view).unwrap(), transcript.text, "{name}");
    }
}

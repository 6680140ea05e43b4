//! Views written into files: what was read back is what the model would see.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use epitome_core::compact::{Compaction, Level, Placement, Segment, SystemPlace, Wording, view};
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
        let options = ReadOptions {
            damage: Damage::KeepGoing,
            format: Some(transcript.format),
            ..ReadOptions::default()
        };
        let back = read_all(text.as_bytes(), options)
            .unwrap_or_else(|error| panic!("{name}: {error}\n{text}"))
            .remove(0);
        let main: Vec<Message> = back.main().iter().map(|number| back.messages[*number].clone()).collect();
        assert_eq!(said(&main), said(&view.messages(&messages)), "{name}");
        shown += 1;
    }
    assert!(shown >= 8, "only {shown} fixtures were long enough");
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

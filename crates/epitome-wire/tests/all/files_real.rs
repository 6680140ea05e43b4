//! Real transcripts, where a folder of them is named by `EPITOME_TRANSCRIPTS`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use epitome_core::{Block, Message};
use epitome_wire::check::check;
use epitome_wire::files::{Damage, ReadOptions, Reader, ThreadKind, Transcript};
use epitome_wire::{Edit, Edits};

use crate::support::{read, recorded, report_use};

fn transcripts(path: &Path) -> impl Iterator<Item = Transcript> {
    let path = path.to_owned();
    read(&path).map(move |read| read.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

#[test]
fn real_files_are_read_and_written_back() {
    let mut count = 0;
    for path in recorded() {
        let (mut messages, mut broken) = (0, BTreeMap::new());
        let mut formats = BTreeSet::new();
        for transcript in transcripts(&path) {
            count += 1;
            messages += transcript.messages.len();
            formats.insert(transcript.format);
            let same = transcript.rewrite(&BTreeMap::new(), &BTreeSet::new()).unwrap();
            assert!(same == transcript.text, "{}: an untouched file changed", path.display());
            assert_eq!(transcript.messages.len(), transcript.layouts.len());
            assert!(!transcript.messages.is_empty(), "{}: no message found", path.display());
            blocks_stand_where_they_say(&transcript);
            edits_read_back(&transcript);
            thinking_can_be_stripped(&transcript);
            for thread in &transcript.threads {
                let context: Vec<Message> =
                    transcript.context(thread).iter().map(|at| transcript.messages[*at].clone()).collect();
                for violation in check(transcript.dialect, transcript.system.as_ref(), &context) {
                    *broken.entry((thread.kind == ThreadKind::Main, violation.rule.name())).or_insert(0) += 1;
                }
            }
            for damaged in &transcript.damage {
                println!("{}: {damaged}", path.display());
            }
        }
        println!("{}: {formats:?}, {messages} messages, {broken:?}", path.display());
    }
    report_use("files written back", count);
}

fn blocks_stand_where_they_say(transcript: &Transcript) {
    for (message, layout) in transcript.messages.iter().zip(&transcript.layouts) {
        assert_eq!(message.blocks.len(), layout.blocks.len());
        for (block, place) in message.blocks.iter().zip(&layout.blocks) {
            if let (Block::Text(text), Some(span)) = (block, place.text) {
                let written: String = serde_json::from_str(span.of(&transcript.text)).unwrap();
                assert_eq!(written, text.text);
            }
        }
    }
}

// Replaces every tool result, and checks that nothing else differs afterwards.
fn edits_read_back(transcript: &Transcript) {
    let mut edits: BTreeMap<usize, Edits> = BTreeMap::new();
    let mut expected = transcript.messages.clone();
    for (at, message) in expected.iter_mut().enumerate() {
        for (place, block) in message.blocks.iter_mut().enumerate() {
            if let Block::ToolResult(result) = block
                && transcript.layouts[at].blocks[place].text.is_some()
            {
                result.content = vec![Block::text("cleared \"here\"")];
                edits.entry(at).or_default().push((place, Edit::Text("cleared \"here\"".to_owned())));
            }
        }
    }
    let text = transcript.rewrite(&edits, &BTreeSet::new()).unwrap();
    let options =
        ReadOptions { format: Some(transcript.format), damage: Damage::KeepGoing, ..ReadOptions::default() };
    let again: Vec<Transcript> = Reader::new(text.as_bytes(), options).map(Result::unwrap).collect();
    assert_eq!(again.len(), 1);
    assert!(again[0].messages == expected, "{:?}: an edit changed more than it should", transcript.id);
    assert_eq!(again[0].threads, transcript.threads);
}

// Strips every thinking block, as a rewrite before bound thinking must.
fn thinking_can_be_stripped(transcript: &Transcript) {
    let is_thinking = |block: &Block| matches!(block, Block::Thinking(_) | Block::RedactedThinking(_));
    let mut edits: BTreeMap<usize, Edits> = BTreeMap::new();
    for (at, message) in transcript.messages.iter().enumerate() {
        for (place, _) in message.blocks.iter().enumerate().filter(|(_, block)| is_thinking(block)) {
            edits.entry(at).or_default().push((place, Edit::Remove));
        }
    }
    let text = transcript.rewrite(&edits, &BTreeSet::new()).unwrap();
    let options =
        ReadOptions { format: Some(transcript.format), damage: Damage::KeepGoing, ..ReadOptions::default() };
    let again: Vec<Transcript> = Reader::new(text.as_bytes(), options).map(Result::unwrap).collect();
    let blocks = |transcript: &Transcript| -> Vec<Block> {
        let main = transcript.main().iter().flat_map(|at| transcript.messages[*at].blocks.clone());
        main.filter(|block| !is_thinking(block)).collect()
    };
    assert!(again[0].messages.iter().all(|message| !message.blocks.iter().any(is_thinking)));
    assert_eq!(blocks(&again[0]), blocks(transcript), "nothing else went");
    assert_eq!(again[0].damage.len(), transcript.damage.len());
}

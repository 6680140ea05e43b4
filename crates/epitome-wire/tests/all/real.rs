//! Real conversations in Chat format, where a folder of them is named by `EPITOME_TRANSCRIPTS`.

use std::io::Read;
use std::sync::Arc;

use epitome_core::prune::{Budget, Settings, ThinkingRule};
use epitome_core::tokens::{CharsPerFour, Counter, ImagePricing};
use epitome_wire::convert::{Conversation, Lost, convert};
use epitome_wire::{Body, Dialect, Piece, Pruning, Sketches, decode_message, encode_message};

use crate::support::report_use;

/// Lines that are bodies: objects with messages.
fn conversations() -> Vec<String> {
    let own = crate::bodies::body_of_all(Dialect::Chat, "");
    let Some(folder) = std::env::var_os("EPITOME_TRANSCRIPTS") else { return vec![own] };
    let mut lines = vec![own];
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "gz") {
            continue;
        }
        let mut text = String::new();
        flate2::read::MultiGzDecoder::new(std::fs::File::open(path).unwrap())
            .read_to_string(&mut text)
            .unwrap();
        lines.extend(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned));
    }
    lines
}

#[test]
fn real_conversations_survive() {
    let conversations = conversations();
    let sketches = Sketches::new(Counter::new(&CharsPerFour, ImagePricing::Anthropic), 100_000);
    let settings = Settings::default();
    let (budget, thinking) = (Budget::default(), ThinkingRule::Free);
    let pruning = Pruning { sketches: &sketches, settings: &settings, budget, thinking };
    for text in &conversations {
        let body = Body::scan(Dialect::Chat, text).unwrap();
        let count = body.messages().len();
        let kept: Vec<_> = (0..count).map(Piece::Keep).collect();
        assert_eq!(&body.encode(&kept).unwrap(), text);

        let read: Vec<_> =
            (0..count).map(|index| decode_message(Dialect::Chat, body.message(index)).unwrap().0).collect();
        for message in &read {
            let encoded = encode_message(Dialect::Chat, message).unwrap();
            assert_eq!(&decode_message(Dialect::Chat, &encoded[0]).unwrap().0, message);
        }
        there_and_back(&Conversation { system: None, messages: read });

        let pruned = pruning.of(&body, &[]).unwrap();
        let again = Body::scan(Dialect::Chat, &pruned.text).unwrap();
        assert_eq!(again.messages().len(), count);
        for index in 0..count {
            let touched = pruned.plan.marks.iter().any(|marked| marked.message == index);
            assert_eq!(again.message(index) == body.message(index), !touched);
        }
        assert!(Arc::ptr_eq(&sketches.of(&body).unwrap()[0], &sketches.of(&body).unwrap()[0]));
    }
    report_use("conversations in Chat format", conversations.len() - 1);
}

// What comes back from another dialect is what a second journey leaves as it is, and no text is missing.
fn there_and_back(source: &Conversation) {
    for other in [Dialect::Anthropic, Dialect::Responses] {
        let there = convert(source, Dialect::Chat, other);
        for message in &there.conversation.messages {
            let encoded = encode_message(other, message).unwrap();
            assert_eq!(&decode_message(other, &encoded[0]).unwrap().0, message);
        }
        let back = convert(&there.conversation, other, Dialect::Chat).conversation;
        let again =
            convert(&convert(&back, Dialect::Chat, other).conversation, other, Dialect::Chat).conversation;
        assert_eq!(back, again);
        let only_fields = there.losses.iter().all(|loss| matches!(loss.what, Lost::Field(_)));
        if only_fields {
            assert_eq!(texts(source), texts(&back));
        }
    }
}

fn texts(conversation: &Conversation) -> String {
    let mut all = String::new();
    for block in conversation.messages.iter().flat_map(|message| &message.blocks) {
        match block {
            epitome_core::Block::Text(text) => all.push_str(&text.text),
            epitome_core::Block::ToolUse(call) => {
                all.push_str(&format!("{}{}", call.name, call.input.trim().trim_matches(['{', '}'])))
            }
            epitome_core::Block::ToolResult(result) => all.push_str(&result.joined_text()),
            _ => {}
        }
    }
    all
}

//! Real conversations, where a folder of them is named by `EPITOME_TRANSCRIPTS`.

use std::io::Read;
use std::path::{Path, PathBuf};

use epitome_core::calibrate::{ReplayEvent, ReplayTable, replay};
use epitome_core::tokens::Tokenizer;
use epitome_core::{Block, Fields, Message, Role, Thinking, Tokens, ToolResult, ToolUse, Usage};
use flate2::read::GzDecoder;
use serde_json::Value;

use crate::support::{counter, report_use};
use crate::tokens::tokenizers;

#[test]
fn counts_of_recorded_texts_equal_the_reference() {
    let mut conversations = 0;
    for file in files("") {
        for line in text(&file).lines() {
            let mut texts = Vec::new();
            collect(&serde_json::from_str(line).unwrap_or_default(), &mut texts);
            let joined = texts.join("\n");
            for (bpe, core) in tokenizers() {
                assert_eq!(
                    bpe.count(&joined),
                    Tokens(core.encode_ordinary(&joined).len() as u64),
                    "{file:?}"
                );
            }
            conversations += 1;
        }
    }
    assert!(conversations > 0 || !is_given(), "the folder holds no conversation");
    report_use("token counts", conversations);
}

#[test]
fn estimates_of_recorded_calls_meet_their_bounds() {
    let mut table = ReplayTable::default();
    let mut sessions = 0;
    for file in files("raw").iter().filter(|file| file.to_string_lossy().contains("pi-")) {
        let messages = pi_messages(&text(file));
        table.merge(replay(messages.iter().map(ReplayEvent::Message), &counter()));
        sessions += 1;
    }
    report_use("estimates of calls", sessions);
    let rows = table.rows();
    let scored: Vec<_> = rows.iter().filter(|row| row.scored > 20).collect();
    assert!(!scored.is_empty() || !is_given(), "no model has enough recorded calls, so nothing was tested");
    for row in scored {
        println!("{row:?}");
        assert!(row.next_call.median <= 0.005 && row.next_call.p95 <= 0.02);
        assert!(row.whole_context.median <= 0.03);
    }
}

fn is_given() -> bool {
    std::env::var_os("EPITOME_TRANSCRIPTS").is_some()
}

pub(crate) fn files(folder: &str) -> Vec<PathBuf> {
    let Some(root) = std::env::var_os("EPITOME_TRANSCRIPTS") else { return Vec::new() };
    let entries = std::fs::read_dir(Path::new(&root).join(folder)).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|gz| gz == "gz"))
        .collect();
    files.sort();
    files
}

pub(crate) fn text(file: &Path) -> String {
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(file).unwrap()).read_to_string(&mut text).unwrap();
    text
}

pub(crate) fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| collect(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

/// The messages of a pi session, as far as this test needs them.
fn pi_messages(text: &str) -> Vec<Message> {
    let lines = serde_json::Deserializer::from_str(text).into_iter::<Value>().map_while(Result::ok);
    lines.filter(|line| line["type"] == "message").filter_map(|line| pi_message(&line["message"])).collect()
}

fn pi_message(value: &Value) -> Option<Message> {
    let blocks: Vec<_> = value["content"].as_array().into_iter().flatten().filter_map(pi_block).collect();
    let mut message = match value["role"].as_str()? {
        "user" => Message::new(Role::User, blocks),
        "assistant" => Message::new(Role::Assistant, blocks),
        "toolResult" => Message::new(
            Role::Tool,
            vec![Block::ToolResult(ToolResult {
                call_id: value["toolCallId"].as_str()?.to_owned(),
                name: None,
                content: blocks,
                is_error: false,
                extra: Fields::new(),
            })],
        ),
        "bashExecution" => Message::text(Role::User, format!("{}\n{}", value["command"], value["output"])),
        _ => return None,
    };
    message.meta.model = value["model"].as_str().map(str::to_owned);
    message.meta.usage = value["usage"].is_object().then(|| {
        let tokens = |field: &str| Tokens(value["usage"][field].as_u64().unwrap_or(0));
        Usage {
            input: tokens("input"),
            cache_read: tokens("cacheRead"),
            cache_write: tokens("cacheWrite"),
            output: tokens("output"),
        }
    });
    Some(message)
}

fn pi_block(value: &Value) -> Option<Block> {
    let string = |field: &str| value[field].as_str().map(str::to_owned);
    match value["type"].as_str()? {
        "text" => Some(Block::text(string("text")?)),
        "thinking" => Some(Block::Thinking(Thinking {
            text: string("thinking")?,
            signature: string("thinkingSignature"),
            extra: Fields::new(),
        })),
        "toolCall" => Some(Block::ToolUse(ToolUse {
            id: string("id")?,
            name: string("name")?,
            input: value["arguments"].to_string(),
            extra: Fields::new(),
        })),
        _ => None,
    }
}

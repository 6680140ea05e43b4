//! How well unannounced changes of subject are found in real conversations, spliced; see `topics::measure`.

use epitome_core::topics::measure::{Score, Splice, cohesion};
use epitome_core::{Block, Fields, Message, Role, ToolResult, ToolUse};
use serde_json::Value;

use crate::recorded::{files, text};
use crate::support::path;

#[test]
fn spliced_conversations_are_told_apart() {
    let mut everything = Vec::new();
    for file in files("") {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let conversations: Vec<Vec<Message>> =
            text(&file).lines().filter_map(|line| chat(&serde_json::from_str(line).ok()?)).collect();
        report(&name, &conversations);
        everything.push(conversations);
    }
    // One of each kind after the other: the subjects could not be more different.
    let longest = everything.iter().map(Vec::len).max().unwrap_or(0);
    let mixed: Vec<Vec<Message>> = (0..longest)
        .flat_map(|number| {
            everything.iter().filter(move |kind| number < kind.len()).map(move |kind| kind[number].clone())
        })
        .collect();
    let score = report("mixed", &mixed);
    println!("recorded conversations used: {}", mixed.len());
    assert!(score.precision() >= 0.7, "{score:?}");
}

// Neighbours by threes.
fn report(name: &str, conversations: &[Vec<Message>]) -> Score {
    let mut sums = [Score::default(); 2];
    for group in conversations.chunks(3).filter(|group| group.len() > 1) {
        let mut splice = Splice::default();
        group.iter().for_each(|messages| splice.push(&path(messages), messages));
        for (slack, sum) in sums.iter_mut().enumerate() {
            *sum = sum.plus(cohesion(&splice, slack));
        }
    }
    for (slack, score) in sums.iter().enumerate() {
        let (precision, recall) = (score.precision(), score.recall());
        println!(
            "{name} ±{slack}: precision {precision:.2}, recall {recall:.2}, alarms {:.3}, {score:?}",
            score.alarm_rate()
        );
    }
    sums[1]
}

pub(crate) fn chat(line: &Value) -> Option<Vec<Message>> {
    Some(line["messages"].as_array()?.iter().filter_map(chat_message).collect())
}

fn chat_message(value: &Value) -> Option<Message> {
    let said = match &value["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    };
    let string = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut blocks = Vec::new();
    let role = match value["role"].as_str()? {
        "system" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => {
            let content = vec![Block::text(said)];
            let call_id = string(&value["tool_call_id"]);
            let result = ToolResult { call_id, name: None, content, is_error: false, extra: Fields::new() };
            return Some(Message::new(Role::Tool, vec![Block::ToolResult(result)]));
        }
    };
    if !said.is_empty() {
        blocks.push(Block::text(said));
    }
    for call in value["tool_calls"].as_array().into_iter().flatten() {
        let (id, function) = (string(&call["id"]), &call["function"]);
        let (name, input) = (string(&function["name"]), string(&function["arguments"]));
        blocks.push(Block::ToolUse(ToolUse { id, name, input, extra: Fields::new() }));
    }
    Some(Message::new(role, blocks))
}

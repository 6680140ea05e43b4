//! What replies said, read back from their bytes.

mod anthropic;
mod chat;
mod properties;
mod responses;
mod streams;

use epitome_wire::Dialect;
use epitome_wire::reply::{Answer, read_answer};
use serde_json::Value;

/// Reads a reply that came in one piece.
fn read(dialect: Dialect, is_stream: bool, text: &str) -> Answer {
    read_answer(dialect, is_stream, std::iter::once(text.as_bytes()))
}

/// A stream of these events, named by their types as Anthropic and Responses do it.
fn named(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("x")))
        .collect()
}

/// A stream of these chunks, as Chat Completions writes it, without its end.
fn unnamed(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

/// The messages as values, for those that were put together.
fn values(answer: &Answer) -> Vec<Value> {
    answer.messages.iter().map(|message| serde_json::from_str(message).unwrap()).collect()
}

//! Answers of Chat Completions.

use serde_json::{Value, json};

use super::{Reading, billed};
use crate::call::Ending;
use crate::failure::{Failure, Kind, WINDOW_FULL};

pub(super) fn whole(reading: &mut Reading, reply: &Value) -> Option<()> {
    let choice = reply["choices"].as_array()?.first()?;
    said(reading, choice.get("message")?);
    beside(reading, reply, choice);
    Some(())
}

pub(super) fn event(reading: &mut Reading, chunk: &Value) {
    let choice = &chunk["choices"][0];
    said(reading, &choice["delta"]);
    beside(reading, chunk, choice);
}

/// The failure in the midst of a reply that looks like any other: gateways report it in the choice.
pub(super) fn failure(reply: &Value) -> Option<Failure> {
    let choice = &reply["choices"][0];
    let told = || Failure::of_event(&json!({"error": choice["error"]}).to_string());
    match choice["finish_reason"].as_str() {
        Some("error") => {
            Some(told().unwrap_or_else(|| Failure::new(Kind::Server, "the model stopped with an error")))
        }
        Some("insufficient_system_resource") => {
            Some(Failure::new(Kind::Overloaded, "the model was interrupted"))
        }
        _ => None,
    }
}

// The text is a string, or parts with a string each.
fn said(reading: &mut Reading, message: &Value) {
    match &message["content"] {
        Value::String(text) => reading.text.push_str(text),
        Value::Array(parts) => {
            parts
                .iter()
                .filter_map(|part| part["text"].as_str())
                .for_each(|text| reading.text.push_str(text));
        }
        _ => {}
    }
    if message["refusal"].as_str().is_some_and(|refusal| !refusal.is_empty()) {
        reading.ending = Some(Ending::Declined);
    }
}

fn beside(reading: &mut Reading, reply: &Value, choice: &Value) {
    reading.named(&reply["model"]);
    let usage = billed(&reply["usage"], "prompt_tokens", "completion_tokens", "prompt_tokens_details");
    reading.usage = usage.or(reading.usage);
    let ending = match choice["finish_reason"].as_str() {
        None | Some("") => return,
        Some("length" | "max_tokens") => Ending::MaxOutput,
        Some(WINDOW_FULL) => Ending::Window,
        Some("content_filter") => Ending::Declined,
        Some("tool_calls" | "function_call") => Ending::Unfinished,
        Some(_) => Ending::Whole,
    };
    reading.ending.get_or_insert(ending);
}

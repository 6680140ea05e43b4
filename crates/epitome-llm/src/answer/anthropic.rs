//! Answers of Anthropic Messages.

use epitome_core::Usage;
use serde_json::Value;

use super::{Reading, count};
use crate::call::Ending;
use crate::failure::WINDOW_FULL;

pub(super) fn whole(reading: &mut Reading, message: &Value) -> Option<()> {
    for block in message["content"].as_array()? {
        if block["type"] == "text" {
            reading.text.push_str(block["text"].as_str().unwrap_or_default());
        }
    }
    reading.named(&message["model"]);
    bill(reading, &message["usage"]);
    stop(reading, &message["stop_reason"]);
    Some(())
}

pub(super) fn event(reading: &mut Reading, event: &Value) {
    match event["type"].as_str() {
        Some("message_start") => {
            reading.named(&event["message"]["model"]);
            bill(reading, &event["message"]["usage"]);
        }
        Some("content_block_start") if event["content_block"]["type"] == "text" => {
            reading.text.push_str(event["content_block"]["text"].as_str().unwrap_or_default());
        }
        Some("content_block_delta") if event["delta"]["type"] == "text_delta" => {
            reading.text.push_str(event["delta"]["text"].as_str().unwrap_or_default());
        }
        Some("message_delta") => {
            bill(reading, &event["usage"]);
            stop(reading, &event["delta"]["stop_reason"]);
        }
        Some("message_stop") => reading.is_done = true,
        _ => {}
    }
}

// Later events repeat and complete what the first one billed.
fn bill(reading: &mut Reading, usage: &Value) {
    if !usage.is_object() {
        return;
    }
    let known = reading.usage.unwrap_or_default();
    reading.usage = Some(Usage {
        input: count(usage, "input_tokens").unwrap_or(known.input),
        cache_read: count(usage, "cache_read_input_tokens").unwrap_or(known.cache_read),
        cache_write: count(usage, "cache_creation_input_tokens").unwrap_or(known.cache_write),
        output: count(usage, "output_tokens").unwrap_or(known.output),
    });
}

fn stop(reading: &mut Reading, reason: &Value) {
    reading.ending = match reason.as_str() {
        None => return,
        Some("max_tokens") => Some(Ending::MaxOutput),
        Some(WINDOW_FULL) => Some(Ending::Window),
        Some("refusal") => Some(Ending::Declined),
        Some("tool_use" | "pause_turn" | "compaction") => Some(Ending::Unfinished),
        Some(_) => Some(Ending::Whole),
    };
}

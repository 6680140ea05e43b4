//! Answers of OpenAI Responses.

use serde_json::Value;

use super::{Reading, billed};
use crate::call::Ending;

pub(super) fn whole(reading: &mut Reading, response: &Value) -> Option<()> {
    let output = response["output"].as_array()?;
    let messages = output.iter().filter(|item| item["type"] == "message");
    for part in messages.filter_map(|item| item["content"].as_array()).flatten() {
        match part["type"].as_str() {
            Some("output_text") => reading.text.push_str(part["text"].as_str().unwrap_or_default()),
            Some("refusal") => reading.ending = Some(Ending::Declined),
            _ => {}
        }
    }
    wanted(reading, response);
    beside(reading, response);
    Some(())
}

// A model that calls a tool has more to say once it has the result.
fn wanted(reading: &mut Reading, response: &Value) {
    let calls = |item: &Value| matches!(item["type"].as_str(), Some("function_call" | "custom_tool_call"));
    if response["output"].as_array().is_some_and(|output| output.iter().any(calls)) {
        reading.ending.get_or_insert(Ending::Unfinished);
    }
}

pub(super) fn event(reading: &mut Reading, event: &Value) {
    match event["type"].as_str() {
        Some("response.output_text.delta") => {
            reading.text.push_str(event["delta"].as_str().unwrap_or_default());
        }
        Some("response.refusal.done") => reading.ending = Some(Ending::Declined),
        Some("response.completed" | "response.incomplete") => {
            // The last event repeats the text; it counts where nothing came before.
            if reading.text.is_empty() {
                whole(reading, &event["response"]);
            }
            wanted(reading, &event["response"]);
            beside(reading, &event["response"]);
            reading.is_done = true;
        }
        _ => {}
    }
}

fn beside(reading: &mut Reading, response: &Value) {
    reading.named(&response["model"]);
    let usage = billed(&response["usage"], "input_tokens", "output_tokens", "input_tokens_details");
    reading.usage = usage.or(reading.usage);
    let ending = match (response["status"].as_str(), response["incomplete_details"]["reason"].as_str()) {
        (Some("incomplete"), Some("max_output_tokens")) => Ending::MaxOutput,
        (Some("incomplete"), Some("content_filter")) => Ending::Declined,
        (Some("completed"), _) => Ending::Whole,
        (Some(_), _) => Ending::Unfinished,
        (None, _) => return,
    };
    reading.ending.get_or_insert(ending);
}

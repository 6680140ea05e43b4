//! Replies of OpenAI Responses.

use super::tree::Tree;
use super::{Answer, Reading, inner, note_names, owned, text, usage};
use crate::draft::Draft;
use crate::node::Object;

pub(super) fn whole(answer: &mut Answer, response: &Object<'_>) -> Option<()> {
    beside(answer, response);
    answer.messages = output(response)?;
    Some(())
}

fn output(response: &Object<'_>) -> Option<Vec<String>> {
    let items = response.get("output")?.array().ok()??;
    Some(items.into_iter().map(|item| item.raw().to_owned()).collect())
}

fn beside(answer: &mut Answer, response: &Object<'_>) {
    note_names(answer, response);
    let usage = inner(response, "usage").and_then(|usage| usage::responses(&usage));
    answer.usage = usage.or(answer.usage);
    if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
        answer.error.get_or_insert_with(|| Draft::new().raw("error", error.raw()).end());
    }
    let status = owned(response, "status");
    answer.is_whole |= matches!(status.as_deref(), Some("completed" | "incomplete"));
    let reason = inner(response, "incomplete_details").and_then(|details| owned(&details, "reason"));
    answer.stop = reason.or(status);
}

/// The items that were put out, and those that still grow.
#[derive(Default)]
pub(super) struct Stream {
    items: Vec<Item>,
    /// What the last event says the output was.
    last: Vec<String>,
}

struct Item {
    index: String,
    state: State,
}

enum State {
    /// The item as it was written.
    Done(String),
    /// What is known of it.
    Growing(Tree),
}

impl Reading for Stream {
    fn event(&mut self, answer: &mut Answer, event: &Object<'_>) -> Option<()> {
        match &*text(event, "type")? {
            "response.output_item.added" => {
                let item = Tree::of(event.get("item").filter(|item| !item.is_null())?).ok()?;
                self.put(event, State::Growing(item));
            }
            "response.output_item.done" => {
                let item = event.get("item").filter(|item| !item.is_null())?;
                self.put(event, State::Done(item.raw().to_owned()));
            }
            kind @ ("response.completed" | "response.incomplete" | "response.failed") => {
                let has_ended = kind != "response.failed";
                let response = inner(event, "response")?;
                beside(answer, &response);
                answer.is_whole |= has_ended;
                self.last = output(&response).unwrap_or_default();
            }
            "response.created" | "response.in_progress" => note_names(answer, &inner(event, "response")?),
            "response.content_part.added" => {
                let part = Tree::of(event.get("part")?).ok()?;
                self.growing(event)?.push("content", part);
            }
            "response.output_text.delta" => self.grow_part(event, "output_text", "text")?,
            "response.refusal.delta" => self.grow_part(event, "refusal", "refusal")?,
            "response.function_call_arguments.done" => {
                let arguments = Tree::of(event.get("arguments")?).ok()?;
                let call = self.growing(event)?;
                call.set("arguments", arguments);
                call.set("status", Tree::text("completed"));
            }
            "response.custom_tool_call_input.done" => {
                let input = Tree::of(event.get("input")?).ok()?;
                let call = self.growing(event)?;
                call.set("input", input);
                call.set("status", Tree::text("completed"));
            }
            _ => return None,
        }
        Some(())
    }

    fn end(self, answer: &mut Answer) {
        let done = self.items.iter().filter(|item| matches!(item.state, State::Done(_))).count();
        if done < self.last.len() {
            answer.messages = self.last;
            return;
        }
        for item in self.items {
            match item.state {
                State::Done(json) => answer.messages.push(json),
                State::Growing(item) => {
                    answer.is_whole = false;
                    answer.messages.extend(cut(item));
                }
            }
        }
    }
}

impl Stream {
    fn put(&mut self, event: &Object<'_>, state: State) {
        let index = event.get("output_index").map(|index| index.raw().to_owned());
        let index = index.unwrap_or_else(|| self.items.len().to_string());
        match self.items.iter_mut().find(|item| item.index == index) {
            Some(item) => item.state = state,
            None => self.items.push(Item { index, state }),
        }
    }

    fn growing(&mut self, event: &Object<'_>) -> Option<&mut Tree> {
        let index = event.get("output_index")?.raw();
        let item = self.items.iter_mut().find(|item| item.index == index)?;
        match &mut item.state {
            State::Growing(item) => Some(item),
            State::Done(_) => None,
        }
    }

    fn grow_part(&mut self, event: &Object<'_>, kind: &str, key: &str) -> Option<()> {
        let delta = Tree::of(event.get("delta")?).ok()?;
        let at = event.get("content_index")?.raw().parse::<usize>().ok()?;
        let item = self.growing(event)?;
        let Some(Tree::Array(parts)) = item.get_mut("content") else { return None };
        // Servers of one's own leave out that a part begins.
        if at == parts.len() {
            parts.push(Tree::Object(vec![("type".to_owned(), Tree::text(kind))]));
        }
        parts.get_mut(at)?.append(key, delta);
        Some(())
    }
}

// Of what was cut, text and calls that were complete can be sent back; reasoning without its seal cannot.
fn cut(mut item: Tree) -> Option<String> {
    let says = |part: &Tree| {
        ["text", "refusal"].iter().any(|key| part.get(key).is_some_and(|text| !text.is_empty()))
    };
    let is_kept = match item.tag() {
        "message" => match item.get_mut("content") {
            Some(Tree::Array(parts)) => {
                parts.retain(says);
                item.set("status", Tree::text("incomplete"));
                item.get("content").is_some_and(|content| !content.is_empty())
            }
            _ => false,
        },
        "function_call" | "custom_tool_call" => item.string_of("status").as_deref() == Some("completed"),
        _ => false,
    };
    is_kept.then(|| item.json())
}

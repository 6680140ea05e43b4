//! Replies of Chat Completions, and of the many servers that answer much like it.

use super::tree::Tree;
use super::{Answer, Reading, has, inner, note_names, owned, usage};
use crate::draft::Draft;
use crate::node::Object;

pub(super) fn whole(answer: &mut Answer, reply: &Object<'_>) -> Option<()> {
    beside(answer, reply);
    let choice = first_choice(reply)?;
    stop(answer, &choice);
    let message = choice.get("message").filter(|message| !message.is_null())?;
    answer.messages.push(message.raw().to_owned());
    Some(())
}

fn first_choice<'a>(reply: &Object<'a>) -> Option<Object<'a>> {
    let choices = reply.get("choices")?.array().ok()??;
    let mut choices = choices.into_iter().filter_map(|choice| choice.object().ok()?);
    choices.find(|choice| choice.get("index").is_none_or(|index| matches!(index.raw(), "0" | "null")))
}

fn beside(answer: &mut Answer, reply: &Object<'_>) {
    note_names(answer, reply);
    let own = || inner(reply, "usage");
    let of_groq = || inner(&inner(reply, "x_groq")?, "usage");
    let usage = own().or_else(of_groq).and_then(|usage| usage::chat(&usage));
    answer.usage = usage.or(answer.usage);
}

fn stop(answer: &mut Answer, choice: &Object<'_>) {
    let Some(reason) = owned(choice, "finish_reason") else { return };
    answer.is_whole = true;
    // Gateways report a failure in the midst of a reply in the choice.
    if reason == "error" || has(choice, "error") {
        let error = choice.get("error").map_or("null", |error| error.raw());
        answer.error.get_or_insert_with(|| Draft::new().raw("error", error).end());
    }
    answer.stop = Some(reason);
}

/// A message as it grows.
#[derive(Default)]
pub(super) struct Stream {
    content: Option<Tree>,
    calls: Vec<Call>,
    /// All else, known or not.
    rest: Option<Tree>,
}

/// A tool call as it grows.
struct Call {
    index: Option<Tree>,
    call: Tree,
}

impl Reading for Stream {
    fn event(&mut self, answer: &mut Answer, chunk: &Object<'_>) -> Option<()> {
        beside(answer, chunk);
        let is_done = chunk.get("done").is_some_and(|done| done.raw() == "true");
        answer.is_whole |= is_done;
        let choice = first_choice(chunk)?;
        stop(answer, &choice);
        // Some servers end with the whole message in place of a delta.
        let delta = choice.get("delta").or_else(|| choice.get("message"))?;
        let mut delta = Tree::of(delta).ok()?;
        if let Some(content) = delta.take("content") {
            self.grow_content(content);
        }
        if let Some(Tree::Array(calls)) = delta.take("tool_calls") {
            calls.into_iter().for_each(|call| self.grow_calls(call));
        }
        delta.take("role");
        self.rest.get_or_insert_with(|| Tree::Object(Vec::new())).merge(delta);
        Some(())
    }

    fn end(mut self, answer: &mut Answer) {
        let before = self.calls.len();
        if !answer.is_whole {
            self.calls.retain(|call| is_complete(&call.call));
        }
        let mut rest = self.rest.unwrap_or(Tree::Object(Vec::new()));
        if let Tree::Object(members) = &mut rest {
            members.retain(|(_, value)| !value.is_empty());
        }
        let function = rest.get("function_call");
        if !answer.is_whole && function.is_some_and(|function| !is_object(function.get("arguments"))) {
            rest.take("function_call");
        }
        answer.is_whole &= self.calls.len() == before;
        let calls: Vec<Tree> = self.calls.into_iter().map(|call| finished(call.call)).collect();
        let is_more = !calls.is_empty() || matches!(&rest, Tree::Object(members) if !members.is_empty());
        let content = self.content.filter(|content| !is_more || !content.is_empty());
        if !is_more && content.as_ref().is_none_or(|content| content.is_empty() && !answer.is_whole) {
            return;
        }
        let mut message = Tree::Object(vec![("role".to_owned(), Tree::text("assistant"))]);
        message.set("content", content.unwrap_or_else(Tree::null));
        message.merge(rest);
        if !calls.is_empty() {
            message.set("tool_calls", Tree::Array(calls));
        }
        answer.messages.push(message.json());
    }
}

impl Stream {
    // A string by the book. Mistral writes a list where the model thinks, and goes on with strings.
    fn grow_content(&mut self, more: Tree) {
        let part = |text: Tree| {
            let kind = ("type".to_owned(), Tree::text("text"));
            Tree::Object(vec![kind, ("text".to_owned(), text)])
        };
        self.content = Some(match (self.content.take(), more) {
            (Some(old), more) if more.is_null() => old,
            (None, more) => more,
            (Some(old), more) if old.is_empty() => more,
            (Some(Tree::Text(old)), Tree::Text(more)) => Tree::Text(old + &more),
            (Some(Tree::Array(mut parts)), Tree::Array(more)) => {
                parts.extend(more);
                Tree::Array(parts)
            }
            (Some(Tree::Array(mut parts)), text @ Tree::Text(_)) => {
                match parts.last_mut().filter(|last| last.tag() == "text") {
                    Some(last) => last.append("text", text),
                    None => parts.push(part(text)),
                }
                Tree::Array(parts)
            }
            (Some(text @ Tree::Text(_)), Tree::Array(more)) => Tree::Array([vec![part(text)], more].concat()),
            (Some(old), _) => old,
        });
    }

    fn grow_calls(&mut self, mut more: Tree) {
        let index = more.take("index").filter(|index| !index.is_null());
        let known = match &index {
            Some(_) => self.calls.iter_mut().rev().find(|call| call.index == index),
            None => self.calls.last_mut(),
        };
        match known.filter(|call| continues(&call.call, &more, index.is_some())) {
            Some(Call { call, .. }) => {
                // Some servers repeat the name with every fragment.
                for kind in ["function", "custom"] {
                    let name = |tree: &Tree| tree.get(kind)?.get("name").cloned();
                    if more.get("id").is_some_and(|id| !id.is_empty())
                        && name(&more).is_some()
                        && name(&more) == name(call)
                    {
                        more.get_mut(kind).and_then(|inner| inner.take("name"));
                    }
                }
                call.merge(more);
            }
            None => self.calls.push(Call { index, call: more }),
        }
    }
}

// Ollama and Gemini give every call the same index or none; what has an id of its own is another call.
fn continues(call: &Tree, more: &Tree, is_indexed: bool) -> bool {
    let said = |tree: &Tree| tree.string_of("id").filter(|id| !id.is_empty());
    let name = more.get("function").and_then(|function| function.string_of("name"));
    match (said(call), said(more)) {
        (Some(one), Some(other)) => one == other,
        (_, None) if !is_indexed => name.is_none_or(|name| name.is_empty()),
        _ => true,
    }
}

fn is_complete(call: &Tree) -> bool {
    let arguments = call.get("function").and_then(|function| function.get("arguments"));
    is_object(arguments)
}

// A string that is JSON of an object, or that object itself, which look-alikes write.
fn is_object(arguments: Option<&Tree>) -> bool {
    match arguments {
        Some(Tree::Object(_)) => true,
        Some(text @ Tree::Text(_)) => {
            text.string().is_some_and(|json| matches!(Tree::read(&json), Some(Tree::Object(_))))
        }
        _ => false,
    }
}

fn finished(mut call: Tree) -> Tree {
    if call.get("function").is_some() && call.get("type").is_none_or(Tree::is_empty) {
        call.set("type", Tree::text("function"));
    }
    call
}

//! Replies of Anthropic Messages.

use super::tree::Tree;
use super::{Answer, Reading, inner, note_names, owned, text, usage};
use crate::draft::Draft;
use crate::json::Kind;
use crate::node::{Node, Object};

pub(super) fn whole(answer: &mut Answer, reply: &Object<'_>) -> Option<()> {
    note_names(answer, reply);
    bill(answer, reply);
    edits(answer, reply);
    stop(answer, reply);
    let content = reply.get("content").filter(|content| content.kind() == Some(Kind::Array))?;
    if !content.array().ok()??.is_empty() {
        answer.messages.push(message(content.raw()));
    }
    Some(())
}

fn message(content: &str) -> String {
    Draft::new().string("role", "assistant").raw("content", content).end()
}

fn bill(answer: &mut Answer, object: &Object<'_>) {
    if let Some(usage) = inner(object, "usage") {
        answer.usage = Some(usage::anthropic(&usage, answer.usage));
    }
}

fn list<'a>(object: &Object<'a>, key: &str) -> Option<Vec<Node<'a>>> {
    object.get(key)?.array().ok()?
}

// What was cleared, and thinking that was dropped because it belongs elsewhere.
fn edits(answer: &mut Answer, object: &Object<'_>) {
    let cleared = inner(object, "context_management").and_then(|said| list(&said, "applied_edits"));
    let is_drop = |one: &Node<'_>| {
        let kind = one.object().ok().flatten().and_then(|one| owned(&one, "type"));
        kind.as_deref() == Some("thinking_dropped")
    };
    let dropped = list(object, "input_transformations").map(|all| all.iter().any(is_drop));
    for is_edited in [cleared.map(|edits| !edits.is_empty()), dropped].into_iter().flatten() {
        answer.is_edited = Some(is_edited || answer.is_edited == Some(true));
    }
}

fn stop(answer: &mut Answer, object: &Object<'_>) {
    if let Some(reason) = owned(object, "stop_reason") {
        answer.stop = Some(reason);
        answer.is_whole = true;
    }
}

/// The blocks of a message as they grow.
#[derive(Default)]
pub(super) struct Stream {
    blocks: Vec<Growing>,
}

struct Growing {
    /// The number that deltas name it by.
    index: String,
    block: Tree,
    /// What the input of a call is to be, as an escaped string of JSON.
    input: Tree,
    is_closed: bool,
}

impl Reading for Stream {
    fn event(&mut self, answer: &mut Answer, event: &Object<'_>) -> Option<()> {
        match &*text(event, "type")? {
            "message_start" => self.begin(answer, &inner(event, "message")?),
            "content_block_start" => {
                let block = Tree::of(event.get("content_block")?).ok()?;
                // After a fallback, another model has answered.
                if block.tag() == "fallback" {
                    answer.model =
                        block.get("to").and_then(|to| to.string_of("model")).or(answer.model.take());
                }
                self.open(event.get("index").map(|index| index.raw().to_owned()), block);
                Some(())
            }
            "content_block_delta" => {
                let delta = Tree::of(event.get("delta")?).ok()?;
                self.named(event)?.grow(delta)
            }
            "content_block_stop" => {
                self.named(event)?.is_closed = true;
                Some(())
            }
            "message_delta" => {
                bill(answer, event);
                edits(answer, event);
                stop(answer, &inner(event, "delta")?);
                Some(())
            }
            "message_stop" => {
                answer.is_whole = true;
                Some(())
            }
            _ => None,
        }
    }

    fn end(self, answer: &mut Answer) {
        let mut blocks = Vec::new();
        for growing in self.blocks {
            match growing.end(answer.is_whole) {
                Ending::Whole(block) => blocks.push(block.json()),
                Ending::Cut => answer.is_whole = false,
            }
        }
        if !blocks.is_empty() {
            answer.messages.push(message(&crate::draft::array(&blocks)));
        }
    }
}

impl Stream {
    fn begin(&mut self, answer: &mut Answer, message: &Object<'_>) -> Option<()> {
        note_names(answer, message);
        bill(answer, message);
        edits(answer, message);
        for block in message.get("content")?.array().ok()?? {
            self.open(None, Tree::of(block).ok()?);
        }
        Some(())
    }

    fn open(&mut self, index: Option<String>, block: Tree) {
        let index = index.unwrap_or_else(|| self.blocks.len().to_string());
        self.blocks.push(Growing { index, block, input: Tree::Text(String::new()), is_closed: false });
    }

    fn named(&mut self, event: &Object<'_>) -> Option<&mut Growing> {
        let index = event.get("index")?.raw();
        self.blocks.iter_mut().rev().find(|growing| growing.index == index)
    }
}

enum Ending {
    Whole(Tree),
    Cut,
}

impl Growing {
    fn grow(&mut self, mut delta: Tree) -> Option<()> {
        match delta.tag() {
            "text_delta" => self.block.append("text", delta.take("text")?),
            "thinking_delta" => self.block.append("thinking", delta.take("thinking")?),
            "input_json_delta" => match (&mut self.input, delta.take("partial_json")?) {
                (Tree::Text(input), Tree::Text(more)) => input.push_str(&more),
                _ => return None,
            },
            "citations_delta" => self.block.push("citations", delta.take("citation")?),
            // Signatures and compactions come whole.
            "signature_delta" => self.block.set("signature", delta.take("signature")?),
            "compaction_delta" => {
                delta.take("type");
                let Tree::Object(members) = delta else { return None };
                members.into_iter().for_each(|(key, value)| self.block.set(&key, value));
            }
            _ => {
                delta.take("type");
                self.block.merge(delta);
            }
        }
        Some(())
    }

    fn end(mut self, is_message_whole: bool) -> Ending {
        let is_closed = self.is_closed || is_message_whole;
        let kind = self.block.tag().to_owned();
        let input = self.input.string().unwrap_or_default();
        if !input.is_empty() {
            // The input stands in the block as the model wrote it, provided that it is JSON.
            match Tree::read(&input) {
                Some(_) => self.block.set("input", Tree::Other(input)),
                None => return Ending::Cut,
            }
        } else if !is_closed && kind.ends_with("tool_use") {
            return Ending::Cut;
        }
        let is_kept = match kind.as_str() {
            "text" => self.block.get("text").is_some_and(|text| !text.is_empty()),
            // Without its signature, nobody takes it back.
            "thinking" => self.block.get("signature").is_some_and(|signature| !signature.is_empty()),
            _ => true,
        };
        if is_closed || is_kept { Ending::Whole(self.block) } else { Ending::Cut }
    }
}

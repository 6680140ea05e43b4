//! Cache breakpoints of Anthropic bodies whose history was rewritten.
//!
//! A breakpoint tells the provider to cache all that stands before it. Where the message that carries one is no longer sent, the
//! breakpoint moves to what is sent in its place, so that the beginning of the request stays cached. It never
//! stands on what cannot carry one, and never becomes one of more than four.

use std::borrow::Cow;

use epitome_core::prune::CACHE_CONTROL;

use crate::json::{Span, Splice, quote, value};
use crate::node::{Node, Object};

/// The provider refuses more.
const MOST: usize = 4;

/// Blocks that cannot carry a breakpoint.
const BARE: [&str; 2] = ["thinking", "redacted_thinking"];

/// A message that is no longer sent.
#[derive(Clone, Copy, Debug)]
pub struct Gone<'a> {
    /// The message as the client wrote it.
    pub json: &'a str,
    /// How many of the messages that are sent stand before its place; what stands for it, like a summary, is one of them.
    pub at: usize,
}

/// How many breakpoints a system prompt, a list of tools or a message has.
///
/// ```
/// let system = r#"[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}]"#;
/// assert_eq!(epitome_wire::count_breakpoints(system), 1);
/// ```
pub fn count_breakpoints(json: &str) -> usize {
    breakpoints(json).unwrap_or_default().len()
}

/// The message without its breakpoints; every other byte stays.
///
/// ```
/// let message = r#"{"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]}"#;
/// assert_eq!(
///     epitome_wire::without_breakpoints(message),
///     r#"{"role":"user","content":[{"type":"text","text":"Hi","cache_control":null}]}"#
/// );
/// ```
pub fn without_breakpoints(json: &str) -> Cow<'_, str> {
    let found = breakpoints(json).unwrap_or_default();
    if found.is_empty() {
        return Cow::Borrowed(json);
    }
    let mut splice = Splice::new();
    found.iter().for_each(|breakpoint| splice.replace(breakpoint.span, "null"));
    let mut out = String::with_capacity(json.len());
    splice.write(json, Span { start: 0, end: json.len() }, &mut out);
    Cow::Owned(out)
}

/// Moves the breakpoints of messages that are gone to those that are sent, beside which there are `outside` more, in the system
/// prompt, the tools and the body itself.
///
/// Each goes to the nearest message before its place that can carry it, or to the first behind it where there is none. One
/// that has a breakpoint at its end needs no other. The result depends on nothing but what is given.
pub fn keep_breakpoints(outside: usize, gone: &[Gone<'_>], sent: &mut [String]) {
    let moving = gone.iter().filter_map(|gone| Some((gone.at, strongest(gone.json)?)));
    let mut moving: Vec<(usize, String)> =
        moving.filter_map(|(at, breakpoint)| Some((target(sent, at)?, breakpoint))).collect();
    // Longer-lived ones stand before others, in the list and so in every part of it.
    moving.sort_by_key(|(at, breakpoint)| (*at, !is_long(breakpoint)));
    moving.dedup_by_key(|(at, _)| *at);
    let mut count = outside + sent.iter().map(|json| count_breakpoints(json)).sum::<usize>();
    for (at, breakpoint) in moving.into_iter().rev() {
        let Some(json) = sent.get_mut(at) else { continue };
        match with_breakpoint(json, &breakpoint) {
            Some(marked) if count < MOST => {
                *json = marked;
                count += 1;
            }
            _ => {}
        }
    }
}

/// Makes room for one more breakpoint in messages beside which there are `outside` more: the oldest ones go. Says whether there is.
///
/// What a message says stays as it is, and so does what the provider has cached of it.
pub fn room_for_breakpoint(outside: usize, sent: &mut [String]) -> bool {
    let mut count = outside + sent.iter().map(|json| count_breakpoints(json)).sum::<usize>();
    for json in sent {
        let own = if count < MOST { 0 } else { count_breakpoints(json) };
        if own > 0 {
            *json = without_breakpoints(json).into_owned();
            count -= own;
        }
    }
    count < MOST
}

fn target(sent: &[String], at: usize) -> Option<usize> {
    let can = |at: &usize| sent.get(*at).is_some_and(|json| Seat::of(json).is_some());
    let at = at.min(sent.len());
    (0..at).rev().find(can).or_else(|| (at..sent.len()).find(can))
}

// The breakpoint of a message that lives longest; of equal ones the last.
fn strongest(json: &str) -> Option<String> {
    let mut found = breakpoints(json)?;
    found.sort_by_key(|breakpoint| is_long(breakpoint.raw()));
    found.pop().map(|breakpoint| breakpoint.raw().to_owned())
}

fn is_long(breakpoint: &str) -> bool {
    breakpoint.contains("\"1h\"")
}

// All breakpoints, in their order. Arguments and schemas may have fields of that name, too, and are not looked at.
fn breakpoints(json: &str) -> Option<Vec<Node<'_>>> {
    if !json.contains(CACHE_CONTROL) {
        return None;
    }
    let node = Node::new(json, value(json).ok()?);
    let list = node.object().ok()?.map_or(Some(node), |message| message.get("content"))?;
    let mut found = Vec::new();
    collect(list, &mut found);
    Some(found)
}

fn collect<'a>(list: Node<'a>, found: &mut Vec<Node<'a>>) {
    for element in list.array().ok().flatten().unwrap_or_default() {
        let Ok(Some(block)) = element.object() else { continue };
        if let Some(content) = block.get("content") {
            collect(content, found);
        }
        found.extend(own(&block));
    }
}

fn own<'a>(block: &Object<'a>) -> Option<Node<'a>> {
    block.get(CACHE_CONTROL).filter(|breakpoint| !breakpoint.is_null())
}

/// Where a message takes a breakpoint.
enum Seat {
    /// Its last block has one.
    Taken,
    /// Its content is this bare string.
    Text(Span),
    /// Behind the last field of this block.
    Block(Span),
    /// In place of this null.
    Null(Span),
}

impl Seat {
    /// The seat on the last block that can carry one; `None` where there is no such block.
    fn of(json: &str) -> Option<Self> {
        let message = Node::new(json, value(json).ok()?).object().ok()??;
        let content = message.get("content")?;
        if let Some(text) = content.string().ok()? {
            return (!text.trim().is_empty()).then_some(Seat::Text(content.span));
        }
        content.array().ok()??.into_iter().rev().find_map(|element| {
            let mut block = element.object().ok()??;
            let kind = block.string("type").ok()?.unwrap_or_default();
            let is_blank = || {
                block
                    .get("text")
                    .and_then(|text| text.string().ok()?)
                    .is_none_or(|text| text.trim().is_empty())
            };
            if BARE.contains(&&*kind) || kind == "text" && is_blank() {
                return None;
            }
            Some(match block.get(CACHE_CONTROL) {
                Some(null) if null.is_null() => Seat::Null(null.span),
                Some(_) => Seat::Taken,
                None => Seat::Block(element.span),
            })
        })
    }
}

fn with_breakpoint(json: &str, breakpoint: &str) -> Option<String> {
    let field = format!("{}:{breakpoint}", quote(CACHE_CONTROL));
    let mut splice = Splice::new();
    match Seat::of(json)? {
        Seat::Taken => return None,
        Seat::Null(span) => splice.replace(span, breakpoint),
        Seat::Text(span) => {
            splice.replace(span, format!(r#"[{{"type":"text","text":{},{field}}}]"#, span.of(json)));
        }
        Seat::Block(block) => {
            let end = Span { start: block.end - 1, end: block.end };
            splice.replace(end, format!(",{field}}}"));
        }
    }
    let mut out = String::with_capacity(json.len() + field.len() + 32);
    splice.write(json, Span { start: 0, end: json.len() }, &mut out);
    Some(out)
}

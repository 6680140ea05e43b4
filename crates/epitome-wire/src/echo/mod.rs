//! Whether what a client sends back is the reply that it was given.
//!
//! Clients keep replies in a form of their own and write them anew with every request: without reasoning, ids, status, annotations,
//! refusals or fields that they do not know; with blank ends trimmed, blocks joined or split, arguments written in another order, items
//! named instead of repeated. All that is the same reply. Other words are another, and so is a call that is missing, added or
//! made with other arguments.

mod heard;
mod said;
mod same;
mod thoughts;
mod words;

use epitome_core::{Block, Message, Role};

use crate::dialect::Dialect;
use crate::message::decode_message;

use heard::Heard;
use said::Said;

/// How the messages of a reply stand in what a client sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Echo {
    /// For each message of the reply the number of the client's message that repeats it, or the first one that does, if any.
    pub of: Vec<Option<usize>>,
    /// How many of the client's messages the reply takes, those in `apart` included.
    pub length: usize,
    /// Those among them that are no part of it: results that the client put between two calls of the reply.
    pub apart: Vec<usize>,
}

impl Echo {
    /// Which message of the reply one of the client's repeats, wholly or in part.
    pub fn repeated_by(&self, sent: usize) -> usize {
        let begins = |place: &Option<usize>| place.is_some_and(|place| place <= sent);
        self.of.iter().rposition(begins).unwrap_or(0)
    }
}

/// How much of a reply that was cut off a client has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// As much as was recorded.
    Whole,
    /// It has less: a beginning of what was recorded.
    Less,
    /// It has more: what was recorded is a beginning of it.
    More,
}

/// Finds a reply at the beginning of what a client sent; `None` where that is not the reply.
///
/// ```
/// use epitome_wire::Dialect;
/// use epitome_wire::echo::echo_of;
///
/// let reply = r#"{"role":"assistant","content":"Good day.\n","refusal":null,"annotations":[]}"#;
/// let sent = [r#"{"role":"assistant","content":[{"type":"text","text":"Good day."}]}"#, r#"{"role":"user","content":"Hello"}"#];
/// assert_eq!(echo_of(Dialect::Chat, &[reply], &sent).map(|echo| echo.length), Some(1));
/// assert_eq!(echo_of(Dialect::Chat, &[r#"{"role":"assistant","content":"Good night."}"#], &sent), None);
/// ```
pub fn echo_of(dialect: Dialect, reply: &[&str], sent: &[&str]) -> Option<Echo> {
    find(dialect, reply, sent, Cut::Never).map(|(echo, _)| echo)
}

/// The same of a reply that was cut off, of which the client may have seen less or more than was recorded.
pub fn echo_of_cut(dialect: Dialect, reply: &[&str], sent: &[&str]) -> Option<(Echo, Extent)> {
    find(dialect, reply, sent, Cut::Perhaps)
}

/// Whether less or more than the whole reply will do.
#[derive(Clone, Copy, PartialEq)]
enum Cut {
    Never,
    Perhaps,
}

fn find(dialect: Dialect, reply: &[&str], sent: &[&str], cut: Cut) -> Option<(Echo, Extent)> {
    let said = Said::read(dialect, reply)?;
    let sent =
        || sent.iter().map_while(|json| decode_message(dialect, json).ok()).map(|(message, _)| message);
    let walked = walk(Heard::new(&said), sent(), cut);
    walked.or_else(|| walk(Heard::new(&said.without_thoughts()?), sent(), cut))
}

fn walk(mut heard: Heard<'_>, sent: impl Iterator<Item = Message>, cut: Cut) -> Option<(Echo, Extent)> {
    let (mut length, mut apart, mut waiting) = (0, Vec::new(), Vec::new());
    for (at, message) in sent.enumerate() {
        let is_said = message.role == Role::Assistant || heard.gives(&message);
        if !is_said && !heard.is_complete() && at > 0 && heard.answers(&message) {
            waiting.push(at);
            continue;
        }
        if !is_said {
            break;
        }
        let mut next = heard.clone();
        let is_heard = next.take(at, &message, cut).is_some();
        match (is_heard, heard.is_complete()) {
            // What follows a complete reply is part of it only where it says what is left of it.
            (true, true) if next.is_unmoved_since(&heard) => break,
            (true, _) => {}
            (false, true) => break,
            (false, false) => return None,
        }
        heard = next;
        length = at + 1;
        apart.append(&mut waiting);
        if heard.has_more() {
            break;
        }
    }
    let extent = match (heard.has_more(), heard.is_complete()) {
        (true, true) => Extent::More,
        (false, true) => Extent::Whole,
        (false, false) if cut == Cut::Perhaps && heard.is_begun() => Extent::Less,
        _ => return None,
    };
    Some((Echo { of: heard.places(), length, apart }, extent))
}

/// Whether a message holds nothing but results of tools.
fn results(message: &Message) -> Option<Vec<&str>> {
    let ids = message.blocks.iter().map(|block| match block {
        Block::ToolResult(result) => Some(result.call_id.as_str()),
        _ => None,
    });
    ids.collect::<Option<Vec<_>>>().filter(|ids| !ids.is_empty())
}

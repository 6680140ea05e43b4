//! What must be equal, and what may differ where a compaction was due.

use std::collections::HashMap;

use epitome::Dialect;
use serde_json::value::RawValue;

use super::case::Case;
use super::desk::Exchange;

/// So many messages may stand for the old part: a summary, its acknowledgement, and one at the border that was cut short.
const FRONT: usize = 3;

/// The request went up, and the answer came back, byte for byte.
pub(crate) fn unchanged(dialect: Dialect, case: &Case, exchange: &Exchange) -> Result<(), String> {
    if exchange.arrived.body != exchange.sent.body {
        return Err(format!("the body is {}", shown(&exchange.arrived.body)));
    }
    heads(dialect, case, exchange, exchange.sent.body.len())
}

/// Everything but the old part went up byte for byte.
pub(crate) fn compacted(dialect: Dialect, case: &Case, exchange: &Exchange) -> Result<(), String> {
    let text = went_up(exchange)?;
    if exchange.back.header("x-epitome-compaction") != Some(b"in force") || text == exchange.sent.text {
        let told = exchange.back.header("x-epitome-error").map(String::from_utf8_lossy);
        return Err(format!("it was not compacted: {told:?}"));
    }
    let (open, close) = &exchange.sent.around;
    if !text.starts_with(open.as_str()) || !text.ends_with(close.as_str()) {
        return Err(format!("what stands around the messages is {}", shown(text.as_bytes())));
    }
    let (messages, list) = (&exchange.sent.messages, list(dialect, text)?);
    // Behind the last message that is another, everything is the client's own.
    let front = list.iter().rposition(|sent| !messages.contains(sent)).map_or(0, |last| last + 1);
    let others = list.iter().filter(|sent| !messages.contains(sent)).count();
    let kept = list.len() - front;
    // What the provider made of earlier history stands for all of it, and nobody else can read it.
    let is_opaque = |message: &&String| message.contains(r#""type":"compaction""#);
    if let Some(lost) = messages.iter().filter(is_opaque).find(|item| !list.contains(item)) {
        return Err(format!("{lost} is gone: {}", list[..front].join(" ")));
    }
    if others > FRONT {
        return Err(format!("{others} messages are others: {}", list[..front].join(" ")));
    }
    // Pictures and files count for more than what is kept as recent.
    let least = if case.is_large() { 1 } else { case.said.len() + 1 };
    if kept < least || kept >= messages.len() {
        return Err(format!("{kept} of {} messages are kept", messages.len()));
    }
    // With everything that stands between them.
    let from = messages.len() - kept;
    let start = exchange
        .sent
        .text
        .rfind(&messages[from..].join(between(case)))
        .ok_or("the case is written otherwise")?;
    if !text.ends_with(&exchange.sent.text[start..]) {
        return Err(format!("what is recent is {}", list[front..].join(" ")));
    }
    heads(dialect, case, exchange, text.len())
}

/// What was sent before is sent again, and what is new behind it byte for byte.
pub(crate) fn continued(
    dialect: Dialect,
    case: &Case,
    before: &Exchange,
    after: &Exchange,
) -> Result<(), String> {
    let (earlier, text) = (went_up(before)?, went_up(after)?);
    let first = earlier.strip_suffix(before.sent.around.1.as_str()).ok_or("the end is another")?;
    if !text.starts_with(first) {
        return Err(format!("what was sent is not sent again: {}", shown(text.as_bytes())));
    }
    let new = after.sent.text.strip_prefix(
        before.sent.text.strip_suffix(before.sent.around.1.as_str()).ok_or("the end is another")?,
    );
    if Some(&text[first.len()..]) != new {
        return Err(format!("what is new is {}", &text[first.len()..]));
    }
    heads(dialect, case, after, text.len())
}

fn between(case: &Case) -> &'static str {
    match case.form {
        super::case::Form::Spaced => " ,\r\n\t    ",
        _ => ",",
    }
}

fn went_up(exchange: &Exchange) -> Result<&str, String> {
    std::str::from_utf8(&exchange.arrived.body).map_err(|error| format!("what went up is no text: {error}"))
}

// The messages of a body, by another reader than the one that is tested.
fn list(dialect: Dialect, text: &str) -> Result<Vec<String>, String> {
    let members: HashMap<String, &RawValue> =
        serde_json::from_str(text).map_err(|error| format!("what went up is no JSON: {error}"))?;
    let field = if dialect == Dialect::Responses { "input" } else { "messages" };
    let list = members.get(field).ok_or("what went up has no messages")?;
    let list: Vec<&RawValue> =
        serde_json::from_str(list.get()).map_err(|error| format!("what went up is no list: {error}"))?;
    Ok(list.into_iter().map(|message| message.get().to_owned()).collect())
}

// Both heads, but for what speaks of a connection, and of the encoding where another body was sent.
fn heads(dialect: Dialect, case: &Case, exchange: &Exchange, length: usize) -> Result<(), String> {
    let line = format!("POST {} HTTP/1.1", case.target(dialect));
    if exchange.arrived.line != line {
        return Err(format!("it was sent to {:?}", exchange.arrived.line));
    }
    let is_same = exchange.arrived.body == exchange.sent.body;
    let mut wanted = case.sent_headers(length);
    wanted.retain(|(name, _)| is_same || name != "Content-Encoding");
    let of_hops = ["host", "transfer-encoding"];
    let mut came = exchange.arrived.headers.clone();
    came.retain(|(name, _)| !of_hops.contains(&name.to_ascii_lowercase().as_str()));
    if case.is_chunked {
        came.retain(|(name, _)| !name.eq_ignore_ascii_case("content-length"));
    }
    same_headers("up", &wanted, &came)?;
    let own = |name: &str| name.to_ascii_lowercase().starts_with("x-epitome-");
    let mut back = exchange.back.headers.clone();
    back.retain(|(name, _)| !own(name) && !name.eq_ignore_ascii_case("content-length"));
    same_headers("back", &exchange.answered.0, &back)?;
    if exchange.back.line != "HTTP/1.1 200 Fine" || exchange.back.body != exchange.answered.1 {
        return Err(format!("the answer is {} {}", exchange.back.line, shown(&exchange.back.body)));
    }
    Ok(())
}

// Headers of one name have an order; those of different names have none that means anything.
fn same_headers(way: &str, wanted: &[(String, Vec<u8>)], came: &[(String, Vec<u8>)]) -> Result<(), String> {
    let grouped = |headers: &[(String, Vec<u8>)]| {
        let mut groups: Vec<(String, Vec<Vec<u8>>)> = Vec::new();
        for (name, value) in headers {
            match groups.iter_mut().find(|(found, _)| found == name) {
                Some((_, values)) => values.push(value.clone()),
                None => groups.push((name.clone(), vec![value.clone()])),
            }
        }
        groups.sort();
        groups
    };
    let (wanted, came) = (grouped(wanted), grouped(came));
    if wanted == came {
        return Ok(());
    }
    let words = |headers: Vec<(String, Vec<Vec<u8>>)>| -> Vec<String> {
        let word =
            |(name, values): (String, Vec<Vec<u8>>)| format!("{name}: {}", shown(&values.join(&b", "[..])));
        headers.into_iter().map(word).collect()
    };
    Err(format!("headers {way} are {:?} and not {:?}", words(came), words(wanted)))
}

fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let short: String = text.chars().take(2_000).collect();
    short.replace(['\n', '\r'], "␤")
}

//! From what was said to what it means: codes and words first, the status where they do not tell.

use serde_json::Value;

use super::said::Said;
use super::template::folded;
use super::{Advice, Failure, Kind, code, output, overflow, shown};

/// Words that tell of an empty account, whatever the status.
const NO_MONEY: &[&str] =
    &["credit balance is too low", "exceeded your current quota", "insufficient credits"];

/// Words that tell of too many requests where neither code nor status does.
const TOO_OFTEN: &[&str] = &["throttlingexception", "too many requests"];

/// Words that tell of a single request that is too large for something other than the window.
const TOO_LARGE: &[&str] = &[
    "request too large",
    "request exceeds the maximum size",
    "request entity too large",
    "payload too large",
    "content too large",
    "string too long. expected a string with maximum length",
    "extra usage is required for long context",
];

pub(super) fn of_reply(status: u16, body: &[u8]) -> Option<Failure> {
    let said = match status {
        200..=299 => Said::in_answer(body)?,
        _ => Said::in_error(body),
    };
    Some(failure(status, &said))
}

pub(super) fn of_event(data: &str) -> Option<Failure> {
    // Nearly every event of a stream is none; a look at the bytes spares the reading.
    if !data.contains("error") {
        return None;
    }
    let json: Value = serde_json::from_str(data).ok()?;
    Some(failure(200, &Said::in_json(&json)?))
}

fn failure(status: u16, said: &Said) -> Failure {
    // A server that answers 200 and means something else says so in the body.
    let meant = said.status.filter(|code| status < 300 && (400..600).contains(code)).unwrap_or(status);
    let text = folded(&said.message);
    let kind = kind(meant, said, &text);
    let message = if said.message.is_empty() { "nothing was said".to_owned() } else { shown(&said.message) };
    let max_output = output::most(&text).filter(|_| kind == Kind::Refused);
    Failure { kind, status: Some(status), advice: Advice::in_text(&text), max_output, message, begun: None }
}

fn kind(status: u16, said: &Said, text: &str) -> Kind {
    let by_code = code::of_codes(&said.codes);
    let has = |words: &[&str]| words.iter().any(|words| text.contains(words));
    if matches!(by_code, Some(Kind::Overflow { .. })) {
        let told = overflow::kind(said.sizes);
        return if said.sizes.limit.is_some() { told } else { overflow::in_text(text).unwrap_or(told) };
    }
    if has(NO_MONEY) {
        return Kind::Billing;
    }
    if has(TOO_LARGE) {
        return Kind::TooLarge;
    }
    if may_be_overflow(status)
        && let Some(overflow) = overflow::in_text(text)
    {
        return overflow;
    }
    let by_words = || has(TOO_OFTEN).then_some(Kind::RateLimited);
    by_code.or_else(by_words).unwrap_or_else(|| code::of_status(status))
}

// Who is not let in, or has asked too often, is not told about the window.
fn may_be_overflow(status: u16) -> bool {
    !matches!(status, 401..=404 | 407 | 429 | 529)
}

//! Addresses that are secrets themselves: whoever has one can post there.

use super::anchors::{Anchors, prepared};
use super::forms::WEBHOOK;
use super::looks::is_template;
use super::{Found, Kind, Text};

/// How such addresses go before the part that nobody can guess.
static ADDRESSES: Anchors = Anchors::new(|| {
    prepared([
        "hooks.slack.com/services/",
        "hooks.slack.com/workflows/",
        "hooks.slack.com/triggers/",
        "/api/webhooks/",
        "webhook.office.com/webhookb2/",
    ])
});

/// What is in all of them, and in few other texts.
static HOOK: Anchors = Anchors::new(|| prepared(["hook"]));

/// The longest part that is looked at.
const LONGEST: usize = 256;

/// Finds all of them, with or without `https://`.
pub(super) fn find(text: &Text<'_>, found: &mut Vec<Found>) {
    if HOOK.occur(text.bytes) {
        found.extend(ADDRESSES.places(text.bytes).filter_map(|place| webhook(text, place.end)));
    }
}

fn webhook(text: &Text<'_>, at: usize) -> Option<Found> {
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'/' | b'@');
    let length = text.from(at).iter().take(LONGEST).take_while(is_part).count();
    let path = text.slice(at..at + length);
    let secret = path.split(|byte| *byte == b'/').any(|part| part.len() >= 20) && !is_template(path);
    secret.then_some(Found { span: at..at + length, kind: Kind::Issued(WEBHOOK) })
}

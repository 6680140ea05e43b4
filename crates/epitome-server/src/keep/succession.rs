//! A client that makes its history smaller by itself: the conversation begins anew, with a summary, and is recorded as what it is, the
//! same one going on.
//!
//! It is told by what stays the same: the name that the client gives to its calls, the program, its instructions and its tools; and by what
//! it says. A summary speaks of what was said before, or repeats some of it; another errand for an agent of the same kind, or a fresh
//! start, does not. That it goes on elsewhere is an event of the new session's first turn.

use std::collections::HashSet;

use epitome::core::items;
use epitome::ledger::Clock;
use epitome::ledger::model::{NewEvent, Session as Record};
use epitome::wire::decode_message;
use epitome::{Arrived, Block, Course, Dialect, SessionId};
use serde_json::json;

use super::Inner;
use super::links::Link;
use super::request::Request;

/// What has said less than so many messages was not made smaller.
const SHORTEST: u64 = 4;
/// So many sessions of the same name are looked at, the latest first.
const EARLIER: usize = 8;
/// So many of the last messages of a conversation are compared with what may be its summary.
const COMPARED: u64 = 400;
/// Shorter texts are said in many conversations.
const TELLING_TEXT: usize = 24;
/// Shorter words are, too.
const TELLING_WORD: usize = 7;
/// So many subjects that both speak of are no accident, if they are at least half of what is new in the later one.
const SHARED: usize = 6;

impl Inner {
    /// The session that a conversation which begins here goes on from, if its client made that one smaller.
    pub(super) async fn succeeds(&self, request: &Request<'_>, arrived: &Arrived) -> Option<SessionId> {
        if !matches!(arrived.course, Course::New | Course::Forked) {
            return None;
        }
        let succeeded = self.succession(request, arrived).await;
        succeeded.unwrap_or_else(|error| {
            tracing::warn!(%error, "whether a conversation goes on from another one is not known");
            None
        })
    }

    async fn succession(
        &self,
        request: &Request<'_>,
        arrived: &Arrived,
    ) -> epitome::Result<Option<SessionId>> {
        let Some(name) = request.lineage() else { return Ok(None) };
        let (ready, tenant) = (self.store.ready()?, request.tenant);
        let before = self.links.all(&ready.ledger, tenant, &name).await?;
        let session = arrived.session.id();
        let link = Link { session, turn: arrived.turn, messages: arrived.ordinals.len() as u64 };
        self.links.keep(&ready.ledger, tenant, &name, link).await?;
        if arrived.course != Course::New {
            return Ok(None);
        }
        // Others of the same name may have begun since: agents that were sent on errands.
        for before in before.into_iter().filter(|before| before.session != session).take(EARLIER) {
            let earlier = match ready.ledger.session(tenant, before.session).await {
                Err(epitome::ledger::LedgerError::NotFound { .. }) => continue,
                earlier => earlier?,
            };
            // Whoever is still talking there has not gone on here.
            let is_busy = earlier.head.is_some_and(|head| self.under_way.all().contains(&head));
            if !is_busy && earlier.messages >= SHORTEST && self.is_spoken_of(request, &earlier).await? {
                self.record_succession(request, arrived, &earlier).await?;
                return Ok(Some(earlier.id));
            }
        }
        Ok(None)
    }

    async fn record_succession(
        &self,
        request: &Request<'_>,
        arrived: &Arrived,
        earlier: &Record,
    ) -> epitome::Result<()> {
        let session = arrived.session.id();
        let told = json!({
            "event": "compacted_by_client", "from": earlier.id.to_string(), "to": session.to_string(),
            "messages": earlier.messages,
        });
        let event = NewEvent {
            platform: "proxy".to_owned(),
            channel: request.name.clone().unwrap_or_else(|| request.agent.clone()),
            external: session.to_string(),
            time: Clock::system().now(),
            payload: told.to_string().into_bytes(),
            turns: vec![arrived.turn],
        };
        self.store.ready()?.ledger.append_event(request.tenant, event).await?;
        Ok(())
    }

    // Whether a conversation speaks of what was said in an earlier one.
    async fn is_spoken_of(&self, request: &Request<'_>, earlier: &Record) -> epitome::Result<bool> {
        let Some(head) = earlier.head else { return Ok(false) };
        let ready = self.store.ready()?;
        let dialect = request.dialect;
        let opening = ready.ledger.messages(request.tenant, head, 0..1).await?;
        let from = earlier.messages.saturating_sub(COMPARED).max(1);
        let behind = ready.ledger.messages(request.tenant, head, from..earlier.messages).await?;
        let text = |body: &[u8]| texts(dialect, &String::from_utf8_lossy(body));
        let opening: Vec<String> = opening.iter().flat_map(|message| text(&message.body)).collect();
        let behind: Vec<String> = behind.iter().flat_map(|message| text(&message.body)).collect();
        let now: Vec<String> = request.messages().flat_map(|message| texts(dialect, message)).collect();
        Ok(speaks_of(&now, &opening, &behind))
    }
}

// What is said and asked for in a message; what tools return says little of what it is about.
fn texts(dialect: Dialect, json: &str) -> Vec<String> {
    let Ok((message, _)) = decode_message(dialect, json) else { return Vec::new() };
    let text = |block| match block {
        Block::Text(text) => Some(text.text),
        Block::ToolUse(call) => Some(call.input),
        _ => None,
    };
    message.blocks.into_iter().filter_map(text).collect()
}

// Whether what is said now repeats or retells what was said behind the opening of an earlier conversation. What both open with says
// nothing: those who give errands to agents of one kind use the same words for it.
fn speaks_of(now: &[String], opening: &[String], behind: &[String]) -> bool {
    let repeats = |text: &String| text.trim().chars().count() >= TELLING_TEXT && behind.contains(text);
    if now.iter().filter(|text| !opening.contains(text)).any(repeats) {
        return true;
    }
    let (opening, behind) = (subjects(opening), subjects(behind));
    let new: Vec<String> = subjects(now).into_iter().filter(|subject| !opening.contains(subject)).collect();
    let shared = new.iter().filter(|subject| behind.contains(*subject)).count();
    shared >= SHARED && shared * 2 >= new.len()
}

// Names, paths and numbers, and long words.
fn subjects(texts: &[String]) -> HashSet<String> {
    let mut subjects = HashSet::new();
    for text in texts {
        let found = items::find(text).filter(items::Found::is_telling);
        subjects.extend(found.map(|item| item.key().to_lowercase()));
        let words = text.split(|letter: char| !letter.is_alphanumeric());
        let words = words.filter(|word| word.chars().count() >= TELLING_WORD);
        subjects.extend(words.map(str::to_lowercase));
    }
    subjects
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERRAND: &str = "Review the given file for security problems and report findings as a list.";

    fn speaks(now: &str) -> bool {
        let behind = [
            "I will look at src/net/retry.rs first; parse_deadline seems to swallow overflow.",
            r#"{"path":"src/net/retry.rs","offset":120}"#,
            "The backoff doubles without bound, and the jitter is seeded by the process number.",
            "Use a ceiling of 30s, and keep the exponential growth below it. Never touch the fixtures.",
            "Done: clamp_backoff limits it, and three regression tests cover the ceiling.",
        ];
        let opening = format!("{ERRAND} The file is retry.rs.");
        speaks_of(&[now.to_owned()], &[opening], &behind.map(str::to_owned))
    }

    #[test]
    fn a_summary_speaks_of_what_was_said_and_another_errand_does_not() {
        let cases = [
            // As clients write summaries.
            (
                "This session is being continued from a previous conversation. Summary: the backoff in src/net/retry.rs doubled \
                 without bound; parse_deadline swallowed overflow. clamp_backoff now limits it with a ceiling of 30s, the exponential \
                 growth stays below; regression tests cover that. The user said: never touch the fixtures.",
                true,
            ),
            // As clients keep messages.
            (
                "Use a ceiling of 30s, and keep the exponential growth below it. Never touch the fixtures.",
                true,
            ),
            // Another errand of the same kind.
            (
                "Review the given file for security problems and report findings as a list. The file is quota.rs.",
                false,
            ),
            // A fresh start, about the same things or others.
            ("Now write documentation for clamp_backoff in src/net/retry.rs.", false),
            (
                "Please translate the attached brochure about alpine gardening into Portuguese and Italian.",
                false,
            ),
            ("Thanks.", false),
            ("", false),
        ];
        for (now, expected) in cases {
            assert_eq!(speaks(now), expected, "{now}");
        }
    }
}

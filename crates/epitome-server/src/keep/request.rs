//! A call as the keeper reads it: whose it is, which conversation it carries, and what stands beside that.

use std::borrow::Cow;

use epitome::ledger::model::ChainHash;
use epitome::wire::json::{Kind, Span, members, string};
use epitome::wire::{Body, WireError, decode_message};
use epitome::{Dialect, Role, Session, SessionId, TenantId};
use http::HeaderMap;

use super::elsewhere::{Elsewhere, may_be_edited, may_be_followed};
use super::mode::Mode;
use super::thread::Terms;
use super::threads::Shared;
use crate::keeper::Call;

/// Headers in which clients name the session that they keep, those of one client together.
const NAMES: [&[&str]; 5] = [
    &["x-claude-code-session-id", "x-claude-code-agent-id"],
    &["session_id"],
    &["session-id"],
    &["x-session-id"],
    &["x-opencode-session"],
];
/// So much of the first message tells conversations apart.
const TELLING: usize = 4_096;

/// What tells conversations apart before they are compared.
pub(super) type Key = [u8; 16];

/// A call, read.
pub(super) struct Request<'a> {
    pub(super) tenant: TenantId,
    pub(super) dialect: Dialect,
    pub(super) model: String,
    /// The program that the client says it is.
    pub(super) agent: String,
    /// The session that the client says it is.
    pub(super) session: Option<SessionId>,
    /// The name under which the client keeps the conversation, and maybe others.
    pub(super) name: Option<String>,
    /// Whether the client says that it tries again.
    pub(super) is_retry: bool,
    /// What the provider holds of the conversation, so that nothing of it may be changed here.
    pub(super) elsewhere: Option<Elsewhere>,
    /// Whether later calls may name the reply in place of what was said.
    pub(super) may_be_followed: bool,
    /// Whether the provider may leave out a part of it.
    pub(super) may_be_edited: bool,
    pub(super) body: Body<'a>,
    /// So many messages of the operator stand before the conversation.
    pub(super) leading: usize,
}

impl<'a> Request<'a> {
    /// Reads a call; `before` is one that it shares its first bytes with.
    pub(super) fn read(
        call: &Call,
        text: &'a str,
        tenant: TenantId,
        before: Option<&Shared>,
    ) -> Result<Self, WireError> {
        let dialect = call.dialect;
        let body = match before {
            Some(before) => Body::resume(&before.scan, text, before.common)?,
            None => Body::scan(dialect, text)?,
        };
        let elsewhere = Elsewhere::of(&body);
        // What stands first in a call that goes on from an earlier one stands in the midst of the conversation.
        let is_first = elsewhere.as_ref().is_none_or(|elsewhere| elsewhere.behind.is_none());
        let leading = if is_first { leading(&body) } else { 0 };
        if body.messages().len() == leading {
            return Err(WireError::NoMessages { field: "messages" });
        }
        let header = |name: &str| call.headers.get(name).and_then(|value| value.to_str().ok());
        let wanted = header("x-epitome-session");
        let session = wanted.and_then(|wanted| wanted.parse().ok());
        let name = wanted.filter(|_| session.is_none()).map(str::to_owned);
        let is_retry = header("x-stainless-retry-count").is_some_and(|count| count.trim() != "0");
        Ok(Self {
            tenant,
            dialect,
            model: body.model().map(Cow::into_owned).unwrap_or_default(),
            agent: agent(&call.headers),
            session,
            name: name.or_else(|| named(&call.headers)),
            is_retry,
            elsewhere,
            may_be_followed: may_be_followed(&body),
            may_be_edited: may_be_edited(&body),
            body,
            leading,
        })
    }

    /// The messages of the conversation.
    pub(super) fn messages(&self) -> impl ExactSizeIterator<Item = &'a str> + '_ {
        (self.leading..self.body.messages().len()).map(|at| self.body.message(at))
    }

    /// What tells it apart from most others.
    pub(super) fn key(&self) -> Key {
        let first = self.body.message(self.leading).as_bytes();
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.tenant.as_uuid().as_bytes()).update(self.dialect.to_string().as_bytes());
        hasher.update(self.name.as_deref().unwrap_or_default().as_bytes());
        hasher.update(first.get(..TELLING).unwrap_or(first));
        let mut key = [0; ChainHash::LENGTH];
        hasher.finalize_xof().fill(&mut key);
        key
    }

    /// The name of the reply, or of the conversation, that it goes on from where its provider has that.
    pub(super) fn behind(&self) -> Option<&str> {
        self.elsewhere.as_ref()?.behind.as_deref()
    }

    /// What the calls of a client have in common before and after it made its history smaller: the name that it gives them, itself,
    /// and what stands beside the conversation.
    pub(super) fn lineage(&self) -> Option<String> {
        // Of ids of users, only those that name a session tell conversations apart.
        let own = || {
            let value: serde_json::Value = serde_json::from_str(self.body.field("metadata")?).ok()?;
            value["user_id"].as_str().filter(|id| id.contains("session")).map(str::to_owned)
        };
        let name = self.name.clone().or_else(own).filter(|name| !name.is_empty())?;
        let mut hasher = blake3::Hasher::new();
        for part in [name.as_str(), &self.agent, &self.dialect.to_string()] {
            hasher.update(part.as_bytes()).update(b"\0");
        }
        hasher.update(self.beside().as_bytes());
        Some(format!("lineage {}", hasher.finalize().to_hex()))
    }

    /// What calls of one conversation agree in.
    pub(super) fn terms(&self, mode: Mode) -> Terms {
        let (name, model, agent) = (self.name.clone(), self.model.clone(), self.agent.clone());
        Terms { name, model, agent, mode }
    }

    /// Tells a session what is sent beside the conversation.
    pub(super) fn say_beside(&self, session: &Session) {
        session.beside_of(&self.body, self.leading);
    }

    /// What tells whether that has changed.
    pub(super) fn terms_beside(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.beside().as_bytes());
        for (name, json) in self.body.cache_fields() {
            hasher.update(name.as_bytes()).update(b"\0").update(json.as_bytes()).update(b"\0");
        }
        hasher.finalize()
    }

    /// The instructions and the tools.
    fn beside(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.body.system_text().unwrap_or_default().as_bytes()).update(b"\0");
        for at in 0..self.leading {
            hasher.update(self.body.message(at).as_bytes());
        }
        hasher.update(self.body.tools_text().unwrap_or_default().as_bytes()).finalize()
    }
}

/// How many messages of the operator stand before the conversation.
pub(super) fn leading(body: &Body<'_>) -> usize {
    let operator =
        |span: &&Span| matches!(role_of(span.of(body.text())).as_deref(), Some("system" | "developer"));
    match body.dialect() {
        Dialect::Anthropic => 0,
        _ => body.messages().iter().take_while(operator).count(),
    }
}

/// Whether the model speaks in a message.
pub(super) fn is_reply(dialect: Dialect, message: &str) -> bool {
    decode_message(dialect, message).is_ok_and(|(message, _)| message.role == Role::Assistant)
}

fn role_of(message: &str) -> Option<Cow<'_, str>> {
    let whole = Span { start: 0, end: message.len() };
    if Kind::of(message) != Some(Kind::Object) {
        return None;
    }
    let member = members(message, whole).map_while(Result::ok).find(|(key, _)| key == "role")?;
    string(message, member.1).ok()
}

fn agent(headers: &HeaderMap) -> String {
    let told = headers.get("user-agent").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let name = told.split(['/', ' ', '(']).next().unwrap_or_default();
    let name: String = name
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(*letter))
        .take(64)
        .collect();
    if name.is_empty() { "proxy".to_owned() } else { name.to_ascii_lowercase() }
}

fn named(headers: &HeaderMap) -> Option<String> {
    let value = |name: &&str| headers.get(*name).and_then(|value| value.to_str().ok());
    NAMES.iter().find_map(|names| {
        value(names.first()?)?;
        Some(names.iter().filter_map(value).collect::<Vec<_>>().join("/"))
    })
}

//! Entries: what can be searched for, written in the transaction of what it points at.

use std::collections::BTreeSet;

use crate::error::{LedgerError, Result};
use crate::sql::{Sql, Statement, values_of};

/// Makes something searchable.
pub(crate) const INSERT: &str = "INSERT INTO entries (tenant, session, kind, place) VALUES ($1, $2, $3, $4)";
/// The same as it was written before entries said whose they are.
pub(crate) const INSERT_OF_SESSION: &str = "INSERT INTO entries (session, kind, place, tenant) \
     VALUES ($1, $2, $3, (SELECT tenant FROM sessions WHERE key = $1))";

/// What an entry points at.
pub(crate) struct Place {
    tenant: i64,
    session: Option<i64>,
    kind: i64,
    place: u64,
}

pub(crate) const MESSAGE: i64 = 0;
pub(crate) const SUMMARY: i64 = 1;
pub(crate) const EVENT: i64 = 2;
pub(crate) const FINDING: i64 = 3;

impl Place {
    pub(crate) fn message(tenant: i64, session: i64, ordinal: u64) -> Self {
        Self { tenant, session: Some(session), kind: MESSAGE, place: ordinal }
    }

    pub(crate) fn summary(tenant: i64, session: i64, turn: u64) -> Self {
        Self { tenant, session: Some(session), kind: SUMMARY, place: turn }
    }

    pub(crate) fn finding(tenant: i64, session: i64, key: u64) -> Self {
        Self { tenant, session: Some(session), kind: FINDING, place: key }
    }

    pub(crate) fn event(tenant: i64, key: u64) -> Self {
        Self { tenant, session: None, kind: EVENT, place: key }
    }
}

/// The term that all entries of a tenant have. No word contains a colon.
pub(crate) fn tenant_term(tenant: i64) -> String {
    format!("t:{tenant}")
}

/// The term that all entries of a session have.
pub(crate) fn session_term(session: i64) -> String {
    format!("s:{session}")
}

/// The term that all entries of a tenant's agent have: a hash, because agents may be called anything.
pub(crate) fn agent_term(tenant: i64, agent: &str) -> String {
    let hash = blake3::hash(format!("{tenant}:{agent}").as_bytes()).to_hex();
    format!("a:{}", hash.as_str().get(..16).unwrap_or_default())
}

/// The terms of everything in a session, so that a search within it need not look at what lies outside.
pub(crate) fn scope(tenant: i64, session: i64, agent: &str) -> Vec<String> {
    vec![tenant_term(tenant), session_term(session), agent_term(tenant, agent)]
}

/// The terms of an event: its tenant, and the sessions whose turns it led to, with their agents.
pub(crate) async fn event_scope(sql: &mut Sql<'_>, number: u64) -> Result<Vec<String>> {
    let row = sql.one("SELECT tenant FROM events WHERE key = $1", &values_of![number]).await?;
    let tenant = row.ok_or_else(|| LedgerError::damaged(format!("event {number} is missing")))?.int()?;
    let text = "SELECT DISTINCT t.session, s.agent FROM event_turns e JOIN turns t ON t.id = e.turn \
         JOIN sessions s ON s.key = t.session WHERE e.event = $1";
    let mut terms = vec![tenant_term(tenant)];
    for mut row in sql.query(text, &values_of![number]).await? {
        terms.push(session_term(row.int()?));
        terms.push(agent_term(tenant, &row.text()?));
    }
    Ok(terms)
}

/// Terms as the index takes them.
pub(crate) fn joined(terms: &BTreeSet<String>) -> String {
    let mut joined = String::with_capacity(terms.iter().map(|term| term.len() + 1).sum());
    for term in terms {
        joined.push_str(term);
        joined.push(' ');
    }
    joined
}

/// The statement that makes something searchable. It is indexed a little later ([`super::index`]).
pub(crate) fn insert(place: Place) -> Statement {
    Statement::new(INSERT, values_of![place.tenant, place.session, place.kind, place.place])
}

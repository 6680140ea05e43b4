//! Filling the full-text index, many entries at a time.
//!
//! Indexing each append by itself would cost more than the append: each commit of SQLite's index writes several pages and has
//! its merges to do, and PostgreSQL's is no cheaper. What is not indexed yet is bounded, and a search looks at it itself.

use std::collections::BTreeSet;
use std::pin::Pin;

use super::entry;
use super::hit::{self, Candidate};
use crate::error::{LedgerError, Result};
use crate::sql::{Sql, Value, values_of};
use crate::words;

/// So many entries may wait for a pause in writing to be indexed.
pub(crate) const WAITING: i64 = 64;
/// So many entries may wait at all.
pub(crate) const BACKLOG: i64 = 16_384;
/// So many are indexed in one step.
const STEP: usize = 512;

/// An entry that is not indexed yet, and its terms.
pub(crate) struct Waiting {
    pub(crate) key: i64,
    pub(crate) terms: BTreeSet<String>,
}

/// How far the index of a SQLite file goes, and how far it should.
pub(crate) async fn progress(sql: &mut Sql<'_>) -> Result<(i64, i64)> {
    let text = "SELECT indexed, (SELECT max(key) FROM entries) FROM progress";
    let mut row =
        sql.one(text, &[]).await?.ok_or_else(|| LedgerError::damaged("progress is not recorded"))?;
    Ok((row.int()?, row.maybe_int()?.unwrap_or(0)))
}

/// The entries that are not indexed yet and have one of the terms, newest first, however many there are.
pub(crate) async fn waiting(sql: &mut Sql<'_>, sought: &[words::Term]) -> Result<Vec<Waiting>> {
    let text = sql.either(
        "SELECT key FROM entries WHERE key > (SELECT indexed FROM progress) AND key < $1 ORDER BY key DESC LIMIT $2",
        "SELECT key FROM entries WHERE terms IS NULL AND key < $1 ORDER BY key DESC LIMIT $2",
    );
    let (mut before, mut found) = (i64::MAX, Vec::new());
    loop {
        let keys = keys(sql, text, &values_of![before, STEP]).await?;
        let Some(last) = keys.last() else { return Ok(found) };
        before = *last;
        let mut candidates = hit::load(sql, &keys).await?;
        candidates.retain(|candidate| {
            let letters = words::folded(&candidate.text);
            sought.iter().any(|term| letters.contains(&term.text))
        });
        found.extend(read(sql, candidates).await?);
    }
}

/// Indexes some of what waits and says how much.
pub(crate) fn step(mut sql: Sql<'_>) -> Pin<Box<dyn Future<Output = Result<usize>> + Send + '_>> {
    Box::pin(async move { some(&mut sql).await })
}

/// Indexes everything that waits.
pub(crate) async fn all(sql: &mut Sql<'_>) -> Result<()> {
    while some(sql).await? > 0 {}
    Ok(())
}

/// Indexes everything that waits of the sessions of a tenant that were purged, waiting for whoever is about to do so.
pub(crate) async fn of_purged(sql: &mut Sql<'_>, tenant: i64) -> Result<()> {
    if sql.either(true, false) {
        return all(sql).await;
    }
    let text = "SELECT e.key FROM entries e JOIN sessions s ON s.key = e.session \
         WHERE e.terms IS NULL AND s.tenant = $1 AND s.purged IS NOT NULL ORDER BY e.key LIMIT $2 FOR UPDATE OF e";
    while these(sql, text, &values_of![tenant, STEP]).await? > 0 {}
    Ok(())
}

// Keys of PostgreSQL do not come in the order of commits, so that each entry says itself whether it is indexed.
async fn some(sql: &mut Sql<'_>) -> Result<usize> {
    let text = sql.either(
        "SELECT key FROM entries WHERE key > (SELECT indexed FROM progress) ORDER BY key LIMIT $1",
        "SELECT key FROM entries WHERE terms IS NULL ORDER BY key LIMIT $1 FOR UPDATE SKIP LOCKED",
    );
    these(sql, text, &values_of![STEP]).await
}

async fn these(sql: &mut Sql<'_>, text: &str, values: &[Value]) -> Result<usize> {
    let keys = keys(sql, text, values).await?;
    let candidates = hit::load(sql, &keys).await?;
    let mut waiting = read(sql, candidates).await?;
    // What points at nothing has no terms, so that nothing waits behind it. The doctor names it.
    let found: BTreeSet<i64> = waiting.iter().map(|entry| entry.key).collect();
    let lost = keys.iter().filter(|key| !found.contains(key));
    waiting.extend(lost.map(|key| Waiting { key: *key, terms: BTreeSet::new() }));
    write(sql, &waiting).await?;
    if let Some(last) = keys.last().filter(|_| sql.either(true, false)) {
        sql.execute("UPDATE progress SET indexed = $1", &values_of![*last]).await?;
    }
    Ok(keys.len())
}

/// Indexes an event anew, because the sessions that it led to are not the same any more.
pub(crate) async fn event(sql: &mut Sql<'_>, number: i64) -> Result<()> {
    let text = sql.either(
        "SELECT key FROM entries WHERE kind = 2 AND place = $1 AND key <= (SELECT indexed FROM progress)",
        // Whoever indexes it just now did not see what changed; whoever comes later will.
        "SELECT key FROM entries WHERE kind = 2 AND place = $1 FOR UPDATE",
    );
    let keys = keys(sql, text, &values_of![number]).await?;
    if sql.either(true, false) {
        for key in &keys {
            sql.execute("DELETE FROM search WHERE rowid = $1", &values_of![*key]).await?;
        }
    }
    let candidates = hit::load(sql, &keys).await?;
    let entries = read(sql, candidates).await?;
    write(sql, &entries).await
}

async fn write(sql: &mut Sql<'_>, entries: &[Waiting]) -> Result<()> {
    let insert = sql.either(
        "INSERT INTO search (terms, rowid) VALUES ($1, $2)",
        "UPDATE entries SET terms = array_to_tsvector(string_to_array(trim($1), ' ')) WHERE key = $2",
    );
    for entry in entries {
        sql.execute(insert, &values_of![entry::joined(&entry.terms), entry.key]).await?;
    }
    Ok(())
}

async fn keys(sql: &mut Sql<'_>, text: &str, values: &[Value]) -> Result<Vec<i64>> {
    let rows = sql.query(text, values).await?;
    rows.into_iter().map(|mut row| row.int()).collect()
}

async fn read(sql: &mut Sql<'_>, candidates: Vec<Candidate>) -> Result<Vec<Waiting>> {
    let mut waiting = Vec::with_capacity(candidates.len());
    let mut scopes = Scopes::default();
    for candidate in candidates {
        let mut terms = words::terms(&candidate.text);
        terms.extend(scopes.of(sql, &candidate).await?);
        waiting.push(Waiting { key: candidate.key, terms });
    }
    Ok(waiting)
}

/// The scope terms of sessions that were met.
#[derive(Default)]
struct Scopes(Vec<(i64, Vec<String>)>);

impl Scopes {
    async fn of(&mut self, sql: &mut Sql<'_>, candidate: &Candidate) -> Result<Vec<String>> {
        let Some(session) = candidate.session else {
            return entry::event_scope(sql, candidate.place).await;
        };
        if let Some((_, terms)) = self.0.iter().find(|(known, _)| *known == session) {
            return Ok(terms.clone());
        }
        let row = sql.one("SELECT tenant, agent FROM sessions WHERE key = $1", &values_of![session]).await?;
        let mut row = row.ok_or_else(|| LedgerError::damaged(format!("session {session} is missing")))?;
        let terms = entry::scope(row.int()?, session, &row.text()?);
        self.0.push((session, terms.clone()));
        Ok(terms)
    }
}

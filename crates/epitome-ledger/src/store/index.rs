//! Filling SQLite's full-text index, many entries at a time.
//!
//! Each commit of that index writes several pages and has its merges to do, so that indexing each append by itself would cost
//! more than the append. What is not indexed yet is bounded, and a search looks at it itself. PostgreSQL does
//! the same inside its own index.

use std::collections::BTreeSet;
use std::pin::Pin;

use super::entry;
use super::hit::{self, Candidate};
use crate::error::{LedgerError, Result};
use crate::sql::{Sql, values_of};
use crate::words;

/// So many entries may wait to be indexed.
pub(crate) const WAITING: i64 = 128;
/// So many are indexed in one step.
const STEP: usize = 512;

/// An entry that is not indexed yet, and its terms.
pub(crate) struct Waiting {
    pub(crate) key: i64,
    pub(crate) terms: BTreeSet<String>,
}

/// How far the index goes, and how far it should.
pub(crate) async fn progress(sql: &mut Sql<'_>) -> Result<(i64, i64)> {
    let text = "SELECT indexed, (SELECT max(key) FROM entries) FROM progress";
    let mut row =
        sql.one(text, &[]).await?.ok_or_else(|| LedgerError::damaged("progress is not recorded"))?;
    Ok((row.int()?, row.maybe_int()?.unwrap_or(0)))
}

/// The entries that are not indexed yet, newest first; none on PostgreSQL.
pub(crate) async fn waiting(sql: &mut Sql<'_>) -> Result<Vec<Waiting>> {
    if sql.either(false, true) {
        return Ok(Vec::new());
    }
    let (indexed, _) = progress(sql).await?;
    let mut waiting = load(sql, indexed, usize::MAX).await?;
    waiting.reverse();
    Ok(waiting)
}

/// Indexes some of what waits and says how much.
pub(crate) fn step(mut sql: Sql<'_>) -> Pin<Box<dyn Future<Output = Result<usize>> + Send + '_>> {
    Box::pin(async move { some(&mut sql).await })
}

/// Indexes everything that waits.
pub(crate) async fn all(sql: &mut Sql<'_>) -> Result<()> {
    while sql.either(true, false) && some(sql).await? > 0 {}
    Ok(())
}

async fn some(sql: &mut Sql<'_>) -> Result<usize> {
    let (indexed, _) = progress(sql).await?;
    let waiting = load(sql, indexed, STEP).await?;
    for entry in &waiting {
        let insert = "INSERT INTO search (rowid, terms) VALUES ($1, $2)";
        sql.execute(insert, &values_of![entry.key, entry::joined(&entry.terms)]).await?;
    }
    if let Some(last) = waiting.last() {
        sql.execute("UPDATE progress SET indexed = $1", &values_of![last.key]).await?;
    }
    Ok(waiting.len())
}

async fn load(sql: &mut Sql<'_>, after: i64, most: usize) -> Result<Vec<Waiting>> {
    let text = "SELECT key FROM entries WHERE key > $1 ORDER BY key LIMIT $2";
    let rows = sql.query(text, &values_of![after, most]).await?;
    let keys = rows.into_iter().map(|mut row| row.int()).collect::<Result<Vec<_>>>()?;
    let mut waiting = Vec::with_capacity(keys.len());
    let mut scopes = Scopes::default();
    for candidate in hit::load(sql, &keys).await? {
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

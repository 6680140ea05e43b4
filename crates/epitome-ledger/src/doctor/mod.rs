//! The doctor: checks everything that always holds, reports what does not, repairs nothing.

mod body;
mod index;
mod path;

use crate::error::Result;
use crate::model::{Checkup, Finding};
use crate::sql::{Sql, values_of};
use crate::store::arrival;

/// More findings than this are not listed; the ledger is in need of a backup, not of a longer list.
const MOST: usize = 1000;

/// Checks the whole ledger.
pub(crate) async fn check(sql: &mut Sql<'_>) -> Result<Checkup> {
    let mut checkup = Checkup::default();
    if sql.either(true, false) {
        file(sql, &mut checkup).await?;
    }
    body::check(sql, &mut checkup).await?;
    path::check(sql, &mut checkup).await?;
    index::check(sql, &mut checkup).await?;
    Ok(checkup)
}

// SQLite knows how to check its own pages.
async fn file(sql: &mut Sql<'_>, checkup: &mut Checkup) -> Result<()> {
    // The check of the full-text index trusts what the connection remembers of it, and cries wolf where another connection
    // has rewritten the index since. A search makes it look again.
    sql.query("SELECT rowid FROM search WHERE search MATCH 'nothing'", &[]).await?;
    for mut row in sql.query("PRAGMA integrity_check(100)", &[]).await? {
        let told = row.text()?;
        if told != "ok" {
            checkup.found("file", told);
        }
    }
    for (key, session) in arrival::aside(sql).await? {
        let name = "SELECT id FROM sessions WHERE key = $1";
        let subject = match sql.one(name, &values_of![session]).await? {
            Some(mut row) => format!("session {}", row.uuid()?),
            None => "file".to_owned(),
        };
        checkup.found(subject, format!("arrival {} cannot be put in its place", key.unsigned_abs()));
    }
    Ok(())
}

impl Checkup {
    fn found(&mut self, subject: impl Into<String>, problem: impl Into<String>) {
        if self.findings.len() < MOST {
            self.findings.push(Finding { subject: subject.into(), problem: problem.into() });
        }
    }

    fn expect<T: PartialEq + std::fmt::Debug>(&mut self, subject: &str, what: &str, found: T, expected: T) {
        if found != expected {
            self.found(subject, format!("{what} is {found:?} instead of {expected:?}"));
        }
    }
}

//! The doctor: checks everything that always holds, reports what does not, repairs nothing.

mod body;
mod index;
mod knowledge;
mod path;
mod rows;

use crate::error::{LedgerError, Result};
use crate::model::{Checkup, Finding};
use crate::sql::{Connection, Sql, values_of};
use crate::sqlite;
use crate::store::arrival;

/// More findings than this are not listed; the ledger is in need of a backup, not of a longer list.
const MOST: usize = 1000;

/// Checks the whole ledger.
pub(crate) async fn check(sql: &mut Sql<'_>) -> Result<Checkup> {
    let mut checkup = Checkup::default();
    let database = match sql.either(true, false) {
        true => file(sql, &mut checkup).await,
        false => server(sql, &mut checkup).await,
    };
    checkup.readable("file", database)?;
    let bodies = body::check(sql, &mut checkup).await;
    checkup.readable("bodies", bodies)?;
    let sessions = path::check(sql, &mut checkup).await;
    checkup.readable("sessions", sessions)?;
    let rows = rows::check(sql, &mut checkup).await;
    checkup.readable("rows", rows)?;
    let index = index::check(sql, &mut checkup).await;
    checkup.readable("index", index)?;
    let learnt = knowledge::check(sql, &mut checkup).await;
    checkup.readable("knowledge", learnt)?;
    Ok(checkup)
}

// What a server acknowledges is durable only if it says so.
async fn server(sql: &mut Sql<'_>, checkup: &mut Checkup) -> Result<()> {
    for (setting, lost) in [
        ("fsync", "what was acknowledged may be lost, and the database damaged, when its power fails"),
        ("full_page_writes", "the database may be damaged when its power fails"),
        ("synchronous_commit", "what was acknowledged may be lost when it stops"),
    ] {
        let row = sql.one("SELECT current_setting($1)", &values_of![setting]).await?;
        if row.map(|mut row| row.text()).transpose()?.as_deref() == Some("off") {
            checkup.note("server", format!("{setting} is off: {lost}"));
        }
    }
    Ok(())
}

// SQLite knows how to check its own pages.
async fn file(sql: &mut Sql<'_>, checkup: &mut Checkup) -> Result<()> {
    // The check of the full-text index trusts what the connection remembers of it, and cries wolf where another connection
    // has rewritten the index since. A search makes it look again.
    sql.query("SELECT rowid FROM search WHERE search MATCH 'nothing'", &[]).await?;
    let complaints = match &sql.connection {
        Connection::Sqlite(connection) => sqlite::complaints(connection)?,
        Connection::Postgres(_) => Vec::new(),
    };
    for told in complaints {
        for line in told.lines().filter(|line| *line != "ok" && !line.starts_with("***")) {
            let part = part(sql, line).await?;
            checkup.found(part, line);
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

// The table or index that a complaint of SQLite is about: it names the page where that begins.
async fn part(sql: &mut Sql<'_>, told: &str) -> Result<String> {
    let root = told.strip_prefix("Tree ").and_then(|rest| rest.split(' ').next()?.parse::<i64>().ok());
    let Some(root) = root else { return Ok("file".to_owned()) };
    let named =
        sql.one("SELECT type, name FROM sqlite_schema WHERE rootpage = $1", &values_of![root]).await?;
    named.map_or(Ok("file".to_owned()), |mut row| Ok(format!("{} {}", row.text()?, row.text()?)))
}

impl Checkup {
    // What cannot be read at all is a finding, too; the rest may be well.
    fn readable(&mut self, subject: &str, checked: Result<()>) -> Result<()> {
        match checked {
            Err(LedgerError::Damaged(problem)) => {
                self.found(subject, format!("it cannot be read any further: {problem}"));
                Ok(())
            }
            other => other,
        }
    }

    pub(crate) fn note(&mut self, subject: impl Into<String>, what: impl Into<String>) {
        self.notes.push(Finding { subject: subject.into(), problem: what.into() });
    }

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

//! The index: everything that can be searched for has one entry, with the right terms, and every entry points at something.

use super::Checkup;
use crate::error::Result;
use crate::sql::{Sql, values_of};
use crate::store::{entry, hit};
use crate::words;

const BATCH: i64 = 256;

pub(super) async fn check(sql: &mut Sql<'_>, checkup: &mut Checkup) -> Result<()> {
    counts(sql, checkup).await?;
    let mut after = 0;
    loop {
        // What waits to be indexed is checked when it is.
        let text = sql.either(
            "SELECT key FROM entries WHERE key > $1 AND key <= (SELECT indexed FROM progress) ORDER BY key LIMIT $2",
            "SELECT key FROM entries WHERE key > $1 AND terms IS NOT NULL ORDER BY key LIMIT $2",
        );
        let rows = sql.query(text, &values_of![after, BATCH]).await?;
        let keys = rows.into_iter().map(|mut row| row.int()).collect::<Result<Vec<_>>>()?;
        let Some(last) = keys.last() else { return Ok(()) };
        after = *last;
        for key in keys {
            terms(sql, checkup, key).await?;
        }
    }
}

async fn counts(sql: &mut Sql<'_>, checkup: &mut Checkup) -> Result<()> {
    let events = sql.one("SELECT count(*) FROM events", &[]).await?;
    checkup.events = events.map(|mut row| row.count()).transpose()?.unwrap_or(0);
    let missing = [
        (
            "messages",
            "SELECT (SELECT count(*) FROM messages) - (SELECT count(*) FROM entries WHERE kind = 0)",
        ),
        ("events", "SELECT (SELECT count(*) FROM events) - (SELECT count(*) FROM entries WHERE kind = 2)"),
    ];
    let stray = "SELECT count(*) FROM recalls r WHERE NOT EXISTS (SELECT 1 FROM messages m \
         WHERE m.session = r.session AND m.ordinal = r.ordinal AND m.tenant = r.tenant)";
    let stray = sql.one(stray, &[]).await?.map(|mut row| row.int()).transpose()?;
    checkup.expect("recall ids", "the number of those without a message", stray, Some(0));
    for (what, text) in missing {
        let difference = sql.one(text, &[]).await?.map(|mut row| row.int()).transpose()?;
        checkup.expect("index", &format!("the number of {what} without an entry"), difference, Some(0));
    }
    if sql.either(true, false) {
        let text = "SELECT (SELECT count(*) FROM entries WHERE key <= (SELECT indexed FROM progress)) \
             - (SELECT count(*) FROM search_docsize)";
        let difference = sql.one(text, &[]).await?.map(|mut row| row.int()).transpose()?;
        checkup.expect("index", "the number of entries without terms", difference, Some(0));
    }
    Ok(())
}

// An entry is found by the longest of its terms, within its session.
async fn terms(sql: &mut Sql<'_>, checkup: &mut Checkup, key: i64) -> Result<()> {
    let name = format!("entry {key}");
    let candidate = match hit::load(sql, &[key]).await {
        Ok(mut candidates) => candidates.pop(),
        Err(error) => {
            checkup.found(name, error.to_string());
            return Ok(());
        }
    };
    let Some(candidate) = candidate else {
        checkup.found(name, "it points at nothing");
        return Ok(());
    };
    let terms = words::terms(&candidate.text);
    let mut asked: Vec<String> = terms.into_iter().max_by_key(String::len).into_iter().collect();
    asked.extend(candidate.session.map(entry::session_term));
    if asked.is_empty() {
        return Ok(());
    }
    let text = sql.either(
        "SELECT 1 FROM search WHERE search MATCH $1 AND rowid = $2",
        "SELECT 1 FROM entries WHERE terms @@ CAST(CAST($1 AS TEXT) AS TSQUERY) AND key = $2",
    );
    let (quote, and) = sql.either(("\"", " AND "), ("'", " & "));
    let asked: Vec<String> = asked.iter().map(|term| format!("{quote}{term}{quote}")).collect();
    if sql.one(text, &values_of![asked.join(and), key]).await?.is_none() {
        checkup.found(name, "it is not found by its own terms");
    }
    Ok(())
}

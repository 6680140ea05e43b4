//! Purging: one transaction that takes sessions and events out, with everything that only they have, and says so.

use std::collections::BTreeSet;

use epitome_core::Time;

use super::path::{End, Path};
use super::{arrival, entry, finding, memo, message, pack, recall, tenant};
use crate::error::{LedgerError, Result};
use crate::model::{ChainHash, Purge, TenantId, Tombstone, Warrant};
use crate::sql::{Row, Sql, Value, values_of};

/// Takes out what is to go.
pub(crate) async fn run(
    sql: &mut Sql<'_>,
    id: TenantId,
    purge: Purge,
    warrant: Warrant,
) -> Result<Tombstone> {
    let tenant = tenant::ensure(sql, id).await?;
    if sql.either(false, true) {
        // One purge at a time, and none while bodies are packed: each would miss what the other frees.
        sql.query("SELECT 1 FROM progress FOR UPDATE", &[]).await?;
    }
    if sql.either(true, false) {
        // What is deleted is overwritten, not only forgotten.
        sql.query("PRAGMA secure_delete = ON", &[]).await?;
    }
    super::session::keep_highest(sql).await?;
    let now = sql.shared.clock.now();
    let (scope, subject) = match purge {
        Purge::Session(session) => ("session", session.to_string()),
        Purge::Tenant => ("tenant", String::new()),
        Purge::OlderThan(time) => ("older-than", time.0.to_string()),
    };
    let mut gone = Tombstone {
        warrant,
        scope: scope.to_owned(),
        subject,
        sessions: mark(sql, tenant, purge, now).await?,
        turns: 0,
        messages: 0,
        events: 0,
        bodies: 0,
        bytes: 0,
        time: now,
    };
    // Nobody appends to them any more, and what was appended is found by its terms.
    super::index::of_purged(sql, tenant).await?;
    events(sql, tenant, purge, &mut gone).await?;
    // What earlier purges kept for forks may go with the last of them.
    let text = sql.either(
        "SELECT key FROM sessions WHERE tenant = $1 AND purged IS NOT NULL ORDER BY key",
        "SELECT key FROM sessions WHERE tenant = $1 AND purged IS NOT NULL ORDER BY key FOR UPDATE",
    );
    for mut row in sql.query(text, &values_of![tenant]).await? {
        session(sql, row.int()?, &mut gone).await?;
    }
    recall::forget(sql, tenant).await?;
    if purge == Purge::Tenant {
        sql.execute("DELETE FROM memos WHERE tenant = $1", &values_of![tenant]).await?;
    }
    bodies(sql, tenant, &mut gone).await?;
    // The keys of what is gone may be given again, to what is neither packed nor indexed yet.
    let text = "UPDATE progress SET packed = CASE WHEN packed > (SELECT COALESCE(max(key), 0) FROM bodies) \
         THEN (SELECT COALESCE(max(key), 0) FROM bodies) ELSE packed END, \
         indexed = CASE WHEN indexed > (SELECT COALESCE(max(key), 0) FROM entries) \
         THEN (SELECT COALESCE(max(key), 0) FROM entries) ELSE indexed END";
    sql.execute(text, &[]).await?;
    record(sql, id, &gone).await?;
    if sql.either(true, false) {
        // Deleted terms lie in the index until it is rewritten.
        sql.execute("INSERT INTO search (search) VALUES ('optimize')", &[]).await?;
        sql.query("PRAGMA secure_delete = FAST", &[]).await?;
    }
    Ok(gone)
}

// Marks the sessions that are to go, so that nobody sees or writes to them any more.
async fn mark(sql: &mut Sql<'_>, tenant: i64, purge: Purge, now: Time) -> Result<u64> {
    let (text, mut values) = match purge {
        Purge::Session(session) => (
            "UPDATE sessions SET purged = $1, external = NULL WHERE tenant = $2 AND purged IS NULL AND id = $3",
            vec![Value::from(session.as_uuid())],
        ),
        Purge::Tenant => (
            "UPDATE sessions SET purged = $1, external = NULL WHERE tenant = $2 AND purged IS NULL",
            Vec::new(),
        ),
        Purge::OlderThan(time) => (
            // What was imported is as old as it says, however late it was recorded.
            "UPDATE sessions SET purged = $1, external = NULL WHERE tenant = $2 AND purged IS NULL AND COALESCE(\
             (SELECT COALESCE(r.time, t.time) FROM turns t LEFT JOIN replies r ON r.session = t.session \
             AND r.turn = t.number WHERE t.session = sessions.key AND t.number = sessions.turns - 1), updated) < $3",
            vec![Value::from(time)],
        ),
    };
    let mut all = values_of![now, tenant];
    all.append(&mut values);
    let marked = sql.execute(text, &all).await?;
    match purge {
        Purge::Session(session) if marked == 0 => Err(LedgerError::no_session(session)),
        _ => Ok(marked),
    }
}

// Takes a session's own rows, but for those that living forks stand on.
async fn session(sql: &mut Sql<'_>, key: i64, gone: &mut Tombstone) -> Result<()> {
    let text = "SELECT max(p.to_turn), max(p.to_message) FROM spans p JOIN sessions s ON s.key = p.session \
         WHERE p.owner = $1 AND s.purged IS NULL";
    let mut row = sql.one(text, &values_of![key]).await?.unwrap_or_else(|| Row::new(Vec::new()));
    let (turns, messages) = (row.maybe_int()?, row.maybe_int()?);
    let kept = turns.zip(messages);
    let (from_turn, from_message) = kept.unwrap_or((0, 0));
    if sql.either(true, false) {
        arrival::forget(sql, key).await?;
    }
    index(sql, key, from_turn, from_message).await?;
    for entry in finding::forget(sql, key, from_message).await? {
        forget(sql, entry).await?;
    }
    memo::forget(sql, key).await?;
    let delete = "DELETE FROM messages WHERE session = $1 AND ordinal >= $2";
    gone.messages += sql.execute(delete, &values_of![key, from_message]).await?;
    let events = "SELECT DISTINCT event FROM event_turns WHERE turn IN \
         (SELECT id FROM turns WHERE session = $1 AND number >= $2)";
    let events = sql.query(events, &values_of![key, from_turn]).await?;
    let linked =
        "DELETE FROM event_turns WHERE turn IN (SELECT id FROM turns WHERE session = $1 AND number >= $2)";
    for text in [
        linked,
        "DELETE FROM replies WHERE session = $1 AND turn >= $2",
        "DELETE FROM compactions WHERE session = $1 AND turn >= $2",
        "DELETE FROM episodes WHERE session = $1 AND turn >= $2",
        // Notes made behind a turn count the turns up to it.
        "DELETE FROM notes WHERE session = $1 AND turns > $2",
    ] {
        sql.execute(text, &values_of![key, from_turn]).await?;
    }
    // A fork may have left a turn before it had its reply, which then nobody has any longer.
    let delete = "DELETE FROM replies WHERE session = $1 AND finish > $2";
    sql.execute(delete, &values_of![key, from_message]).await?;
    let delete = "DELETE FROM turns WHERE session = $1 AND number >= $2";
    gone.turns += sql.execute(delete, &values_of![key, from_turn]).await?;
    for mut row in events {
        super::index::event(sql, row.int()?).await?;
    }
    match kept {
        Some((turns, messages)) => shorten(sql, key, turns, messages).await,
        None => {
            sql.execute("DELETE FROM spans WHERE session = $1", &values_of![key]).await?;
            sql.execute("DELETE FROM sessions WHERE key = $1", &values_of![key]).await?;
            Ok(())
        }
    }
}

// What is kept of a session must still be true in itself.
async fn shorten(sql: &mut Sql<'_>, key: i64, turns: i64, messages: i64) -> Result<()> {
    let chain = chain(sql, key, turns, messages).await?;
    let update = "UPDATE sessions SET label = NULL, platform = NULL, channel = NULL, turns = $1, messages = $2, \
         head = (SELECT id FROM turns WHERE session = $3 AND number = $1 - CAST(1 AS BIGINT)), \
         nearest = (SELECT nearest FROM turns WHERE session = $3 AND number = $1 - CAST(1 AS BIGINT)), \
         compactions = (SELECT compactions FROM turns WHERE session = $3 AND number = $1 - CAST(1 AS BIGINT)), \
         chain = $4 WHERE key = $3";
    sql.execute(update, &values_of![turns, messages, key, chain.as_bytes()]).await?;
    Ok(())
}

// The hash of what is kept of a session's path. Its last message may lie on an ancestor, and there may be none.
async fn chain(sql: &mut Sql<'_>, key: i64, turns: i64, messages: i64) -> Result<ChainHash> {
    let text = "SELECT first_turn, first_message FROM sessions WHERE key = $1";
    let row = sql.one(text, &values_of![key]).await?;
    let mut row = row.ok_or_else(|| LedgerError::damaged(format!("session {key} is missing")))?;
    let (first_turn, first_message) = (row.count()?, row.count()?);
    let [turns, messages] = [turns, messages].map(|count| u64::try_from(count).unwrap_or(0));
    let Some(last) = messages.checked_sub(1) else { return Ok(ChainHash::ROOT) };
    let path = Path::to(sql, End { session: key, first_turn, first_message, turns, messages }).await?;
    message::chain_at(sql, path.owner_of_message(last)?, last).await
}

// Everything of a session has its term in the index, so that no second index on sessions is needed.
async fn index(sql: &mut Sql<'_>, key: i64, from_turn: i64, from_message: i64) -> Result<()> {
    let term = entry::session_term(key);
    let found = sql.either(
        "SELECT e.key FROM search s JOIN entries e ON e.key = s.rowid WHERE s.search MATCH $1 AND e.session = $2 \
         AND e.kind < 3 AND e.place >= CASE e.kind WHEN 0 THEN $3 ELSE $4 END",
        "SELECT e.key FROM entries e WHERE e.terms @@ CAST(CAST($1 AS TEXT) AS TSQUERY) AND e.session = $2 \
         AND e.kind < 3 AND e.place >= CASE e.kind WHEN 0 THEN CAST($3 AS BIGINT) ELSE CAST($4 AS BIGINT) END",
    );
    let quoted = sql.either(format!("\"{term}\""), format!("'{term}'"));
    let rows = sql.query(found, &values_of![quoted, key, from_message, from_turn]).await?;
    for mut row in rows {
        forget(sql, row.int()?).await?;
    }
    Ok(())
}

async fn forget(sql: &mut Sql<'_>, key: i64) -> Result<()> {
    if sql.either(true, false) {
        sql.execute("DELETE FROM search WHERE rowid = $1", &values_of![key]).await?;
    }
    sql.execute("DELETE FROM entries WHERE key = $1", &values_of![key]).await?;
    Ok(())
}

async fn events(sql: &mut Sql<'_>, tenant: i64, purge: Purge, gone: &mut Tombstone) -> Result<()> {
    let before = match purge {
        Purge::Session(_) => return Ok(()),
        Purge::Tenant => i64::MAX,
        Purge::OlderThan(time) => time.0,
    };
    let text = "SELECT v.key, e.key FROM events v LEFT JOIN entries e ON e.kind = 2 AND e.place = v.key \
         WHERE v.tenant = $1 AND v.time < $2";
    for mut row in sql.query(text, &values_of![tenant, before]).await? {
        let (event, entry) = (row.int()?, row.maybe_int()?);
        if let Some(entry) = entry {
            forget(sql, entry).await?;
        }
        sql.execute("DELETE FROM event_turns WHERE event = $1", &values_of![event]).await?;
        gone.events += sql.execute("DELETE FROM events WHERE key = $1", &values_of![event]).await?;
    }
    Ok(())
}

async fn bodies(sql: &mut Sql<'_>, tenant: i64, gone: &mut Tombstone) -> Result<()> {
    let text = sql.either(
        "DELETE FROM bodies WHERE tenant = $1 AND key NOT IN (SELECT body FROM messages WHERE tenant = $1 \
         UNION SELECT body FROM events WHERE tenant = $1) RETURNING size, pack",
        "DELETE FROM bodies b WHERE b.tenant = $1 AND b.key = ANY (CAST(CAST($2 AS TEXT) AS BIGINT[])) \
         AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.body = b.key) \
         AND NOT EXISTS (SELECT 1 FROM events e WHERE e.body = b.key) RETURNING b.size, b.pack",
    );
    let mut values = values_of![tenant];
    if sql.either(false, true) {
        values.push(Value::from(unused(sql, tenant).await?));
    }
    let mut packs = BTreeSet::new();
    for mut row in sql.query(text, &values).await? {
        gone.bodies += 1;
        gone.bytes += row.count()?;
        packs.extend(row.maybe_int()?);
    }
    for key in packs {
        pack::dissolve(sql, key).await?;
    }
    Ok(())
}

// The keys of the bodies that nobody seems to use, as PostgreSQL writes an array. Who appends holds the bodies it uses, so that
// whether they are used is only certain in the next statement, when they are ours.
async fn unused(sql: &mut Sql<'_>, tenant: i64) -> Result<String> {
    let text = "SELECT b.key FROM bodies b WHERE b.tenant = $1 \
         AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.body = b.key) \
         AND NOT EXISTS (SELECT 1 FROM events e WHERE e.body = b.key) ORDER BY b.key FOR UPDATE OF b";
    let rows = sql.query(text, &values_of![tenant]).await?;
    let keys: Vec<String> =
        rows.into_iter().map(|mut row| Ok(row.int()?.to_string())).collect::<Result<_>>()?;
    Ok(format!("{{{}}}", keys.join(",")))
}

async fn record(sql: &mut Sql<'_>, tenant: TenantId, gone: &Tombstone) -> Result<()> {
    let insert = "INSERT INTO tombstones (tenant, scope, subject, sessions, turns, messages, events, bodies, bytes, \
         actor, reason, time) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    let values = values_of![
        tenant.as_uuid(),
        gone.scope.as_str(),
        gone.subject.as_str(),
        gone.sessions,
        gone.turns,
        gone.messages,
        gone.events,
        gone.bodies,
        gone.bytes,
        gone.warrant.actor.as_str(),
        gone.warrant.reason.as_str(),
        gone.time,
    ];
    sql.execute(insert, &values).await?;
    Ok(())
}

/// What was purged of a tenant, the latest last.
pub(crate) async fn tombstones(sql: &mut Sql<'_>, tenant: TenantId) -> Result<Vec<Tombstone>> {
    let text = "SELECT actor, reason, scope, subject, sessions, turns, messages, events, bodies, bytes, time \
         FROM tombstones WHERE tenant = $1 ORDER BY key";
    let read = |mut row: Row| {
        Ok(Tombstone {
            warrant: Warrant { actor: row.text()?, reason: row.text()? },
            scope: row.text()?,
            subject: row.text()?,
            sessions: row.count()?,
            turns: row.count()?,
            messages: row.count()?,
            events: row.count()?,
            bodies: row.count()?,
            bytes: row.count()?,
            time: Time(row.int()?),
        })
    };
    sql.query(text, &values_of![tenant.as_uuid()]).await?.into_iter().map(read).collect()
}

//! Rows that must not be: of sessions, turns and events that are not there, beyond an end, or of somebody else.

use super::Checkup;
use crate::error::Result;
use crate::sql::{Sql, values_of};

/// What is counted, and must be none: of what, what, and how.
const NONE: [(&str, &str, &str); 9] = [
    (
        "replies",
        "the count of those without a turn",
        "FROM replies r WHERE NOT EXISTS (SELECT 1 FROM turns t WHERE t.session = r.session AND t.number = r.turn \
         AND t.kind = 0)",
    ),
    (
        "compactions",
        "the count of those without a turn",
        "FROM compactions c WHERE NOT EXISTS (SELECT 1 FROM turns t WHERE t.session = c.session \
         AND t.number = c.turn AND t.kind = 1)",
    ),
    (
        "turns",
        "the count of those beyond the end of their session",
        "FROM turns t JOIN sessions s ON s.key = t.session WHERE t.number >= s.turns OR t.number < s.first_turn",
    ),
    (
        "event links",
        "the count of those without an event",
        "FROM event_turns l WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.key = l.event)",
    ),
    (
        "event links",
        "the count of those without a turn",
        "FROM event_turns l WHERE NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = l.turn)",
    ),
    (
        "event links",
        "the count of those that join two tenants",
        "FROM event_turns l JOIN events e ON e.key = l.event JOIN turns t ON t.id = l.turn \
         WHERE e.tenant <> t.tenant OR e.tenant <> l.tenant",
    ),
    (
        "events",
        "the count of those with the body of another tenant, or with none",
        "FROM events e WHERE NOT EXISTS (SELECT 1 FROM bodies b WHERE b.key = e.body AND b.tenant = e.tenant)",
    ),
    (
        "events",
        "the count of those whose tenant is not known",
        "FROM events e WHERE NOT EXISTS (SELECT 1 FROM tenants n WHERE n.key = e.tenant)",
    ),
    (
        "index",
        "the count of entries that say another tenant than what they point at",
        "FROM entries e LEFT JOIN sessions s ON s.key = e.session LEFT JOIN events v ON e.kind = 2 AND v.key = e.place \
         WHERE e.tenant <> COALESCE(s.tenant, v.tenant)",
    ),
];

/// The tables whose rows belong to a session.
const OWNED: [&str; 8] =
    ["messages", "turns", "replies", "compactions", "notes", "spans", "findings", "episodes"];

pub(super) async fn check(sql: &mut Sql<'_>, checkup: &mut Checkup) -> Result<()> {
    for table in OWNED {
        let without = format!("FROM {table} WHERE session NOT IN (SELECT key FROM sessions)");
        none(sql, checkup, (table, "the count of rows that belong to no session", &without)).await?;
        let foreign =
            format!("FROM {table} r JOIN sessions s ON s.key = r.session WHERE r.tenant <> s.tenant");
        none(sql, checkup, (table, "the count of rows that say another tenant than their session", &foreign))
            .await?;
    }
    for counted in NONE {
        none(sql, checkup, counted).await?;
    }
    twins(sql, checkup).await
}

async fn none(sql: &mut Sql<'_>, checkup: &mut Checkup, counted: (&str, &str, &str)) -> Result<()> {
    let (subject, what, rows) = counted;
    let row = sql.one(&format!("SELECT count(*) {rows}"), &[]).await?;
    let count = row.map(|mut row| row.count()).transpose()?;
    checkup.expect(subject, what, count, Some(0));
    Ok(())
}

// Sessions that each recorded the same conversation themselves. Nothing is wrong with that, but it is seldom meant.
async fn twins(sql: &mut Sql<'_>, checkup: &mut Checkup) -> Result<()> {
    let text = "SELECT min(key), count(*) FROM sessions WHERE purged IS NULL AND messages > first_message \
         GROUP BY tenant, chain HAVING count(*) > 1 ORDER BY 1 LIMIT 100";
    for mut row in sql.query(text, &[]).await? {
        let (key, count) = (row.int()?, row.count()?);
        let named = sql.one("SELECT id FROM sessions WHERE key = $1", &values_of![key]).await?;
        let Some(mut named) = named else { continue };
        let others = count - 1;
        checkup.note(
            format!("session {}", named.uuid()?),
            format!("the same messages were recorded {others} more times"),
        );
    }
    Ok(())
}

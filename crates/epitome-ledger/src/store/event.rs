//! Events of the channels outside: recorded once, linked to turns, listed, never compacted.

use epitome_core::Time;

use super::message::{self, Unpacker};
use super::{entry, tenant, turn};
use crate::body;
use crate::error::{LedgerError, Result};
use crate::model::{Event, EventFilter, NewEvent, TenantId, TurnId};
use crate::page::{Cursor, Page, Paging};
use crate::sql::{Row, Sql, Value, values_of};

/// Records an event, or finds the one that was recorded before, and returns its number.
pub(crate) async fn append(sql: &mut Sql<'_>, tenant: TenantId, new: NewEvent) -> Result<u64> {
    let tenant = tenant::ensure(sql, tenant).await?;
    let hash = body::hash(&new.payload);
    let body = message::store_body(sql, tenant, hash, new.payload).await?;
    let insert = "INSERT INTO events (tenant, platform, channel, external, time, body) \
         VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (tenant, platform, channel, external) DO NOTHING RETURNING key";
    let (platform, channel, external) = (new.platform.as_str(), new.channel.as_str(), new.external.as_str());
    let values = values_of![tenant, platform, channel, external, new.time, body];
    let inserted = sql.one(insert, &values).await?.map(|mut row| row.count()).transpose()?;
    let number = match inserted {
        Some(number) => number,
        None => find(sql, tenant, [platform, channel, external]).await?,
    };
    for turn in new.turns {
        link(sql, tenant, number, turn).await?;
    }
    if inserted.is_some() {
        let entry = entry::insert(entry::Place::event(number));
        sql.execute(&entry.text, &entry.values).await?;
    }
    Ok(number)
}

async fn find(sql: &mut Sql<'_>, tenant: i64, [platform, channel, external]: [&str; 3]) -> Result<u64> {
    let text =
        "SELECT key FROM events WHERE tenant = $1 AND platform = $2 AND channel = $3 AND external = $4";
    let row = sql.one(text, &values_of![tenant, platform, channel, external]).await?;
    row.ok_or_else(|| LedgerError::Busy("the event was purged meanwhile".to_owned()))?.count()
}

/// Says that an event led to a turn.
pub(crate) async fn link(sql: &mut Sql<'_>, tenant: i64, number: u64, id: TurnId) -> Result<()> {
    turn::by_id(sql, tenant, id).await?;
    let text = "SELECT 1 FROM events WHERE key = $1 AND tenant = $2";
    if sql.one(text, &values_of![number, tenant]).await?.is_none() {
        return Err(LedgerError::NotFound { what: "event", id: number.to_string() });
    }
    let insert = "INSERT INTO event_turns (event, turn) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    sql.execute(insert, &values_of![number, id.as_uuid()]).await?;
    Ok(())
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT e.key, e.platform, e.channel, e.external, e.time, b.size, b.pack, b.place, b.bytes ",
            "FROM events e JOIN bodies b ON b.key = e.body WHERE ",
            $rest
        )
    };
}

/// Events, the latest recorded first.
pub(crate) async fn list(
    sql: &mut Sql<'_>,
    tenant: i64,
    filter: EventFilter,
    paging: Paging,
) -> Result<Page<Event>> {
    let before = paging.after.map_or(Ok(i64::MAX), |cursor| cursor.number())?;
    let (text, mut values): (&str, Vec<Value>) = match (filter.platform, filter.channel) {
        (None, None) => {
            (select!("e.tenant = $1 AND e.key < $2 ORDER BY e.key DESC LIMIT $3"), values_of![tenant, before])
        }
        (Some(platform), None) => (
            select!("e.tenant = $1 AND e.key < $2 AND e.platform = $3 ORDER BY e.key DESC LIMIT $4"),
            values_of![tenant, before, platform],
        ),
        (None, Some(channel)) => (
            select!("e.tenant = $1 AND e.key < $2 AND e.channel = $3 ORDER BY e.key DESC LIMIT $4"),
            values_of![tenant, before, channel],
        ),
        (Some(platform), Some(channel)) => (
            select!(
                "e.tenant = $1 AND e.key < $2 AND e.platform = $3 AND e.channel = $4 ORDER BY e.key DESC LIMIT $5"
            ),
            values_of![tenant, before, platform, channel],
        ),
    };
    values.push(Value::from(paging.limit + 1));
    let rows = sql.query(text, &values).await?;
    let events = read(sql, rows).await?;
    Ok(Page::of(events, paging.limit, |event| Cursor::of(i64::try_from(event.number).unwrap_or(i64::MAX))))
}

/// The events that led to a turn, in the order in which they were recorded.
pub(crate) async fn of_turn(sql: &mut Sql<'_>, tenant: i64, id: TurnId) -> Result<Vec<Event>> {
    let text =
        select!("e.key IN (SELECT event FROM event_turns WHERE turn = $1) AND e.tenant = $2 ORDER BY e.key");
    let rows = sql.query(text, &values_of![id.as_uuid(), tenant]).await?;
    read(sql, rows).await
}

/// One event by its number.
pub(crate) async fn by_number(sql: &mut Sql<'_>, number: u64) -> Result<Option<Event>> {
    let rows = sql.query(select!("e.key = $1"), &values_of![number]).await?;
    Ok(read(sql, rows).await?.pop())
}

/// Where the turns lie that an event led to: their sessions and numbers.
pub(crate) async fn places(sql: &mut Sql<'_>, number: u64) -> Result<Vec<(i64, u64)>> {
    let text =
        "SELECT t.session, t.number FROM event_turns e JOIN turns t ON t.id = e.turn WHERE e.event = $1";
    let rows = sql.query(text, &values_of![number]).await?;
    rows.into_iter().map(|mut row| Ok((row.int()?, row.count()?))).collect()
}

async fn read(sql: &mut Sql<'_>, rows: Vec<Row>) -> Result<Vec<Event>> {
    let mut unpacker = Unpacker::default();
    let mut events = Vec::with_capacity(rows.len());
    for mut row in rows {
        let number = row.count()?;
        let (platform, channel, external) = (row.text()?, row.text()?, row.text()?);
        let time = Time(row.int()?);
        let payload = unpacker.next(sql, &mut row).await?;
        let linked = "SELECT turn FROM event_turns WHERE event = $1 ORDER BY turn";
        let turns = sql.query(linked, &values_of![number]).await?.into_iter();
        let turns = turns.map(|mut row| row.uuid().map(TurnId::from_uuid)).collect::<Result<_>>()?;
        events.push(Event { number, platform, channel, external, time, payload, turns });
    }
    Ok(events)
}

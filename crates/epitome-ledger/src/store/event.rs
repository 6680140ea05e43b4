//! Events of the channels outside: each version recorded once, linked to turns, listed, never compacted.

use epitome_core::Time;

use super::message::{self, Unpacker};
use super::{entry, index, tenant, turn};
use crate::body;
use crate::error::{LedgerError, Result};
use crate::model::{Event, EventFilter, EventReceipt, NewEvent, Novelty, TenantId, TurnId, Versions};
use crate::page::{Cursor, Page, Paging};
use crate::sql::{Row, Sql, Value, values_of};

/// Records an event, or finds the version of it that was recorded before.
pub(crate) async fn append(sql: &mut Sql<'_>, tenant: TenantId, new: NewEvent) -> Result<EventReceipt> {
    check(&new)?;
    let tenant = tenant::ensure(sql, tenant).await?;
    let (hash, mut receipt) = (body::hash(&new.payload), None);
    // Somebody else may record a version at the same moment.
    while receipt.is_none() {
        receipt = match known(sql, tenant, &new, hash).await? {
            Before::Same(receipt) => Some(receipt),
            Before::Other(version) => insert(sql, tenant, &new, hash, version + 1).await?,
        };
    }
    let receipt = receipt.ok_or_else(|| LedgerError::damaged("an event was not recorded"))?;
    for turn in new.turns {
        link(sql, tenant, receipt.number, turn).await?;
    }
    Ok(receipt)
}

fn check(new: &NewEvent) -> Result<()> {
    let empty = [
        ("platform", new.platform.trim().is_empty()),
        ("id", new.external.trim().is_empty()),
        ("payload", new.payload.trim_ascii().is_empty()),
    ];
    match empty.iter().find(|(_, empty)| *empty) {
        Some((what, _)) => Err(LedgerError::BadRequest(format!("an event without a {what}"))),
        None => Ok(()),
    }
}

/// What was recorded of an event before.
enum Before {
    /// The same.
    Same(EventReceipt),
    /// Something else, as the version of this number; zero where nothing was.
    Other(u64),
}

// The newest version says what the event is now. An older one that comes again with its own time was only delivered late.
async fn known(sql: &mut Sql<'_>, tenant: i64, new: &NewEvent, hash: [u8; 16]) -> Result<Before> {
    let text = "SELECT e.key, e.version, e.time, b.hash FROM events e JOIN bodies b ON b.key = e.body \
         WHERE e.tenant = $1 AND e.platform = $2 AND e.channel = $3 AND e.external = $4 ORDER BY e.version DESC";
    let values = values_of![tenant, new.platform.as_str(), new.channel.as_str(), new.external.as_str()];
    let mut newest = 0;
    for mut row in sql.query(text, &values).await? {
        let (number, version) = (row.count()?, row.count()?);
        let same_time = Time(row.int()?) == new.time;
        if row.blob()? == hash && (newest == 0 || same_time) {
            return Ok(Before::Same(EventReceipt { number, version, novelty: Novelty::Known }));
        }
        newest = newest.max(version);
    }
    Ok(Before::Other(newest))
}

async fn insert(
    sql: &mut Sql<'_>,
    tenant: i64,
    new: &NewEvent,
    hash: [u8; 16],
    version: u64,
) -> Result<Option<EventReceipt>> {
    let body = message::store_body(sql, tenant, hash, new.payload.clone()).await?;
    let insert = "INSERT INTO events (tenant, platform, channel, external, version, time, body) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING key";
    let (platform, channel, external) = (new.platform.as_str(), new.channel.as_str(), new.external.as_str());
    let values = values_of![tenant, platform, channel, external, version, new.time, body];
    let Some(mut row) = sql.one(insert, &values).await? else { return Ok(None) };
    let number = row.count()?;
    let entry = entry::insert(entry::Place::event(tenant, number));
    sql.execute(&entry.text, &entry.values).await?;
    let novelty = if version == 1 { Novelty::New } else { Novelty::Changed };
    Ok(Some(EventReceipt { number, version, novelty }))
}

/// Says that an event led to a turn.
pub(crate) async fn link(sql: &mut Sql<'_>, tenant: i64, number: u64, id: TurnId) -> Result<()> {
    turn::by_id(sql, tenant, id).await?;
    let text = "SELECT 1 FROM events WHERE key = $1 AND tenant = $2";
    if sql.one(text, &values_of![number, tenant]).await?.is_none() {
        return Err(LedgerError::NotFound { what: "event", id: number.to_string() });
    }
    let insert = "INSERT INTO event_turns (event, turn, tenant) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    if sql.execute(insert, &values_of![number, id.as_uuid(), tenant]).await? > 0 {
        // It is found in the session of the turn from now on.
        index::event(sql, i64::try_from(number).unwrap_or(i64::MAX)).await?;
    }
    Ok(())
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT e.key, e.platform, e.channel, e.external, e.version, e.time, b.size, b.pack, b.place, b.bytes ",
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
    let mut text = select!("e.tenant = $1 AND e.key < $2").to_owned();
    let mut values: Vec<Value> = values_of![tenant, before];
    let mut only = |column: &str, value: Option<String>| {
        if let Some(value) = value {
            values.push(Value::from(value));
            text.push_str(&format!(" AND e.{column} = ${}", values.len()));
        }
    };
    only("platform", filter.platform);
    only("channel", filter.channel);
    only("external", filter.external);
    if filter.versions == Versions::Newest {
        text.push_str(
            " AND NOT EXISTS (SELECT 1 FROM events n WHERE n.tenant = e.tenant AND n.platform = e.platform \
             AND n.channel = e.channel AND n.external = e.external AND n.version > e.version)",
        );
    }
    values.push(Value::from(paging.limit + 1));
    text.push_str(&format!(" ORDER BY e.key DESC LIMIT ${}", values.len()));
    let rows = sql.query(&text, &values).await?;
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
        let (version, time) = (row.count()?, Time(row.int()?));
        let payload = unpacker.next(sql, &mut row).await?;
        let linked = "SELECT turn FROM event_turns WHERE event = $1 ORDER BY turn";
        let turns = sql.query(linked, &values_of![number]).await?.into_iter();
        let turns = turns.map(|mut row| row.uuid().map(TurnId::from_uuid)).collect::<Result<_>>()?;
        events.push(Event { number, platform, channel, external, version, time, payload, turns });
    }
    Ok(events)
}

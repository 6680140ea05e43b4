//! Compactions: turns that say what of the path before them is shown.

use epitome_core::Tokens;
use epitome_core::compact::{Compaction, check_tiling};
use serde::{Deserialize, Serialize};

use super::append::{Header, Tail};
use super::landing::Known;
use super::path::Path;
use super::{entry, lease, session, tenant, turn};
use crate::error::{LedgerError, Result};
use crate::model::{CompactionRecord, Expect, NewCompaction, TenantId, Turn, TurnId, TurnKind};
use crate::sql::{Sql, Statement, values_of};

/// The version of the JSON in which segments are stored.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Written<'c> {
    version: u32,
    compaction: &'c Compaction,
}

#[derive(Deserialize)]
struct Found {
    version: u32,
    compaction: Compaction,
}

/// Appends a compaction to a session.
pub(crate) async fn record(
    sql: &mut Sql<'_>,
    tenant: TenantId,
    expect: Expect,
    new: NewCompaction,
) -> Result<Known> {
    let tenant = tenant::known_to_writer(sql, tenant).await?;
    let standing = session::lock(sql, tenant, expect.session).await?;
    if let Err(refusal) = standing.check(&expect) {
        return match turn::is_recorded(sql, &standing, new.id).await? {
            true => Ok(standing.into()),
            false => Err(refusal),
        };
    }
    if expect.fence.is_none() {
        lease::check_free(sql, &standing).await?;
    }
    let session = &standing.session;
    let messages = session.messages;
    check_tiling(&new.compaction.segments, usize::try_from(messages).unwrap_or(usize::MAX))?;
    let path = Path::to(sql, standing.end()).await?;
    let summarized_through = boundary(sql, &path, new.compaction.summarized_through()).await?;
    let first_kept = boundary(sql, &path, new.compaction.first_kept()).await?;
    let mut tail = Tail::new(standing, sql.shared.clock.now());
    let number = tail.standing.session.turns;
    tail.standing.nearest = Some(number);
    tail.standing.session.compactions += 1;
    tail.standing.session.tokens_used = new.tokens_after;
    let header = Header {
        id: new.id,
        kind: TurnKind::Compaction,
        first: messages,
        model: new.model.clone(),
        estimated: None,
        time: new.time,
    };
    tail.header(header, messages);
    let (key, tenant) = (tail.standing.key, tail.standing.tenant);
    tail.push(insert(key, tenant, number, &new, [summarized_through, first_kept])?);
    if new.compaction.summary().is_some() {
        tail.push(entry::insert(entry::Place::summary(tenant, key, number)));
    }
    tail.finish(sql).await
}

async fn boundary(sql: &mut Sql<'_>, path: &Path, message: Option<usize>) -> Result<Option<TurnId>> {
    match message {
        Some(message) => Ok(Some(turn::of_message(sql, path, message as u64).await?)),
        None => Ok(None),
    }
}

fn insert(
    session: i64,
    tenant: i64,
    turn: u64,
    new: &NewCompaction,
    boundaries: [Option<TurnId>; 2],
) -> Result<Statement> {
    let written = Written { version: VERSION, compaction: &new.compaction };
    let record =
        serde_json::to_string(&written).map_err(|error| LedgerError::BadRequest(error.to_string()))?;
    let insert = "INSERT INTO compactions (session, turn, tenant, record, strategy, trigger, tokens_before, \
         tokens_after, summarized_through, first_kept, report) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    let [summarized_through, first_kept] = &boundaries;
    let values = values_of![
        session,
        turn,
        tenant,
        record,
        new.strategy.as_str(),
        new.trigger.as_str(),
        new.tokens_before,
        new.tokens_after,
        summarized_through.as_ref().map(TurnId::as_uuid),
        first_kept.as_ref().map(TurnId::as_uuid),
        new.report.as_deref(),
    ];
    Ok(Statement::new(insert, values))
}

/// What is known of the compaction that is the turn of this number.
pub(crate) async fn read(sql: &mut Sql<'_>, owner: i64, number: u64) -> Result<CompactionRecord> {
    let text = "SELECT record, strategy, trigger, tokens_before, tokens_after, summarized_through, first_kept, report \
         FROM compactions WHERE session = $1 AND turn = $2";
    let row = sql.one(text, &values_of![owner, number]).await?;
    let mut row =
        row.ok_or_else(|| LedgerError::damaged(format!("compaction turn {number} has no record")))?;
    Ok(CompactionRecord {
        compaction: parse(&row.text()?)?,
        strategy: row.text()?,
        trigger: row.text()?,
        tokens_before: Tokens(row.count()?),
        tokens_after: Tokens(row.count()?),
        summarized_through: row.maybe_uuid()?.map(TurnId::from_uuid),
        first_kept: row.maybe_uuid()?.map(TurnId::from_uuid),
        report: row.maybe_text()?,
    })
}

pub(crate) fn parse(record: &str) -> Result<Compaction> {
    let found: Found = serde_json::from_str(record)
        .map_err(|error| LedgerError::damaged(format!("a compaction cannot be read: {error}")))?;
    if found.version > VERSION {
        return Err(LedgerError::NewerSchema { found: found.version.into(), known: VERSION.into() });
    }
    Ok(found.compaction)
}

/// The compaction that a turn is.
pub(crate) async fn by_turn(sql: &mut Sql<'_>, tenant: i64, id: TurnId) -> Result<(Turn, CompactionRecord)> {
    let located = turn::by_id(sql, tenant, id).await?;
    if located.turn.kind != TurnKind::Compaction {
        return Err(LedgerError::NotFound { what: "compaction", id: id.to_string() });
    }
    let record = read(sql, located.session, located.turn.number).await?;
    Ok((located.turn, record))
}

/// The nearest compaction on the path to a turn, itself included.
pub(crate) async fn latest(
    sql: &mut Sql<'_>,
    tenant: i64,
    id: TurnId,
) -> Result<Option<(Turn, CompactionRecord)>> {
    let located = turn::by_id(sql, tenant, id).await?;
    let Some(nearest) = located.turn.nearest else { return Ok(None) };
    let path = located.path(sql, located.turn.end).await?;
    let owner = path.owner_of_turn(nearest)?;
    let turn = turn::by_number(sql, owner, nearest).await?;
    Ok(Some((turn, read(sql, owner, nearest).await?)))
}

/// The turns that a compaction's summaries stand for, back to the compaction before it, which tells of the rest.
pub(crate) async fn summarized(sql: &mut Sql<'_>, tenant: i64, id: TurnId) -> Result<Vec<Turn>> {
    let (turn, record) = by_turn(sql, tenant, id).await?;
    let Some(through) = record.summarized_through else { return Ok(Vec::new()) };
    let last = turn::by_id(sql, tenant, through).await?.turn;
    let located = turn::by_id(sql, tenant, turn.id).await?;
    let path = located.path(sql, turn.end).await?;
    let from = last.nearest.unwrap_or(0);
    turn::read(sql, &path, from, last.number + 1).await
}

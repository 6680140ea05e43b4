//! Turns: finding one, reading the history of a path, which messages it has.

use epitome_core::{Time, Tokens, Usage};

use super::code;
use super::path::{End, Path};
use super::session::Standing;
use crate::error::{LedgerError, Result};
use crate::model::{ReplyRecord, SessionId, Turn, TurnId};
use crate::page::{Cursor, Page, Paging};
use crate::sql::{Row, Sql, Statement, values_of};

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT t.session, s.first_turn, s.first_message, t.id, s.id, t.number, t.kind, t.first, t.input_end, ",
            "t.model, t.estimated, t.time, t.nearest, t.compactions, r.kind, r.finish, r.model, r.input, r.cache_read, ",
            "r.cache_write, r.output, r.tool_calls, r.time FROM turns t JOIN sessions s ON s.key = t.session ",
            "LEFT JOIN replies r ON r.session = t.session AND r.turn = t.number WHERE ",
            $rest
        )
    };
}

/// A turn and where it lies.
pub(crate) struct Located {
    pub(crate) turn: Turn,
    pub(crate) session: i64,
    first_turn: u64,
    first_message: u64,
}

impl Located {
    fn read(mut row: Row) -> Result<Self> {
        let row = &mut row;
        let session = row.int()?;
        let (first_turn, first_message) = (row.count()?, row.count()?);
        let (id, session_id) = (TurnId::from_uuid(row.uuid()?), SessionId::from_uuid(row.uuid()?));
        let (number, kind) = (row.count()?, code::turn(row.int()?)?);
        let (first, input_end) = (row.count()?, row.count()?);
        let (model, estimated) = (row.maybe_text()?, row.maybe_count()?.map(Tokens));
        let time = Time(row.int()?);
        let (nearest, compactions) = (row.maybe_count()?, row.count()?);
        let (end, reply) = match row.maybe_int()? {
            None => (input_end, None),
            Some(kind) => {
                let (end, reply) = reply(kind, row)?;
                (end, Some(reply))
            }
        };
        let turn = Turn {
            id,
            session: session_id,
            number,
            kind,
            first,
            input_end,
            end,
            model,
            estimated,
            time,
            nearest,
            compactions,
            reply,
        };
        Ok(Self { turn, session, first_turn, first_message })
    }

    /// The path that ends with the turn, behind so many messages.
    pub(crate) async fn path(&self, sql: &mut Sql<'_>, messages: u64) -> Result<Path> {
        let end = End {
            session: self.session,
            first_turn: self.first_turn,
            first_message: self.first_message,
            turns: self.turn.number + 1,
            messages,
        };
        Path::to(sql, end).await
    }
}

fn reply(kind: i64, row: &mut Row) -> Result<(u64, ReplyRecord)> {
    let (end, model) = (row.count()?, row.maybe_text()?);
    let [input, cache_read, cache_write, output] =
        [row.maybe_count()?, row.maybe_count()?, row.maybe_count()?, row.maybe_count()?]
            .map(|count| count.map(Tokens));
    let usage = input.zip(output).map(|(input, output)| Usage {
        input,
        cache_read: cache_read.unwrap_or_default(),
        cache_write: cache_write.unwrap_or_default(),
        output,
    });
    let (tool_calls, time) = (row.count()?, Time(row.int()?));
    Ok((end, ReplyRecord { completeness: code::completeness(kind)?, model, usage, tool_calls, time }))
}

/// A turn by its id.
pub(crate) async fn by_id(sql: &mut Sql<'_>, tenant: i64, id: TurnId) -> Result<Located> {
    let row = sql.one(select!("t.id = $1 AND t.tenant = $2"), &values_of![id.as_uuid(), tenant]).await?;
    Located::read(row.ok_or_else(|| LedgerError::no_turn(id))?)
}

/// A turn by its number on the session that owns it.
pub(crate) async fn by_number(sql: &mut Sql<'_>, owner: i64, number: u64) -> Result<Turn> {
    let row = sql.one(select!("t.session = $1 AND t.number = $2"), &values_of![owner, number]).await?;
    let missing = || LedgerError::damaged(format!("turn {number} of a path is missing"));
    Ok(Located::read(row.ok_or_else(missing)?)?.turn)
}

/// Whether a session has recorded a turn already.
pub(crate) async fn is_recorded(sql: &mut Sql<'_>, standing: &Standing, id: TurnId) -> Result<bool> {
    if standing.session.head == Some(id) {
        return Ok(true);
    }
    let text = "SELECT 1 FROM turns WHERE id = $1 AND session = $2";
    Ok(sql.one(text, &values_of![id.as_uuid(), standing.key]).await?.is_some())
}

/// The turn that the message of this ordinal belongs to.
pub(crate) async fn of_message(sql: &mut Sql<'_>, path: &Path, ordinal: u64) -> Result<TurnId> {
    let text = "SELECT t.id FROM messages m JOIN turns t ON t.session = m.session AND t.number = m.turn \
         WHERE m.session = $1 AND m.ordinal = $2";
    let row = sql.one(text, &values_of![path.owner_of_message(ordinal)?, ordinal]).await?;
    let missing = || LedgerError::damaged(format!("message {ordinal} of a path has no turn"));
    Ok(TurnId::from_uuid(row.ok_or_else(missing)?.uuid()?))
}

/// The turns of a stretch of a path.
pub(crate) async fn read(sql: &mut Sql<'_>, path: &Path, from: u64, to: u64) -> Result<Vec<Turn>> {
    let text = select!("t.session = $1 AND t.number >= $2 AND t.number < $3 ORDER BY t.number");
    let part = |(owner, part): (i64, std::ops::Range<u64>)| {
        Statement::new(text, values_of![owner, part.start, part.end])
    };
    let statements: Vec<Statement> = path.turns(&(from..to)).map(part).collect();
    let rows = sql.queries(&statements).await?;
    rows.into_iter().flatten().map(|row| Ok(Located::read(row)?.turn)).collect()
}

/// All turns up to one, compactions included, oldest first.
pub(crate) async fn history(
    sql: &mut Sql<'_>,
    tenant: i64,
    id: TurnId,
    paging: Paging,
) -> Result<Page<Turn>> {
    let located = by_id(sql, tenant, id).await?;
    let path = located.path(sql, located.turn.end).await?;
    let from = paging.after.map_or(Ok(0), |cursor| cursor.number().map(|number| number + 1))?;
    let from = u64::try_from(from).unwrap_or(0);
    let to = (located.turn.number + 1).min(from.saturating_add(paging.limit as u64 + 1));
    let turns = read(sql, &path, from, to).await?;
    let cursor = |turn: &Turn| Cursor::of(i64::try_from(turn.number).unwrap_or(i64::MAX));
    Ok(Page::of(turns, paging.limit, cursor))
}

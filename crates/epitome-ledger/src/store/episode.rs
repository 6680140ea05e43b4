//! Episodes: the stretches of a path that compactions closed, one behind the other.

use epitome_core::Time;

use super::path::{Path, Span};
use super::{session, tenant, turn};
use crate::error::{LedgerError, Result};
use crate::model::{Episode, NewEpisode, SessionId, TenantId, TurnId, TurnKind};
use crate::page::{Cursor, Page, Paging};
use crate::sql::{Row, Sql, Statement, values_of};

/// Closes an episode at a compaction; nothing where nothing was said since the one before it ended.
pub(crate) async fn close(sql: &mut Sql<'_>, tenant: TenantId, new: NewEpisode) -> Result<Option<Episode>> {
    let tenant = tenant::known_to_writer(sql, tenant).await?;
    let located = turn::by_id(sql, tenant, new.compaction).await?;
    let turn = &located.turn;
    if turn.kind != TurnKind::Compaction || new.end > turn.first {
        return Err(LedgerError::BadRequest(format!(
            "an episode that ends before message {} at turn {}",
            new.end, turn.id
        )));
    }
    // Nobody else closes one of this session meanwhile, and nobody purges it.
    session::lock(sql, tenant, turn.session).await?;
    let path = located.path(sql, turn.first).await?;
    let before = on(sql, path.spans(), turn.number + 1).await?;
    if let Some(known) = before.iter().find(|episode| episode.compaction == turn.id) {
        return Ok(Some(known.clone()));
    }
    let last = before.last();
    let first = last.map_or(0, |episode| episode.messages.end);
    if new.end <= first {
        return Ok(None);
    }
    let opened = turn::of_message(sql, &path, first).await?;
    let opened = turn::by_id(sql, tenant, opened).await?.turn.time;
    let number = last.map_or(0, |episode| episode.number + 1);
    let insert = "INSERT INTO episodes (session, turn, tenant, number, first, finish, title, opened, closed) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let title = new.title.as_deref();
    let values =
        values_of![located.session, turn.number, tenant, number, first, new.end, title, opened, turn.time];
    sql.execute(insert, &values).await?;
    Ok(Some(Episode {
        number,
        messages: first..new.end,
        title: new.title,
        session: turn.session,
        compaction: turn.id,
        opened,
        closed: turn.time,
    }))
}

/// The episodes of a session's path, oldest first.
pub(crate) async fn list(
    sql: &mut Sql<'_>,
    tenant: i64,
    id: SessionId,
    paging: Paging,
) -> Result<Page<Episode>> {
    let standing = session::by_id(sql, tenant, id).await?;
    let path = Path::to(sql, standing.end()).await?;
    let after = paging.after.map_or(Ok(-1), |cursor| cursor.number())?;
    let mut episodes = on(sql, path.spans(), standing.session.turns).await?;
    let number = |episode: &Episode| i64::try_from(episode.number).unwrap_or(i64::MAX);
    episodes.retain(|episode| number(episode) > after);
    Ok(Page::of(episodes, paging.limit, |episode| Cursor::of(number(episode))))
}

// There are as many as compactions, which is few: a path is compacted when it has grown by a window.
async fn on(sql: &mut Sql<'_>, spans: &[Span], turns: u64) -> Result<Vec<Episode>> {
    let text = "SELECT e.number, e.first, e.finish, e.title, s.id, t.id, e.opened, e.closed FROM episodes e \
         JOIN sessions s ON s.key = e.session JOIN turns t ON t.session = e.session AND t.number = e.turn \
         WHERE e.session = $1 AND e.turn >= $2 AND e.turn < $3 ORDER BY e.turn";
    let statement = |span: &Span| {
        Statement::new(text, values_of![span.owner, span.turns.start, span.turns.end.min(turns)])
    };
    let statements: Vec<Statement> = spans.iter().map(statement).collect();
    sql.queries(&statements).await?.into_iter().flatten().map(read).collect()
}

fn read(mut row: Row) -> Result<Episode> {
    Ok(Episode {
        number: row.count()?,
        messages: row.count()?..row.count()?,
        title: row.maybe_text()?,
        session: SessionId::from_uuid(row.uuid()?),
        compaction: TurnId::from_uuid(row.uuid()?),
        opened: Time(row.int()?),
        closed: Time(row.int()?),
    })
}

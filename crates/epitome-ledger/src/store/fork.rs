//! Forks: a new session that stands on a turn of another one.

use epitome_core::Tokens;

use super::path::Path;
use super::session::{self, Standing, Start};
use super::{compact, message, tenant, turn};
use crate::error::{LedgerError, Result};
use crate::model::{ChainHash, NewSession, TenantId, TurnId};
use crate::sql::{Sql, values_of};

/// Opens a session on a turn, whatever was appended or compacted behind that turn.
pub(crate) async fn at(sql: &mut Sql<'_>, tenant: TenantId, id: TurnId, new: NewSession) -> Result<Standing> {
    let tenant = tenant::known_to_writer(sql, tenant).await?;
    hold(sql, tenant, id).await?;
    let located = turn::by_id(sql, tenant, id).await?;
    let turn = &located.turn;
    let path = located.path(sql, turn.end).await?;
    let chain = match turn.end.checked_sub(1) {
        Some(last) => message::chain_at(sql, path.owner_of_message(last)?, last).await?,
        None => ChainHash::ROOT,
    };
    let tokens_total = total(sql, &path).await?;
    let tokens_used = match turn.nearest {
        Some(nearest) if nearest == turn.number => {
            compact::read(sql, path.owner_of_turn(nearest)?, nearest).await?.tokens_after
        }
        _ => used(turn).unwrap_or(tokens_total),
    };
    let start = Start {
        parent: Some(located.session),
        turn: Some(id),
        first_turn: turn.number + 1,
        first_message: turn.end,
        chain,
        nearest: turn.nearest,
        compactions: turn.compactions,
        tokens_total,
        tokens_used,
    };
    let key = session::insert(sql, tenant, &new, &start).await?;
    for statement in path.stored(tenant, key) {
        sql.execute(&statement.text, &statement.values).await?;
    }
    session::by_id(sql, tenant, new.id).await
}

// Keeps a purge from taking what the fork is about to stand on. A SQLite file has one writer anyway.
async fn hold(sql: &mut Sql<'_>, tenant: i64, id: TurnId) -> Result<()> {
    if sql.either(true, false) {
        return Ok(());
    }
    let located = turn::by_id(sql, tenant, id).await?;
    let path = located.path(sql, located.turn.end).await?;
    for span in path.spans() {
        sql.query("SELECT 1 FROM sessions WHERE key = $1 FOR SHARE", &values_of![span.owner]).await?;
    }
    Ok(())
}

fn used(turn: &crate::model::Turn) -> Option<Tokens> {
    let usage = turn.reply.as_ref().and_then(|reply| reply.usage);
    usage
        .map(|usage| usage.total_input() + usage.output)
        .filter(|used| *used > Tokens::ZERO)
        .or(turn.estimated)
}

async fn total(sql: &mut Sql<'_>, path: &Path) -> Result<Tokens> {
    let mut total = Tokens::ZERO;
    let text = "SELECT CAST(COALESCE(sum(tokens), 0) AS BIGINT) FROM messages \
         WHERE session = $1 AND ordinal >= $2 AND ordinal < $3";
    for span in path.spans() {
        let values = values_of![span.owner, span.messages.start, span.messages.end];
        let row = sql.one(text, &values).await?;
        total += Tokens(row.ok_or_else(|| LedgerError::damaged("a sum is missing"))?.count()?);
    }
    Ok(total)
}

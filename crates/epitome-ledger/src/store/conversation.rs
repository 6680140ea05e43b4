//! Conversations as rows of the tables that other designs describe.

use std::collections::HashMap;

use epitome_core::compact::{Level, Segment};
use epitome_core::{Time, Tokens};
use serde_json::value::RawValue;

use super::path::Path;
use super::session::{self, Standing};
use super::{turn, view};
use crate::error::Result;
use crate::model::{ConversationState, HistoryRow, RecordedView, SessionId, StoredMessage, TenantId, Tier};
use crate::sql::Sql;

/// Where a conversation stands, with its messages.
pub(crate) async fn state(
    sql: &mut Sql<'_>,
    (tenant_id, tenant): (TenantId, i64),
    id: SessionId,
) -> Result<ConversationState> {
    let standing = session::by_id(sql, tenant, id).await?;
    let (_, view) = seen(sql, &standing).await?;
    let bodies: Vec<String> = view.messages.iter().map(as_json).collect();
    let session = standing.session;
    Ok(ConversationState {
        id,
        tenant_id,
        agent_id: session.agent,
        session_id: session.external.unwrap_or_else(|| id.to_string()),
        summary: view.compaction.and_then(|compaction| compaction.summary()),
        messages: format!("[{}]", bodies.join(",")),
        turn_count: session.turns,
        compaction_count: session.compactions,
        total_tokens_estimated: session.tokens_total,
        created_at: session.created,
        updated_at: session.updated,
    })
}

async fn seen(sql: &mut Sql<'_>, standing: &Standing) -> Result<(Path, RecordedView)> {
    let path = Path::to(sql, standing.end()).await?;
    let view = view::read(sql, &path, standing.nearest, standing.session.messages).await?;
    Ok((path, view))
}

fn as_json(message: &StoredMessage) -> String {
    let text = String::from_utf8_lossy(&message.body);
    match serde_json::from_str::<&RawValue>(&text) {
        Ok(whole) => whole.get().to_owned(),
        Err(_) => serde_json::Value::from(text).to_string(),
    }
}

/// What a conversation shows, in its order.
pub(crate) async fn history(
    sql: &mut Sql<'_>,
    (tenant_id, tenant): (TenantId, i64),
    id: SessionId,
) -> Result<Vec<HistoryRow>> {
    let standing = session::by_id(sql, tenant, id).await?;
    let (path, view) = seen(sql, &standing).await?;
    let platform = standing.session.platform.unwrap_or_default();
    let row = |piece: Piece| {
        let tier = piece.tier;
        let id = match tier {
            Tier::Message => format!("{id}/{}", piece.sequence),
            Tier::Topic | Tier::Bulk => format!("{id}/{tier}/{}", piece.sequence),
        };
        HistoryRow {
            id,
            tenant_id,
            conversation_id: standing.session.id,
            platform: platform.clone(),
            tier,
            content: piece.content,
            token_count: piece.tokens,
            sequence: piece.sequence,
            created_at: piece.time,
            sealed_at: (tier != Tier::Message).then_some(piece.time),
        }
    };
    let mut pieces = summaries(sql, &path, standing.nearest, &view).await?;
    pieces.extend(messages(sql, &path, view).await?);
    pieces.sort_by_key(|piece| piece.sequence);
    Ok(pieces.into_iter().map(row).collect())
}

/// What a row says that others of its session do not.
struct Piece {
    tier: Tier,
    content: String,
    tokens: Tokens,
    sequence: u64,
    time: Time,
}

async fn summaries(
    sql: &mut Sql<'_>,
    path: &Path,
    nearest: Option<u64>,
    view: &RecordedView,
) -> Result<Vec<Piece>> {
    let (Some(nearest), Some(compaction)) = (nearest, &view.compaction) else { return Ok(Vec::new()) };
    let time = turn::by_number(sql, path.owner_of_turn(nearest)?, nearest).await?.time;
    let piece = |segment: &Segment| {
        let Segment::Summary { range, text, level } = segment else { return None };
        let tier = match level {
            Level::Topic => Tier::Topic,
            Level::Bulk => Tier::Bulk,
            _ => return None,
        };
        let tokens = Tokens(text.chars().count().div_ceil(4) as u64);
        Some(Piece { tier, content: text.clone(), tokens, sequence: range.start as u64, time })
    };
    Ok(compaction.segments.iter().filter_map(piece).collect())
}

async fn messages(sql: &mut Sql<'_>, path: &Path, view: RecordedView) -> Result<Vec<Piece>> {
    let times = times(sql, path, &view.messages).await?;
    let piece = |message: StoredMessage| Piece {
        tier: Tier::Message,
        content: String::from_utf8_lossy(&message.body).into_owned(),
        tokens: message.tokens,
        sequence: message.ordinal,
        time: times.get(&message.turn).copied().unwrap_or(Time(0)),
    };
    Ok(view.messages.into_iter().map(piece).collect())
}

// When the turns of messages were recorded. Messages that are shown one behind the other are read together.
async fn times(sql: &mut Sql<'_>, path: &Path, messages: &[StoredMessage]) -> Result<HashMap<u64, Time>> {
    let mut times = HashMap::new();
    for together in messages.chunk_by(|one, next| next.turn <= one.turn + 1) {
        let (Some(first), Some(last)) = (together.first(), together.last()) else { continue };
        let turns = turn::read(sql, path, first.turn, last.turn + 1).await?;
        times.extend(turns.into_iter().map(|turn| (turn.number, turn.time)));
    }
    Ok(times)
}

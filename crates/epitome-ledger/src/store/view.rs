//! Views: what the model sees at a turn, at the price of what it sees.

use std::ops::Range;

use epitome_core::compact::{Compaction, Segment};

use super::path::Path;
use super::{compact, message, session, turn};
use crate::error::Result;
use crate::model::{RecordedView, Resumed, SessionId, TurnId, TurnKind, Until};
use crate::sql::Sql;

/// What the model saw at a turn, or sees behind it.
pub(crate) async fn at(sql: &mut Sql<'_>, tenant: i64, id: TurnId, until: Until) -> Result<RecordedView> {
    let located = turn::by_id(sql, tenant, id).await?;
    let length = match until {
        Until::Input => located.turn.input_end,
        Until::Reply => located.turn.end,
    };
    let path = located.path(sql, length).await?;
    read(sql, &path, located.turn.nearest, length).await
}

/// What the model sees at the head of a session.
pub(crate) async fn current(sql: &mut Sql<'_>, tenant: i64, id: SessionId) -> Result<RecordedView> {
    let standing = session::by_id(sql, tenant, id).await?;
    let path = Path::to(sql, standing.end()).await?;
    read(sql, &path, standing.nearest, standing.session.messages).await
}

/// A session and what the model sees at its head.
pub(crate) async fn resumed(sql: &mut Sql<'_>, tenant: i64, id: SessionId) -> Result<Resumed> {
    let standing = session::by_id(sql, tenant, id).await?;
    let path = Path::to(sql, standing.end()).await?;
    let view = read(sql, &path, standing.nearest, standing.session.messages).await?;
    let own = standing.session.turns.checked_sub(1).filter(|number| *number >= standing.first_turn);
    let waits = match own {
        Some(number) => {
            let head = turn::by_number(sql, standing.key, number).await?;
            head.kind == TurnKind::Call && head.reply.is_none()
        }
        None => false,
    };
    Ok(Resumed { session: standing.session, view, waits })
}

/// What is seen of a path of this length whose nearest compaction is the turn of this number.
pub(crate) async fn read(
    sql: &mut Sql<'_>,
    path: &Path,
    nearest: Option<u64>,
    length: u64,
) -> Result<RecordedView> {
    let compaction = match nearest {
        Some(nearest) => {
            let owner = path.owner_of_turn(nearest)?;
            Some(compact::read(sql, owner, nearest).await?.compaction)
        }
        None => None,
    };
    let messages = message::read(sql, path, &shown(compaction.as_ref(), length)).await?;
    Ok(RecordedView { compaction, nearest, messages, length })
}

/// The messages of a path that are shown, whole or pruned.
pub(crate) fn shown(compaction: Option<&Compaction>, length: u64) -> Vec<Range<u64>> {
    let segments = compaction.map_or(&[][..], |compaction| &compaction.segments);
    let covered = compaction.map_or(0, |compaction| compaction.covered() as u64);
    let mut ranges: Vec<Range<u64>> = Vec::new();
    let visible = segments.iter().filter_map(|segment| match segment {
        Segment::Verbatim { range } | Segment::Pruned { range, .. } => {
            Some(range.start as u64..range.end as u64)
        }
        Segment::Summary { .. } | Segment::Omitted { .. } => None,
    });
    for range in visible.chain((covered < length).then_some(covered..length)) {
        match ranges.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => ranges.push(range),
        }
    }
    ranges
}

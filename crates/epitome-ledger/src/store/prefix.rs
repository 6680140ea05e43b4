//! Finding where a conversation is known from, by the chain hashes of its messages.
//!
//! If a message is recorded, so is everything before it. So the end of the known part is found by probing, a few places at
//! a time: near the end first, because mostly a request repeats what is known and adds a message or two.

use super::tenant;
use crate::error::{LedgerError, Result};
use crate::model::{ChainHash, KnownPrefix, PrefixPlace, SessionId, TenantId, TurnId};
use crate::sql::{Sql, Statement, values_of};

/// Places that are tried at once.
const PROBES: usize = 8;
/// Places that are reported.
const PLACES: usize = 16;

/// The longest beginning of this conversation that a tenant has recorded.
pub(crate) async fn find(
    sql: &mut Sql<'_>,
    tenant: i64,
    chains: &[ChainHash],
) -> Result<Option<KnownPrefix>> {
    // So many messages are known, so many are not.
    let (mut known, mut unknown) = (0, chains.len() + 1);
    let mut lengths: Vec<usize> = near_the_end(chains.len());
    while known + 1 < unknown {
        let found = probe(sql, tenant, chains, &lengths).await?;
        for (length, found) in lengths.iter().zip(found) {
            if found {
                known = known.max(*length);
            } else {
                unknown = unknown.min(*length);
            }
        }
        lengths = between(known, unknown);
    }
    let Some(chain) = known.checked_sub(1).and_then(|last| chains.get(last)) else { return Ok(None) };
    Ok(Some(KnownPrefix { messages: known as u64, places: places(sql, tenant, chain).await? }))
}

/// Refuses to open a session for a conversation of which more is recorded than its writer knew, and keeps others from opening
/// one for it until the transaction ends.
pub(crate) async fn claim(
    sql: &mut Sql<'_>,
    tenant: TenantId,
    chains: &[ChainHash],
    known: Option<&KnownPrefix>,
) -> Result<()> {
    let Some(first) = chains.first() else { return Ok(()) };
    if sql.either(false, true) {
        // Until the transaction ends and no longer, so that poolers do no harm. A SQLite file has one writer anyway.
        let lock = "SELECT 1 FROM pg_advisory_xact_lock($1)";
        sql.query(lock, &values_of![lock_of(tenant, first)]).await?;
    }
    let tenant = tenant::known_to_writer(sql, tenant).await?;
    let Some(now) = find(sql, tenant, chains).await? else { return Ok(()) };
    let (messages, places) = known.map_or((0, &[][..]), |known| (known.messages, &known.places));
    // Where all of it was known, it may have been recorded once more.
    let is_whole = now.messages == chains.len() as u64;
    let is_new = |place: &PrefixPlace| places.iter().all(|old| old.session != place.session);
    if now.messages > messages || is_whole && now.places.iter().any(is_new) {
        return Err(LedgerError::Overtaken { messages: now.messages });
    }
    Ok(())
}

// Conversations that open alike wait for each other, those of other tenants hardly ever.
fn lock_of(tenant: TenantId, first: &ChainHash) -> i64 {
    let mut bytes = [0; 8];
    let mixed = first.as_bytes().iter().zip(tenant.as_uuid().as_bytes()).map(|(one, other)| one ^ other);
    bytes.iter_mut().zip(mixed).for_each(|(byte, mixed)| *byte = mixed);
    i64::from_le_bytes(bytes)
}

fn near_the_end(length: usize) -> Vec<usize> {
    let steps = (0..PROBES as u32).map(|step| if step < 4 { step as usize } else { 1 << (step - 1) });
    steps.filter_map(|step| length.checked_sub(step)).filter(|length| *length > 0).collect()
}

fn between(known: usize, unknown: usize) -> Vec<usize> {
    let gap = unknown - known;
    let mut lengths: Vec<usize> =
        (1..=PROBES).map(|part| known + gap * part / (PROBES + 1)).filter(|length| *length > known).collect();
    lengths.dedup();
    if lengths.is_empty() && gap > 1 { vec![known + 1] } else { lengths }
}

async fn probe(sql: &mut Sql<'_>, tenant: i64, chains: &[ChainHash], lengths: &[usize]) -> Result<Vec<bool>> {
    let text = "SELECT 1 FROM messages WHERE tenant = $1 AND chain = $2 LIMIT 1";
    let chain = |length: &usize| chains.get(length - 1).map_or(&[][..], ChainHash::as_bytes);
    let statements: Vec<Statement> =
        lengths.iter().map(|length| Statement::new(text, values_of![tenant, chain(length)])).collect();
    Ok(sql.queries(&statements).await?.iter().map(|rows| !rows.is_empty()).collect())
}

async fn places(sql: &mut Sql<'_>, tenant: i64, chain: &ChainHash) -> Result<Vec<PrefixPlace>> {
    let text = "SELECT s.id, t.id, m.ordinal, CASE WHEN s.purged IS NULL THEN s.messages ELSE 0 END, t.input_end, \
         (SELECT r.finish FROM replies r WHERE r.session = m.session AND r.turn = m.turn) \
         FROM messages m JOIN sessions s ON s.key = m.session \
         JOIN turns t ON t.session = m.session AND t.number = m.turn \
         WHERE m.tenant = $1 AND m.chain = $2 ORDER BY m.session DESC LIMIT $3";
    let rows = sql.query(text, &values_of![tenant, chain.as_bytes(), PLACES]).await?;
    let place = |mut row: crate::sql::Row| {
        let (session, turn) = (SessionId::from_uuid(row.uuid()?), TurnId::from_uuid(row.uuid()?));
        let behind = row.count()? + 1;
        let (messages, input_end, finish) = (row.count()?, row.count()?, row.maybe_count()?);
        let ends_turn = behind == finish.unwrap_or(input_end);
        Ok(PrefixPlace { session, turn, ends_turn, at_head: behind == messages })
    };
    rows.into_iter().map(place).collect()
}

//! Sessions: turns and messages follow each other without gaps, hashes follow from bodies, pointers point right.

use epitome_core::ContentHash;
use epitome_core::compact::check_tiling;

use super::Checkup;
use crate::error::{LedgerError, Result};
use crate::model::{ChainHash, Turn, TurnKind};
use crate::sql::{Sql, values_of};
use crate::store::message::{self, Unpacker};
use crate::store::path::{End, Path};
use crate::store::{compact, session, turn};

const BATCH: u64 = 512;

/// A session's row, as far as it can be wrong.
struct Subject {
    name: String,
    key: i64,
    parent: Option<i64>,
    purged: bool,
    end: End,
    head: Option<uuid::Uuid>,
    parent_turn: Option<uuid::Uuid>,
    chain: Vec<u8>,
    nearest: Option<u64>,
    compactions: u64,
    tokens_total: u64,
    tokens_used: u64,
}

/// What is true at some place of a path.
struct Running {
    messages: u64,
    chain: ChainHash,
    nearest: Option<u64>,
    compactions: u64,
    head: Option<uuid::Uuid>,
    /// Tokens of the context; unknown where a fork has not been told since it left.
    used: Option<u64>,
}

pub(super) async fn check(sql: &mut Sql<'_>, checkup: &mut Checkup) -> Result<()> {
    let mut after = 0;
    let text = "SELECT id, key, parent, purged, first_turn, first_message, turns, messages, head, parent_turn, chain, \
         nearest, compactions, tokens_total, tokens_used FROM sessions WHERE key > $1 ORDER BY key LIMIT 256";
    loop {
        let rows = sql.query(text, &values_of![after]).await?;
        if rows.is_empty() {
            return Ok(());
        }
        for mut row in rows {
            let name = format!("session {}", uuid::Uuid::from_slice(&row.blob()?).unwrap_or_default());
            let (key, parent, purged) = (row.int()?, row.maybe_int()?, row.maybe_int()?.is_some());
            after = key;
            let end = End {
                session: key,
                first_turn: row.count()?,
                first_message: row.count()?,
                turns: row.count()?,
                messages: row.count()?,
            };
            let subject = Subject {
                name,
                key,
                parent,
                purged,
                end,
                head: row.maybe_uuid()?,
                parent_turn: row.maybe_uuid()?,
                chain: row.blob()?,
                nearest: row.maybe_count()?,
                compactions: row.count()?,
                tokens_total: row.count()?,
                tokens_used: row.count()?,
            };
            checkup.sessions += u64::from(!subject.purged);
            // What cannot be read at all is a finding, too; the next session may be well.
            match session_is_sound(sql, checkup, &subject).await {
                Err(LedgerError::Damaged(problem)) => checkup.found(subject.name, problem),
                other => other?,
            }
        }
    }
}

async fn session_is_sound(sql: &mut Sql<'_>, checkup: &mut Checkup, subject: &Subject) -> Result<()> {
    let path = Path::to(sql, subject.end).await?;
    spans(sql, checkup, subject, &path).await?;
    let mut running = start(sql, subject, &path).await?;
    let mut number = subject.end.first_turn;
    while number < subject.end.turns {
        let until = (number + BATCH).min(subject.end.turns);
        let turns = turn::read(sql, &path, number, until).await?;
        checkup.expect(
            &subject.name,
            &format!("the count of turns from {number}"),
            turns.len() as u64,
            until - number,
        );
        for turn in &turns {
            checkup.turns += 1;
            turn_is_sound(sql, checkup, subject, turn, &mut running).await?;
        }
        number = until;
    }
    let name = &subject.name;
    checkup.expect(name, "its number of messages", subject.end.messages, running.messages);
    checkup.expect(name, "its chain hash", subject.chain.as_slice(), running.chain.as_bytes());
    checkup.expect(name, "its head", subject.head, running.head);
    checkup.expect(name, "its nearest compaction", subject.nearest, running.nearest);
    checkup.expect(name, "its number of compactions", subject.compactions, running.compactions);
    if !subject.purged {
        let total = total(sql, &path).await?;
        checkup.expect(name, "its total of tokens", subject.tokens_total, total);
        let used = running.used.unwrap_or(subject.tokens_used);
        checkup.expect(name, "its tokens in use", subject.tokens_used, used);
    }
    let beyond = "SELECT count(*) FROM messages WHERE session = $1 AND (ordinal >= $2 OR ordinal < $3)";
    let values = values_of![subject.key, subject.end.messages, subject.end.first_message];
    let count = sql.one(beyond, &values).await?.map(|mut row| row.count()).transpose()?;
    checkup.expect(name, "the count of messages outside of it", count, Some(0));
    Ok(())
}

// The ancestry of a fork is the path of its parent up to where it left.
async fn spans(sql: &mut Sql<'_>, checkup: &mut Checkup, subject: &Subject, path: &Path) -> Result<()> {
    let (mut turns, mut messages) = (0, 0);
    for span in path.spans() {
        checkup.expect(&subject.name, "the start of a span of turns", span.turns.start, turns);
        checkup.expect(&subject.name, "the start of a span of messages", span.messages.start, messages);
        (turns, messages) = (span.turns.end, span.messages.end);
    }
    let Some(parent) = subject.parent else {
        checkup.expect(&subject.name, "its first turn", subject.end.first_turn, 0);
        return Ok(());
    };
    let text = "SELECT count(*) FROM sessions WHERE key = $1";
    let count = sql.one(text, &values_of![parent]).await?.map(|mut row| row.count()).transpose()?;
    // A session that was purged keeps the name of its parent, not the parent.
    if !subject.purged {
        let owners: Vec<i64> = path.spans().iter().map(|span| span.owner).collect();
        let direct = owners.contains(&parent);
        checkup.expect(&subject.name, "whether its parent is among its ancestors", direct, true);
        checkup.expect(&subject.name, "the count of its parents", count, Some(1));
    }
    Ok(())
}

async fn start(sql: &mut Sql<'_>, subject: &Subject, path: &Path) -> Result<Running> {
    let messages = subject.end.first_message;
    let chain = match messages.checked_sub(1) {
        Some(last) => message::chain_at(sql, path.owner_of_message(last)?, last).await?,
        None => ChainHash::ROOT,
    };
    let (nearest, compactions) = match subject.end.first_turn.checked_sub(1) {
        Some(last) => {
            let turn = turn::by_number(sql, path.owner_of_turn(last)?, last).await?;
            (turn.nearest, turn.compactions)
        }
        None => (None, 0),
    };
    let used = subject.parent.is_none().then_some(0);
    Ok(Running { messages, chain, nearest, compactions, head: subject.parent_turn, used })
}

async fn turn_is_sound(
    sql: &mut Sql<'_>,
    checkup: &mut Checkup,
    subject: &Subject,
    turn: &Turn,
    running: &mut Running,
) -> Result<()> {
    let name = format!("turn {}", turn.id);
    checkup.expect(&name, "its first message", turn.first, running.messages);
    if turn.kind == TurnKind::Compaction {
        running.nearest = Some(turn.number);
        running.compactions += 1;
        let record = compact::read(sql, subject.key, turn.number).await?;
        let length = usize::try_from(turn.first).unwrap_or(usize::MAX);
        if let Err(error) = check_tiling(&record.compaction.segments, length) {
            checkup.found(&name, error.to_string());
        }
        checkup.expect(&name, "its number of messages", turn.end - turn.first, 0);
        running.used = Some(record.tokens_after.0);
    }
    checkup.expect(&name, "its nearest compaction", turn.nearest, running.nearest);
    checkup.expect(&name, "its number of compactions", turn.compactions, running.compactions);
    let (asked, answered) = messages(sql, checkup, subject, turn, running).await?;
    if turn.kind == TurnKind::Call {
        running.used = used(turn, running.used, asked, answered);
    }
    running.head = Some(*turn.id.as_uuid());
    Ok(())
}

// Tokens of the context behind a call: as the provider counted them, or as they were estimated before, or one by one.
fn used(turn: &Turn, before: Option<u64>, asked: u64, answered: u64) -> Option<u64> {
    let sent = turn.estimated.map(|tokens| tokens.0).or(before.map(|before| before + asked));
    let billed = turn.reply.as_ref().and_then(|reply| reply.usage);
    let billed = billed.filter(|usage| usage.total_input().0 > 0);
    billed.map(|usage| (usage.total_input() + usage.output).0).or(sent.map(|sent| sent + answered))
}

// Checks the messages of a turn, and says how many tokens it asked and answered.
async fn messages(
    sql: &mut Sql<'_>,
    checkup: &mut Checkup,
    subject: &Subject,
    turn: &Turn,
    running: &mut Running,
) -> Result<(u64, u64)> {
    let (mut asked, mut answered) = (0, 0);
    let text = "SELECT m.ordinal, m.turn, m.record, m.tokens, m.chain, b.digest, b.size, b.pack, b.place, b.bytes \
         FROM messages m LEFT JOIN bodies b ON b.key = m.body AND b.tenant = m.tenant \
         WHERE m.session = $1 AND m.ordinal >= $2 AND m.ordinal < $3 ORDER BY m.ordinal";
    let rows = sql.query(text, &values_of![subject.key, turn.first, turn.end]).await?;
    let mut unpacker = Unpacker::default();
    for mut row in rows {
        let name = format!("message {} of {}", running.messages, subject.name);
        checkup.messages += 1;
        checkup.expect(&name, "its ordinal", row.count()?, running.messages);
        checkup.expect(&name, "its turn", row.count()?, turn.number);
        let is_reply = row.int()? > 0;
        checkup.expect(&name, "whether it is a reply", is_reply, running.messages >= turn.input_end);
        *if is_reply { &mut answered } else { &mut asked } += row.count()?;
        let chain = session::chain(&row.blob()?)?;
        let digest = row.maybe_blob()?;
        let digest = match digest.and_then(|digest| <[u8; 32]>::try_from(digest).ok()) {
            Some(digest) => digest,
            None => *ContentHash::of(&unpacker.next(sql, &mut row).await?).as_bytes(),
        };
        running.chain = running.chain.then_bytes(&digest);
        checkup.expect(&name, "its chain hash", chain, running.chain);
        running.messages += 1;
    }
    Ok((asked, answered))
}

async fn total(sql: &mut Sql<'_>, path: &Path) -> Result<u64> {
    let mut total = 0;
    let text = "SELECT CAST(COALESCE(sum(tokens), 0) AS BIGINT) FROM messages \
         WHERE session = $1 AND ordinal >= $2 AND ordinal < $3";
    for span in path.spans() {
        let values = values_of![span.owner, span.messages.start, span.messages.end];
        total += sql.one(text, &values).await?.map(|mut row| row.count()).transpose()?.unwrap_or(0);
    }
    Ok(total)
}

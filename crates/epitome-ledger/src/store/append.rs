//! Appending: turns with their input, replies to them. One transaction each, and only where the writer believes to stand.

use epitome_core::{Time, Tokens, Usage};

use super::landing::Known;
use super::message::{self, Place, Prepared};
use super::session::{self, Standing};
use super::{code, tenant, turn};
use crate::error::{LedgerError, Result};
use crate::model::{
    ChainHash, Completeness, Expect, NewReply, NewTurn, Receipt, Record, TenantId, TurnId, TurnKind,
};
use crate::sql::{Sql, Statement, values_of};

/// Records a turn.
pub(crate) const INSERT_TURN: &str = "INSERT INTO turns (session, number, id, tenant, kind, first, input_end, model, estimated, \
     time, nearest, compactions) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
/// Records what is known of a reply beside its messages.
pub(crate) const INSERT_REPLY: &str = "INSERT INTO replies (session, turn, tenant, kind, finish, model, input, cache_read, \
     cache_write, output, tool_calls, time) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";

/// A turn that is ready to be written.
#[derive(Clone)]
pub(crate) struct PreparedTurn {
    pub(crate) id: TurnId,
    input: Vec<Prepared>,
    model: Option<String>,
    estimated: Option<Tokens>,
    time: Option<Time>,
    reply: Option<PreparedReply>,
}

/// A reply that is ready to be written.
#[derive(Clone)]
pub(crate) struct PreparedReply {
    messages: Vec<Prepared>,
    completeness: Completeness,
    model: Option<String>,
    usage: Option<Usage>,
    tool_calls: u64,
    time: Option<Time>,
}

impl PreparedTurn {
    /// How many messages it has, those of its reply included.
    pub(crate) fn messages(&self) -> usize {
        self.input.len() + self.reply.as_ref().map_or(0, PreparedReply::messages)
    }
}

impl PreparedReply {
    /// How many messages it has.
    pub(crate) fn messages(&self) -> usize {
        self.messages.len()
    }
}

impl From<NewTurn> for PreparedTurn {
    fn from(new: NewTurn) -> Self {
        let NewTurn { id, input, model, estimated, time, reply } = new;
        Self {
            id,
            input: Prepared::all(input),
            model,
            estimated,
            time,
            reply: reply.map(PreparedReply::from),
        }
    }
}

impl From<NewReply> for PreparedReply {
    fn from(new: NewReply) -> Self {
        let NewReply { messages, completeness, model, usage, tool_calls, time } = new;
        Self { messages: Prepared::all(messages), completeness, model, usage, tool_calls, time }
    }
}

/// Appends turns to a session.
pub(crate) async fn turns(
    sql: &mut Sql<'_>,
    tenant: TenantId,
    expect: Expect,
    turns: Vec<PreparedTurn>,
) -> Result<Known> {
    let tenant = tenant::known_to_writer(sql, tenant).await?;
    let standing = session::lock(sql, tenant, expect.session).await?;
    if let Err(refusal) = standing.check(&expect) {
        // A writer that lost the connection asks again for what was done.
        return match turns.last() {
            Some(last) if turn::is_recorded(sql, &standing, last.id).await? => Ok(standing.into()),
            _ => Err(refusal),
        };
    }
    let alone = turns.first().filter(|_| turns.len() == 1).map(|turn| turn.id);
    let mut tail = Tail::new(standing, sql.shared.clock.now());
    for turn in turns {
        tail.turn(turn)?;
    }
    tail.finish(sql).await.map_err(|error| match (error, alone) {
        (LedgerError::Exists { .. }, Some(id)) => {
            LedgerError::Exists { what: "the turn", id: id.to_string() }
        }
        (error, _) => error,
    })
}

/// Appends the reply to the turn that a session stands on.
pub(crate) async fn reply(
    sql: &mut Sql<'_>,
    tenant: TenantId,
    expect: Expect,
    reply: PreparedReply,
) -> Result<Known> {
    let tenant = tenant::known_to_writer(sql, tenant).await?;
    let standing = session::lock(sql, tenant, expect.session).await?;
    standing.check(&expect)?;
    let due = |why| LedgerError::NoReplyDue {
        turn: expect.head.unwrap_or_else(|| TurnId::from_uuid(uuid::Uuid::nil())),
        why,
    };
    let number = standing.session.turns.checked_sub(1).filter(|number| *number >= standing.first_turn);
    let number = number.ok_or_else(|| due("it belongs to another session"))?;
    let head = turn::by_number(sql, standing.key, number).await?;
    if head.kind == TurnKind::Compaction {
        return Err(due("it is a compaction"));
    }
    if head.reply.is_some() {
        return match repeats(sql, &standing, head.input_end, &reply).await? {
            true => Ok(standing.into()),
            false => Err(due("it has one")),
        };
    }
    let mut tail = Tail::new(standing, sql.shared.clock.now());
    tail.reply(number, reply)?;
    tail.finish(sql).await
}

// Whether the reply is the one that was recorded: a writer who lost the connection asks again.
async fn repeats(
    sql: &mut Sql<'_>,
    standing: &Standing,
    input_end: u64,
    reply: &PreparedReply,
) -> Result<bool> {
    let mut chain = message::chain_before(sql, standing, input_end).await?;
    for prepared in &reply.messages {
        chain = chain.then(&prepared.message.digest);
    }
    Ok(chain == standing.session.chain
        && input_end + reply.messages.len() as u64 == standing.session.messages)
}

impl Known {
    /// What a writer is told.
    pub(crate) fn receipt(&self) -> Receipt {
        let session = &self.standing.session;
        Receipt { head: session.head, turns: session.turns, messages: session.messages, chain: session.chain }
    }
}

/// The end of a path that grows: counters, and the statements that will make it so.
pub(crate) struct Tail {
    pub(crate) standing: Standing,
    now: Time,
    statements: Vec<Statement>,
    /// The last turn, where it waits for a reply.
    due: Option<u64>,
}

impl Tail {
    pub(crate) fn new(standing: Standing, now: Time) -> Self {
        Self { standing, now, statements: Vec::new(), due: None }
    }

    /// Records a turn with its messages.
    pub(crate) fn turn(&mut self, new: PreparedTurn) -> Result<()> {
        let number = self.standing.session.turns;
        let first = self.standing.session.messages;
        let header = Header {
            id: new.id,
            kind: TurnKind::Call,
            first,
            model: new.model,
            estimated: new.estimated,
            time: new.time,
        };
        let before = self.standing.session.tokens_total;
        self.header(header, first + new.input.len() as u64);
        self.messages(number, Record::Input, new.input)?;
        let added = self.standing.session.tokens_total - before;
        let session = &mut self.standing.session;
        session.tokens_used = new.estimated.unwrap_or(session.tokens_used + added);
        self.due = Some(number);
        new.reply.map_or(Ok(()), |reply| self.reply(number, reply))
    }

    /// Records a turn without its messages.
    pub(crate) fn header(&mut self, header: Header, input_end: u64) {
        let session = &mut self.standing.session;
        let values = values_of![
            self.standing.key,
            session.turns,
            header.id.as_uuid(),
            self.standing.tenant,
            code::of_turn(header.kind),
            header.first,
            input_end,
            header.model,
            header.estimated,
            header.time.unwrap_or(self.now),
            self.standing.nearest,
            session.compactions,
        ];
        self.statements.push(Statement::new(INSERT_TURN, values));
        session.turns += 1;
        session.head = Some(header.id);
    }

    /// Records the reply to a turn.
    pub(crate) fn reply(&mut self, number: u64, reply: PreparedReply) -> Result<()> {
        let finish = self.standing.session.messages + reply.messages.len() as u64;
        let record = code::of_reply(reply.completeness);
        let usage = reply.usage;
        let values = values_of![
            self.standing.key,
            number,
            self.standing.tenant,
            code::of_record(record),
            finish,
            reply.model,
            usage.map(|usage| usage.input),
            usage.map(|usage| usage.cache_read),
            usage.map(|usage| usage.cache_write),
            usage.map(|usage| usage.output),
            reply.tool_calls,
            reply.time.unwrap_or(self.now),
        ];
        self.statements.push(Statement::new(INSERT_REPLY, values));
        self.due = None;
        let before = self.standing.session.tokens_total;
        self.messages(number, record, reply.messages)?;
        let added = self.standing.session.tokens_total - before;
        let session = &mut self.standing.session;
        session.tokens_used = usage
            .filter(|usage| usage.total_input() > Tokens::ZERO)
            .map_or(session.tokens_used + added, |usage| usage.total_input() + usage.output);
        Ok(())
    }

    fn messages(&mut self, turn: u64, record: Record, messages: Vec<Prepared>) -> Result<()> {
        for prepared in messages {
            let session = &mut self.standing.session;
            let chain: ChainHash = session.chain.then(&prepared.message.digest);
            session.chain = chain;
            session.tokens_total += prepared.message.tokens;
            let ordinal = session.messages;
            session.messages += 1;
            let Standing { key, tenant, .. } = self.standing;
            let place = Place { session: key, tenant, turn, ordinal, record, chain };
            self.statements.extend(message::insert(prepared, &place)?);
        }
        Ok(())
    }

    /// Adds what must be true together with the rest.
    pub(crate) fn push(&mut self, statement: Statement) {
        self.statements.push(statement);
    }

    /// Moves the head.
    pub(crate) fn step(&self) -> Statement {
        let session = &self.standing.session;
        let update = "UPDATE sessions SET head = $1, turns = $2, messages = $3, chain = $4, nearest = $5, \
             compactions = $6, tokens_total = $7, tokens_used = $8, updated = $9 WHERE key = $10";
        let values = values_of![
            session.head.as_ref().map(TurnId::as_uuid),
            session.turns,
            session.messages,
            session.chain.as_bytes(),
            self.standing.nearest,
            session.compactions,
            session.tokens_total,
            session.tokens_used,
            self.now,
            self.standing.key,
        ];
        Statement::new(update, values)
    }

    /// Writes everything, moves the head and commits.
    pub(crate) async fn finish(mut self, sql: &mut Sql<'_>) -> Result<Known> {
        self.statements.push(self.step());
        sql.finish(&self.statements).await?;
        Ok(self.into_parts().1)
    }

    /// The statements but for the moving of the head, and where the session stands behind them.
    pub(crate) fn into_parts(self) -> (Vec<Statement>, Known) {
        (self.statements, Known { standing: self.standing, due: self.due })
    }
}

/// What a turn is, beside its messages.
pub(crate) struct Header {
    pub(crate) id: TurnId,
    pub(crate) kind: TurnKind,
    pub(crate) first: u64,
    pub(crate) model: Option<String>,
    pub(crate) estimated: Option<Tokens>,
    pub(crate) time: Option<Time>,
}

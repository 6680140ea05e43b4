//! Landing: an append that its caller prepared to the last value, written in one step.
//!
//! It supposes that the session stands where this process left it. The row of the session moves only if that is so; if not,
//! nothing is written, and the append is done again by looking first.

use epitome_core::Time;

use super::append::{PreparedReply, PreparedTurn, Tail};
use super::arrival;
use super::session::Standing;
use crate::error::Result;
use crate::model::{Expect, TurnId};
use crate::sql::{Sql, Statement, values_of};

/// Messages of an append that lands at most; larger ones are not held up by looking first.
const MOST: usize = 16;

/// Where a session stands, as far as this process knows.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) standing: Standing,
    /// The number of its last turn, where that waits for a reply.
    pub(crate) due: Option<u64>,
}

impl From<Standing> for Known {
    fn from(standing: Standing) -> Self {
        Self { standing, due: None }
    }
}

/// An append that is ready to be written.
pub(crate) struct Landing {
    /// Moves the session, if it stands where it is believed to.
    step: Statement,
    statements: Vec<Statement>,
    /// The same as one row of a SQLite file.
    record: Option<Vec<u8>>,
    /// The turn that is new, where it is not a reply.
    turn: Option<TurnId>,
    after: Known,
}

impl Landing {
    /// A turn that follows what is known; nothing where its writer stands elsewhere.
    pub(crate) fn of_turn(
        known: Known,
        expect: &Expect,
        turn: PreparedTurn,
        now: Time,
    ) -> Result<Option<Self>> {
        if known.standing.session.head != expect.head || turn.messages() > MOST {
            return Ok(None);
        }
        let (before, id) = (known.standing.session.messages, turn.id);
        let mut tail = Tail::new(known.standing, now);
        tail.turn(turn)?;
        Ok(Some(Self::of(tail, expect, before, Some(id))))
    }

    /// The reply to the turn that the session stands on; nothing where it has no messages, because it would leave the
    /// session where it stands, and whoever says the same again would land, too.
    pub(crate) fn of_reply(
        known: Known,
        expect: &Expect,
        reply: PreparedReply,
        now: Time,
    ) -> Result<Option<Self>> {
        let Some(number) = known.due else { return Ok(None) };
        if known.standing.session.head != expect.head || !(1..=MOST).contains(&reply.messages()) {
            return Ok(None);
        }
        let before = known.standing.session.messages;
        let mut tail = Tail::new(known.standing, now);
        tail.reply(number, reply)?;
        Ok(Some(Self::of(tail, expect, before, None)))
    }

    fn of(tail: Tail, expect: &Expect, before: u64, turn: Option<TurnId>) -> Self {
        let mut step = tail.step();
        step.text.to_mut().push_str(
            " AND id = $11 AND messages = $12 AND fence >= $13 AND fence <= $14 AND purged IS NULL \
             AND head IS NOT DISTINCT FROM $15",
        );
        let (lowest, highest) = expect.fence.map_or((0, i64::MAX as u64), |fence| (fence, fence));
        step.values.extend(values_of![
            expect.session.as_uuid(),
            before,
            lowest,
            highest,
            expect.head.as_ref().map(TurnId::as_uuid),
        ]);
        let (statements, after) = tail.into_parts();
        Self { step, statements, record: None, turn, after }
    }

    /// Makes one row of it, as a SQLite file takes it; nothing where that cannot be.
    pub(crate) fn into_arrival(self) -> Option<Self> {
        let record = Some(arrival::encode(&self.statements)?);
        Some(Self { record, statements: Vec::new(), ..self })
    }

    /// Writes it, and says where the session stands now; nothing where it did not stand where it should.
    pub(crate) async fn land(self, sql: &mut Sql<'_>) -> Result<Option<Known>> {
        let landed = match self.record {
            Some(record) => {
                let turn = self.turn.as_ref().map(TurnId::as_uuid);
                arrival::keep(sql, self.after.standing.tenant, turn, record, &self.step).await?
            }
            None => sql.land(&self.step, &self.statements).await?,
        };
        Ok(landed.then_some(self.after))
    }
}

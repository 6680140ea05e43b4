//! Recording what was said: durable when it returns, whatever else goes on in the session.

use epitome_core::calibrate::{Gauge, Verdict};
use epitome_core::{Outline, Role, Time, Tokens, Usage, events};
use epitome_ledger::LedgerError;
use epitome_ledger::model::{ChainHash, NewReply, NewTurn, Receipt, TurnId};
use tracing::Instrument;

use super::draft::{BilledFor, Draft, Input, Reply};
use super::sendable::is_blank;
use super::warm::Warm;
use super::{Session, State, told_of};
use crate::error::{Error, Result};

/// How often an append is tried again on top of what others appended meanwhile.
const TRIES: usize = 64;
/// No server has a smaller window: less was billed for something else than what is sent.
const SMALLEST_WINDOW: Tokens = Tokens(1_000);

/// What is to be recorded.
pub(super) enum Record<'d> {
    /// What goes into a call.
    Input(&'d [Draft]),
    /// What came out of it.
    Reply(&'d [Draft], &'d NewReply, BilledFor),
}

impl Session {
    /// Records what goes into the next call: what the user says, what tools gave. When it returns, it is durable.
    ///
    /// A message of the model is recorded as a reply. What says nothing is refused. Where calls of tools are left without a result,
    /// because the agent was interrupted, what is sent says so in their place.
    pub async fn append(&self, input: impl Into<Input>) -> Result<Receipt> {
        let inner = self.inner();
        let drafts = Draft::all(input.into(), inner.dialect, &inner.counter)?;
        if drafts.iter().all(|draft| draft.role() == Role::Assistant) {
            return self.record_reply(drafts, Reply::default(), None).await;
        }
        if drafts.iter().all(|draft| is_blank(&draft.outline, &draft.json, inner.dialect)) {
            return Err(Error::Empty);
        }
        self.record(Record::Input(&drafts), TurnId::generate(), None).await
    }

    /// Records what came out of a call, and learns from what it was billed.
    pub async fn reply(&self, reply: impl Into<Reply>) -> Result<Receipt> {
        self.reply_at(reply.into(), None).await
    }

    /// As [`Session::reply`], if the session still stands where the call left it; else [`Error::Moved`], and nothing is recorded.
    pub async fn reply_behind(&self, behind: ChainHash, reply: impl Into<Reply>) -> Result<Receipt> {
        self.reply_at(reply.into(), Some(behind)).await
    }

    async fn reply_at(&self, mut reply: Reply, behind: Option<ChainHash>) -> Result<Receipt> {
        let inner = self.inner();
        let drafts = match Draft::all(std::mem::take(&mut reply.messages), inner.dialect, &inner.counter) {
            // A call that gave nothing before it was cut off is recorded, too.
            Err(Error::Empty) => Vec::new(),
            drafts => drafts?,
        };
        if !drafts.iter().all(|draft| draft.may_be_reply(inner.dialect)) {
            return Err(Error::NotAReply);
        }
        self.record_reply(drafts, reply, behind).await
    }

    async fn record_reply(
        &self,
        drafts: Vec<Draft>,
        reply: Reply,
        behind: Option<ChainHash>,
    ) -> Result<Receipt> {
        let dialect = self.inner().dialect;
        let new = NewReply {
            messages: drafts.iter().map(|draft| draft.new_message(dialect)).collect(),
            completeness: reply.completeness,
            model: reply.model,
            usage: reply.usage,
            tool_calls: drafts.iter().map(Draft::calls).sum(),
            time: None,
        };
        self.record(Record::Reply(&drafts, &new, reply.billed_for), TurnId::generate(), behind).await
    }

    pub(super) async fn record(
        &self,
        record: Record<'_>,
        id: TurnId,
        behind: Option<ChainHash>,
    ) -> Result<Receipt> {
        let work = async {
            let mut state = self.slot.state.lock().await;
            self.record_in(&mut state, record, id, behind).await
        };
        work.instrument(self.span()).await
    }

    /// Records it while the state is held; where it says behind what, there or not at all.
    pub(super) async fn record_in(
        &self,
        state: &mut State,
        record: Record<'_>,
        id: TurnId,
        behind: Option<ChainHash>,
    ) -> Result<Receipt> {
        let inner = self.inner();
        // Taken out: whoever drops this future leaves nothing behind that might be wrong.
        let mut warm = state.take();
        for _ in 0..TRIES {
            let mut at_hand = match warm.take() {
                Some(warm) => warm,
                None => self.load().await?,
            };
            if behind.is_some_and(|behind| at_hand.chain != behind) {
                self.put_back(state, at_hand);
                return Err(Error::Moved);
            }
            let now = inner.now();
            match self.write(&at_hand, &record, id, now).await {
                Ok(receipt) if receipt.messages == at_hand.length + record.drafts().len() as u64 => {
                    // What cannot be taken over is read anew when it is needed.
                    if self.take_over(&mut at_hand, &record, &receipt, now).is_ok() {
                        self.put_back(state, at_hand);
                    }
                    return Ok(receipt);
                }
                // It was recorded by an earlier try, and others went on from there.
                Ok(receipt) => return Ok(receipt),
                Err(LedgerError::HeadMoved { .. } | LedgerError::NoReplyDue { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Contended)
    }

    async fn write(
        &self,
        warm: &Warm,
        record: &Record<'_>,
        id: TurnId,
        now: Time,
    ) -> std::result::Result<Receipt, LedgerError> {
        let inner = self.inner();
        let (ledger, tenant, expect) = (&inner.ledger, inner.tenant, self.expect(warm.head, None));
        let model = Some(inner.model.id.to_string()).filter(|model| !model.is_empty());
        match record {
            Record::Input(drafts) => {
                let mut turn =
                    NewTurn::of(drafts.iter().map(|draft| draft.new_message(inner.dialect)).collect());
                let added = drafts.iter().map(|draft| draft.outline.tokens).sum();
                let estimated = warm.estimated(self.slot.outside(), inner) + inner.billed(added);
                told_of(id).in_scope(|| events::input_estimated(estimated, inner.settings.prune.warn_tokens));
                (turn.id, turn.model, turn.estimated, turn.time) = (id, model, Some(estimated), Some(now));
                ledger.append(tenant, expect, vec![turn]).await
            }
            Record::Reply(_, reply, _) if warm.waits => ledger.reply(tenant, expect, (*reply).clone()).await,
            // A compaction stands between the question and the answer, or nobody asked.
            Record::Reply(_, reply, _) => {
                let estimated = Some(warm.estimated(self.slot.outside(), inner));
                let reply = Some((*reply).clone());
                let turn =
                    NewTurn { id, model, estimated, time: Some(now), reply, ..NewTurn::of(Vec::new()) };
                ledger.append(tenant, expect, vec![turn]).await
            }
        }
    }

    fn take_over(&self, warm: &mut Warm, record: &Record<'_>, receipt: &Receipt, now: Time) -> Result<()> {
        let inner = self.inner();
        match record {
            Record::Input(drafts) => {
                self.slot.begun();
                drafts.iter().for_each(|draft| warm.gauge.push(&draft.outline));
            }
            Record::Reply(drafts, reply, billed_for) => {
                // A bill for something else says nothing about what is sent.
                let usage = reply.usage.filter(|_| *billed_for == BilledFor::Context).unwrap_or_default();
                self.slot.begun();
                let is_cut = usage.total_input() >= SMALLEST_WINDOW && {
                    let expected = warm.estimated(self.slot.outside(), inner);
                    inner.window.answered(&self.engine, expected, &usage)
                };
                self.slot.set_cut(is_cut);
                // Providers answer with names that say more, such as a date.
                let answered = reply.model.as_deref().map(|model| inner.models.get(model).model.id);
                let model = answered.as_deref().unwrap_or(&inner.model.id);
                if let Some((last, before)) = drafts.split_last() {
                    before.iter().for_each(|draft| warm.gauge.push(&draft.outline));
                    self.learn_bill(&mut warm.gauge, model, &usage, &last.outline);
                }
            }
        }
        warm.waits = matches!(record, Record::Input(_));
        warm.appended(record.drafts(), receipt, now, inner)
    }

    fn learn_bill(&self, gauge: &mut Gauge, model: &str, usage: &Usage, reply: &Outline) {
        let billing = &self.inner().billing;
        match billing.observe(gauge, model, usage, reply) {
            Verdict::Learned if billing.is_due(model) => billing.save_soon(&self.engine),
            _ => {}
        }
    }
}

impl Record<'_> {
    fn drafts(&self) -> &[Draft] {
        match self {
            Record::Input(drafts) | Record::Reply(drafts, ..) => drafts,
        }
    }
}

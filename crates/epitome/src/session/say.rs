//! Saying something and sending it at once: where surely nothing is due, it is recorded while the model is asked.

use std::sync::Arc;

use epitome_core::Tokens;
use epitome_core::compact::StrategyName;
use epitome_core::pressure::Pressure;
use epitome_core::prune::PruneMode;
use epitome_ledger::model::{ChainHash, Receipt, TurnId};
use tokio::task::JoinHandle;
use tracing::Instrument;

use super::append::Record;
use super::draft::{Draft, Input};
use super::{Context, Session, Warm};
use crate::error::{Error, Result};

/// What was said, on its way into the ledger.
pub struct Said {
    /// The turn that it becomes.
    pub turn: TurnId,
    /// What to send.
    pub send: ToSend,
    /// Everything that is sent, in the model's tokens, as far as it can be told before it is counted.
    pub pressure: Pressure,
    recording: Recording,
}

/// What a call sends.
#[derive(Clone, Debug)]
pub enum ToSend {
    /// Everything as it was said: nothing is hidden or changed.
    AsSaid,
    /// This, and the input behind it.
    Behind(Arc<Context>),
    /// This, of which the input is a part.
    Whole(Arc<Context>),
}

enum Recording {
    Done(Receipt),
    UnderWay(JoinHandle<Result<Receipt>>),
}

impl Said {
    /// Waits until it is recorded, and says where the session stands then.
    pub async fn recorded(self) -> Result<Receipt> {
        match self.recording {
            Recording::Done(receipt) => Ok(receipt),
            Recording::UnderWay(task) => {
                task.await.unwrap_or_else(|error| Err(Error::Interrupted(error.to_string())))
            }
        }
    }
}

impl Session {
    /// Records what goes into the next call and says what to send, in one step. `behind` is where the caller takes the session to
    /// stand ([`Receipt::chain`]); where it stands elsewhere nothing is recorded ([`Error::Moved`]).
    ///
    /// Where surely nothing is due, what to send is known before it is recorded, and recording goes on while the model is asked:
    /// nothing that is not recorded is ever left out of what is sent.
    pub async fn say(&self, behind: ChainHash, input: Input) -> Result<Said> {
        let turn = TurnId::generate();
        let mut state = Arc::clone(&self.slot.state).lock_owned().await;
        let mut warm = match state.take() {
            Some(warm) => warm,
            None => self.load().await?,
        };
        let is_there = warm.chain == behind;
        let pressure = input.bytes().and_then(|bytes| self.surely_fits(&warm, bytes)).filter(|_| is_there);
        let seen = pressure.map(|_| self.to_send(&mut warm));
        self.put_back(&mut state, warm);
        if !is_there {
            return Err(Error::Moved);
        }
        if let Some((pressure, send)) = pressure.zip(seen) {
            let session = self.clone();
            // The state is held until it is recorded: whoever needs it waits that long.
            let work = async move {
                let inner = session.inner();
                let drafts = Draft::all(input, inner.dialect, &inner.counter)?;
                session.record_in(&mut state, Record::Input(&drafts), turn, Some(behind)).await
            };
            let recording = Recording::UnderWay(tokio::spawn(work.instrument(self.span())));
            return Ok(Said { turn, send, pressure, recording });
        }
        drop(state);
        let inner = self.inner();
        let drafts = Draft::all(input, inner.dialect, &inner.counter)?;
        let receipt = self.record(Record::Input(&drafts), turn, Some(behind)).await?;
        let (pressure, send) = self.due().await?;
        Ok(Said { turn, send, pressure, recording: Recording::Done(receipt) })
    }

    /// What to send for what was said last: compacted first if that is due.
    pub async fn due(&self) -> Result<(Pressure, ToSend)> {
        let context = self.context().await?;
        let pressure = context.pressure;
        let is_changed = self.look(|warm| warm.is_changed()).await?;
        Ok((pressure, if is_changed { ToSend::Whole(Arc::new(context)) } else { ToSend::AsSaid }))
    }

    fn to_send(&self, warm: &mut Warm) -> ToSend {
        if !warm.is_changed() {
            return ToSend::AsSaid;
        }
        ToSend::Behind(Arc::new(self.context_of(warm, None)))
    }

    // How full the window gets with so many bytes more, where that calls for nothing whatever they say.
    fn surely_fits(&self, warm: &Warm, bytes: usize) -> Option<Pressure> {
        let (inner, outside) = (self.inner(), self.slot.outside());
        let prune = &inner.settings.prune;
        // No token is shorter than a byte.
        let most = Tokens(bytes as u64);
        let Pressure { tokens, marks, .. } = warm.pressure(outside, inner);
        let is_calm = tokens + inner.billed(most) < marks.warn;
        let might_prune = prune.prune_mode == PruneMode::EveryCall
            || warm.lapsed
            || warm.oversized
            || warm.is_silent(inner.now(), inner)
            || (warm.tokens + most - warm.decided).0 >= prune.clear_at_least.0 / 2
            || prune.tool_result_max_chars.is_some_and(|cap| bytes > cap.0);
        let fits = is_calm && !might_prune && !self.has_rules_of_its_own() && !self.has_any_ready();
        fits.then(|| Pressure::at(tokens + inner.billed(Tokens(most.0 / USUAL)), marks))
    }

    // Whether more than size and age decide about what is done before a call.
    fn has_rules_of_its_own(&self) -> bool {
        let (inner, compact) = (self.inner(), &self.inner().settings.compact);
        let is_by_size = matches!(
            compact.strategy,
            StrategyName::Auto | StrategyName::Prune | StrategyName::Rolling | StrategyName::Checkpoint
        );
        inner.strategy.is_some() || !is_by_size || !compact.compaction_enabled
    }
}

/// So many bytes of what is said are usually one token.
const USUAL: u64 = 4;

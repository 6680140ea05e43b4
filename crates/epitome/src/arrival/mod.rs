//! Conversations of stateless clients, which send everything that was said with every call: where they are known from, and how
//! they go on.
//!
//! The longest beginning that is recorded says where a conversation stands. What is new is recorded behind it: in the same session
//! where that stands there, else in a fork of it. So a client that edits or rewinds its history becomes a fork by itself.

mod find;
mod turns;

use epitome_core::{ContentHash, Role};
use epitome_ledger::LedgerError;
use epitome_ledger::model::{ChainHash, Expect, Opening as Begin, SessionId, TurnId};

use self::find::{Found, Spot};
use self::turns::Turns;
use crate::engine::{Engine, Opening};
use crate::error::{Error, Result};
use crate::session::{Context, Draft, Input, Session};

/// How often a conversation is looked for again because somebody else was faster, beside once for each of its messages.
const TRIES: usize = 5;

/// A conversation as a client sends it.
#[derive(Clone, Debug, Default)]
pub struct Arrival<'a> {
    /// Its messages as the engine's dialect writes them, from the first; those of the operator that lead them are no part of it.
    pub messages: Vec<&'a str>,
    /// The session that the client says it is, which decides: where that holds any of it, it goes on there or in a fork of it.
    pub session: Option<SessionId>,
    /// The name under which the client keeps it, and maybe others: where one is given, what only opens alike under another name is
    /// another conversation. It becomes the channel of new sessions.
    pub name: Option<&'a str>,
    /// Where new sessions take place.
    pub platform: Option<&'a str>,
    /// Whether a call that was made before and has no answer is made again, rather than once more beside it.
    pub is_retry: bool,
    /// Calls that are being made: the same call is another one beside them.
    pub under_way: Vec<TurnId>,
}

/// How a conversation goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// Nothing of it was known.
    New,
    /// It goes on where it was left.
    Continued,
    /// It goes on from an earlier point of one that is known.
    Forked,
    /// The call that has no answer yet is made again.
    Retried,
    /// A call that was answered, or is being answered, is made once more beside the other.
    Resampled,
}

/// A conversation that is recorded up to its last message.
#[derive(Clone, Debug)]
pub struct Arrived {
    /// The session.
    pub session: Session,
    /// How it goes on.
    pub course: Course,
    /// The turn of the call.
    pub turn: TurnId,
    /// Where the session stands.
    pub chain: ChainHash,
    /// The places on the path of the client's messages, up to the last that is recorded.
    pub ordinals: Vec<u64>,
    /// Whether the client named a session that is not there or holds nothing of it: then what was said decided.
    pub is_elsewhere: bool,
}

/// A conversation that was looked for.
#[derive(Clone, Debug)]
pub struct Sought {
    /// The session that it stands in, or would leave as a fork.
    pub session: Session,
    /// The places on the path of the client's messages that are recorded.
    pub ordinals: Vec<u64>,
    /// What is sent of them, where that is not what was said.
    pub context: Option<Context>,
}

impl Engine {
    /// Finds the session of a conversation, and what is sent of it, without recording anything; nothing where it would become a new one. A
    /// fork that it would become sees what was seen where it leaves.
    pub async fn seek(&self, arrival: &Arrival<'_>) -> Result<Option<Sought>> {
        let drafts = self.drafts(arrival)?;
        let digests: Vec<ContentHash> = drafts.iter().map(|draft| draft.digest).collect();
        let found = self.find(arrival, &digests).await?;
        let again = Arrival { is_retry: true, ..arrival.clone() };
        let (session, known, fork) = match self.spot(&again, &found, &drafts).await? {
            Spot::Here { session, known, .. } => (session, known, None),
            Spot::Fork { session, at, known, .. } => (session, known, Some(at)),
            Spot::Nowhere { .. } => return Ok(None),
        };
        let (session, mut ordinals) = (self.handle(session), found.ordinals);
        if found.order.iter().enumerate().any(|(place, number)| place != *number) {
            return Ok(None);
        }
        ordinals.truncate(known);
        let context = match fork {
            Some(at) => session.seen_behind(at).await?,
            None => {
                let context = session.peek().await?;
                session.look(|warm| warm.is_changed()).await?.then_some(context)
            }
        };
        Ok(Some(Sought { session, ordinals, context }))
    }

    /// Whether all of a conversation is recorded, the last words of the model included.
    pub async fn holds(&self, arrival: &Arrival<'_>) -> Result<bool> {
        let drafts = self.read(arrival)?;
        let digests: Vec<ContentHash> = drafts.iter().map(|draft| draft.digest).collect();
        Ok(self.find(arrival, &digests).await?.known() == digests.len())
    }

    /// Finds the session of a conversation, or opens one, and records what is new in it. Messages of the model at its end, which
    /// it is to continue, are left to its reply.
    pub async fn arrive(&self, arrival: &Arrival<'_>) -> Result<Arrived> {
        let drafts = self.drafts(arrival)?;
        for _ in 0..TRIES + drafts.len() {
            match self.arrive_once(arrival, &drafts).await {
                // Somebody was faster; what they recorded is found when we look again.
                Err(
                    Error::Ledger(
                        LedgerError::HeadMoved { .. }
                        | LedgerError::NoReplyDue { .. }
                        | LedgerError::Overtaken { .. }
                        | LedgerError::Exists { .. },
                    )
                    | Error::Moved,
                ) => {}
                arrived => return arrived,
            }
        }
        Err(Error::Contended)
    }

    // Its messages without those of the model at its end.
    fn drafts(&self, arrival: &Arrival<'_>) -> Result<Vec<Draft>> {
        let mut drafts = self.read(arrival)?;
        while drafts.last().is_some_and(|draft| draft.role() == Role::Assistant) {
            drafts.pop();
        }
        if drafts.is_empty() { Err(Error::Empty) } else { Ok(drafts) }
    }

    fn read(&self, arrival: &Arrival<'_>) -> Result<Vec<Draft>> {
        let said = |input: Input, message: &&str| input.and(Input::json(*message));
        let input = arrival.messages.iter().fold(Input::default(), said);
        Draft::all(input, self.0.dialect, &self.0.counter)
    }

    async fn arrive_once(&self, arrival: &Arrival<'_>, drafts: &[Draft]) -> Result<Arrived> {
        let digests: Vec<ContentHash> = drafts.iter().map(|draft| draft.digest).collect();
        let found = self.find(arrival, &digests).await?;
        let spot = self.spot(arrival, &found, drafts).await?;
        let known = match spot {
            Spot::Here { known, .. } | Spot::Fork { known, .. } => known,
            Spot::Nowhere { .. } => 0,
        };
        let ordered: Vec<Draft> = match known {
            0 => drafts.to_vec(),
            _ => found.order.iter().filter_map(|number| drafts.get(*number)).cloned().collect(),
        };
        let mut places = found.ordinals.clone();
        places.truncate(known);
        let next = found.ordinals.get(known).copied().unwrap_or_default();
        places.extend((next..).take(drafts.len() - known));
        // Whoever has sent them counts them in another order.
        let mut ordinals = places.clone();
        if known > 0 {
            for (number, place) in found.order.iter().zip(places) {
                if let Some(here) = ordinals.get_mut(*number) {
                    *here = place;
                }
            }
        }
        let turns = Turns::of(ordered.get(known..).unwrap_or_default(), &self.0);
        match spot {
            Spot::Here { session, chain, course, .. } => {
                let session = self.handle(session);
                let (turn, chain) = self.go_on(&session, chain, turns, course).await?;
                let is_elsewhere = found.is_elsewhere;
                Ok(Arrived { session, course, turn, chain, ordinals, is_elsewhere })
            }
            Spot::Fork { at, course, .. } => {
                let at = Some(at);
                self.begin(arrival, &found, at, turns, course, ordinals).await
            }
            Spot::Nowhere { course } => self.begin(arrival, &found, None, turns, course, ordinals).await,
        }
    }

    // Records what is new behind what is known of a session.
    async fn go_on(
        &self,
        session: &Session,
        chain: ChainHash,
        turns: Turns,
        course: Course,
    ) -> Result<(TurnId, ChainHash)> {
        let inner = &self.0;
        // Nobody reads it between our look and our write, and what is at hand is read anew afterwards.
        let mut state = session.slot.state.lock().await;
        let resumed = inner.ledger.resume(inner.tenant, session.id()).await?;
        if resumed.session.chain != chain {
            return Err(Error::Moved);
        }
        let head = resumed.session.head;
        if course == Course::Retried {
            let turn = self.waiting(head.ok_or(Error::Moved)?).await?;
            return Ok((turn, chain));
        }
        *state = None;
        let mut expect = Expect { session: session.id(), head, fence: None };
        let mut turns = turns;
        if resumed.waits
            && let Some(reply) = turns.take_leading_reply()
        {
            expect.head = inner.ledger.reply(inner.tenant, expect, reply).await?.head;
        }
        let last = turns.last().ok_or(Error::Empty)?;
        let receipt = inner.ledger.append(inner.tenant, expect, turns.all).await?;
        Ok((last, receipt.chain))
    }

    // The call that waits for its answer; compactions may stand behind it.
    pub(in crate::arrival) async fn waiting(&self, head: TurnId) -> Result<TurnId> {
        let inner = &self.0;
        let mut turn = inner.ledger.turn(inner.tenant, head).await?;
        while turn.kind == epitome_ledger::model::TurnKind::Compaction && turn.number > 0 {
            let before = inner.ledger.turns(inner.tenant, head, turn.number - 1..turn.number).await?;
            turn = before.into_iter().next().ok_or(Error::Moved)?;
        }
        Ok(turn.id)
    }

    async fn begin(
        &self,
        arrival: &Arrival<'_>,
        found: &Found,
        at: Option<TurnId>,
        turns: Turns,
        course: Course,
        ordinals: Vec<u64>,
    ) -> Result<Arrived> {
        let inner = &self.0;
        let opening = Opening {
            platform: arrival.platform.map(str::to_owned),
            channel: arrival.name.map(str::to_owned),
            label: turns.label(),
            key: None,
        };
        let session = self.new_session(opening);
        let id = session.id;
        let turn = turns.last();
        let begin = Begin {
            at,
            session,
            turns: turns.all,
            chains: found.chains.clone(),
            known: found.claimed.clone(),
        };
        let receipt = match course {
            // Others who make the same call at the same time are meant to have sessions of their own.
            Course::Resampled => {
                inner.ledger.begin(inner.tenant, begin.at, begin.session, begin.turns).await?
            }
            _ => inner.ledger.begin_once(inner.tenant, begin).await?,
        };
        let turn = turn.or(receipt.head).ok_or(Error::Empty)?;
        let (session, chain, is_elsewhere) = (self.handle(id), receipt.chain, found.is_elsewhere);
        Ok(Arrived { session, course, turn, chain, ordinals, is_elsewhere })
    }
}

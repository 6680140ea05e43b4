//! Where a conversation is known from.

use epitome_core::{ContentHash, Role};
use epitome_ledger::LedgerError;
use epitome_ledger::model::{
    ChainHash, Completeness, KnownPrefix, PrefixPlace, Session as Record, SessionId, Turn, TurnId, TurnKind,
};

use epitome_wire::echo::{Echo, Extent, echo_of, echo_of_cut};

use super::{Arrival, Course};
use crate::engine::Engine;
use crate::error::Result;
use crate::session::Draft;

/// So many messages of a reply are looked at for what a client repeats of it.
const REPLY: u64 = 64;
/// At most so many compactions follow upon a turn before something is said again.
const STEPS: u64 = 8;

/// What is known of a conversation.
pub(super) struct Found {
    /// The client's messages, by their numbers, in the order in which they are recorded: results that a client puts between the
    /// calls of one reply stand behind them.
    pub(super) order: Vec<usize>,
    /// The chain hashes of its messages in that order, those of the ledger where a client repeats a reply in other words.
    pub(super) chains: Vec<ChainHash>,
    /// The places of its messages on the path, as far as they are known.
    pub(super) ordinals: Vec<u64>,
    /// What is recorded of it.
    pub(super) known: Option<KnownPrefix>,
    /// The sessions that the known part stands in and that it may go on in.
    places: Vec<(PrefixPlace, Record)>,
}

/// Where a conversation goes on, behind so many of its messages.
pub(super) enum Spot {
    /// In a session that stands there.
    Here { session: SessionId, chain: ChainHash, known: usize, course: Course },
    /// In a fork behind a turn.
    Fork { at: TurnId, known: usize, course: Course },
    /// In a session of its own, from the first message.
    Nowhere { course: Course },
}

impl Found {
    // What comes next is a reply that begins at `next`; `last` are the place and the chain hash of its last message.
    fn repeated(&mut self, echo: &Echo, digests: &[ContentHash], next: u64, last: (u64, ChainHash)) {
        let known = self.known();
        let is_apart = |at: &usize| echo.apart.contains(at);
        let (apart, own): (Vec<usize>, Vec<usize>) = (0..echo.length).partition(is_apart);
        let numbers: Vec<usize> =
            own.iter().chain(&apart).filter_map(|at| self.order.get(known + at).copied()).collect();
        let behind = known + own.len();
        let (ordinal, mut chain) = last;
        for (place, at) in own.iter().enumerate() {
            self.put(known + place, next + echo.repeated_by(*at) as u64, chain);
        }
        for (place, number) in numbers.into_iter().enumerate() {
            if let Some(here) = self.order.get_mut(known + place) {
                *here = number;
            }
        }
        for place in behind..digests.len() {
            let digest = self.order.get(place).and_then(|number| digests.get(*number));
            chain = digest.map_or(chain, |digest| chain.then(digest));
            self.put(place, ordinal + 1 + (place - behind) as u64, chain);
        }
    }

    fn put(&mut self, place: usize, ordinal: u64, chain: ChainHash) {
        if let (Some(here), Some(hash)) = (self.ordinals.get_mut(place), self.chains.get_mut(place)) {
            (*here, *hash) = (ordinal, chain);
        }
    }

    /// How many of its messages are recorded.
    pub(super) fn known(&self) -> usize {
        self.known.as_ref().map_or(0, |known| usize::try_from(known.messages).unwrap_or(usize::MAX))
    }
}

impl Engine {
    /// The longest part of a conversation that is recorded, replies that the client repeats in other words included.
    pub(super) async fn find(&self, arrival: &Arrival<'_>, digests: &[ContentHash]) -> Result<Found> {
        let inner = &self.0;
        let chains = ChainHash::along(digests);
        let ordinals = (0..digests.len() as u64).collect();
        let order = (0..digests.len()).collect();
        let mut found = Found { order, chains, ordinals, known: None, places: Vec::new() };
        // Behind what a client repeats in other words, something must be known before there can be more of that.
        let mut reached = 0;
        loop {
            found.known = inner.ledger.find_prefix(inner.tenant, found.chains.clone()).await?;
            found.places = self.places(arrival, found.known.as_ref()).await?;
            let known = found.known();
            if known == reached || known == digests.len() {
                return Ok(found);
            }
            match self.repeats(arrival, digests, &mut found).await? {
                Some(repeated) => reached = known + repeated,
                None => return Ok(found),
            }
        }
    }

    // The sessions of what is known, those that the client means first.
    async fn places(
        &self,
        arrival: &Arrival<'_>,
        known: Option<&KnownPrefix>,
    ) -> Result<Vec<(PrefixPlace, Record)>> {
        let inner = &self.0;
        let mut places = Vec::new();
        for place in known.iter().flat_map(|known| &known.places) {
            match inner.ledger.session(inner.tenant, place.session).await {
                Ok(session) => places.push((*place, session)),
                // It was purged since.
                Err(LedgerError::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let is_meant = |session: &Record| match (arrival.session, arrival.name) {
            (Some(id), _) => session.id == id,
            (None, Some(name)) => session.channel.as_deref() == Some(name),
            (None, None) => true,
        };
        places.sort_by_key(|(_, session)| !is_meant(session));
        Ok(places)
    }

    // Whether what the client sends next is the recorded reply in other words, and how many messages it takes; then it counts as
    // known. A reply that said nothing and that the client left out is none: without it, the conversation is another. What says nothing at
    // the end of a reply may be left out.
    async fn repeats(
        &self,
        arrival: &Arrival<'_>,
        digests: &[ContentHash],
        found: &mut Found,
    ) -> Result<Option<usize>> {
        let inner = &self.0;
        let known = found.known();
        let Some(next) = known.checked_sub(1).and_then(|last| found.ordinals.get(last)).map(|last| last + 1)
        else {
            return Ok(None);
        };
        let sent: Vec<&str> =
            found.order.iter().skip(known).filter_map(|at| arrival.messages.get(*at).copied()).collect();
        for (_, session) in &found.places {
            let Some(head) = session.head.filter(|_| session.messages > next) else { continue };
            let end = session.messages.min(next + REPLY);
            let mut reply = inner.ledger.messages(inner.tenant, head, next - 1..end).await?;
            // The client may have repeated the beginning of the reply word for word.
            let before = reply.drain(..1.min(reply.len())).next();
            let is_begun = before.is_some_and(|before| before.role == Role::Assistant);
            let length = reply.iter().take_while(|message| message.role == Role::Assistant).count();
            reply.truncate(length);
            let Some(last) = reply.last() else { continue };
            let bodies: Vec<_> = reply.iter().map(|message| String::from_utf8_lossy(&message.body)).collect();
            let bodies: Vec<&str> = bodies.iter().map(AsRef::as_ref).collect();
            let mut echo = echo_of(inner.dialect, &bodies, &sent);
            // Of what was cut off, a client may have less than came through.
            if echo.is_none()
                && let Some((less, Extent::Less)) = echo_of_cut(inner.dialect, &bodies, &sent)
                && self.is_cut(head, last.turn).await?
            {
                echo = Some(less);
            }
            let Some(echo) = echo.filter(|echo| echo.length > 0 || is_begun) else { continue };
            let last = (last.ordinal, last.chain);
            found.repeated(&echo, digests, next, last);
            if echo.length == 0 {
                found.put(known - 1, next - 1, last.1);
            }
            return Ok(Some(echo.length - echo.apart.len()));
        }
        Ok(None)
    }

    async fn is_cut(&self, head: TurnId, number: u64) -> Result<bool> {
        let turns = self.0.ledger.turns(self.0.tenant, head, number..number + 1).await?;
        let reply = turns.first().and_then(|turn| turn.reply.as_ref());
        Ok(reply.is_some_and(|reply| reply.completeness == Completeness::CutOff))
    }

    /// Where it goes on.
    pub(super) async fn spot(&self, arrival: &Arrival<'_>, found: &Found, drafts: &[Draft]) -> Result<Spot> {
        let (known, messages) = (found.known(), drafts.len());
        let Some(chain) = known.checked_sub(1).and_then(|last| found.chains.get(last)).copied() else {
            return Ok(Spot::Nowhere { course: Course::New });
        };
        // Many conversations open alike; only an answer tells that they are one.
        let is_answered = drafts.iter().take(known).any(|draft| draft.role() == Role::Assistant);
        for (place, session) in &found.places {
            let is_ours = match (arrival.session, arrival.name) {
                (Some(id), _) => session.id == id,
                (None, name) => name.is_none() || session.channel.as_deref() == name,
            };
            if place.at_head && is_ours {
                if known < messages {
                    let course = Course::Continued;
                    return Ok(Spot::Here { session: session.id, chain, known, course });
                }
                if arrival.is_retry && !self.is_under_way(arrival, session).await? {
                    let course = Course::Retried;
                    return Ok(Spot::Here { session: session.id, chain, known, course });
                }
            }
            if !is_ours && !is_answered {
                continue;
            }
            let course = if known == messages { Course::Resampled } else { Course::Forked };
            return self.fork_of(place, session, found, course).await;
        }
        let course =
            if known == messages && arrival.name.is_none() { Course::Resampled } else { Course::New };
        Ok(Spot::Nowhere { course })
    }

    // Whether the call that a session waits for is being made.
    async fn is_under_way(&self, arrival: &Arrival<'_>, session: &Record) -> Result<bool> {
        let Some(head) = session.head.filter(|_| !arrival.under_way.is_empty()) else { return Ok(false) };
        Ok(arrival.under_way.contains(&self.waiting(head).await?))
    }

    // Forks leave turns at their end, behind the compactions that were in force when it went on from there.
    async fn fork_of(
        &self,
        place: &PrefixPlace,
        session: &Record,
        found: &Found,
        course: Course,
    ) -> Result<Spot> {
        let inner = &self.0;
        let turn: Turn = inner.ledger.turn(inner.tenant, place.turn).await?;
        let known = found.known();
        let Some(head) = session.head else { return Ok(Spot::Nowhere { course }) };
        let later = turn.number + 1..session.turns.min(turn.number + 1 + STEPS);
        let behind = match place.ends_turn && !later.is_empty() {
            true => inner.ledger.turns(inner.tenant, head, later).await?,
            false => Vec::new(),
        };
        let compacted = behind.iter().take_while(|later| later.kind == TurnKind::Compaction).last();
        // A call that is made once more is a turn of its own, unless it was made smaller before it was sent.
        if !place.ends_turn || course == Course::Resampled && compacted.is_none() {
            if turn.number == 0 {
                return Ok(Spot::Nowhere { course });
            }
            let before = inner.ledger.turns(inner.tenant, place.turn, turn.number - 1..turn.number).await?;
            let known =
                found.ordinals.iter().take(known).take_while(|ordinal| **ordinal < turn.first).count();
            return Ok(match before.first().filter(|_| known > 0) {
                Some(before) => Spot::Fork { at: before.id, known, course },
                None => Spot::Nowhere { course },
            });
        }
        let at = compacted.map_or(turn.id, |compacted| compacted.id);
        Ok(Spot::Fork { at, known, course })
    }
}

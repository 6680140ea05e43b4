//! Where a conversation is known from.
//!
//! A session that the client names decides: the conversation goes on in it, in what was forked from it, or in a fork of it, at the last
//! message that both have, whatever other sessions know of it. A name that stands for nothing, because no such session is there (for this
//! tenant, which is all that is told) or because it shares no message, is as none, and whoever asks is told so.

use epitome_core::{ContentHash, Role};
use epitome_ledger::LedgerError;
use epitome_ledger::model::{
    ChainHash, Completeness, KnownPrefix, PrefixPlace, Session as Record, SessionId, StoredMessage, Turn,
    TurnId, TurnKind,
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
/// So many forks of forks are followed back to the session that a client names.
const GENERATIONS: usize = 64;

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
    /// What is recorded of it in any session.
    pub(super) claimed: Option<KnownPrefix>,
    /// The sessions that the known part stands in and that it may go on in.
    places: Vec<Place>,
    /// Whether the session that the client names has nothing of it.
    pub(super) is_elsewhere: bool,
}

/// A session that the known part stands in.
struct Place {
    at: PrefixPlace,
    session: Record,
    /// Whether it is one that the client means.
    is_meant: bool,
}

/// Where a conversation is looked for.
#[derive(Clone, Copy)]
enum Among<'r> {
    /// In all sessions.
    All,
    /// In this session and in those that were forked from it.
    Family(&'r Record),
}

/// Where a conversation goes on, behind so many of its messages.
pub(super) enum Spot {
    /// In a session that stands there.
    Here { session: SessionId, chain: ChainHash, known: usize, course: Course },
    /// In a fork behind a turn.
    Fork { session: SessionId, at: TurnId, known: usize, course: Course },
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
        let Some(id) = arrival.session else { return self.find_among(Among::All, arrival, digests).await };
        let named = match self.0.ledger.session(self.0.tenant, id).await {
            Err(LedgerError::NotFound { .. }) => None,
            named => Some(named?),
        };
        if let Some(named) = named {
            let found = self.find_among(Among::Family(&named), arrival, digests).await?;
            if !found.places.is_empty() {
                return Ok(found);
            }
        }
        let found = self.find_among(Among::All, arrival, digests).await?;
        Ok(Found { is_elsewhere: true, ..found })
    }

    async fn find_among(
        &self,
        among: Among<'_>,
        arrival: &Arrival<'_>,
        digests: &[ContentHash],
    ) -> Result<Found> {
        let inner = &self.0;
        let chains = ChainHash::along(digests);
        let ordinals = (0..digests.len() as u64).collect();
        let order = (0..digests.len()).collect();
        let (known, claimed, places) = (None, None, Vec::new());
        let mut found = Found { order, chains, ordinals, known, claimed, places, is_elsewhere: false };
        // Behind what a client repeats in other words, something must be known before there can be more of that.
        let mut reached = 0;
        loop {
            found.claimed = inner.ledger.find_prefix(inner.tenant, found.chains.clone()).await?;
            found.known.clone_from(&found.claimed);
            found.places = self.places(among, arrival, found.known.as_ref()).await?;
            // What others know more of says nothing of how much the session has that is meant.
            if let Among::Family(session) = among
                && found.places.is_empty()
            {
                found.known = self.known_to(session, &found, reached).await?;
                found.places = self.places(among, arrival, found.known.as_ref()).await?;
            }
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

    // What is recorded of it on the path of one session, which is known to have so many of its messages. If a message is there, so is
    // everything before it.
    async fn known_to(&self, session: &Record, found: &Found, reached: usize) -> Result<Option<KnownPrefix>> {
        let inner = &self.0;
        let Some(head) = session.head else { return Ok(None) };
        let (mut known, mut unknown) = (reached, found.chains.len() + 1);
        while known + 1 < unknown {
            let middle = known + (unknown - known) / 2;
            let (ordinal, chain) = (found.ordinals.get(middle - 1), found.chains.get(middle - 1));
            let is_there = match ordinal.filter(|ordinal| **ordinal < session.messages) {
                Some(ordinal) => {
                    let here = inner.ledger.messages(inner.tenant, head, *ordinal..ordinal + 1).await?;
                    here.first().map(|message| &message.chain) == chain
                }
                None => false,
            };
            if is_there { known = middle } else { unknown = middle }
        }
        // A client may have less of a reply than there is: what comes next says where it ends.
        let next = found.ordinals.get(known).copied();
        let next = next.or_else(|| Some(found.ordinals.get(known.checked_sub(1)?)? + 1));
        let Some(last) = next.filter(|_| known > 0).and_then(|next| next.checked_sub(1)) else {
            return Ok(None);
        };
        let end = session.messages.min(last + 2);
        let around = inner.ledger.messages(inner.tenant, head, last..end).await?;
        let Some(number) = around.first().map(|message| message.turn) else { return Ok(None) };
        let turns = inner.ledger.turns(inner.tenant, head, number..number + 1).await?;
        let Some(turn) = turns.first().map(|turn| turn.id) else { return Ok(None) };
        let at = PrefixPlace {
            session: session.id,
            turn,
            ends_turn: around.get(1).is_none_or(|next| next.turn != number),
            at_head: last + 1 == session.messages,
        };
        Ok(Some(KnownPrefix { messages: known as u64, places: vec![at] }))
    }

    // The sessions of what is known, those that the client means first.
    async fn places(
        &self,
        among: Among<'_>,
        arrival: &Arrival<'_>,
        known: Option<&KnownPrefix>,
    ) -> Result<Vec<Place>> {
        let inner = &self.0;
        let mut places = Vec::new();
        for at in known.iter().flat_map(|known| &known.places) {
            let session = match inner.ledger.session(inner.tenant, at.session).await {
                // It was purged since.
                Err(LedgerError::NotFound { .. }) => continue,
                session => session?,
            };
            let is_meant = match among {
                Among::All => arrival.name.is_none_or(|name| session.channel.as_deref() == Some(name)),
                Among::Family(named) => self.descends(&session, named.id).await?,
            };
            places.push(Place { at: *at, session, is_meant });
        }
        match among {
            Among::Family(named) => {
                places.retain(|place| place.is_meant);
                places.sort_by_key(|place| place.session.id != named.id);
            }
            Among::All => places.sort_by_key(|place| !place.is_meant),
        }
        Ok(places)
    }

    // Whether a session is another one, or was forked from it at some time.
    async fn descends(&self, session: &Record, from: SessionId) -> Result<bool> {
        let mut at = (session.id, session.origin);
        for _ in 0..GENERATIONS {
            if at.0 == from {
                return Ok(true);
            }
            let Some(origin) = at.1 else { return Ok(false) };
            at = match self.0.ledger.session(self.0.tenant, origin.session).await {
                Err(LedgerError::NotFound { .. }) => return Ok(origin.session == from),
                before => before.map(|before| (before.id, before.origin))?,
            };
        }
        Ok(false)
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
        for Place { session, .. } in &found.places {
            let Some(head) = session.head.filter(|_| session.messages > next) else { continue };
            let end = session.messages.min(next + REPLY);
            let mut reply = inner.ledger.messages(inner.tenant, head, next - 1..end).await?;
            // The client may have repeated the beginning of the reply word for word.
            let before = reply.drain(..1.min(reply.len())).next();
            let is_begun = before.is_some_and(|before| is_said(&before));
            let length = reply.iter().take_while(|message| is_said(message)).count();
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
        for Place { at: place, session, is_meant } in &found.places {
            if place.at_head && *is_meant {
                if known < messages {
                    let course = Course::Continued;
                    return Ok(Spot::Here { session: session.id, chain, known, course });
                }
                if arrival.is_retry && !self.is_under_way(arrival, session).await? {
                    let course = Course::Retried;
                    return Ok(Spot::Here { session: session.id, chain, known, course });
                }
            }
            if !is_meant && !is_answered {
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
                Some(before) => Spot::Fork { session: session.id, at: before.id, known, course },
                None => Spot::Nowhere { course },
            });
        }
        let at = compacted.map_or(turn.id, |compacted| compacted.id);
        Ok(Spot::Fork { session: session.id, at, known, course })
    }
}

// Whether it came out of a call: what the model said, and what the provider's own tools gave beside it.
fn is_said(message: &StoredMessage) -> bool {
    message.role == Role::Assistant || message.record != epitome_ledger::model::Record::Input
}

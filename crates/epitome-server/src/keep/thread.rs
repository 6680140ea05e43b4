//! One conversation as it was last sent, and how it goes on with the next call.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use epitome::ledger::model::{ChainHash, TurnId};
use epitome::wire::echo::{Extent, echo_of, echo_of_cut};
use epitome::wire::{Scan, digest_of_json};
use epitome::{Arrived, Context, Dialect, Session, TenantId, ToSend, Tokens};
use tokio::sync::watch;

use super::cut::Cut;
use super::mode::Mode;
use super::request::{Key, Request, is_reply};
use super::rewrite::Rewrite;
use super::threads::{Place, Shared};
use crate::keeper::Call;

/// A conversation as it was last sent.
pub(super) struct Thread {
    pub(super) session: Session,
    pub(super) key: Key,
    tenant: TenantId,
    dialect: Dialect,
    /// What else must be the same for a call to belong to it.
    terms: Terms,
    at: Mutex<At>,
}

/// What calls of one conversation agree in, beside what is said.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Terms {
    pub(super) name: Option<String>,
    pub(super) model: String,
    pub(super) agent: String,
    pub(super) mode: Mode,
}

/// Where it stands.
pub(super) struct At {
    pub(super) body: Bytes,
    /// Where things stand in the body.
    pub(super) scan: Scan,
    /// So many messages of the operator stand before the conversation.
    leading: usize,
    /// Their places on the path.
    ordinals: Vec<u64>,
    beside: blake3::Hash,
    turn: TurnId,
    /// What was last sent of it, and of how many of its messages.
    sent: Option<(Arc<Context>, usize)>,
    /// Tokens of what was left out then.
    hidden: Tokens,
    settled: watch::Receiver<Option<Settled>>,
    pub(super) stamp: u64,
    /// Where it can be found.
    pub(super) listed: Option<Place>,
}

/// How the last call ended.
#[derive(Clone, Debug)]
pub(super) struct Settled {
    /// Where the session stands; nothing where it could not be recorded.
    pub(super) chain: Option<ChainHash>,
    /// What the model said.
    pub(super) reply: Vec<String>,
    /// What it said before it was cut off, which waits for what the client makes of it.
    pub(super) cut: Option<Cut>,
}

impl Settled {
    /// It could not be recorded.
    pub(super) fn nowhere() -> Self {
        Self { chain: None, reply: Vec::new(), cut: None }
    }

    /// The session stands there, behind this reply.
    pub(super) fn at(chain: ChainHash, reply: Vec<String>) -> Self {
        Self { chain: Some(chain), reply, cut: None }
    }
}

/// How a conversation goes on.
pub(super) struct Next {
    /// So many messages are recorded.
    pub(super) known: usize,
    /// So many are new.
    pub(super) input: usize,
    /// Where the session stands.
    pub(super) chain: ChainHash,
    /// A reply that was cut off and that the client repeats: it is to be recorded first.
    pub(super) cut: Option<Cut>,
    ordinals: Vec<u64>,
}

/// Tells a thread how its call ended.
pub(super) type Teller = watch::Sender<Option<Settled>>;

impl Thread {
    /// A conversation that was just found or opened.
    pub(super) fn begun(call: &Call, request: &Request<'_>, mode: Mode, arrived: &Arrived) -> (Self, Teller) {
        let (teller, settled) = watch::channel(None);
        let at = At {
            body: call.body.clone(),
            scan: request.body.scan_of(),
            leading: request.leading,
            ordinals: arrived.ordinals.clone(),
            beside: request.terms_beside(),
            turn: arrived.turn,
            sent: None,
            hidden: Tokens::ZERO,
            settled,
            stamp: 0,
            listed: None,
        };
        let session = arrived.session.clone();
        let (key, tenant, dialect) = (request.key(), request.tenant, request.dialect);
        let terms = request.terms(mode);
        (Self { session, key, tenant, dialect, terms, at: Mutex::new(at) }, teller)
    }

    /// Whether a call may belong to it, for all that it says beside the conversation.
    pub(super) fn admits(&self, request: &Request<'_>, mode: Mode) -> bool {
        let is_meant = request.session.is_none_or(|session| session == self.session.id());
        is_meant && self.tenant == request.tenant && self.terms == request.terms(mode)
    }

    /// Where it stands among all by its last call, used at this moment.
    pub(super) fn place(&self, stamp: u64) -> Place {
        (self.tenant, self.dialect, self.at().body.clone(), stamp)
    }

    pub(super) fn at(&self) -> MutexGuard<'_, At> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The places on the path of the client's messages.
    pub(super) fn ordinals(&self) -> Vec<u64> {
        self.at().ordinals.clone()
    }

    /// Takes note of what is sent of it, so that it can be sent again whatever happens to the ledger.
    pub(super) fn remember(&self, send: &ToSend, known: usize, hidden: Tokens) {
        let mut at = self.at();
        at.hidden = hidden;
        at.sent = match send {
            ToSend::AsSaid => None,
            ToSend::Behind(context) => Some((Arc::clone(context), known)),
            ToSend::Whole(context) => Some((Arc::clone(context), at.ordinals.len())),
        };
    }

    /// Tokens of what was left out of it when it was last sent.
    pub(super) fn hidden(&self) -> Tokens {
        self.at().hidden
    }

    /// A call with what was last sent of the conversation, and all that is new behind it.
    pub(super) fn as_sent(&self, request: &Request<'_>, shared: &Shared) -> Option<Bytes> {
        let at = self.at();
        at.repeated(request, shared)?;
        let (context, covered) = at.sent.clone()?;
        let ordinals = at.ordinals.clone();
        let text = request.body.text();
        Rewrite::of(request, ordinals, covered).body(text, &ToSend::Behind(context))
    }

    /// How it goes on with this call; nothing where it goes on otherwise than straight on.
    pub(super) async fn continued(
        &self,
        request: &Request<'_>,
        shared: &Shared,
        patience: Duration,
    ) -> Option<Next> {
        let (known, mut ordinals, mut settled) = {
            let at = self.at();
            let known = at.repeated(request, shared)?;
            (known, at.ordinals.clone(), at.settled.clone())
        };
        let tail: Vec<&str> = request.messages().skip(known).collect();
        // Who repeats a reply has seen it: it is recorded in a moment.
        let is_answered = tail.first().is_some_and(|first| is_reply(self.dialect, first));
        let wait = if is_answered { patience } else { Duration::ZERO };
        let settled = match tokio::time::timeout(wait, settled.wait_for(Option::is_some)).await {
            Ok(Ok(settled)) => settled.clone()?,
            _ => return None,
        };
        let cut = settled.cut.filter(|_| is_answered);
        let reply = cut.as_ref().map_or(&settled.reply, |cut| &cut.messages);
        let reply: Vec<&str> = reply.iter().map(String::as_str).collect();
        let next = ordinals.last().map_or(0, |last| last + 1);
        let mut repeated = 0;
        if !reply.is_empty() {
            let echo = match cut {
                // Whoever has more of it than came through here is believed.
                Some(_) => echo_of_cut(self.dialect, &reply, &tail)
                    .filter(|(_, extent)| *extent != Extent::More)
                    .map(|(echo, _)| echo),
                None => echo_of(self.dialect, &reply, &tail),
            };
            // Results between the calls of a reply are rare, and sorted out where there is time for it.
            let echo = echo.filter(|echo| echo.apart.is_empty())?;
            repeated = echo.length;
            ordinals.extend((0..repeated).map(|at| next + echo.repeated_by(at) as u64));
        }
        let mut input = tail.get(repeated..)?;
        while let [before @ .., last] = input
            && is_reply(self.dialect, last)
        {
            input = before;
        }
        if input.is_empty() || input.iter().any(|message| is_reply(self.dialect, message)) {
            return None;
        }
        ordinals.extend((next + reply.len() as u64..).take(input.len()));
        Some(Next { known: known + repeated, input: input.len(), chain: settled.chain?, cut, ordinals })
    }

    /// Tells the session what is sent beside the conversation, where that has changed.
    pub(super) fn say_beside(&self, request: &Request<'_>) {
        let beside = request.terms_beside();
        if std::mem::replace(&mut self.at().beside, beside) != beside {
            request.say_beside(&self.session);
        }
    }

    /// It went on with this call.
    pub(super) fn went_on(&self, call: &Call, request: &Request<'_>, next: &Next, turn: TurnId) -> Teller {
        let (teller, settled) = watch::channel(None);
        let mut at = self.at();
        at.body = call.body.clone();
        at.ordinals.clone_from(&next.ordinals);
        (at.scan, at.leading) = (request.body.scan_of(), request.leading);
        (at.turn, at.settled) = (turn, settled);
        teller
    }

    pub(super) fn bytes(&self) -> usize {
        let at = self.at();
        at.body.len() + at.scan.messages().len() * 24 + at.ordinals.len() * 8 + 1_024
    }
}

impl At {
    // How many messages of the conversation a call repeats: all of the last call, or it is no continuation.
    fn repeated(&self, request: &Request<'_>, shared: &Shared) -> Option<usize> {
        // Another call may have taken its place since it was compared.
        if !std::ptr::eq(self.body.as_ptr(), shared.last.as_ptr()) || self.body.len() != shared.last.len() {
            return None;
        }
        let known = self.ordinals.len();
        let before = self.scan.messages().get(self.leading..)?.get(..known)?;
        let now = request.body.messages().get(request.leading..)?;
        if now.len() <= known {
            return None;
        }
        for (before, after) in before.iter().zip(now) {
            // Inside the part that both share, the same bytes are the same message.
            if before == after && before.end < shared.common {
                continue;
            }
            let before = std::str::from_utf8(self.body.get(before.start..before.end)?).ok()?;
            let after = after.of(request.body.text());
            if before != after && digest_of_json(before) != digest_of_json(after) {
                return None;
            }
        }
        Some(known)
    }
}

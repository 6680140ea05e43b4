//! Where a call belongs: behind the call that it shares its bytes with, behind the reply that it names, or wherever the ledger knows it from.

use std::sync::Arc;
use std::time::Duration;

use epitome::ledger::model::ChainHash;
use epitome::{Arrival, Arrived, Course, Input, Said, Session, ToSend, Tokens, TurnId};

use super::Inner;
use super::follow::Follow;
use super::mode::Mode;
use super::request::Request;
use super::thread::{Teller, Thread};
use super::threads::Shared;
use super::under_way::Mark;
use crate::keeper::Call;

/// So long a call waits until the reply before it is recorded.
const PATIENCE: Duration = Duration::from_secs(2);

/// What was found out about a call before it goes up.
pub(super) struct Placed {
    pub(super) thread: Arc<Thread>,
    pub(super) course: Course,
    pub(super) turn: TurnId,
    /// What is being recorded, or where the session stands once that is done.
    pub(super) said: Option<Said>,
    pub(super) chain: Option<ChainHash>,
    pub(super) teller: Teller,
    /// So many of the client's messages were recorded before.
    pub(super) known: usize,
    pub(super) mark: Mark,
    pub(super) send: ToSend,
    pub(super) before: Tokens,
    pub(super) after: Tokens,
    /// The session whose history its client made smaller by itself and goes on with here.
    pub(super) succeeds: Option<epitome::SessionId>,
    /// Whether the client named a session that has nothing of it.
    pub(super) is_elsewhere: bool,
}

impl Inner {
    /// Where a call belongs, and what to send for it.
    pub(super) async fn place(
        &self,
        call: &Call,
        request: &Request<'_>,
        mode: Mode,
        alike: Option<Shared>,
    ) -> epitome::Result<Placed> {
        if let Some(name) = request.behind() {
            if let Some(placed) = self.follow(call, request, mode, name).await? {
                return Ok(placed);
            }
            return self.arrive(call, request, mode).await;
        }
        if let Some(shared) = alike
            && let Some(placed) = self.go_on(call, request, mode, shared).await?
        {
            return Ok(placed);
        }
        let key = request.key();
        if let Some(shared) = self.threads.find(&key, &call.body, |thread| thread.admits(request, mode))
            && let Some(placed) = self.go_on(call, request, mode, shared).await?
        {
            return Ok(placed);
        }
        self.arrive(call, request, mode).await
    }

    // It is looked for by what was said, and opened where it is not found.
    async fn arrive(&self, call: &Call, request: &Request<'_>, mode: Mode) -> epitome::Result<Placed> {
        let ready = self.store.ready()?;
        let arrival = Arrival {
            messages: request.messages().collect(),
            session: request.session,
            // What goes on from something that nobody knows is no part of what only opens alike.
            name: request.name.as_deref().or(request.behind()),
            platform: Some("proxy"),
            is_retry: true,
            under_way: if request.is_retry { Vec::new() } else { self.under_way.all() },
        };
        let arriving = async { ready.engines.of(request, mode).await?.arrive(&arrival).await };
        let arrived = self.store.asked(arriving).await?;
        let session = arrived.session.clone();
        request.say_beside(&session);
        let succeeds = self.succeeds(request, &arrived).await;
        let (pressure, send) = session.due().await?;
        let (thread, teller) = Thread::begun(call, request, mode, &arrived);
        let thread = match request.behind() {
            Some(_) => Arc::new(thread),
            None => self.threads.insert(thread),
        };
        let after = pressure.tokens;
        let before = before(&session, &send, after).await;
        let (course, turn, known) = (arrived.course, arrived.turn, arrived.ordinals.len());
        let chain = Some(arrived.chain);
        let mark = self.under_way.mark(turn);
        let said = None;
        Ok(Placed {
            thread,
            course,
            turn,
            said,
            chain,
            teller,
            known,
            mark,
            send,
            before,
            after,
            succeeds,
            is_elsewhere: arrived.is_elsewhere,
        })
    }

    // The call before shared its bytes: only what is new is looked at.
    async fn go_on(
        &self,
        call: &Call,
        request: &Request<'_>,
        mode: Mode,
        shared: Shared,
    ) -> epitome::Result<Option<Placed>> {
        let thread = Arc::clone(&shared.thread);
        if !thread.admits(request, mode) {
            return Ok(None);
        }
        let Some(next) = thread.continued(request, &shared, PATIENCE).await else { return Ok(None) };
        let session = thread.session.clone();
        thread.say_beside(request);
        let mut chain = next.chain;
        if let Some(cut) = &next.cut {
            chain = match session.reply_behind(chain, cut.reply()).await {
                Ok(receipt) => receipt.chain,
                Err(epitome::Error::Moved) => return Ok(None),
                Err(error) => return Err(error),
            };
            self.spool.let_go(&cut.entry);
        }
        let mut input = Input::default();
        for message in request.messages().skip(next.known).take(next.input) {
            input = input.and(Input::json(message));
        }
        let said = match session.say(chain, input).await {
            Ok(said) => said,
            Err(epitome::Error::Moved) => return Ok(None),
            Err(error) => return Err(error),
        };
        let teller = thread.went_on(call, request, &next, said.turn);
        self.threads.touch(&thread);
        let (send, after) = (said.send.clone(), said.pressure.tokens);
        let before = match &send {
            ToSend::Whole(_) => before(&session, &send, after).await,
            ToSend::AsSaid | ToSend::Behind(_) => after + thread.hidden(),
        };
        let (course, turn, known, said) = (Course::Continued, said.turn, next.known, Some(said));
        let mark = self.under_way.mark(turn);
        let (chain, succeeds) = (None, None);
        Ok(Some(Placed {
            thread,
            course,
            turn,
            said,
            chain,
            teller,
            known,
            mark,
            send,
            before,
            after,
            succeeds,
            is_elsewhere: false,
        }))
    }

    // The provider holds what was said before: the reply that the call names says where it stands.
    async fn follow(
        &self,
        call: &Call,
        request: &Request<'_>,
        mode: Mode,
        name: &str,
    ) -> epitome::Result<Option<Placed>> {
        let ready = self.store.ready()?;
        let (links, tenant) = (&self.links, request.tenant);
        let sought = async { Ok(links.find(&ready.ledger, tenant, name, PATIENCE).await?) };
        let Some(link) = self.store.asked(sought).await? else { return Ok(None) };
        let follow = Follow {
            tenant,
            link,
            messages: request.messages().collect(),
            name: request.name.as_deref(),
            is_retry: request.is_retry,
        };
        let engine = ready.engines.of(request, mode).await?;
        let recorded = follow.record(ready, &engine, &self.under_way);
        let Some(followed) = self.store.asked(recorded).await? else { return Ok(None) };
        let session = followed.session;
        request.say_beside(&session);
        let info = session.info().await?;
        let arrived = Arrived {
            session,
            course: followed.course,
            turn: followed.turn,
            chain: info.chain,
            ordinals: (followed.first..).take(request.messages().len()).collect(),
            is_elsewhere: false,
        };
        let (thread, teller) = Thread::begun(call, request, mode, &arrived);
        let after = followed.said.as_ref().map_or(info.tokens_total, |said| said.pressure.tokens);
        let mark = self.under_way.mark(followed.turn);
        Ok(Some(Placed {
            thread: Arc::new(thread),
            course: followed.course,
            turn: followed.turn,
            chain: followed.said.is_none().then_some(info.chain),
            said: followed.said,
            teller,
            known: 0,
            mark,
            send: ToSend::AsSaid,
            before: after,
            after,
            succeeds: None,
            is_elsewhere: false,
        }))
    }
}

// What everything would come to if nothing were hidden.
async fn before(session: &Session, send: &ToSend, after: Tokens) -> Tokens {
    match send {
        ToSend::AsSaid => after,
        ToSend::Behind(_) | ToSend::Whole(_) => {
            session.info().await.map_or(after, |info| info.tokens_total.max(after))
        }
    }
}

//! Looking on while a call is answered: what was refused as too long is made smaller, what was said is recorded.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use epitome::ledger::model::{ChainHash, Completeness, TurnId};
use epitome::llm::Failure;
use epitome::wire::reply::{Answer, read_answer};
use epitome::{BilledFor, Context, Dialect, Opening, Reply, Said, Sight, ToSend};
use futures_util::future::BoxFuture;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};

use super::cut::{Cut, input_of};
use super::links::{Expected, Link};
use super::mode::Mode;
use super::place::Placed;
use super::request::Request;
use super::rewrite::Rewrite;
use super::spool::Entry;
use super::thread::{Settled, Teller, Thread};
use super::under_way::Mark;
use super::{Inner, set};
use crate::keeper::{Call, End, Retry, Seen, Watch};
use crate::line::Slip;

/// So long the ledger may take to record what was said before that waits on disk; what it takes after all is not taken twice.
const RECORDING: Duration = Duration::from_secs(20);

/// Looks on while one call is answered.
pub(super) struct Watching {
    inner: Arc<Inner>,
    dialect: Dialect,
    mode: Mode,
    body: Bytes,
    turn: TurnId,
    rewrite: Rewrite,
    thread: Arc<Thread>,
    teller: Teller,
    slip: Slip,
    entry: Entry,
    /// What the bill is for, as far as the call tells.
    billed_for: Bill,
    /// That the call is being made.
    mark: Option<Mark>,
    /// Where the session stands, once the input is recorded.
    chain: Option<ChainHash>,
    said: Option<Said>,
    /// That later calls may name the reply.
    expected: Option<Expected>,
}

impl Watching {
    pub(super) fn new(
        inner: &Arc<Inner>,
        call: &Call,
        request: &Request<'_>,
        mode: Mode,
        placed: Placed,
        rewrite: Rewrite,
    ) -> Self {
        // What is only looked at goes up whole, whatever the session shows of it.
        let is_shown = mode != Mode::Observe || matches!(placed.send, ToSend::AsSaid);
        let billed_for = match (request.elsewhere.is_some() || !is_shown, request.may_be_edited) {
            (true, _) => Bill::Other,
            (false, true) => Bill::Doubtful,
            (false, false) => Bill::Context,
        };
        let Placed { thread, teller, turn, chain, said, course, before, after, mark, succeeds, .. } = placed;
        call.slip.write(|line| {
            line.model.clone_from(&request.model);
            line.tenant = request.tenant;
            (line.session, line.course) = (Some(thread.session.id()), Some(course));
            (line.before, line.after) = (before, after);
        });
        if let Some(before) = succeeds {
            call.slip.note(format!("goes on from {before}, which its client made smaller"));
        }
        Self {
            inner: Arc::clone(inner),
            dialect: call.dialect,
            mode,
            body: call.body.clone(),
            rewrite,
            thread,
            teller,
            slip: call.slip.clone(),
            entry: Entry::of(request),
            billed_for,
            mark: Some(mark),
            turn,
            chain,
            said,
            expected: None,
        }
    }

    /// The same, where later calls may name the reply.
    pub(super) fn expected(mut self, expected: Option<Expected>) -> Self {
        self.expected = expected;
        self
    }

    // Where the session stands with the input.
    async fn recorded(&mut self) -> epitome::Result<ChainHash> {
        if let Some(said) = self.said.take() {
            self.chain = Some(said.recorded().await?.chain);
        }
        self.chain.ok_or(epitome::Error::Moved)
    }

    async fn smaller(&mut self, status: StatusCode, body: &Bytes) -> epitome::Result<Option<Retry>> {
        let Some(failure) = Failure::of_reply(status.as_u16(), body).filter(Failure::wants_less) else {
            return Ok(None);
        };
        self.recorded().await?;
        let Some(context) = self.thread.session.context_after(&failure).await? else { return Ok(None) };
        let retry = self.again(context, "after overflow");
        if retry.is_some() {
            self.inner.counts.overflowed();
        }
        Ok(retry)
    }

    // Thinking that the provider does not take back is left out, in this call and all that follow.
    async fn without_thinking(&mut self, status: StatusCode, body: &Bytes) -> epitome::Result<Option<Retry>> {
        if !Failure::of_reply(status.as_u16(), body).is_some_and(|failure| failure.refuses_thinking()) {
            return Ok(None);
        }
        self.recorded().await?;
        let Some(context) = self.thread.session.context_without_thinking().await? else { return Ok(None) };
        let retry = self.again(context, "without thinking");
        if retry.is_some() {
            self.inner.counts.stripped();
            self.slip.note("sent again without thinking, which was refused");
        }
        Ok(retry)
    }

    fn again(&mut self, context: Context, compaction: &str) -> Option<Retry> {
        let after = context.pressure.tokens;
        let text = std::str::from_utf8(&self.body).ok()?;
        let body = self.rewrite.body(text, &ToSend::Whole(Arc::new(context)))?;
        self.slip.write(|line| line.after = after);
        let mut back = HeaderMap::new();
        set(&mut back, "x-epitome-tokens-after", &after.0.to_string());
        set(&mut back, "x-epitome-compaction", compaction);
        Some(Retry { body, back })
    }

    async fn finish(mut self, seen: Seen) {
        let answer = read(self.dialect, &seen);
        if seen.is_clipped {
            self.slip.note("only the beginning of the answer is recorded");
        }
        self.slip.write(|line| line.usage = answer.as_ref().and_then(|answer| answer.usage));
        let late = |_| Err(epitome::Error::Interrupted("the ledger took too long".to_owned()));
        let recorded = tokio::time::timeout(RECORDING, self.record(answer.as_ref())).await;
        let settled = match recorded.unwrap_or_else(late) {
            Ok(settled) => settled,
            Err(error) => {
                tracing::warn!(%error, "what was said waits to be recorded");
                self.slip.note(format!("waits to be recorded: {error}"));
                self.wait(answer.as_ref()).await;
                Settled::nowhere()
            }
        };
        let is_cut = settled.chain.is_some() && answer.is_some() && self.thread.session.input_was_cut();
        self.teller.send_replace(Some(settled));
        self.expected = None;
        for problem in [self.learn(answer.as_ref()).await, is_cut.then(|| self.cut())].into_iter().flatten() {
            self.slip.note(problem);
        }
    }

    // The provider kept less of the input than it was sent, and the engine has learnt from that.
    fn cut(&self) -> &'static str {
        self.inner.counts.cut();
        match self.mode {
            Mode::Compact => "the provider cut the input without a word: less is sent from now on",
            _ => "the provider cut the input without a word",
        }
    }

    // An overflow that was told of in the midst of an answer: the next call sends less.
    async fn learn(&self, answer: Option<&Answer>) -> Option<&'static str> {
        let told = answer.and_then(|answer| answer.error.as_deref()).and_then(Failure::of_event);
        let full = || answer.and_then(|answer| answer.stop.as_deref()).and_then(Failure::of_ending);
        let failure = told.filter(Failure::wants_less).or_else(full)?;
        self.inner.counts.filled();
        if self.mode != Mode::Compact {
            return Some("the window was full before the answer ended");
        }
        if let Err(error) = self.thread.session.context_after(&failure).await {
            tracing::warn!(%error, "a session whose window was full could not be made smaller");
        }
        Some("the window was full before the answer ended: less is sent next")
    }

    // What the ledger cannot take waits on disk.
    async fn wait(&self, answer: Option<&Answer>) {
        self.inner.counts.waits();
        let entry = self.entry.clone().with_body(&String::from_utf8_lossy(&self.body));
        let entry = match answer {
            Some(answer) => entry.answered(answer),
            None => entry,
        };
        if let Err(error) = self.inner.spool.keep(&entry).await {
            tracing::error!(%error, "what was said can be kept nowhere");
        }
    }

    async fn record(&mut self, answer: Option<&Answer>) -> epitome::Result<Settled> {
        let chain = self.recorded().await?;
        let Some(answer) = answer else { return Ok(Settled::at(chain, Vec::new())) };
        // What is yet to be said, in the background, is fetched by other ways than ours.
        if answer.messages.is_empty() {
            self.link_input(answer, chain).await?;
            return Ok(Settled::at(chain, Vec::new()));
        }
        // Whoever goes after the last word has heard all of it.
        let is_whole = answer.is_whole;
        if !is_whole && let Some(cut) = self.wait_cut(answer).await {
            self.link_input(answer, chain).await?;
            return Ok(Settled { cut: Some(cut), ..Settled::at(chain, Vec::new()) });
        }
        let messages = input_of(&answer.messages);
        let completeness = if is_whole { Completeness::Whole } else { Completeness::CutOff };
        let (billed_for, model) = (self.billed_for.of(answer), answer.model.clone());
        let reply = Reply { messages, usage: answer.usage, billed_for, completeness, model };
        let session = &self.thread.session;
        match session.reply_behind(chain, reply.clone()).await {
            Ok(receipt) => {
                let turn = receipt.head.unwrap_or(self.turn);
                let link = Link { session: session.id(), turn, messages: receipt.messages };
                self.link(answer, link).await?;
                Ok(Settled::at(receipt.chain, answer.messages.clone()))
            }
            // The client went on without it: it stands in a fork, so that it is not lost.
            Err(epitome::Error::Moved) => {
                let fork = session.fork(self.turn, Sight::AsSeen, Opening::default()).await?;
                let receipt = fork.reply(reply).await?;
                let turn = receipt.head.unwrap_or(self.turn);
                let link = Link { session: fork.id(), turn, messages: receipt.messages };
                self.link(answer, link).await?;
                Ok(Settled::nowhere())
            }
            Err(error) => Err(error),
        }
    }

    // Later calls may name it in place of what was said.
    async fn link(&self, answer: &Answer, link: Link) -> epitome::Result<()> {
        let id = answer.id.as_deref().filter(|_| self.entry.may_be_followed);
        let names = id.map(super::elsewhere::reply).into_iter().chain(self.entry.conversation.clone());
        for name in names {
            let ready = self.inner.store.ready()?;
            self.inner.links.keep(&ready.ledger, self.entry.tenant, &name, link).await?;
        }
        Ok(())
    }

    // The same of a reply that is not recorded: whoever names it goes on behind what it answers.
    async fn link_input(&self, answer: &Answer, chain: ChainHash) -> epitome::Result<()> {
        if answer.id.is_none() || !self.entry.may_be_followed && self.entry.conversation.is_none() {
            return Ok(());
        }
        let info = self.thread.session.info().await?;
        if info.chain != chain {
            return Ok(());
        }
        self.link(answer, Link { session: info.id, turn: self.turn, messages: info.messages }).await
    }

    // What was cut off waits for what its client makes of it.
    async fn wait_cut(&self, answer: &Answer) -> Option<Cut> {
        let entry = self.entry.clone().with_body(&String::from_utf8_lossy(&self.body));
        let entry = entry.answered(answer);
        match self.inner.spool.keep_cut(&entry).await {
            Ok(()) => Some(Cut::of(answer, self.billed_for.of(answer), entry.id)),
            Err(error) => {
                tracing::warn!(%error, "a reply that was cut off cannot wait, and is recorded as it is");
                None
            }
        }
    }
}

/// What the bill for a call is for, as far as the call tells.
#[derive(Clone, Copy)]
enum Bill {
    /// What the session sends.
    Context,
    /// That, unless the provider left out a part of it.
    Doubtful,
    Other,
}

impl Bill {
    /// With what the answer tells. Who says nothing about edits that it was asked for may have made some.
    fn of(self, answer: &Answer) -> BilledFor {
        match (self, answer.is_edited) {
            (Bill::Context, Some(false) | None) | (Bill::Doubtful, Some(false)) => BilledFor::Context,
            (_, Some(true)) | (Bill::Doubtful, None) | (Bill::Other, _) => BilledFor::Other,
        }
    }
}

/// What an answer says, if it is one.
pub(super) fn read(dialect: Dialect, seen: &Seen) -> Option<Answer> {
    seen.status.filter(StatusCode::is_success)?;
    let kind = seen.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let decoded = seen.decoded();
    let chunks = std::iter::once(decoded.bytes.as_ref());
    let mut answer = read_answer(dialect, kind.starts_with("text/event-stream"), chunks);
    // As much as was kept is what can be recorded.
    answer.is_whole &= !seen.is_clipped;
    Some(answer)
}

impl Watch for Watching {
    fn refused<'a>(
        &'a mut self,
        status: StatusCode,
        _: &'a HeaderMap,
        body: &'a Bytes,
    ) -> BoxFuture<'a, Option<Retry>> {
        Box::pin(async move {
            let mended = match self.mode {
                Mode::Compact => match self.smaller(status, body).await {
                    Ok(None) => self.without_thinking(status, body).await,
                    smaller => smaller,
                },
                Mode::Prune => self.without_thinking(status, body).await,
                Mode::Observe | Mode::Off => Ok(None),
            };
            let retry = mended.unwrap_or_else(|error| {
                tracing::warn!(%error, "a refused call could not be made smaller");
                None
            });
            if retry.is_none() {
                // Before its client knows of it, so that the same call is the same turn tried again.
                self.mark = None;
            }
            retry
        })
    }

    fn ended(mut self: Box<Self>, seen: Seen) {
        if seen.end != End::Whole {
            // Whoever was cut off may be back before that is written down.
            self.mark = None;
        }
        let tasks = self.inner.tasks.clone();
        tasks.spawn(self.finish(seen));
    }
}

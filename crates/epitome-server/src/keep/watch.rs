//! Looking on while a call is answered: what was refused as too long is made smaller, what was said is recorded.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use epitome::ledger::model::{ChainHash, Completeness, TurnId};
use epitome::llm::Failure;
use epitome::wire::reply::{Answer, read_answer};
use epitome::{Dialect, Opening, Reply, Said, Sight, ToSend};
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
        let after = context.pressure.tokens;
        let Ok(text) = std::str::from_utf8(&self.body) else { return Ok(None) };
        let Some(body) = self.rewrite.body(text, &ToSend::Whole(Arc::new(context))) else { return Ok(None) };
        self.inner.counts.overflowed();
        self.slip.write(|line| line.after = after);
        let mut back = HeaderMap::new();
        set(&mut back, "x-epitome-tokens-after", &after.0.to_string());
        set(&mut back, "x-epitome-compaction", "after overflow");
        Ok(Some(Retry { body, back }))
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
        self.teller.send_replace(Some(settled));
        self.expected = None;
        self.learn(answer.as_ref()).await;
    }

    // An overflow that was told of in the midst of an answer: the next call sends less.
    async fn learn(&self, answer: Option<&Answer>) {
        if self.mode != Mode::Compact {
            return;
        }
        let told = answer.and_then(|answer| answer.error.as_deref()).and_then(Failure::of_event);
        let full = || answer.and_then(|answer| answer.stop.as_deref()).and_then(Failure::of_ending);
        let Some(failure) = told.filter(Failure::wants_less).or_else(full) else { return };
        if let Err(error) = self.thread.session.context_after(&failure).await {
            tracing::warn!(%error, "a session whose window was full could not be made smaller");
        }
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
        let Some(answer) = answer.filter(|answer| !answer.messages.is_empty()) else {
            return Ok(Settled::at(chain, Vec::new()));
        };
        // Whoever goes after the last word has heard all of it.
        let is_whole = answer.is_whole;
        if !is_whole && let Some(cut) = self.wait_cut(answer).await {
            return Ok(Settled { cut: Some(cut), ..Settled::at(chain, Vec::new()) });
        }
        let messages = input_of(&answer.messages);
        let completeness = if is_whole { Completeness::Whole } else { Completeness::CutOff };
        let reply = Reply { messages, usage: answer.usage, completeness, model: answer.model.clone() };
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

    // What was cut off waits for what its client makes of it.
    async fn wait_cut(&self, answer: &Answer) -> Option<Cut> {
        let entry = self.entry.clone().with_body(&String::from_utf8_lossy(&self.body));
        let entry = entry.answered(answer);
        match self.inner.spool.keep_cut(&entry).await {
            Ok(()) => Some(Cut::of(answer, entry.id)),
            Err(error) => {
                tracing::warn!(%error, "a reply that was cut off cannot wait, and is recorded as it is");
                None
            }
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
            let retry = match self.mode {
                Mode::Compact => self.smaller(status, body).await.unwrap_or_else(|error| {
                    tracing::warn!(%error, "a refused call could not be made smaller");
                    None
                }),
                _ => None,
            };
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

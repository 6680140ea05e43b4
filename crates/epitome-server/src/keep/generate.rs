//! One call for an answer: its session, what is sent of it, and what the client is told. Where our own part fails, it goes up all the same.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use epitome::TenantId;
use epitome::wire::WireError;
use futures_util::FutureExt;
use http::HeaderMap;

use super::mode::Mode;
use super::request::Request;
use super::rewrite::Rewrite;
use super::spool::Entry;
use super::store::Whose;
use super::unplaced::Unplaced;
use super::watch::Watching;
use super::{Inner, set, told};
use crate::keeper::{Call, Errand};

/// So long a call waits for its session before it goes up without it; a compaction may take most of that.
const DEADLINE: Duration = Duration::from_secs(28);

impl Inner {
    pub(super) async fn generate(self: Arc<Self>, call: Call, mode: Mode) -> Errand {
        let local = TenantId::LOCAL;
        let Ok(text) = std::str::from_utf8(&call.body) else {
            return self.passed(&call, mode, local, "the body is not UTF-8");
        };
        let Whose { tenant, by } = match self.store.whose(&call.headers) {
            Ok(whose) => whose,
            Err(error) => {
                let problem = format!("whose call it is cannot be told without the ledger: {error}");
                return self.passed(&call, mode, local, &problem);
            }
        };
        let alike = self.threads.alike(tenant, &call);
        let request = match Request::read(&call, text, tenant, alike.as_ref()) {
            Ok(request) => request,
            // Only the operator speaks, or nobody does: there is no turn to record, and nothing failed.
            Err(WireError::NoMessages { .. }) => {
                call.slip.note("nothing is said in it");
                let watch = self.looking_on(&call, mode, tenant);
                return Errand { watch: Some(Box::new(watch)), ..Errand::default() };
            }
            Err(problem) => {
                return self.passed(&call, mode, tenant, &format!("not understood, passed on: {problem}"));
            }
        };
        let mode = if request.elsewhere.is_some() { Mode::Observe } else { mode };
        if by.is_some() {
            let problem = "the ledger has not been reached yet";
            return self.unplaced(&call, &request, mode, by, problem).await;
        }
        let placing = self.store.while_it_answers(self.place(&call, &request, mode, alike));
        let placing = AssertUnwindSafe(placing).catch_unwind();
        let placed = match tokio::time::timeout(DEADLINE, placing).await {
            Ok(Ok(Ok(placed))) => placed,
            // What is no conversation at all does not wait to be recorded.
            Ok(Ok(Err(error @ (epitome::Error::Message(_) | epitome::Error::Empty)))) => {
                return self.passed(&call, mode, tenant, &error.to_string());
            }
            Ok(Ok(Err(error))) => return self.unplaced(&call, &request, mode, by, &error.to_string()).await,
            Ok(Err(_)) => return self.unplaced(&call, &request, mode, by, "the keeper failed").await,
            Err(_) => return self.unplaced(&call, &request, mode, by, "the keeper took too long").await,
        };
        let expected = request.may_be_followed.then(|| {
            let conversation = request.elsewhere.as_ref().and_then(|held| held.conversation.clone());
            self.links.expect(conversation)
        });
        let rewrite = Rewrite::of(&request, placed.thread.ordinals(), placed.known);
        placed.thread.remember(&placed.send, placed.known, placed.before - placed.after);
        let body = match mode {
            Mode::Observe => None,
            _ => rewrite.body(text, &placed.send),
        };
        if body.is_some() {
            self.counts.sent(placed.before, placed.after);
        }
        let mut back = HeaderMap::new();
        let session = placed.thread.session.id();
        set(&mut back, "x-epitome-session", &session.to_string());
        set(&mut back, "x-epitome-turn", &placed.turn.to_string());
        set(&mut back, "x-epitome-tokens-before", &placed.before.0.to_string());
        set(&mut back, "x-epitome-tokens-after", &placed.after.0.to_string());
        let compaction = match (&body, placed.succeeds) {
            (Some(_), _) => "in force",
            (None, Some(_)) => "by the client",
            (None, None) => "none",
        };
        set(&mut back, "x-epitome-compaction", compaction);
        // Whose it would be is not told: of a session of somebody else nothing is known here.
        if let Some(named) = request.session.filter(|_| placed.is_elsewhere) {
            let problem = format!("session {named} is not known, or holds nothing of this conversation");
            set(&mut back, "x-epitome-error", &problem);
        }
        let is_tight = mode == Mode::Compact && placed.thread.session.may_overflow(placed.after);
        let watch = Watching::new(&self, &call, &request, mode, placed, rewrite).expected(expected);
        Errand { body, back, watch: Some(Box::new(watch)), is_tight, ..Errand::default() }
    }

    // It passes as it is, and is not recorded.
    fn passed(self: &Arc<Self>, call: &Call, mode: Mode, tenant: TenantId, problem: &str) -> Errand {
        let mut errand = told(problem);
        errand.watch = Some(Box::new(self.looking_on(call, mode, tenant)));
        errand
    }

    fn looking_on(self: &Arc<Self>, call: &Call, mode: Mode, tenant: TenantId) -> Unplaced {
        Unplaced {
            inner: Arc::clone(self),
            call: call.clone(),
            mode,
            tenant,
            model: String::new(),
            entry: None,
            smaller: None,
        }
    }

    // Its own part failed: the call goes on, with what was last sent of the conversation where that is known, and waits to be
    // recorded.
    async fn unplaced(
        self: &Arc<Self>,
        call: &Call,
        request: &Request<'_>,
        mode: Mode,
        by: Option<String>,
        problem: &str,
    ) -> Errand {
        tracing::warn!(problem, "a call goes up without its session, and waits to be recorded");
        let mut errand = told(problem);
        if mode != Mode::Observe {
            errand.body = self.as_sent(call, request);
        }
        let mut watch = self.looking_on(call, mode, request.tenant);
        watch.model.clone_from(&request.model);
        let entry = Entry::of(request).with_body(request.body.text()).told_by(by);
        match self.spool.keep(&entry).await {
            Ok(()) => {
                self.counts.waits();
                watch.entry = Some(entry);
            }
            Err(error) => tracing::error!(
                %error,
                "a turn can be kept nowhere: the ledger refuses it, and so does the disk"
            ),
        }
        // How much it is for the model, nobody has counted.
        errand.is_tight = mode == Mode::Compact && watch.entry.is_some();
        errand.watch = Some(Box::new(watch));
        errand
    }

    /// The call with what was last sent of its conversation.
    pub(super) fn as_sent(&self, call: &Call, request: &Request<'_>) -> Option<bytes::Bytes> {
        let shared = self.threads.find(&request.key(), &call.body, |_| true)?;
        shared.thread.as_sent(request, &shared)
    }
}

//! Calls that ask how many tokens a request would have: what would be sent is counted, not what the client sent. Nothing is recorded or
//! compacted.

use std::sync::Arc;

use bytes::Bytes;
use epitome::{Arrival, SessionId, ToSend};

use super::mode::Mode;
use super::request::Request;
use super::rewrite::Rewrite;
use super::store::{SEARCH, Whose, within};
use super::{Inner, set, told};
use crate::keeper::{Call, Errand};

impl Inner {
    pub(super) async fn count(self: Arc<Self>, call: Call, mode: Mode) -> Errand {
        let Ok(text) = std::str::from_utf8(&call.body) else { return Errand::unchanged() };
        let Ok(Whose { tenant, by: None }) = self.store.whose(&call.headers) else {
            return Errand::unchanged();
        };
        let Ok(request) = Request::read(&call, text, tenant, None) else { return Errand::unchanged() };
        match self.store.asked(within(SEARCH, self.counted(&request, mode, text))).await {
            Ok(Some((session, body))) => {
                call.slip.write(|line| {
                    line.model.clone_from(&request.model);
                    (line.tenant, line.session) = (request.tenant, Some(session));
                });
                let mut errand = Errand { body, ..Errand::default() };
                set(&mut errand.back, "x-epitome-session", &session.to_string());
                errand
            }
            Ok(None) => Errand::unchanged(),
            Err(error) => {
                let mut errand = told(&error.to_string());
                if mode != Mode::Observe && request.elsewhere.is_none() {
                    errand.body = self.as_sent(&call, &request);
                }
                errand
            }
        }
    }

    // The session that it belongs to, and what would be sent where that is not what the client sent.
    async fn counted(
        &self,
        request: &Request<'_>,
        mode: Mode,
        text: &str,
    ) -> epitome::Result<Option<(SessionId, Option<Bytes>)>> {
        let ready = self.store.ready()?;
        if let Some(name) = request.behind() {
            let link =
                self.links.find(&ready.ledger, request.tenant, name, std::time::Duration::ZERO).await?;
            return Ok(link.map(|link| (link.session, None)));
        }
        let engine = ready.engines.of(request, mode).await?;
        let arrival = Arrival {
            messages: request.messages().collect(),
            session: request.session,
            name: request.name.as_deref(),
            ..Arrival::default()
        };
        let Some(seen) = engine.seek(&arrival).await? else { return Ok(None) };
        let (session, known) = (seen.session.id(), seen.ordinals.len());
        if mode == Mode::Observe || request.elsewhere.is_some() {
            return Ok(Some((session, None)));
        }
        let rewrite = Rewrite::of(request, seen.ordinals, known);
        let body = seen.context.and_then(|context| rewrite.body(text, &ToSend::Behind(Arc::new(context))));
        Ok(Some((session, body)))
    }
}

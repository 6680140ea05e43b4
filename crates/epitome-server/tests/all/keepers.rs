//! Keepers of all kinds: what they change, watch, break and hold up.

use std::sync::Arc;

use epitome_server::{BoxFuture, Bytes, Call, Errand, HeaderMap, Keeper, Retry, Seen, StatusCode, Watch};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// What is done with a call.
type Doing = dyn Fn(Call, UnboundedSender<String>) -> BoxFuture<'static, Errand> + Send + Sync;

/// A keeper that does what it was given, and tells what it is told.
pub(crate) struct Scripted {
    doing: Box<Doing>,
    tell: UnboundedSender<String>,
}

impl Keeper for Scripted {
    fn call(&self, call: Call) -> BoxFuture<'_, Errand> {
        let _ = self.tell.send(format!("call {}", String::from_utf8_lossy(&call.body)));
        (self.doing)(call, self.tell.clone())
    }
}

pub(crate) fn scripted<Done>(
    doing: impl Fn(Call, UnboundedSender<String>) -> Done + Send + Sync + 'static,
) -> (Arc<dyn Keeper>, UnboundedReceiver<String>)
where
    Done: Future<Output = Errand> + Send + 'static,
{
    let (tell, told) = unbounded_channel();
    let doing = Box::new(move |call, tell| -> BoxFuture<'static, Errand> { Box::pin(doing(call, tell)) });
    (Arc::new(Scripted { doing, tell }), told)
}

/// Looks at everything and changes nothing.
pub(crate) fn unchanged() -> Arc<dyn Keeper> {
    recording().0
}

/// Changes nothing, and tells of each call and its end.
pub(crate) fn recording() -> (Arc<dyn Keeper>, UnboundedReceiver<String>) {
    scripted(|_, tell| async {
        Errand { watch: Some(Box::new(Watcher { tell, retries: Vec::new() })), ..Errand::default() }
    })
}

/// Tells what it sees, and answers refusals as long as it has something to say.
pub(crate) struct Watcher {
    pub(crate) tell: UnboundedSender<String>,
    pub(crate) retries: Vec<&'static str>,
}

impl Watch for Watcher {
    fn refused<'a>(
        &'a mut self,
        status: StatusCode,
        _headers: &'a HeaderMap,
        body: &'a Bytes,
    ) -> BoxFuture<'a, Option<Retry>> {
        let _ = self.tell.send(format!("refused {} {}", status.as_u16(), String::from_utf8_lossy(body)));
        let retry = self.retries.pop().map(|body| {
            let mut back = HeaderMap::new();
            back.insert("x-epitome-retry", body.parse().unwrap());
            Retry { body: Bytes::from(body), back }
        });
        Box::pin(async { retry })
    }

    fn ended(self: Box<Self>, seen: Seen) {
        let status = seen.status.map_or(0, |status| status.as_u16());
        let decoded = seen.decoded();
        let body = String::from_utf8_lossy(&decoded.bytes).into_owned();
        assert_eq!(seen.first_byte.is_some(), !seen.chunks.is_empty());
        let _ = self.tell.send(format!("ended {:?} {status} {body}", seen.end));
    }
}

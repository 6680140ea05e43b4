//! The body that goes back to a client: forwarded piece by piece as it comes, and clipped nowhere but where the upstream broke off.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use thiserror::Error;

use crate::keeper::End;
use crate::line::Entry;
use crate::metrics::{InFlight, Metrics};
use crate::pace::Pace;
use crate::tap::Tap;

/// The answer cannot be forwarded to its end; the connection of the client is cut, so that it does not look whole.
#[derive(Clone, Copy, Debug, Error)]
pub(crate) enum Broken {
    #[error("the upstream broke off")]
    Cut,
    #[error("the upstream fell silent")]
    Stalled,
}

/// An answer on its way back.
pub(crate) struct Answer {
    // What was already taken from the upstream when it was decided that it goes back.
    ahead: VecDeque<Bytes>,
    rest: Rest,
    pace: Pace,
    is_flushed: bool,
    tap: Option<Tap>,
    metrics: Option<Arc<Metrics>>,
    entry: Option<Entry>,
    _under_way: Option<InFlight>,
}

/// What follows the pieces at hand.
pub(crate) enum Rest {
    /// What the upstream still sends.
    Stream(Incoming),
    /// Nothing.
    Nothing,
    /// Nothing, and that is not how it was meant to end.
    Broken(Broken),
}

impl Answer {
    /// An answer of our own.
    pub(crate) fn own(body: Bytes) -> Self {
        Self {
            ahead: VecDeque::from([body]),
            rest: Rest::Nothing,
            pace: Pace::new(Duration::ZERO),
            is_flushed: false,
            tap: None,
            metrics: None,
            entry: None,
            _under_way: None,
        }
    }

    /// An answer of an upstream.
    pub(crate) fn forwarded(
        ahead: VecDeque<Bytes>,
        rest: Rest,
        silence: Duration,
        tap: Option<Tap>,
        metrics: &Arc<Metrics>,
    ) -> Self {
        let pace = Pace::new(silence);
        let metrics = Some(Arc::clone(metrics));
        let mut answer =
            Self { ahead, rest, pace, is_flushed: false, tap, metrics, entry: None, _under_way: None };
        // Nobody will ask for the pieces of an answer that has none.
        if answer.is_end_stream() {
            answer.end(End::Whole);
        }
        answer
    }

    /// Counts as under way until its end, and tells how that was.
    pub(crate) fn counted(mut self, under_way: InFlight, mut entry: Entry) -> Self {
        // Nobody may ask for the pieces of an answer of our own, or of one that has none.
        if self.metrics.is_none() || self.is_end_stream() {
            entry.end(&End::Whole);
        }
        (self._under_way, self.entry) = (Some(under_way), Some(entry));
        self
    }

    fn end(&mut self, end: End) {
        if let Some(entry) = &mut self.entry {
            entry.end(&end);
        }
        if let Some(mut tap) = self.tap.take() {
            tap.end(end);
        }
    }

    fn pass(&mut self, data: &Bytes) {
        if let Some(tap) = &mut self.tap {
            tap.forwarded(data);
        }
        if let Some(metrics) = &self.metrics {
            metrics.sent_back(data.len());
        }
        // The last piece may be the last that we are asked for: who knows the length does not ask again.
        if self.is_end_stream() {
            self.end(End::Whole);
        }
    }

    // An error makes the connection drop what is not yet written, so that is given one more turn.
    fn broken_off(
        &mut self,
        broken: Broken,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        self.rest = Rest::Broken(broken);
        self.end(End::CutByUpstream);
        if std::mem::replace(&mut self.is_flushed, true) {
            return Poll::Ready(Some(Err(broken)));
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let this = &mut *self;
        if let Some(data) = this.ahead.pop_front() {
            this.pass(&data);
            return Poll::Ready(Some(Ok(Frame::data(data))));
        }
        let body = match &mut this.rest {
            Rest::Stream(body) => body,
            Rest::Nothing => {
                this.end(End::Whole);
                return Poll::Ready(None);
            }
            Rest::Broken(broken) => {
                let broken = *broken;
                return this.broken_off(broken, context);
            }
        };
        match Pin::new(body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                this.pace.moved();
                if let Some(data) = frame.data_ref() {
                    let data = data.clone();
                    this.pass(&data);
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(_))) => this.broken_off(Broken::Cut, context),
            Poll::Ready(None) => {
                this.end(End::Whole);
                Poll::Ready(None)
            }
            Poll::Pending => {
                ready!(this.pace.poll_stalled(context));
                this.broken_off(Broken::Stalled, context)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        let ended = match &self.rest {
            Rest::Stream(body) => body.is_end_stream(),
            Rest::Nothing => true,
            Rest::Broken(_) => false,
        };
        self.ahead.is_empty() && ended
    }

    fn size_hint(&self) -> SizeHint {
        match &self.rest {
            Rest::Stream(body) if self.ahead.is_empty() => body.size_hint(),
            // Without an exact size the answer is framed as the upstream's headers say.
            _ => SizeHint::default(),
        }
    }
}

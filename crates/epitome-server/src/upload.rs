//! The body of a request on its way up: whole, or piece by piece as the client sends it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use thiserror::Error;

use crate::pace::Pace;

/// Why a client's body cannot be sent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum UploadError {
    #[error("the body is larger than is taken")]
    TooLarge,
    #[error("the client stopped sending")]
    Stalled,
    #[error("the client went away")]
    Gone,
}

/// Tells afterwards why an upload failed, which the client library only passes through.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome(Arc<AtomicU8>);

impl Outcome {
    fn set(&self, error: UploadError) {
        self.0.store(error as u8 + 1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Option<UploadError> {
        [UploadError::TooLarge, UploadError::Stalled, UploadError::Gone]
            .into_iter()
            .find(|error| *error as u8 + 1 == self.0.load(Ordering::Relaxed))
    }
}

/// A body on its way up.
pub(crate) enum Upload {
    /// All of it is here.
    Whole(Bytes),
    /// It is still being sent.
    Stream(Arriving),
}

/// A body that a client is sending.
pub(crate) struct Arriving {
    body: Incoming,
    left: u64,
    pace: Pace,
    outcome: Outcome,
}

impl Arriving {
    pub(crate) fn new(body: Incoming, limit: u64, silence: Duration) -> Self {
        Self { body, left: limit, pace: Pace::new(silence), outcome: Outcome::default() }
    }

    pub(crate) fn outcome(&self) -> Outcome {
        self.outcome.clone()
    }

    /// Whether the client says that it is larger than is taken.
    pub(crate) fn is_too_large(&self) -> bool {
        self.body.size_hint().lower() > self.left
    }

    /// Waits for all of it.
    pub(crate) async fn whole(mut self) -> Result<Bytes, UploadError> {
        let mut first = Bytes::new();
        let mut rest = BytesMut::new();
        while let Some(frame) = self.frame().await {
            let Ok(data) = frame?.into_data() else { continue };
            if first.is_empty() {
                first = data;
                continue;
            }
            if rest.is_empty() {
                let expected = self.body.size_hint().lower().min(self.left);
                rest.reserve(first.len() + data.len() + usize::try_from(expected).unwrap_or(0));
                rest.extend_from_slice(&first);
            }
            rest.extend_from_slice(&data);
        }
        Ok(if rest.is_empty() { first } else { rest.freeze() })
    }

    fn fail(&self, error: UploadError) -> Poll<Option<Result<Frame<Bytes>, UploadError>>> {
        self.outcome.set(error);
        Poll::Ready(Some(Err(error)))
    }
}

impl Body for Arriving {
    type Data = Bytes;
    type Error = UploadError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UploadError>>> {
        let this = &mut *self;
        let frame = match Pin::new(&mut this.body).poll_frame(context) {
            Poll::Ready(Some(frame)) => frame,
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => {
                ready!(this.pace.poll_stalled(context));
                return this.fail(UploadError::Stalled);
            }
        };
        this.pace.moved();
        let Ok(frame) = frame else { return this.fail(UploadError::Gone) };
        let size = frame.data_ref().map_or(0, |data| data.len() as u64);
        match this.left.checked_sub(size) {
            Some(left) => this.left = left,
            None => return this.fail(UploadError::TooLarge),
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = UploadError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UploadError>>> {
        match &mut *self {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Stream(arriving) => Pin::new(arriving).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_empty(),
            Self::Stream(arriving) => arriving.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(arriving) => arriving.size_hint(),
        }
    }
}

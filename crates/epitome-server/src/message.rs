//! Heads and bodies on their way: requests as they go up, answers as they go back.

use bytes::Bytes;
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, Request, Response, Version};

use crate::answer::Answer;
use crate::encoding;
use crate::headers;
use crate::refusal::Refusal;
use crate::upload::Upload;
use crate::upstream::Upstream;

/// Bodies from this size on are decoded on a thread of their own.
const LARGE: usize = 64 << 10;

/// What an attempt sends.
pub(crate) enum Attempt {
    /// The client's own bytes.
    Same(Bytes),
    /// Others in their place.
    Changed(Bytes),
}

impl Attempt {
    pub(crate) fn first(sent: Bytes, other: Option<Bytes>) -> Self {
        other.map_or(Self::Same(sent), Self::Changed)
    }

    pub(crate) fn request(&self, head: &Parts) -> Request<Upload> {
        let mut head = head.clone();
        let bytes = match self {
            Self::Same(bytes) => bytes.clone(),
            Self::Changed(bytes) => {
                head.headers = headers::for_another_body(head.headers, bytes.len());
                bytes.clone()
            }
        };
        Request::from_parts(head, Upload::Whole(bytes))
    }
}

/// The body without its encoding, and why that cannot be had.
pub(crate) async fn decoded(headers: &HeaderMap, sent: &Bytes) -> (Bytes, Option<String>) {
    if !encoding::is_encoded(headers) {
        return (sent.clone(), None);
    }
    let (headers, bytes) = (headers.clone(), sent.clone());
    let decoded = if bytes.len() < LARGE {
        Ok(encoding::decode(&headers, bytes))
    } else {
        tokio::task::spawn_blocking(move || encoding::decode(&headers, bytes)).await
    };
    match decoded {
        Ok(decoded) => (decoded.bytes, decoded.problem),
        Err(_) => (Bytes::new(), Some("the decoder failed".to_owned())),
    }
}

/// Path and query.
pub(crate) fn path_of(head: &Parts) -> PathAndQuery {
    head.uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"))
}

/// The same request, to this upstream.
pub(crate) fn addressed(mut head: Parts, upstream: &Upstream) -> Result<Parts, Refusal> {
    let target = upstream.target(&path_of(&head));
    head.uri = target.map_err(|error| Refusal::Malformed(format!("the path cannot be sent on: {error}")))?;
    head.headers = headers::up(head.headers, upstream);
    head.version = Version::HTTP_11;
    Ok(head)
}

/// The answer as it goes back.
pub(crate) fn returned(mut head: http::response::Parts, answer: Answer) -> Response<Answer> {
    head.version = Version::HTTP_11;
    head.headers = headers::back(head.headers);
    Response::from_parts(head, answer)
}

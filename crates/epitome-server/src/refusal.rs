//! Answers of our own where there is none of an upstream, in the words of the API that the client speaks.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use serde_json::json;

use crate::answer::Answer;
use crate::route::Provider;

/// Why we answer in place of an upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The body is larger than this many bytes.
    TooLarge(u64),
    /// The client stopped sending its body.
    Stalled,
    /// The request cannot be sent on as it is.
    Malformed(String),
    /// The upstream cannot be reached or gave no answer: what failed.
    Unreachable(String),
    /// The upstream took too long: which.
    Silent(String),
    /// Nothing is at this path.
    NotFound(String),
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Stalled => StatusCode::REQUEST_TIMEOUT,
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::Unreachable(_) => StatusCode::BAD_GATEWAY,
            Self::Silent(_) => StatusCode::GATEWAY_TIMEOUT,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
        }
    }

    /// Whether the same request may succeed later.
    fn is_passing(&self) -> bool {
        matches!(self, Self::Stalled | Self::Unreachable(_) | Self::Silent(_))
    }

    /// What is told.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::TooLarge(limit) => format!("epitome: the body is larger than {} MB", limit >> 20),
            Self::Stalled => "epitome: the rest of the request's body did not come".to_owned(),
            Self::Malformed(what) | Self::Unreachable(what) | Self::Silent(what) | Self::NotFound(what) => {
                format!("epitome: {what}")
            }
        }
    }

    fn anthropic_type(&self) -> &'static str {
        match self {
            Self::TooLarge(_) => "request_too_large",
            Self::Malformed(_) => "invalid_request_error",
            Self::Stalled | Self::Silent(_) => "timeout_error",
            Self::Unreachable(_) => "api_error",
            Self::NotFound(_) => "not_found_error",
        }
    }

    fn openai_type(&self) -> (&'static str, &'static str) {
        match self {
            Self::TooLarge(_) => ("invalid_request_error", "request_too_large"),
            Self::Malformed(_) => ("invalid_request_error", "invalid_request"),
            Self::Stalled => ("invalid_request_error", "request_timeout"),
            Self::Unreachable(_) => ("server_error", "upstream_unreachable"),
            Self::Silent(_) => ("server_error", "upstream_timeout"),
            Self::NotFound(_) => ("invalid_request_error", "not_found"),
        }
    }

    /// The answer, as clients of this provider read errors.
    pub(crate) fn answer(&self, provider: Provider) -> Response<Answer> {
        let message = self.message();
        let body = match provider {
            Provider::Anthropic => {
                json!({"type": "error", "error": {"type": self.anthropic_type(), "message": message}})
            }
            Provider::OpenAi => {
                let (kind, code) = self.openai_type();
                json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
            }
        };
        let mut response = own(self.status(), "application/json", body.to_string());
        let retry = if self.is_passing() { "true" } else { "false" };
        response
            .headers_mut()
            .insert(HeaderName::from_static("x-should-retry"), HeaderValue::from_static(retry));
        response
    }
}

/// An answer with this body.
pub(crate) fn own(status: StatusCode, content_type: &'static str, body: String) -> Response<Answer> {
    let length = body.len();
    let mut response = Response::new(Answer::own(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(CONTENT_LENGTH, length.into());
    response
}

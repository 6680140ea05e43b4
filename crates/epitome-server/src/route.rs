//! Which path is whose: calls that a keeper may look at, the rest of the providers' APIs, and what the server answers itself.

use epitome_wire::Dialect;
use http::{HeaderMap, Method};

use crate::keeper::CallKind;

/// Whose API a request belongs to, as far as upstreams and the form of errors go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provider {
    /// Anthropic, and those who speak like it.
    Anthropic,
    /// OpenAI, and those who speak like it.
    OpenAi,
}

impl Provider {
    /// Who speaks this dialect.
    pub fn of(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Anthropic => Self::Anthropic,
            _ => Self::OpenAi,
        }
    }
}

/// What is done with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// A call that a keeper may look at.
    Call(Dialect, CallKind),
    /// Passed on without a look.
    Pass(Provider),
    /// `/healthz`.
    Health,
    /// `/metrics`.
    Metrics,
    /// Nobody's.
    Unknown,
}

impl Route {
    pub(crate) fn of(method: &Method, path: &str, headers: &HeaderMap) -> Self {
        match path {
            "/healthz" => return Self::Health,
            "/metrics" => return Self::Metrics,
            _ => {}
        }
        let Some(rest) = path.strip_prefix("/v1/") else { return Self::Unknown };
        match (method, rest.trim_end_matches('/')) {
            (&Method::POST, "messages") => Self::Call(Dialect::Anthropic, CallKind::Generate),
            (&Method::POST, "messages/count_tokens") => Self::Call(Dialect::Anthropic, CallKind::Count),
            (&Method::POST, "chat/completions") => Self::Call(Dialect::Chat, CallKind::Generate),
            (&Method::POST, "responses") => Self::Call(Dialect::Responses, CallKind::Generate),
            (&Method::POST, "responses/input_tokens") => Self::Call(Dialect::Responses, CallKind::Count),
            (_, rest) => Self::Pass(speaker(rest, headers)),
        }
    }

    /// Whose upstream, and whose words for errors.
    pub(crate) fn provider(self) -> Provider {
        match self {
            Self::Call(dialect, _) => Provider::of(dialect),
            Self::Pass(provider) => provider,
            _ => Provider::OpenAi,
        }
    }

    /// Its name among the metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Call(Dialect::Anthropic, _) => "anthropic",
            Self::Call(Dialect::Chat, _) => "chat",
            Self::Call(..) => "responses",
            Self::Pass(_) => "pass",
            Self::Health | Self::Metrics | Self::Unknown => "own",
        }
    }
}

// Both have models and files; the headers of a client say whom it talks to.
fn speaker(rest: &str, headers: &HeaderMap) -> Provider {
    let belongs = rest == "messages" || rest.starts_with("messages/");
    if belongs || headers.contains_key("anthropic-version") || headers.contains_key("x-api-key") {
        Provider::Anthropic
    } else {
        Provider::OpenAi
    }
}

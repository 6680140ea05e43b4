//! Which model to ask, and where: `anthropic:MODEL`, `openai:MODEL`, `responses:MODEL`, each with `@URL` behind it or not.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use epitome_core::secrets::masked;
use epitome_wire::Dialect;
use reqwest::Url;
use thiserror::Error;

use crate::secret::Secret;

/// A model at an address. It is shown without the path and the query of the address, which may hold a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    dialect: Dialect,
    model: String,
    address: Url,
    is_given: bool,
}

/// A text names no endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// It does not begin with the name of an API.
    #[error("unknown API {0:?}")]
    Api(String),
    /// It names no model.
    #[error("{0:?} names no model")]
    Model(String),
    /// What stands behind the `@` is no address.
    #[error("{0:?} is no address: {1}")]
    Address(String, String),
    /// The address holds a user name or a password.
    #[error("the address holds a user name or a password")]
    Login,
}

impl EndpointError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Api(_) => {
                "write anthropic:MODEL, openai:MODEL or responses:MODEL, with @URL behind it for a server of your own"
            }
            Self::Model(_) => "name a model behind the colon, as in openai:MODEL@http://127.0.0.1:11434/v1",
            Self::Address(..) => {
                "an address begins with http:// or https://, as in openai:MODEL@http://127.0.0.1:11434/v1"
            }
            Self::Login => "give the key by ANTHROPIC_API_KEY or OPENAI_API_KEY",
        }
    }
}

impl Endpoint {
    /// The API that it speaks.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The name of the model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Where calls go.
    pub fn address(&self) -> &str {
        self.address.as_str()
    }

    /// Whether the address is one of this machine.
    pub fn is_loopback(&self) -> bool {
        let host = self.address.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// Whether the address is the provider's own, because none was given.
    pub(crate) fn is_provider(&self) -> bool {
        !self.is_given
    }

    pub(crate) fn url(&self) -> &Url {
        &self.address
    }

    /// The environment variable that holds its key.
    pub fn key_variable(&self) -> &'static str {
        match self.dialect {
            Dialect::Anthropic => "ANTHROPIC_API_KEY",
            _ => "OPENAI_API_KEY",
        }
    }

    /// The key in the environment, as `variable` reads it.
    ///
    /// Over plain HTTP it is for this machine only: what was put there for a provider is not told to a network.
    pub fn key_of(&self, variable: impl Fn(&str) -> Option<String>) -> Option<Secret> {
        let is_safe = self.address.scheme() == "https" || self.is_loopback();
        is_safe.then(|| variable(self.key_variable())).flatten().as_deref().and_then(Secret::new)
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let text = text.trim();
        let (api, rest) = text.split_once(':').unwrap_or((text, ""));
        let (dialect, provider, path) = match api.to_ascii_lowercase().as_str() {
            "anthropic" => (Dialect::Anthropic, "https://api.anthropic.com", "messages"),
            "openai" => (Dialect::Chat, "https://api.openai.com", "chat/completions"),
            "responses" => (Dialect::Responses, "https://api.openai.com", "responses"),
            _ => return Err(EndpointError::Api(shown(api))),
        };
        // Names of models may hold an `@` and colons of their own.
        let mut splits = rest.rmatch_indices('@').map(|(at, _)| (&rest[..at], &rest[at + 1..]));
        let last = splits.clone().next();
        let (model, given) = match splits.find(|(_, address)| address.contains("://")) {
            Some((model, address)) => (model, Some(address)),
            None => (rest, None),
        };
        // An address without `http://` would pass for a part of the name, and the call would go to the provider.
        if let Some((_, address)) = last.filter(|(_, address)| given.is_none() && is_like_address(address)) {
            return Err(EndpointError::Address(shown(address), "http:// or https:// is missing".to_owned()));
        }
        if model.trim().is_empty() {
            return Err(EndpointError::Model(shown(text)));
        }
        let address = address(given.unwrap_or(provider), path)?;
        Ok(Self { dialect, model: model.trim().to_owned(), address, is_given: given.is_some() })
    }
}

fn is_like_address(text: &str) -> bool {
    text.contains([':', '/']) || text == "localhost" || text.parse::<IpAddr>().is_ok()
}

fn address(given: &str, path: &str) -> Result<Url, EndpointError> {
    let wrong = |why: &str| EndpointError::Address(shown(given), why.to_owned());
    let mut url = Url::parse(given).map_err(|error| wrong(&error.to_string()))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(EndpointError::Login);
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("only http and https are spoken"));
    }
    let base = url.path().trim_end_matches('/').to_owned();
    let whole = match base.as_str() {
        "" => format!("/v1/{path}"),
        base if base.ends_with(path) => base.to_owned(),
        // The base address of Anthropic's clients has no version in it, that of OpenAI's has.
        base if path == "messages" && !base.ends_with("/v1") => format!("{base}/v1/{path}"),
        base => format!("{base}/{path}"),
    };
    url.set_path(&whole);
    url.set_fragment(None);
    Ok(url)
}

// A text in an error may hold what nobody is to see.
fn shown(text: &str) -> String {
    masked(&text.chars().take(200).collect::<String>()).into_owned()
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Endpoint({self})")
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let api = match self.dialect {
            Dialect::Anthropic => "anthropic",
            Dialect::Responses => "responses",
            _ => "openai",
        };
        write!(out, "{api}:{}", self.model)?;
        let Some(host) = self.address.host_str().filter(|_| self.is_given) else { return Ok(()) };
        write!(out, "@{}://{host}", self.address.scheme())?;
        self.address.port().map_or(Ok(()), |port| write!(out, ":{port}"))
    }
}

//! Where requests go: one upstream a provider, and others for models whose names fit a pattern.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use epitome_wire::Dialect;
use epitome_wire::json::Cursor;
use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};

use crate::error::ServerError;
use crate::route::Provider;

/// The address of a server that speaks one of the APIs, without `/v1`; it may have a path in front of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    scheme: Scheme,
    authority: Authority,
    // Without a slash at its end, hence empty in most cases.
    prefix: String,
}

impl Upstream {
    /// Whose own server it is where nobody names one.
    pub fn default_of(provider: Provider) -> Self {
        let host = match provider {
            Provider::Anthropic => "api.anthropic.com",
            Provider::OpenAi => "api.openai.com",
        };
        Self { scheme: Scheme::HTTPS, authority: Authority::from_static(host), prefix: String::new() }
    }

    /// What follows `http://` or `https://`: the host, and its port where one is named.
    pub fn host(&self) -> &Authority {
        &self.authority
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.scheme == Scheme::HTTP
    }

    /// Where a request to this path goes.
    pub(crate) fn target(&self, path: &PathAndQuery) -> Result<Uri, http::Error> {
        let path = match self.prefix.as_str() {
            "" => path.clone(),
            prefix => PathAndQuery::try_from(format!("{prefix}{path}"))?,
        };
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(path)
            .build()
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}://{}{}", self.scheme, self.authority, self.prefix)
    }
}

impl FromStr for Upstream {
    type Err = ServerError;

    fn from_str(text: &str) -> Result<Self, ServerError> {
        let wrong = |why| ServerError::BadUpstream { url: without_credentials(text).into_owned(), why };
        let uri: Uri = text.trim().parse().map_err(|_| wrong("it is no URL"))?;
        let scheme = match uri.scheme_str() {
            Some("http") => Scheme::HTTP,
            Some("https") => Scheme::HTTPS,
            _ => return Err(wrong("it must begin with http:// or https://")),
        };
        let authority = uri.authority().cloned().ok_or_else(|| wrong("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("it holds credentials; those are the clients' to send"));
        }
        if uri.query().is_some() {
            return Err(wrong("it has a query"));
        }
        let path = uri.path().trim_end_matches('/');
        // Many write it with the version, as clients want it.
        let prefix = path.strip_suffix("/v1").unwrap_or(path).trim_end_matches('/').to_owned();
        Ok(Self { scheme, authority, prefix })
    }
}

fn without_credentials(url: &str) -> Cow<'_, str> {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url.get(start..).and_then(|rest| rest.find('/')).map_or(url.len(), |at| start + at);
    match url.get(start..end).and_then(|host| host.rfind('@')) {
        Some(at) => Cow::Owned(format!(
            "{}…{}",
            url.get(..start).unwrap_or_default(),
            url.get(start + at..).unwrap_or_default()
        )),
        None => Cow::Borrowed(url),
    }
}

/// An upstream for models whose names fit a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForModels {
    /// The pattern: `*` stands for any characters, `?` for one.
    pub model: String,
    /// Only for requests in this dialect.
    pub dialect: Option<Dialect>,
    /// Where they go.
    pub upstream: Upstream,
}

/// All upstreams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstreams {
    /// For Anthropic's API.
    pub anthropic: Upstream,
    /// For OpenAI's.
    pub openai: Upstream,
    /// For some models; the first that fits is taken.
    pub models: Vec<ForModels>,
}

impl Default for Upstreams {
    fn default() -> Self {
        Self {
            anthropic: Upstream::default_of(Provider::Anthropic),
            openai: Upstream::default_of(Provider::OpenAi),
            models: Vec::new(),
        }
    }
}

impl Upstreams {
    /// Whether the model of a call in this dialect must be known to say where it goes.
    pub(crate) fn depend_on_model(&self, dialect: Dialect) -> bool {
        self.models.iter().any(|one| one.dialect.is_none_or(|only| only == dialect))
    }

    pub(crate) fn of(&self, provider: Provider) -> &Upstream {
        match provider {
            Provider::Anthropic => &self.anthropic,
            Provider::OpenAi => &self.openai,
        }
    }

    /// Where a call in this dialect goes.
    pub(crate) fn for_body(&self, dialect: Dialect, body: &[u8]) -> &Upstream {
        let fitting = || {
            let model = model_of(body)?;
            self.models
                .iter()
                .filter(|one| one.dialect.is_none_or(|only| only == dialect))
                .find(|one| fits(&one.model, &model))
        };
        match self.depend_on_model(dialect).then(fitting).flatten() {
            Some(found) => &found.upstream,
            None => self.of(Provider::of(dialect)),
        }
    }
}

// The first member of that name; nothing behind it is looked at.
fn model_of(body: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(body).ok()?;
    let mut cursor = Cursor::new(text);
    cursor.enter_object().ok()?;
    while let Some(name) = cursor.next_member().ok()? {
        let span = cursor.skip().ok()?;
        if name == "model" {
            return epitome_wire::json::string(text, span).ok();
        }
    }
    None
}

// Greedy with one step back: linear but for patterns with many stars.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut seen) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while seen < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(one) if *one == '?' || name.get(seen) == Some(one) => {
                at += 1;
                seen += 1;
            }
            _ => match star {
                Some((place, from)) => {
                    star = Some((place, from + 1));
                    at = place + 1;
                    seen = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(at).all(|rest| *rest == '*')
}

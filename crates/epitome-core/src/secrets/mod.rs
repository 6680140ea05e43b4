//! Secrets in text: where they stand, and the text with a marker in the place of each.
//!
//! A secret gives itself away by its form (`ghp_…`, `eyJ….eyJ…`, a private key's armour), by the name that it is assigned
//! to (`API_KEY=…`, `"password": "…"`, `--token …`, `Authorization: …`) or by its place: in a URL, a command
//! (`mysql -p…`), SQL (`IDENTIFIED BY '…'`), a line of `.netrc`, a sentence. A form is enough by itself; a name is not,
//! because code is full of `password = get_password()`: what is assigned must look like a secret as well, or stand
//! where nothing but a value can. Placeholders, code, and the words that tests log in with (`password='secret'`)
//! stay readable.
//!
//! Anchors are found by byte search, and only what surrounds an anchor is looked at, up to a fixed length: the cost
//! is linear in the text, whatever it contains. What is already a marker is left alone.
//!
//! ```
//! use epitome_core::secrets::masked;
//!
//! let text = "postgres://app:S3cure-9x@db/main, password = os.environ['DB_PASSWORD']";
//! assert_eq!(masked(text), "postgres://app:[secret: password]@db/main, password = os.environ['DB_PASSWORD']");
//! ```

mod anchors;
mod assigned;
mod forms;
mod headers;
mod looks;
mod marker;
mod names;
mod options;
mod password_files;
mod phrases;
mod private_key;
mod runs;
mod url;
mod value;
mod webhooks;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use self::marker::Markers;

/// What a secret is, those first of which most is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A key or token whose form says who issued it, in words such as `github token`.
    Issued(&'static str),
    /// A JSON Web Token.
    JsonWebToken,
    /// A private key in its armour, or what is left of one.
    PrivateKey,
    /// What an `Authorization` header carries.
    Authorization,
    /// The value of a cookie.
    Cookie,
    /// A password, in a URL or assigned to a name.
    Password,
    /// Anything else that is assigned to the name of a secret.
    Key,
}

impl Kind {
    /// The words for it that stand in a marker.
    pub fn label(self) -> &'static str {
        match self {
            Kind::Issued(label) => label,
            Kind::JsonWebToken => "json web token",
            Kind::PrivateKey => "private key",
            Kind::Authorization => "authorization",
            Kind::Cookie => "cookie",
            Kind::Password => "password",
            Kind::Key => "key",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.label())
    }
}

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its bytes in the text, on character boundaries.
    pub span: Range<usize>,
    /// What it is.
    pub kind: Kind,
}

/// What comes to light when a secret beside it is masked is looked for so many times.
const ROUNDS: usize = 4;

/// The secrets in `text`, in order, apart from each other.
pub fn find(text: &str) -> Vec<Found> {
    let mut found = search(text);
    // A token that ran into another one stands alone once that is gone; then it must not be left for the next reader.
    for _ in 0..ROUNDS {
        if found.is_empty() {
            break;
        }
        let more = search(&write(text, &found));
        if more.is_empty() {
            break;
        }
        let places = Places::of(&found);
        found.extend(more.into_iter().map(|more| places.found(more)));
        found = apart(found);
    }
    found
}

/// The text with a marker such as `[secret: github token]` in the place of each secret.
pub fn masked(text: &str) -> Cow<'_, str> {
    match find(text) {
        found if found.is_empty() => Cow::Borrowed(text),
        found => Cow::Owned(write(text, &found)),
    }
}

/// This part of a text, with a marker in the place of each of the secrets that were found in the whole.
pub(crate) fn masked_within(text: &str, found: &[Found], span: Range<usize>) -> String {
    let part = text.get(span.clone()).unwrap_or_default();
    let inside = found.iter().filter(|found| found.span.start < span.end && found.span.end > span.start);
    let inside: Vec<Found> = inside
        .map(|Found { span: secret, kind }| {
            let secret = secret.start.max(span.start) - span.start..secret.end.min(span.end) - span.start;
            Found { span: secret, kind: *kind }
        })
        .collect();
    // What the whole hid may stand alone in a part of it.
    let written = write(part, &inside);
    match masked(&written) {
        Cow::Borrowed(_) => written,
        Cow::Owned(masked) => masked,
    }
}

fn search(text: &str) -> Vec<Found> {
    let text = Text { bytes: text.as_bytes(), markers: Markers::of(text) };
    let mut found = Vec::new();
    forms::find(&text, &mut found);
    assigned::find(&text, &mut found);
    options::find(&text, &mut found);
    phrases::find(&text, &mut found);
    headers::find(&text, &mut found);
    webhooks::find(&text, &mut found);
    private_key::find(&text, &mut found);
    found.retain(|found| !text.markers.touch(found.span.clone()));
    apart(found)
}

fn write(text: &str, found: &[Found]) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut copied = 0;
    for Found { span, kind } in found {
        masked.push_str(text.get(copied..span.start).unwrap_or_default());
        marker::write(*kind, &mut masked);
        copied = span.end;
    }
    masked.push_str(text.get(copied..).unwrap_or_default());
    masked
}

/// Where each marker ends in a masked text, and its secret in the text as it was.
struct Places(Vec<(usize, usize)>);

impl Places {
    fn of(found: &[Found]) -> Self {
        let (mut written, mut copied) = (0, 0);
        let place = |Found { span, kind }: &Found| {
            written += span.start - copied + marker::length(*kind);
            copied = span.end;
            (written, copied)
        };
        Self(found.iter().map(place).collect())
    }

    // Between markers the two texts are the same.
    fn found(&self, Found { span, kind }: Found) -> Found {
        let next = self.0.partition_point(|(written, _)| *written <= span.start);
        let (written, copied) =
            next.checked_sub(1).and_then(|last| self.0.get(last)).copied().unwrap_or_default();
        let start = span.start - written + copied;
        Found { span: start..start + span.len(), kind }
    }
}

/// What is searched: the bytes of a text, and where markers stand in it already.
struct Text<'a> {
    bytes: &'a [u8],
    markers: Markers,
}

impl Text<'_> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    fn before(&self, at: usize) -> Option<u8> {
        at.checked_sub(1).and_then(|at| self.byte(at))
    }

    fn slice(&self, span: Range<usize>) -> &[u8] {
        self.bytes.get(span).unwrap_or_default()
    }

    fn from(&self, at: usize) -> &[u8] {
        self.bytes.get(at..).unwrap_or_default()
    }
}

// Two finds that overlap are one secret: all of it goes, by the name that says most.
fn apart(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by_key(|Found { span, kind }| (span.start, usize::MAX - span.end, *kind));
    let mut apart: Vec<Found> = Vec::with_capacity(found.len());
    for next in found {
        match apart.last_mut() {
            Some(last) if next.span.start < last.span.end => {
                last.kind = last.kind.min(next.kind);
                last.span.end = last.span.end.max(next.span.end);
            }
            _ => apart.push(next),
        }
    }
    apart
}

//! One feature of a request, written out as the bytes that a client sends.

use std::io::Write;

use epitome::Dialect;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

/// A feature: something that a request may have, and that must reach the upstream as it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Whole messages that have it, as JSON; the first is the user's, the last the assistant's. `@` in an id is where it stands.
    pub(crate) said: Vec<String>,
    /// Members before the list of messages, a comma behind each.
    pub(crate) before: &'static str,
    /// Members behind the list, a comma before each.
    pub(crate) behind: &'static str,
    pub(crate) headers: Vec<(&'static str, &'static [u8])>,
    pub(crate) query: &'static str,
    pub(crate) form: Form,
    pub(crate) coding: Option<Coding>,
    pub(crate) is_chunked: bool,
    pub(crate) fate: Fate,
}

/// How the body is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// Without a space.
    #[default]
    Tight,
    /// As people and some libraries write it, in lines and with spaces of all kinds.
    Spaced,
    /// Spaces and lines before and behind all of it.
    Padded,
}

/// How the body is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Deflate,
    Zstd,
    Identity,
}

/// What becomes of a request that has the feature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is recorded, and compacted when that is due.
    #[default]
    Kept,
    /// It is recorded and never compacted: a part of the conversation is held by the provider.
    Observed,
    /// It passes and is not recorded: it is not understood.
    Passed,
}

impl Coding {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Deflate => "deflate",
            Coding::Zstd => "zstd",
            Coding::Identity => "identity",
        }
    }

    fn encode(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Coding::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            Coding::Deflate => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            Coding::Zstd => zstd::encode_all(bytes, 1).unwrap(),
            Coding::Identity => bytes.to_vec(),
        }
    }
}

pub(crate) fn case(name: &'static str) -> Case {
    Case { name, ..Case::default() }
}

impl Case {
    /// These messages.
    pub(crate) fn says(mut self, messages: &[&str]) -> Self {
        self.said = messages.iter().map(|message| (*message).to_owned()).collect();
        self
    }

    pub(crate) fn before(mut self, members: &'static str) -> Self {
        self.before = members;
        self
    }

    pub(crate) fn behind(mut self, members: &'static str) -> Self {
        self.behind = members;
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value.as_bytes()));
        self
    }

    pub(crate) fn fate(mut self, fate: Fate) -> Self {
        self.fate = fate;
        self
    }
}

/// A request of a case, as it is written.
pub(crate) struct Written {
    /// The JSON, before it is encoded.
    pub(crate) text: String,
    /// Its messages, in their order.
    pub(crate) messages: Vec<String>,
    /// What stands before the first message, and behind the last one.
    pub(crate) around: (String, String),
    /// The body as it is sent.
    pub(crate) body: Vec<u8>,
    /// The whole request.
    pub(crate) bytes: Vec<u8>,
}

/// The path and the name of the list of messages.
fn of(dialect: Dialect) -> (&'static str, &'static str, &'static str) {
    match dialect {
        Dialect::Anthropic => ("/v1/messages", "messages", r#""max_tokens":1000,"#),
        Dialect::Chat => ("/v1/chat/completions", "messages", ""),
        _ => ("/v1/responses", "input", ""),
    }
}

impl Case {
    /// The messages of the case, standing at this place.
    pub(crate) fn said_at(&self, place: &str) -> Vec<String> {
        self.said.iter().map(|message| message.replace('@', place)).collect()
    }

    /// Whether it holds pictures or files, which count for thousands of tokens whatever their bytes.
    pub(crate) fn is_large(&self) -> bool {
        let kinds = ["image", "document", "\"file\"", "input_file"];
        self.said.iter().any(|message| kinds.iter().any(|kind| message.contains(kind)))
    }

    /// The path with the query.
    pub(crate) fn target(&self, dialect: Dialect) -> String {
        format!("{}{}", of(dialect).0, self.query)
    }

    /// A request with these messages.
    pub(crate) fn write(&self, dialect: Dialect, messages: Vec<String>) -> Written {
        let (_, list, needed) = of(dialect);
        let (before, behind) = (self.before, self.behind);
        let model = r#""model":"claude-sonnet-4-5","#;
        let (open, between, close) = match self.form {
            Form::Tight => (format!("{{{model}{needed}{before}\"{list}\":["), ",", format!("]{behind}}}")),
            Form::Spaced => (
                format!("{{\n  {model} \t{needed}{before}\r\n  \"{list}\" : [\n    "),
                " ,\r\n\t    ",
                format!("\n  ] {behind} \n}}\n"),
            ),
            Form::Padded => {
                (format!(" \r\n\t{{{model}{needed}{before}\"{list}\":["), ",", format!("]{behind}}} \n\n\t "))
            }
        };
        let text = format!("{open}{}{close}", messages.join(between));
        let body =
            self.coding.map_or_else(|| text.clone().into_bytes(), |coding| coding.encode(text.as_bytes()));
        let bytes = self.request(dialect, &body);
        Written { text, messages, around: (open, close), body, bytes }
    }

    fn request(&self, dialect: Dialect, body: &[u8]) -> Vec<u8> {
        let mut bytes =
            format!("POST {} HTTP/1.1\r\nHost: proxy.example:8484\r\n", self.target(dialect)).into_bytes();
        for (name, value) in self.sent_headers(body.len()) {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(&value);
            bytes.extend_from_slice(b"\r\n");
        }
        if !self.is_chunked {
            bytes.extend_from_slice(b"\r\n");
            bytes.extend_from_slice(body);
            return bytes;
        }
        bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
        for piece in body.chunks(333) {
            bytes.extend_from_slice(format!("{:x};odd=\"extension\"\r\n", piece.len()).as_bytes());
            bytes.extend_from_slice(piece);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        bytes
    }

    /// The headers that must reach the upstream, names as they are written.
    pub(crate) fn sent_headers(&self, length: usize) -> Vec<(String, Vec<u8>)> {
        let mut headers = Vec::new();
        let mut push = |name: &str, value: &[u8]| headers.push((name.to_owned(), value.to_vec()));
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            push("Content-Type", b"application/json");
        }
        for (name, value) in &self.headers {
            push(name, value);
        }
        if let Some(coding) = self.coding {
            push("Content-Encoding", coding.name().as_bytes());
        }
        if !self.is_chunked {
            push("Content-Length", length.to_string().as_bytes());
        }
        headers
    }
}

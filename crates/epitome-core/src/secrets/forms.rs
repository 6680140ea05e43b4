//! Tokens that are known by their form: a table of what issuers put in front of them, and three that have parts.

use std::ops::Range;

use super::looks::Shape;
use super::runs::{LEAST, LongRuns, is_token_byte};
use super::{Found, Kind, Text};

/// How a token of an issuer looks: a prefix, then so many bytes of one kind.
pub(super) struct Form {
    prefix: &'static str,
    pub(super) label: &'static str,
    body: Body,
    least: usize,
    most: usize,
}

/// What the bytes after a prefix are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    /// Hexadecimal digits in small letters.
    Hex,
    /// Capitals and digits.
    Capitals,
    /// Letters and digits.
    Plain,
    /// Letters, digits, `_` and `-`, as in an identifier: so they must look like more than words.
    Joined,
    /// The same in parts, with dots between them.
    Dotted,
}

impl Body {
    fn holds(self, byte: u8) -> bool {
        match self {
            Body::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Body::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Body::Plain => byte.is_ascii_alphanumeric(),
            Body::Joined => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Body::Dotted => is_token_byte(byte),
        }
    }
}

const ANY: usize = 1 << 10;

/// How far the parts of a web token, and of a Discord token, are followed.
const LONGEST_PARTS: usize = 16 << 10;
const LONGEST_DISCORD: usize = 80;

const fn form(prefix: &'static str, label: &'static str, body: Body, least: usize, most: usize) -> Form {
    Form { prefix, label, body, least, most }
}

use Body::{Capitals, Dotted, Hex, Joined, Plain};

/// Every form. Where one prefix begins another, the longer one stands first.
pub(super) const FORMS: &[Form] = &[
    form("AGE-SECRET-KEY-1", "age key", Capitals, 40, 80),
    form("AIza", "google key", Joined, 30, 45),
    form("AKIA", "aws access key id", Capitals, 16, 16),
    form("ASIA", "aws access key id", Capitals, 16, 16),
    form("ATATT3", "atlassian token", Dotted, 40, ANY),
    form("GOCSPX-", "google client secret", Joined, 20, 60),
    form("NRAK-", "new relic key", Capitals, 20, 40),
    form("PMAK-", "postman key", Joined, 30, 80),
    form("SG.", "sendgrid key", Dotted, 30, 100),
    form("SK", "twilio key", Hex, 32, 32),
    form("dapi", "databricks token", Hex, 32, 32),
    form("dckr_pat_", "docker token", Joined, 20, 60),
    form("doo_v1_", "digitalocean token", Hex, 40, 64),
    form("dop_v1_", "digitalocean token", Hex, 40, 64),
    form("dor_v1_", "digitalocean token", Hex, 40, 64),
    form("dp.pt.", "doppler token", Plain, 30, 60),
    form("dp.st.", "doppler token", Dotted, 30, 80),
    form("figd_", "figma token", Joined, 30, 80),
    form("gho_", "github token", Plain, 20, ANY),
    form("ghp_", "github token", Plain, 20, ANY),
    form("ghr_", "github token", Plain, 20, ANY),
    form("ghs_", "github token", Plain, 20, ANY),
    form("ghu_", "github token", Plain, 20, ANY),
    form("github_pat_", "github token", Joined, 20, ANY),
    form("glc_", "grafana token", Joined, 30, ANY),
    form("gldt-", "gitlab token", Dotted, 16, 80),
    form("glpat-", "gitlab token", Dotted, 16, 80),
    form("glptt-", "gitlab token", Dotted, 16, 80),
    form("glrt-", "gitlab token", Dotted, 16, 80),
    form("glsa_", "grafana token", Joined, 30, 80),
    form("gsk_", "groq key", Plain, 30, 80),
    form("hf_", "hugging face token", Plain, 28, 48),
    form("hvb.", "vault token", Joined, 20, ANY),
    form("hvs.", "vault token", Joined, 20, ANY),
    form("key-", "mailgun key", Hex, 32, 32),
    form("lin_api_", "linear key", Plain, 30, 60),
    form("npm_", "npm token", Plain, 30, 60),
    form("ntn_", "notion token", Plain, 30, 60),
    form("nvapi-", "nvidia key", Joined, 40, 100),
    form("pplx-", "perplexity key", Plain, 30, 80),
    form("pscale_pw_", "planetscale password", Dotted, 30, 80),
    form("pscale_tkn_", "planetscale token", Dotted, 30, 80),
    form("pul-", "pulumi token", Hex, 40, 40),
    form("pypi-", "pypi token", Joined, 32, ANY),
    form("r8_", "replicate token", Plain, 30, 60),
    form("rk_live_", "stripe key", Plain, 16, ANY),
    form("rk_test_", "stripe key", Plain, 16, ANY),
    form("rubygems_", "rubygems key", Hex, 40, 64),
    form("sb_secret_", "supabase key", Joined, 20, 80),
    form("sbp_", "supabase token", Hex, 40, 40),
    form("secret_", "notion token", Plain, 40, 46),
    form("shpat_", "shopify token", Plain, 32, 32),
    form("shpca_", "shopify token", Plain, 32, 32),
    form("shppa_", "shopify token", Plain, 32, 32),
    form("shpss_", "shopify secret", Plain, 32, 32),
    form("sk-admin-", "openai key", Joined, 20, ANY),
    form("sk-ant-", "anthropic key", Joined, 20, ANY),
    form("sk-or-", "openrouter key", Joined, 20, ANY),
    form("sk-proj-", "openai key", Joined, 20, ANY),
    form("sk-svcacct-", "openai key", Joined, 20, ANY),
    form("sk-", "openai key", Joined, 20, ANY),
    form("sk_live_", "stripe key", Plain, 16, ANY),
    form("sk_test_", "stripe key", Plain, 16, ANY),
    form("sk_", "elevenlabs key", Hex, 40, 64),
    form("sntryu_", "sentry token", Hex, 64, 64),
    form("sq0atp-", "square token", Joined, 20, 60),
    form("sq0csp-", "square secret", Joined, 30, 60),
    form("tskey-", "tailscale key", Joined, 20, 80),
    form("tvly-", "tavily key", Joined, 20, 60),
    form("whsec_", "webhook secret", Plain, 24, 80),
    form("xai-", "xai key", Plain, 40, 120),
    form("xapp-", "slack token", Joined, 20, ANY),
    form("xoxa-", "slack token", Joined, 16, ANY),
    form("xoxb-", "slack token", Joined, 16, ANY),
    form("xoxc-", "slack token", Joined, 16, ANY),
    form("xoxd-", "slack token", Joined, 16, ANY),
    form("xoxe-", "slack token", Joined, 16, ANY),
    form("xoxp-", "slack token", Joined, 16, ANY),
    form("xoxr-", "slack token", Joined, 16, ANY),
    form("xoxs-", "slack token", Joined, 16, ANY),
    form("ya29.", "google token", Joined, 20, ANY),
];

/// Those that have no prefix of their own.
pub(super) const DISCORD: &str = "discord token";
pub(super) const SENTRY: &str = "sentry key";
pub(super) const TELEGRAM: &str = "telegram token";
pub(super) const WEBHOOK: &str = "webhook address";

/// For each first byte the second bytes that a form may have: most words are told by these two.
const OPENINGS: [u128; 128] = {
    let mut table = [0; 128];
    let mut at = 0;
    while at < FORMS.len() {
        let prefix = FORMS[at].prefix.as_bytes();
        table[prefix[0] as usize] |= 1 << prefix[1];
        at += 1;
    }
    table[b'e' as usize] |= 1 << b'y';
    let mut discord = 0;
    while discord < 3 {
        table[b"MNO"[discord] as usize] = u128::MAX;
        discord += 1;
    }
    table
};

fn may_open(token: &[u8]) -> bool {
    let &[first, second, ..] = token else { return false };
    second < 128 && OPENINGS.get(usize::from(first)).is_some_and(|seconds| seconds >> second & 1 == 1)
}

/// Finds every token that is known by its form.
pub(super) fn find(text: &Text<'_>, found: &mut Vec<Found>) {
    for run in LongRuns::of(text.bytes) {
        let mut at = run.start;
        while at + LEAST <= run.end {
            match token_at(text, at, run.end) {
                Some(token) => {
                    at = token.span.end;
                    found.push(token);
                }
                None if at == run.start => at = behind_escape(text, at).min(next_start(text, at, run.end)),
                None => at = next_start(text, at, run.end),
            }
        }
    }
}

// In `\nghp_…` and `%3Dghp_…` the token starts behind what is left of the escape.
fn behind_escape(text: &Text<'_>, start: usize) -> usize {
    match (text.before(start), text.byte(start)) {
        (Some(b'\\'), Some(b'n' | b'r' | b't')) => start + 1,
        (Some(b'\\'), Some(b'u')) => start + 5,
        (Some(b'%'), Some(_)) => start + 2,
        _ => usize::MAX,
    }
}

// A token starts where the run does, or behind a byte that joins words.
fn next_start(text: &Text<'_>, at: usize, end: usize) -> usize {
    let rest = text.slice(at..end);
    let joint = rest.iter().position(|byte| !byte.is_ascii_alphanumeric());
    joint.map_or(end, |joint| at + joint + 1)
}

fn token_at(text: &Text<'_>, at: usize, end: usize) -> Option<Found> {
    let token = text.slice(at..end);
    if !may_open(token) {
        return None;
    }
    if let Some((span, kind)) = in_parts(token) {
        return Some(Found { span: at + span.start..at + span.end, kind });
    }
    let first = token.first()?;
    let form = FORMS
        .iter()
        .filter(|form| form.prefix.as_bytes().first() == Some(first))
        .find(|form| token.starts_with(form.prefix.as_bytes()))?;
    let length = body_length(form, token.get(form.prefix.len()..)?)?;
    Some(Found { span: at..at + form.prefix.len() + length, kind: Kind::Issued(form.label) })
}

fn body_length(form: &Form, rest: &[u8]) -> Option<usize> {
    // A full stop that ends the sentence is no part of the token.
    let most = rest.iter().take(form.most + 1).take_while(|byte| form.body.holds(**byte)).count();
    let body = rest.get(..most)?;
    let length = body.iter().rposition(|byte| *byte != b'.')? + 1;
    let goes_on = rest.get(length).is_some_and(u8::is_ascii_alphanumeric);
    let shape = Shape::of(body.get(..length)?);
    let credible = match form.body {
        Body::Joined | Body::Dotted => shape.is_credible(),
        Body::Hex | Body::Capitals | Body::Plain => shape.is_varied(),
    };
    (length >= form.least && length <= form.most && !goes_on && credible).then_some(length)
}

// The parts of a JSON Web Token are JSON, so the first opens with `{"` in base64. Those of a Discord token are the
// account's number, a time and a signature.
fn in_parts(token: &[u8]) -> Option<(Range<usize>, Kind)> {
    let first = token.first()?;
    if token.starts_with(b"eyJ") {
        let [header, payload, signature] = parts(token);
        let opens = token.get(header + 1..).is_some_and(|payload| payload.starts_with(b"eyJ"));
        let long = header >= 10 && payload >= 10 && (opens || signature >= 16);
        let length = header + 1 + payload + if signature > 0 { signature + 1 } else { 0 };
        return long.then_some((0..length, Kind::JsonWebToken));
    }
    if matches!(first, b'M' | b'N' | b'O') {
        let [account, time, signature] = parts(token.get(..LONGEST_DISCORD).unwrap_or(token));
        let fits = (23..=28).contains(&account) && time == 6 && (27..=40).contains(&signature);
        let length = account + time + signature + 2;
        let random = || token.get(..length).is_some_and(|token| Shape::of(token).is_random());
        return (fits && random()).then_some((0..length, Kind::Issued(DISCORD)));
    }
    None
}

// The lengths of the first three parts between dots; 0 for what is missing.
fn parts(token: &[u8]) -> [usize; 3] {
    let mut rest = token.get(..LONGEST_PARTS).unwrap_or(token);
    [(); 3].map(|()| {
        let length = memchr::memchr(b'.', rest).unwrap_or(rest.len());
        rest = rest.get(length + 1..).unwrap_or_default();
        length
    })
}

//! Features that requests of every dialect may have: how texts, numbers and bodies are written, headers, queries, encodings.

use epitome::Dialect;

use super::case::{Case, Coding, Fate, Form, case};

/// Names, and texts as JSON writes them.
const TEXTS: &[(&str, &str)] = &[
    ("text: plain", r#""A plain text.""#),
    ("text: emoji and their parts", "\"🧭 👩‍👩‍👧‍👦 🏳️‍🌈 é e\u{301} 👍🏽\""),
    ("text: many scripts", "\"日本語 עברית العربية हिन्दी ไทย ελληνικά Ελλάς\""),
    ("text: beyond the first plane", "\"𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈 \u{10ffff}\""),
    ("text: separators of lines and words", "\"a\u{2028}b\u{2029}c\u{a0}d\u{200b}e\u{feff}f\""),
    ("text: directions and joiners", "\"\u{202e}abc\u{202c} \u{200d}\u{200e}\u{200f}\""),
    ("text: delete and C1 controls", "\"a\u{7f}b\u{85}c\u{9f}\""),
    ("text: short escapes", r#""a\tb\nc\rd\be\ff \"q\" \\ \/ end""#),
    ("text: escapes in small and large letters", r#""caf\u00e9 caf\u00E9 \u4E2D\u6587 \u4e2d""#),
    ("text: escapes of plain letters", r#""\u0041\u0062c \u003c\u003e\u0026""#),
    ("text: a surrogate pair as escapes", r#""\ud83d\ude00 and \uD83D\uDE80""#),
    ("text: escaped controls", r#""\u0000 \u0001 \u001f \u007f \u2028""#),
    ("text: half of a surrogate pair", r#""half \ud83d here, \ude00 there""#),
    ("text: JSON within", r#""{\"a\": [1, 2, {\"b\": \"c\\\"d\"}]}""#),
    ("text: looks like markup", r#""<system>\u003c/system> &amp; <![CDATA[ ]]> --> {{x}} ${y} %s %00""#),
    ("text: only spaces around words", r#""   \n\n  words  \t ""#),
];

/// Names, and members that stand before the list of messages.
const MEMBERS: &[(&str, &str)] = &[
    ("member: unknown", r#""x_of_tomorrow":{"a":[1,null,true],"b":"c"},"#),
    (
        "member: large integers",
        r#""x_number":123456789012345678901234567890,"x_least":-9223372036854775809,"#,
    ),
    ("member: numbers in odd forms", r#""x_numbers":[1.0,1.50,-0,-0.0,1E5,1e+5,1e-7,1e400,0.1e1],"#),
    ("member: twice", r#""x_twice":1,"x_twice":{"second":2},"#),
    ("member: twice within", r#""x_within":{"a":1,"a":2,"A":3},"#),
    ("member: no name", r#""":"nameless"," ":1,"#),
    ("member: escaped name", r#""x_n\u0061me\/":1,"x_\ud83d\ude00":2,"#),
    (
        "member: deeply nested",
        r#""x_deep":[[[[[[[[[[[[[[[[[[[[[[[[{"a":[[[[[[[[[[[[]]]]]]]]]]]]}]]]]]]]]]]]]]]]]]]]]]]]],"#,
    ),
    ("member: spaces within", "\"x_spaced\" : [ 1 ,\t2\r\n, { \"a\" : null } ] ,"),
    ("member: metadata", r#""metadata":{"user_id":"u-\u00fc-1"},"#),
    ("member: temperature as it is written", r#""temperature":0.30,"top_p":1.0,"#),
    ("member: null", r#""metadata":null,"x_null":null,"#),
];

/// What a case is called, and its headers.
type Named = (&'static str, &'static [(&'static str, &'static [u8])]);

const HEADERS: &[Named] = &[
    ("headers: a key", &[("x-api-key", b"sk-ant-0000-\"quoted\"")]),
    ("headers: a bearer", &[("Authorization", b"Bearer sk-0000")]),
    ("headers: odd cases of letters", &[("X-oDD-cASE", b"1"), ("x-STAINLESS-Lang", b"js")]),
    (
        "headers: one twice, in order",
        &[("x-twice", b"first"), ("x-between", b"2"), ("x-twice", b"second, third")],
    ),
    ("headers: empty", &[("x-empty", b"")]),
    ("headers: bytes beyond ASCII", &[("x-name", b"caf\xc3\xa9"), ("x-latin", b"caf\xe9")]),
    ("headers: long", &[("x-long", &[b'l'; 6_000])]),
    (
        "headers: who asks",
        &[
            ("User-Agent", b"claude-cli/2.0.1 (external, cli)"),
            ("x-app", b"cli"),
            ("x-stainless-arch", b"x64"),
            ("x-stainless-retry-count", b"0"),
            ("x-stainless-timeout", b"600"),
        ],
    ),
    (
        "headers: what is accepted",
        &[("Accept", b"application/json"), ("Accept-Encoding", b"gzip, deflate, br, zstd")],
    ),
    ("headers: a media type with more", &[("Content-Type", b"application/json; charset=UTF-8")]),
    ("headers: a session of the client's", &[("x-session-id", b"0199-aa"), ("x-session-affinity", b"s")]),
    (
        "headers: traces",
        &[
            ("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
            ("tracestate", b"a=1,b=2"),
            ("Idempotency-Key", b"stainless-node-retry-1"),
        ],
    ),
    (
        "headers: cookies and forwarding",
        &[("Cookie", b"a=1; b=\"2\""), ("X-Forwarded-For", b"10.0.0.1"), ("Via", b"1.1 p")],
    ),
];

const QUERIES: &[(&str, &str)] = &[
    ("query: a beta", "?beta=true"),
    ("query: odd", "?a=%2F%20+b&a=&c&%C3%BC=1&x=1;y=2"),
    ("query: empty", "?"),
];

/// All of them, in this dialect.
pub(crate) fn cases(dialect: Dialect) -> Vec<Case> {
    let texts = TEXTS.iter().map(|(name, text)| Case { said: exchange(dialect, text), ..case(name) });
    let members = MEMBERS.iter().map(|(name, members)| case(name).before(members));
    let headers = HEADERS.iter().map(|(name, headers)| Case { headers: headers.to_vec(), ..case(name) });
    let queries = QUERIES.iter().map(|(name, query)| Case { query, ..case(name) });
    let forms = [("body: in lines", Form::Spaced), ("body: padded", Form::Padded)];
    let forms = forms.into_iter().map(|(name, form)| Case { form, ..case(name) });
    let codings = [
        ("body: gzip", Coding::Gzip),
        ("body: deflate", Coding::Deflate),
        ("body: zstd", Coding::Zstd),
        ("body: identity", Coding::Identity),
    ];
    let codings = codings.into_iter().map(|(name, coding)| Case { coding: Some(coding), ..case(name) });
    let others = [
        Case { is_chunked: true, ..case("body: in chunks") },
        Case { is_chunked: true, coding: Some(Coding::Gzip), ..case("body: gzip in chunks") },
        case("member: behind the messages")
            .behind(r#","x_last":[1.0],"stop":null,"x_largest":18446744073709551616"#),
        case("member: streamed").before(r#""stream":true,"#),
        case("list: twice")
            .behind(match dialect {
                Dialect::Responses => r#","input":"again""#,
                _ => r#","messages":[]"#,
            })
            .fate(Fate::Passed),
    ];
    let all = texts.chain(members).chain(headers).chain(queries).chain(forms).chain(codings).chain(others);
    let usual = exchange(dialect, r#""The usual.""#);
    all.map(|case| if case.said.is_empty() { Case { said: usual.clone(), ..case } } else { case }).collect()
}

/// Something that the user says, as JSON writes it, and an answer.
pub(crate) fn exchange(dialect: Dialect, text: &str) -> Vec<String> {
    vec![user(dialect, text), assistant(dialect, r#""Seen.""#)]
}

pub(crate) fn user(dialect: Dialect, text: &str) -> String {
    match dialect {
        Dialect::Responses => {
            format!(r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":{text}}}]}}"#)
        }
        _ => format!(r#"{{"role":"user","content":{text}}}"#),
    }
}

pub(crate) fn assistant(dialect: Dialect, text: &str) -> String {
    match dialect {
        Dialect::Responses => format!(
            r#"{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":{text},"annotations":[]}}]}}"#
        ),
        _ => format!(r#"{{"role":"assistant","content":{text}}}"#),
    }
}

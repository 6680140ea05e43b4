//! What holds for every text, whatever secrets it holds.

use epitome_core::secrets::{find, masked};
use proptest::prelude::*;

use crate::support::cases;

/// What meets in texts with secrets: names, signs, escapes, quotes, values, tokens, markers.
const PIECES: &[&str] = &[
    "password",
    "PASSWORD",
    "pass",
    "token",
    "api_key",
    "secret",
    "Authorization",
    "Cookie",
    "Bearer ",
    "Basic ",
    "auth",
    "credentials",
    " is ",
    "--",
    "-u ",
    "sshpass -p",
    "mysql -p",
    "docker login -p ",
    "curl -u ",
    "redis-cli -a ",
    "htpasswd -b f u ",
    "-passin pass:",
    "IDENTIFIED BY '",
    "PASSWORD '",
    "login ann ",
    "host:5432:db:user:",
    "?token=",
    "&sig=",
    "<password>",
    "</password>",
    "Passwort ist ",
    "contraseña es ",
    "/api/webhooks/",
    "sunshine",
    "correct horse",
    "-----BEGIN ",
    "-----END ",
    "RSA PRIVATE KEY-----",
    "MIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9Oi",
    ":",
    "=",
    "==",
    ":=",
    "=>",
    "://",
    "::",
    "\"",
    "'",
    "`",
    "\\",
    "\\n",
    "\\\"",
    "\\u0022",
    "%3D",
    "@",
    "/",
    ".",
    ",",
    ", ",
    ";",
    "&",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "$",
    "${",
    "*",
    " ",
    "  ",
    "\t",
    "\n",
    "é",
    "漢",
    "✓",
    "x",
    "9",
    "hunter2",
    "k7Hq2vLp",
    "user",
    "str",
    "123456789",
    "AAF3x8Qw1rT5yU7iO9pA2sD4fG6hJ8kL0mN",
    "3x8Qw1rT5yU7iO9pA2sD",
    "9f86d081884c7d659a2feaa0c55ad015",
    "ghp_",
    "sk-",
    "AKIA",
    "Q3EGNVYXJ7RB2K5M",
    "eyJhbGciOiJIUzI1NiJ9",
    ".eyJzdWIiOiIxMjM0NTY3ODkwIn0",
    "SG.",
    "xoxb-",
    "sk-ant-",
    "hooks.slack.com/services/",
    "[secret: ",
    "[secret: password]",
    "[secret: github token]",
    "[secret: key]",
    "-",
    "_",
];

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES).prop_map(str::to_owned),
        1 => "[a-zA-Z0-9]{1,30}",
        1 => "\\PC{0,4}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(cases(2048))]

    #[test]
    fn spans_are_in_order_apart_and_on_boundaries(text in text()) {
        let mut end = 0;
        for found in find(&text) {
            prop_assert!(found.span.start >= end && found.span.start < found.span.end);
            prop_assert!(text.get(found.span.clone()).is_some());
            end = found.span.end;
        }
    }

    #[test]
    fn nothing_but_the_spans_changes(text in text()) {
        let masked = masked(&text);
        let mut rest = masked.as_ref();
        let mut copied = 0;
        for found in find(&text) {
            let marker = format!("[secret: {}]", found.kind);
            let before = &text[copied..found.span.start];
            rest = rest.strip_prefix(before).and_then(|rest| rest.strip_prefix(marker.as_str())).unwrap();
            copied = found.span.end;
        }
        prop_assert_eq!(rest, &text[copied..]);
    }

    #[test]
    fn masking_twice_is_masking_once(text in text()) {
        let once = masked(&text).into_owned();
        prop_assert_eq!(masked(&once), once.as_str());
    }

    #[test]
    fn what_stands_around_a_token_does_not_hide_it(before in "[^a-zA-Z0-9_.%\\\\-]", after in "[^a-zA-Z0-9_.-]") {
        let token = concat!("ghp", "_16C7e42F292c6912E7710c838347Ae178B4a");
        let text = format!("{before}{token}{after}");
        prop_assert!(!masked(&text).contains(token));
    }
}

//! Any input: errors, never a panic, and never bytes that were not asked for.

use epitome_core::prune::{Budget, Settings, ThinkingRule};
use epitome_core::tokens::{CharsPerFour, Counter, ImagePricing};
use epitome_wire::json::{check, elements, members, string, value};
use epitome_wire::{Body, Dialect, Piece, Pruning, Sketches, decode_message, encode_message};
use proptest::prelude::*;

use crate::bodies::body_of_all;
use crate::features;

/// Everything that reads bytes from outside.
fn read_all(text: &str) {
    let _ = Dialect::detect(text);
    let _ = Dialect::of_message(text);
    if let Ok(span) = value(text) {
        let _ = members(text, span).map_while(Result::ok).count();
        let _ = elements(text, span).map_while(Result::ok).count();
        let _ = string(text, span);
    }
    for dialect in Dialect::ALL {
        if let Ok((message, layout)) = decode_message(dialect, text) {
            assert_eq!(message.blocks.len(), layout.blocks.len());
            for json in encode_message(dialect, &message).unwrap_or_default() {
                assert!(check(&json).is_ok(), "{json}");
                assert!(decode_message(dialect, &json).is_ok(), "{json}");
            }
        }
        if let Ok(body) = Body::scan(dialect, text) {
            let kept: Vec<_> = (0..body.messages().len()).map(Piece::Keep).collect();
            assert_eq!(body.encode(&kept).unwrap(), text);
            let _ = (body.system(), body.model(), body.max_tokens(), body.stream(), body.tools_text());
            let sketches = Sketches::new(Counter::new(&CharsPerFour, ImagePricing::Anthropic), 64);
            let settings = Settings::default();
            let (budget, thinking) = (Budget::default(), ThinkingRule::Bound);
            let _ = Pruning { sketches: &sketches, settings: &settings, budget, thinking }.of(&body, &[]);
        }
    }
}

/// Texts that are nearly JSON.
fn nearly_json() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just(","),
        Just(":"),
        Just("\""),
        Just("\\"),
        Just(" "),
        Just("\n"),
        Just("null"),
        Just("true"),
        Just("fals"),
        Just("-"),
        Just("0"),
        Just("12.5e+3"),
        Just("1e"),
        Just("\"a\""),
        Just("\"role\""),
        Just("\"messages\""),
        Just("\"content\""),
        Just("\"\\ud800\""),
        Just("\"\\u00e9\\n\""),
        Just("é"),
        Just("\u{feff}"),
    ];
    proptest::collection::vec(token, 0..24).prop_map(|tokens| tokens.concat())
}

fn valid_json() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|eighths| Value::from(f64::from(eighths) / 8.0)),
        "\\PC{0,6}".prop_map(Value::from),
        Just(Value::from("\"\\\u{0}\n")),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec(("\\PC{0,4}", inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(crate::support::cases(256))]

    #[test]
    fn arbitrary_text_is_read_or_refused(text in "\\PC{0,64}") {
        read_all(&text);
    }

    #[test]
    fn text_that_is_nearly_json_is_read_as_serde_reads_it(text in nearly_json()) {
        read_all(&text);
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        prop_assert_eq!(check(&text).is_ok(), theirs);
        prop_assert!(value(&text).is_ok() || !theirs);
    }

    #[test]
    fn spans_are_the_values_that_serde_reads(json in valid_json(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&json) } else { serde_json::to_string(&json) }.unwrap();
        let span = value(&text).unwrap();
        prop_assert_eq!(span.of(&text), &text);
        let parse = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
        match &json {
            serde_json::Value::Object(map) => {
                let found: Vec<_> = members(&text, span).map(|member| {
                    let (key, span) = member.unwrap();
                    (key.into_owned(), parse(span.of(&text)))
                }).collect();
                let expected: Vec<_> = map.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
                prop_assert_eq!(found, expected);
            }
            serde_json::Value::Array(values) => {
                let found: Vec<_> = elements(&text, span).map(|span| parse(span.unwrap().of(&text))).collect();
                prop_assert_eq!(&found, values);
            }
            serde_json::Value::String(expected) => prop_assert_eq!(&*string(&text, span).unwrap(), expected),
            _ => {}
        }
    }
}

/// Bytes that change the meaning of JSON where they are put.
const POKES: [&str; 14] =
    ["", "\"", "\\", "{", "}", "[", "]", ",", ":", "0", "null", "\\ud800", "\u{feff}", "\u{1F600}"];

#[test]
fn every_mutation_of_every_feature_is_read_or_refused() {
    let mut count = 0;
    for dialect in Dialect::ALL {
        for (_, json, _) in features::of(dialect) {
            let cuts: Vec<_> = json.char_indices().map(|(at, _)| at).collect();
            for (number, at) in cuts.iter().enumerate() {
                let poke = POKES[number % POKES.len()];
                let (before, after) = json.split_at(*at);
                let rest = &after[after.chars().next().map_or(0, char::len_utf8)..];
                let mutant = match number % 3 {
                    0 => before.to_owned(),
                    1 => format!("{before}{poke}{after}"),
                    _ => format!("{before}{poke}{rest}"),
                };
                read_all(&mutant);
                count += 1;
            }
        }
    }
    assert!(count > 5_000);
}

#[test]
fn mutated_bodies_are_read_or_refused() {
    for dialect in Dialect::ALL {
        let text = body_of_all(dialect, "\n");
        let mut seed = 11_u64;
        for round in 0..60 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let mut at = (seed >> 33) as usize % text.len();
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let mutant = format!("{}{}{}", &text[..at], POKES[round % POKES.len()], &text[at..]);
            read_all(&mutant);
            read_all(&text[..at]);
        }
    }
}

#[test]
fn depth_is_limited_and_length_is_not() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        assert!(value(&nested(512)).is_ok());
        assert!(value(&nested(513)).unwrap_err().to_string().starts_with("nested deeper than 512 levels"));
        assert!(value(&nested(1_000_000)).is_err());
        read_all(&open.repeat(100_000));
    }
    let long = format!(r#"{{"role":"user","content":"{}"}}"#, r#"\""#.repeat(2_000_000));
    let (message, _) = decode_message(Dialect::Chat, &long).unwrap();
    assert_eq!(message.blocks.len(), 1);
}

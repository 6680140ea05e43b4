//! How often secrets are found in real conversations, which were published without any.

use std::collections::BTreeMap;

use epitome_core::secrets::{find, masked};
use serde_json::Value;

use crate::recorded::{collect, files, text};
use crate::support::report_use;

#[test]
fn recorded_conversations_raise_few_alarms() {
    let mut files_read = 0;
    let mut bytes = 0;
    let mut kinds = BTreeMap::<&str, usize>::new();
    for file in ["", "raw"].into_iter().flat_map(files) {
        files_read += 1;
        let text = text(&file);
        let values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        for value in values.map_while(Result::ok) {
            let mut texts = Vec::new();
            collect(&value, &mut texts);
            bytes += texts.iter().map(String::len).sum::<usize>();
            for text in &texts {
                for found in find(text) {
                    *kinds.entry(found.kind.label()).or_default() += 1;
                    println!("{}: {}", found.kind, line_around(text, found.span));
                }
                assert_eq!(masked(&masked(text)), masked(text));
            }
        }
    }
    let alarms: usize = kinds.values().sum();
    println!("{alarms} in {bytes} bytes: {kinds:?}");
    assert!(alarms * 100_000 <= bytes, "more than one alarm in 100 KB: {kinds:?}");
    report_use("secrets", files_read);
}

// For the reader of the output, who judges whether it is a secret.
fn line_around(text: &str, span: std::ops::Range<usize>) -> String {
    let start = text[..span.start].char_indices().rev().take(60).last().map_or(span.start, |(at, _)| at);
    let end = text[span.end..].char_indices().nth(20).map_or(text.len(), |(at, _)| span.end + at);
    let around = format!("{}⟦{}⟧{}", &text[start..span.start], &text[span.clone()], &text[span.end..end]);
    around.replace('\n', "⏎")
}

//! A request of an agent at work: 400 messages, about 200,000 tokens, most of them tool output.

use epitome_core::prune::{Budget, Settings, ThinkingRule};
use epitome_core::tokens::{Bpe, Counter, ImagePricing};
use epitome_wire::json::quote;
use epitome_wire::{Body, Dialect, Pruned, Pruning, Sketches};

/// Messages of the body.
pub(crate) const MESSAGES: usize = 400;

const WORDS: [&str; 24] = [
    "let",
    "result",
    "self.cache",
    "match",
    "index",
    "buffer",
    "=>",
    "return",
    "config",
    "request",
    "error",
    "Some(value)",
    "&mut",
    "parser",
    "\"token\"",
    "fn",
    "timeout",
    "->",
    "println!(\"{:?}\", state)",
    "struct",
    "0x1f",
    "'static",
    "impl",
    "tests/data\\sample.json",
];

/// Sketches with room for all of it.
pub(crate) fn sketches() -> Sketches {
    Sketches::new(Counter::new(Bpe::o200k(), ImagePricing::Anthropic), 4_096)
}

/// The whole way of a request: scan, look up, decide, prune, encode.
pub(crate) fn prune<'t>(text: &'t str, sketches: &Sketches) -> Pruned<'t> {
    let settings = &Settings::default();
    let pruning = Pruning { sketches, settings, budget: Budget::default(), thinking: ThinkingRule::Free };
    pruning.of(&Body::scan(Dialect::Anthropic, text).unwrap(), &[]).unwrap()
}

/// The least that any proxy does.
pub(crate) fn parse(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

/// A body in Anthropic's dialect.
pub(crate) fn body() -> String {
    let mut random = Random(7);
    let mut messages = vec![user(&format!("[{}]", text("Find out why the parser is slow and mend it.")))];
    for turn in 0..MESSAGES / 2 {
        let command =
            format!("sed -n '{},{}p' src/parser/mod_{turn}.rs", random.below(200), 200 + random.below(400));
        messages.push(format!(
            r#"{{"role":"assistant","content":[{},{{"type":"tool_use","id":"toolu_{turn:04}","name":"bash","input":{{"command":{}}}}}]}}"#,
            text("I will look at the next part of the code and see what it does."),
            quote(&command),
        ));
        if messages.len() < MESSAGES {
            let lines = 12 + random.below(if turn % 9 == 0 { 320 } else { 75 });
            let output = quote(&code(&mut random, lines));
            messages.push(user(&format!(
                r#"[{{"type":"tool_result","tool_use_id":"toolu_{turn:04}","content":{output}}}]"#
            )));
        }
    }
    // The last word has to be the user's.
    messages.truncate(MESSAGES - 1);
    messages.push(user(&quote("Go on.")));
    let tools = r#"[{"name":"bash","description":"Runs a command.","input_schema":{"type":"object","properties":{"command":{"type":"string"}}}}]"#;
    format!(
        r#"{{"model":"claude-sonnet-4-5","max_tokens":8192,"stream":true,"system":[{}],"tools":{tools},"messages":[{}]}}"#,
        text("You are a careful engineer."),
        messages.join(","),
    )
}

fn user(content: &str) -> String {
    format!(r#"{{"role":"user","content":{content}}}"#)
}

fn text(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, quote(text))
}

fn code(random: &mut Random, lines: usize) -> String {
    let mut out = String::new();
    for number in 0..lines {
        out.push_str(&format!("{number:>6}\t{}", "    ".repeat(random.below(5))));
        for _ in 0..2 + random.below(8) {
            out.push_str(WORDS[random.below(WORDS.len())]);
            out.push(' ');
        }
        out.push_str(";\n");
    }
    out
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

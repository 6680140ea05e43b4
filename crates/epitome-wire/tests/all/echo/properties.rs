//! Whatever a client may do to a reply leaves it the reply; whatever it may not do makes it another.

use epitome_wire::Dialect;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::find;
use crate::support::cases;

#[derive(Clone, Debug)]
enum Part {
    Said(String),
    Thought(String),
    Called(String, Value),
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        "[a-c]{1,4}( [a-c]{1,4}){0,3}".prop_map(Part::Said),
        "[a-c]{1,4}".prop_map(Part::Thought),
        ("[a-c]{2}", vec(("[ab]", 0..4), 0..3)).prop_map(|(id, input)| Part::Called(
            id,
            input.into_iter().map(|(key, value)| (key, json!(value))).collect()
        )),
    ]
}

fn anthropic(parts: &[Part]) -> Value {
    let blocks = parts.iter().map(|part| match part {
        Part::Said(text) => json!({"type": "text", "text": text}),
        Part::Thought(text) => json!({"type": "thinking", "thinking": text, "signature": text}),
        Part::Called(id, input) => json!({"type": "tool_use", "id": id, "name": "n", "input": input}),
    });
    json!({"role": "assistant", "content": blocks.collect::<Vec<_>>()})
}

/// The parts as a client may have them: with less thinking, texts split, joined and in other blanks.
fn kept(parts: &[Part], choices: &[u8]) -> Vec<Part> {
    let mut kept: Vec<Part> = Vec::new();
    let mut choices = choices.iter().copied().cycle();
    for part in parts {
        let choice = choices.next().unwrap_or(0);
        match part {
            Part::Thought(_) if choice % 2 == 0 => {}
            Part::Said(text) if choice % 3 == 0 => {
                let (one, other) = text.split_at(usize::from(choice) % text.len());
                kept.extend([Part::Said(format!(" {one}")), Part::Said(format!("{other}\n"))]);
            }
            Part::Said(text) => match kept.last_mut() {
                Some(Part::Said(last)) if choice % 3 == 1 => *last += &format!("\n\n{text}"),
                _ => kept.push(part.clone()),
            },
            part => kept.push(part.clone()),
        }
    }
    kept
}

fn words(parts: &[Part]) -> (String, Vec<String>) {
    let said = parts.iter().filter_map(|part| match part {
        Part::Said(text) => Some(text.split_whitespace().collect::<String>()),
        _ => None,
    });
    let called = parts.iter().filter_map(|part| match part {
        Part::Called(id, input) => Some(format!("{id} {input}")),
        _ => None,
    });
    (said.collect(), called.collect())
}

proptest! {
    #![proptest_config(cases(512))]

    #[test]
    fn habits_do_not_matter(parts in vec(part(), 1..6), choices in vec(any::<u8>(), 1..9)) {
        let sent = anthropic(&kept(&parts, &choices));
        let echo = find(Dialect::Anthropic, &[anthropic(&parts)], std::slice::from_ref(&sent));
        prop_assert!(echo.is_some(), "{:?} {}", parts, sent);
        let said_something = words(&parts) != words(&[]);
        prop_assert!(!said_something || echo.is_some_and(|echo| echo.length == 1 && echo.of == [Some(0)]));
    }

    #[test]
    fn other_words_and_calls_do(one in vec(part(), 1..5), other in vec(part(), 1..5)) {
        let (mut said, mut sent) = (words(&one), words(&other));
        said.1.sort();
        sent.1.sort();
        let echo = find(Dialect::Anthropic, &[anthropic(&one)], &[anthropic(&other)]);
        let is_whole = echo.is_some_and(|echo| echo.length == 1);
        prop_assert!(!is_whole || said == sent, "{:?} {:?}", one, other);
    }

    #[test]
    fn nothing_upsets_it(reply in vec(".{0,40}", 0..3), sent in vec(".{0,40}", 0..3)) {
        let (reply, sent): (Vec<&str>, Vec<&str>) =
            (reply.iter().map(String::as_str).collect(), sent.iter().map(String::as_str).collect());
        for dialect in Dialect::ALL {
            epitome_wire::echo::echo_of(dialect, &reply, &sent);
            epitome_wire::echo::echo_of_cut(dialect, &reply, &sent);
        }
    }
}

//! What code quotes and a model loses or puts in other words stands in the summary all the same, or the one by code is used.

use std::collections::HashSet;

use epitome_core::compact::{Level, Summarizer, SummaryRequest};
use epitome_core::digest::Digest;
use epitome_core::fidelity::{Context, Reading};
use epitome_core::{Block, Entry, Message, Outline, Role, Tokens, items};
use epitome_llm::summary::{Rung, Stages, Written};
use proptest::prelude::*;

use super::{GOOD, call, conversation, counter, request, result, runtime, summarizer, tokens};
use crate::upstream::{Act, Upstream};

pub(super) const LEVELS: [Level; 5] =
    [Level::Checkpoint, Level::Narrative, Level::Rolling, Level::Topic, Level::Bulk];

/// A summary that this model says something for, and the one by code, within the same room.
pub(super) fn both(
    request: &SummaryRequest<'_>,
    answers: Vec<Act>,
    window: Tokens,
) -> (String, String, Written) {
    let (upstream, runtime) = (Upstream::new(answers), runtime());
    let entry = |message| Entry { outline: Outline::of(message, &counter(), 0).into(), time: None };
    let path: Vec<Entry> = request.messages.iter().map(entry).collect();
    let count = |text: &str| tokens(text);
    let mut offline = Digest::new(&path, request.messages, &count);
    let by_code = offline.summarize(request).unwrap();
    let stages = Stages { reserve: Tokens(300), ..Stages::default() };
    let mut model = summarizer(&upstream, &runtime).window(window).stages(stages);
    let (text, written) = model.write_of(request, &mut offline, request.messages).unwrap();
    assert!(tokens(&text) <= request.max_tokens, "{} tokens: {text}", tokens(&text));
    (text, by_code, written)
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_order_in_other_words_stands_in_those_of_the_user() {
    let prose = "The user wants the date parser of the importer fixed. src/generated.rs is written by a tool and touching it is never allowed. \
        The user said the limit of bytes per line must stay at 4096. We decided to use the chrono crate because it validates dates.";
    let checkpoint = GOOD
        .replace(
            "Never touch src/generated.rs, it is written by a tool.",
            "src/generated.rs is written by a tool, never touch it.",
        )
        .replace(
            "The limit must stay at 4096 bytes per line.",
            "The limit of bytes per line must stay at 4096.",
        );
    let messages = conversation();
    for level in LEVELS {
        let answer = if level == Level::Checkpoint { checkpoint.as_str() } else { prose };
        let request = SummaryRequest { level, ..request(&messages, &[]) };
        let (text, _, written) = both(&request, vec![Act::say(answer)], Tokens(200_000));
        assert_eq!(written.rung, Rung::Whole, "{level:?} {written:?}");
        let own = if level == Level::Checkpoint {
            "**Use the chrono crate**"
        } else {
            "touching it is never allowed"
        };
        assert!(text.contains(own), "{level:?} {text}");
        for order in [
            "Never touch src/generated.rs, it is written by a tool.",
            "The limit must stay at 4096 bytes per line.",
        ] {
            assert!(text.contains(order), "{level:?} {order}: {written:?}\n{text}");
        }
    }
}

#[test]
fn names_that_only_code_has_are_taken_over() {
    let messages = conversation();
    let prose = "The user wants the date parser of the importer fixed. We decided to use the chrono crate because it validates dates.";
    for level in [Level::Narrative, Level::Rolling, Level::Topic, Level::Bulk] {
        let request = SummaryRequest { level, ..request(&messages, &[]) };
        let (text, by_code, written) = both(&request, vec![Act::say(prose)], Tokens(200_000));
        assert_eq!(written.rung, Rung::Whole, "{level:?} {written:?}");
        assert!(text.contains("wants the date parser of the importer fixed"), "{text}");
        let names =
            |text: &str| -> HashSet<String> { items::find(text).map(|item| item.text.to_owned()).collect() };
        let lost: Vec<String> = names(&by_code).difference(&names(&text)).cloned().collect();
        assert!(lost.is_empty(), "{level:?} {lost:?}\n{by_code}\n\n{text}");
    }
}

#[test]
fn where_there_is_no_room_for_both_the_summary_by_code_is_used() {
    let messages = conversation();
    let prose = "The parser in src/parser.rs reads the month from group one now, and the line limit stays. "
        .repeat(6);
    for level in [Level::Narrative, Level::Topic] {
        let request = SummaryRequest { level, max_tokens: Tokens(70), ..request(&messages, &[]) };
        let (text, by_code, written) = both(&request, vec![Act::say(&prose)], Tokens(200_000));
        assert_eq!(written.rung, Rung::Offline, "{level:?} {written:?}\n{text}");
        assert!(!text.contains("from group one now"), "{text}");
        assert!(
            text.contains("Never touch src/generated.rs, it is written by a tool."),
            "{by_code}\n\n{text}"
        );
        assert!(!written.troubles.is_empty());
    }
}

const USER: [&str; 10] = [
    "Never touch src/generated.rs, it is written by a tool.",
    "The limit must stay at 4096 bytes per line.",
    "Please look at docs/plan.md first.",
    "I need to keep order #W2378156 and at least 3 of the items.",
    "Only refund to the credit card ending in 7891.",
    "You should ask me before anything is deleted.",
    "Thanks, that works.",
    "Make sure that all tests in tests/dates.rs pass without the network.",
    "It is due on 2026-03-14.",
    "We have to use port 8443 for it.",
];
const AGENT: [&str; 6] = [
    "I read the file and found the fault in src/parser.rs.",
    "We decided to use the chrono crate because it validates dates.",
    "The build of version 2.1.0 failed with E0382.",
    "I will look at it.",
    "The tests pass now.",
    "The reservation K7X2PQ is confirmed for $1,240.",
];
const OTHERWISE: [&str; 8] = [
    "The user forbids changes to src/generated.rs.",
    "Lines may not be longer than 4096 bytes, the user says.",
    "Refunds go to the card.",
    "Everything is fine, and all work is done.",
    "The user said that the network must be used in tests/dates.rs.",
    "Port 9999 is used.",
    "The plan stands in docs/plan.md and the chrono crate validates dates.",
    "The reservation was confirmed.",
];

pub(super) fn said() -> impl Strategy<Value = Vec<Message>> {
    let sentence = |pool: &'static [&'static str]| prop::sample::select(pool);
    let user = prop::collection::vec(sentence(&USER), 1..4).prop_map(|said| (Role::User, said.join(" ")));
    let lines = prop::collection::vec(sentence(&USER), 1..4).prop_map(|said| (Role::User, said.join("\n- ")));
    let agent =
        prop::collection::vec(sentence(&AGENT), 1..3).prop_map(|said| (Role::Assistant, said.join(" ")));
    let tool = (0..40_u32)
        .prop_map(|step| (Role::Tool, format!("step {step} wrote out/{step}.txt with {} rows\n", step * 37)));
    let turn = prop_oneof![user, lines, agent, tool];
    prop::collection::vec(turn, 8..30).prop_map(|turns| {
        let mut messages = vec![Message::text(Role::User, "Please repair the importer for me.")];
        for (number, (role, text)) in turns.into_iter().enumerate() {
            let id = format!("c{number}");
            match role {
                Role::Tool => {
                    messages.extend([call(&id, r#"{"command":"make step"}"#), result(&id, &text.repeat(6))])
                }
                role => messages.push(Message::text(role, text)),
            }
        }
        messages
    })
}

fn answer(level: Level, said: &[&str]) -> String {
    match level {
        Level::Checkpoint => {
            let items: Vec<String> = said.iter().map(|said| format!("- {said}")).collect();
            let (first, rest) = items.split_at(items.len() / 2);
            format!(
                "## Goal\nRepair the importer.\n\n## Constraints & Preferences\n{}\n\n## Critical Context\n{}",
                first.join("\n"),
                rest.join("\n")
            )
        }
        _ => said.join(" "),
    }
}

// All sentences and lines of the user's.
fn words(messages: &[Message]) -> Vec<String> {
    let users = messages.iter().filter(|message| message.role == Role::User);
    let texts = users.flat_map(|message| &message.blocks).filter_map(|block| match block {
        Block::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    let sentences = texts.flat_map(|text| text.split_inclusive(". ")).flat_map(str::lines);
    sentences.map(|sentence| flat(sentence.trim_start_matches("- "))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn nothing_of_the_users_that_code_quotes_is_lost(
        messages in said(),
        level in prop::sample::select(LEVELS.to_vec()),
        room in 60_u64..500,
        window in prop::sample::select(vec![1_500_u64, 200_000]),
        said in prop::collection::vec(prop::collection::vec(prop::sample::select([&OTHERWISE[..], &AGENT, &USER].concat()), 1..14), 1..4),
    ) {
        let answers = said.iter().map(|said| Act::say(&answer(level, said))).collect();
        let request = SummaryRequest { level, max_tokens: Tokens(room), ..request(&messages, &[]) };
        let (text, by_code, written) = both(&request, answers, Tokens(window));
        if written.rung == Rung::Offline {
            return Ok(());
        }
        let (ours, theirs) = (flat(&text), flat(&by_code));
        for sentence in words(&messages) {
            prop_assert!(ours.contains(&sentence) || !theirs.contains(&sentence), "{sentence}\n{by_code}\n\n{text}");
        }
        // The same by the questions of the eval, which shares no rule with what writes summaries.
        let longer = [&messages[..], &[Message::text(Role::Assistant, "I go on.")]].concat();
        let exam = Reading::of(None, &longer).exam(messages.len());
        let kept = |text: &str| exam.score(&Context { texts: vec![text.to_owned()], tokens: tokens(text) }).constraints.kept;
        prop_assert!(kept(&text) >= kept(&by_code), "{by_code}\n\n{text}");
    }
}

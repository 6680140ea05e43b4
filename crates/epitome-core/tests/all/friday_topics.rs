//! Conformance with ADR 033: where topics end, and what is sent of them.

use epitome_core::compact::{
    Compaction, LeadingSentences, Level, Limits, Outcome, Segment, Strategy as _, Tiered,
};
use epitome_core::topics::{CompressedContext, Fraction, TopicSettings};
use epitome_core::{Message, Role, Tokens};

use crate::friday_tiers::{BUDGET, Talkative, count, friday, outcome, planned, run, seen, shape, topics};
use crate::support::*;

#[test]
fn a_topic_above_60_percent_of_its_allocation_is_sealed_and_summarised() {
    let messages: Vec<Message> = (0..4)
        .flat_map(|number| [user(&format!("question {number}?")), assistant(&output(2_200))])
        .chain([user("and?")])
        .collect();
    let path = path(&messages);
    let exchange: Tokens = path[..2].iter().map(|entry| entry.outline.tokens).sum();
    assert!(exchange < Tokens(1_200) && exchange + exchange > Tokens(1_200), "{exchange}");
    let compaction = run(planned(&friday(), &messages, BUDGET, None), &messages, &mut LeadingSentences);
    assert_eq!(shape(&compaction.segments), "topic 0..4 | topic 4..8 | kept 8..9");
}

#[test]
fn silence_and_seals_end_topics_too() {
    let mut messages = vec![
        at(user("one?"), 0),
        at(assistant(&output(2_600)), 1),
        at(user("two?"), 40),
        at(assistant(&output(2_600)), 41),
        at(user("three?"), 42),
        at(assistant(&output(800)), 43),
    ];
    let settings =
        TopicSettings { topic_token_threshold: Fraction::percent(100), ..TopicSettings::default() };
    let tiered = Tiered { settings, seals: vec![4], ..friday() };
    let compaction = run(planned(&tiered, &messages, BUDGET, None), &messages, &mut LeadingSentences);
    assert_eq!(shape(&compaction.segments), "topic 0..2 | topic 2..4 | kept 4..6");
    messages.push(at(user("four?"), 44));
    let sealed = Tiered { seals: vec![4, 6], ..tiered };
    assert!(matches!(outcome(&sealed, &messages, BUDGET, Some(&compaction)), Outcome::Nothing(_)));
}

#[test]
fn the_context_has_the_adrs_shape() {
    let messages = [vec![Message::text(Role::System, output(500))], topics(10, 3_000)].concat();
    let compaction = run(planned(&friday(), &messages, BUDGET, None), &messages, &mut Talkative::default());
    let path = path(&messages);
    let context = CompressedContext::of(&compaction, &path, &messages, &count);
    assert_eq!(context.current_topic, [21]);
    let ranges: Vec<_> = context.bulk_archives.iter().map(|bulk| bulk.range.clone()).collect();
    assert_eq!(ranges, [1..7, 7..13]);
    let ranges: Vec<_> = context.historical_topics.iter().map(|topic| topic.range.clone()).collect();
    assert_eq!(ranges, [13..15, 15..17, 17..19, 19..21]);
    assert!(context.historical_topics.iter().all(|topic| topic.tokens <= Tokens(200)));
    assert!(context.bulk_archives.iter().all(|bulk| bulk.tokens <= Tokens(300)));
    assert_eq!(context.total_tokens, seen(&compaction, &messages).1);
    let before: Tokens = path[1..].iter().map(|entry| entry.outline.tokens).sum();
    let ratio = before.0 as f64 / context.total_tokens.0 as f64;
    assert!((context.compression_ratio - ratio).abs() < 1e-9 && ratio > 4.0, "{ratio}");

    let untouched = CompressedContext::of(&Compaction::verbatim(messages.len()), &path, &messages, &count);
    assert_eq!(untouched.current_topic, (1..messages.len()).collect::<Vec<_>>());
    assert!((untouched.compression_ratio - 1.0).abs() < 1e-9);
}

#[test]
fn an_exchange_too_large_by_itself_keeps_its_request_and_its_newest_turns() {
    let outputs: Vec<String> = (0..40).map(|number| format!("{number}\n{}", output(1_500))).collect();
    let messages = tool_loop(outputs.iter().map(String::as_str));
    let compaction = run(planned(&friday(), &messages, BUDGET, None), &messages, &mut LeadingSentences);
    let shape = shape(&compaction.segments);
    assert!(shape.starts_with("kept 0..1 | "), "{shape}");
    let last = compaction.segments.last().unwrap();
    assert!(
        matches!(last, Segment::Verbatim { range } if range.len() >= 2 && range.end == messages.len()),
        "{shape}"
    );
    assert_eq!(messages[last.range().start].role, Role::Assistant, "no call is parted from its result");
    assert!(seen(&compaction, &messages).1 <= BUDGET);

    let longer = [messages, tool_loop(outputs[..20].iter().map(String::as_str)).split_off(1)].concat();
    let again = run(planned(&friday(), &longer, BUDGET, Some(&compaction)), &longer, &mut LeadingSentences);
    assert!(
        matches!(&again.segments[0], Segment::Verbatim { range } if *range == (0..1)),
        "still about that request"
    );
    assert!(seen(&again, &longer).1 <= BUDGET);
}

#[test]
fn pins_stay_whatever_happens() {
    let messages = topics(12, 3_000);
    let path = path(&messages);
    let pins = [2, 9];
    let plan = |previous| match friday().plan(
        &path,
        &messages,
        &Limits { budget: BUDGET, pins: &pins, previous, ..Limits::default() },
    ) {
        Outcome::Compact(plan) => plan,
        Outcome::Nothing(why) => panic!("{why}"),
    };
    let pinned = |compaction: &Compaction| {
        let (view, tokens) = seen(compaction, &messages);
        let shown = view.messages(&messages);
        assert!(pins.iter().all(|pin| shown.contains(&messages[*pin])));
        assert!(tokens <= BUDGET, "{tokens}");
    };
    pinned(&run(plan(None), &messages, &mut Talkative::default()));
    let unpinned = run(planned(&friday(), &messages, BUDGET, None), &messages, &mut Talkative::default());
    pinned(&run(plan(Some(&unpinned)), &messages, &mut Talkative::default()));
}

#[test]
fn a_summary_of_another_strategy_is_taken_over_as_it_is() {
    let messages = topics(3, 2_000);
    let checkpoint =
        Segment::Summary { range: 0..2, text: "Goal: a report".to_owned(), level: Level::Checkpoint };
    let previous = Compaction {
        segments: vec![checkpoint.clone(), Segment::Verbatim { range: 2..7 }],
        ..Compaction::verbatim(0)
    };
    let compaction =
        run(planned(&friday(), &messages, Tokens(3_000), Some(&previous)), &messages, &mut LeadingSentences);
    assert_eq!(shape(&compaction.segments), "summary 0..2 | topic 2..4 | topic 4..6 | kept 6..7");
    assert_eq!(compaction.segments[0], checkpoint);
}

#[test]
fn pins_that_take_most_of_the_budget_leave_less_for_the_current_topic() {
    let messages = [user("long ago"), assistant(&output(3_000)), user(&output(1_500)), user(&output(500))];
    let path = path(&messages);
    let limits = Limits { budget: Tokens(0), pins: &[1], previous: None, ..Limits::default() };
    let budget = friday().minimum(&path, &limits);
    let Outcome::Compact(plan) = friday().plan(&path, &messages, &Limits { budget, ..limits }) else {
        panic!()
    };
    let compaction = run(plan, &messages, &mut LeadingSentences);
    assert!(seen(&compaction, &messages).1 <= budget, "{}", shape(&compaction.segments));
}

//! Conformance with ADR 033: three tiers, their shares, and the order of the escalation.

use std::ops::Range;

use epitome_core::compact::{
    Compaction, Due, LeadingSentences, Level, Limits, Outcome, Plan, Planned, Segment, Strategy as _,
    Summarizer, SummaryError, SummaryRequest, SystemPlace, Tiered, View, check_tiling, view, view_tokens,
};
use epitome_core::prune::{Mark, TRUNCATED};
use epitome_core::topics::{Fraction, TopicSettings};
use epitome_core::{Chars, Message, Role, Tokens};

use crate::support::*;

pub(crate) const BUDGET: Tokens = Tokens(4_000);

pub(crate) fn count(text: &str) -> Tokens {
    counter().text(text)
}

/// As the ADR has it: a tier that exceeds its share is compressed, even if the whole would fit.
pub(crate) fn friday() -> Tiered<'static> {
    Tiered { due: Due::OverShare, ..Tiered::new(TopicSettings::default(), &count) }
}

/// Writes far more than it may, and keeps what it was asked.
#[derive(Default)]
pub(crate) struct Talkative {
    asked: Vec<(Range<usize>, Vec<String>, Level, Tokens)>,
}

impl Summarizer for Talkative {
    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        let fresh = request.first..request.first + request.messages.len();
        self.asked.push((fresh, request.previous.to_vec(), request.level, request.max_tokens));
        let number = self.asked.len();
        Ok((0..3_000).map(|word| format!("summary {number} word {word} ")).collect())
    }
}

pub(crate) fn outcome(
    tiered: &Tiered<'_>,
    messages: &[Message],
    budget: Tokens,
    previous: Option<&Compaction>,
) -> Outcome {
    tiered.plan(&path(messages), messages, &Limits { budget, pins: &[], previous, ..Limits::default() })
}

pub(crate) fn planned(
    tiered: &Tiered<'_>,
    messages: &[Message],
    budget: Tokens,
    previous: Option<&Compaction>,
) -> Plan {
    match outcome(tiered, messages, budget, previous) {
        Outcome::Compact(plan) => plan,
        Outcome::Nothing(why) => panic!("{why}"),
    }
}

pub(crate) fn run(plan: Plan, messages: &[Message], summarizer: &mut dyn Summarizer) -> Compaction {
    let compaction = plan.run(messages, summarizer, &count);
    check_tiling(&compaction.segments, messages.len()).unwrap();
    compaction
}

pub(crate) fn seen(compaction: &Compaction, messages: &[Message]) -> (View, Tokens) {
    let path = path(messages);
    let view = view(compaction, &path, messages, SystemPlace::Outside);
    let tokens = view_tokens(&view, &path, &count);
    (view, tokens)
}

/// What a compaction is, in short: `omitted 0..6 | bulk 6..12 | topic 12..14 | kept 14..18`.
pub(crate) fn shape(segments: &[Segment]) -> String {
    let one = |segment: &Segment| {
        let Range { start, end } = segment.range();
        let kind = match segment {
            Segment::Verbatim { .. } => "kept",
            Segment::Pruned { .. } => "cut",
            Segment::Omitted { .. } => "omitted",
            Segment::Summary { level: Level::Topic, .. } => "topic",
            Segment::Summary { level: Level::Bulk, .. } => "bulk",
            Segment::Summary { .. } => "summary",
        };
        format!("{kind} {start}..{end}")
    };
    segments.iter().map(one).collect::<Vec<_>>().join(" | ")
}

/// Announced topics of two messages each, and a last one that is going on.
pub(crate) fn topics(count: usize, chars: usize) -> Vec<Message> {
    let topic = |number: usize| [user(&format!("New topic. Number {number}?")), assistant(&output(chars))];
    (0..count).flat_map(topic).chain([user("New topic. And now?")]).collect()
}

pub(crate) fn kinds(plan: &Plan, kind: fn(&Planned) -> bool) -> usize {
    plan.parts.iter().filter(|part| kind(part)).count()
}

pub(crate) fn is_task(part: &Planned) -> bool {
    matches!(part, Planned::Summary(_))
}

#[test]
fn the_numbers_are_those_of_the_adr() {
    let settings = TopicSettings::default();
    assert_eq!(settings.current_topic_share, Fraction::percent(50));
    assert_eq!(settings.historical_topics_share, Fraction::percent(30));
    assert_eq!(settings.bulk_archives_share, Fraction::percent(20));
    assert_eq!(settings.max_message_chars, Chars(2_000));
    assert_eq!(settings.topic_summary_tokens, Tokens(200));
    assert_eq!(settings.bulk_summary_tokens, Tokens(300));
    assert_eq!(settings.bulk_merge_size, 3);
    assert_eq!(settings.silence_minutes, 30);
    assert_eq!(settings.topic_token_threshold, Fraction::percent(60));
    assert_eq!(settings.seal_above(Tokens(10_000)), Tokens(3_000), "60 % of 50 %");
}

#[test]
fn the_adrs_names_are_understood() {
    let adr = r#"{"currentTopic": 0.4, "historicalTopics": 0.3, "bulkArchives": 0.2, "maxMessageChars": 1000,
        "topicSummaryTokens": 100, "bulkSummaryTokens": 150, "bulkMergeSize": 4, "silenceMinutes": 45,
        "tokenThreshold": 0.7}"#;
    let settings: TopicSettings = serde_json::from_str(adr).unwrap();
    assert_eq!(settings.validate(), Ok(()));
    assert_eq!(settings.current_topic_share, Fraction::percent(40));
    assert_eq!((settings.bulk_merge_size, settings.silence_minutes), (4, 45));
    assert_eq!(settings.topic_token_threshold, Fraction::percent(70));
}

#[test]
fn no_compression_is_applied_while_every_tier_has_room() {
    let messages = topics(3, 700);
    assert!(matches!(outcome(&friday(), &messages, BUDGET, None), Outcome::Nothing(_)));
    assert!(matches!(outcome(&friday(), &[], BUDGET, None), Outcome::Nothing(_)));
    let system = [Message::text(Role::System, output(90_000))];
    assert!(matches!(outcome(&friday(), &system, BUDGET, None), Outcome::Nothing(_)));
}

#[test]
fn by_default_nothing_happens_while_the_whole_fits() {
    let messages = topics(3, 3_000);
    let whole: Tokens = path(&messages).iter().map(|entry| entry.outline.tokens).sum();
    let tiered = Tiered::new(TopicSettings::default(), &count);
    assert!(matches!(outcome(&tiered, &messages, whole, None), Outcome::Nothing(_)));
    assert!(matches!(outcome(&tiered, &messages, Tokens(whole.0 - 1), None), Outcome::Compact(_)));
}

#[test]
fn step_1_large_messages_of_the_current_topic_are_truncated() {
    let messages = [
        user("what is in it?"),
        assistant(&output(3_500)),
        user("look again"),
        call("bash", "1"),
        result("1", &output(7_000)),
        assistant("there"),
    ];
    let plan = planned(&friday(), &messages, BUDGET, None);
    assert_eq!(kinds(&plan, is_task), 0, "nothing is summarised");
    let compaction = run(plan, &messages, &mut LeadingSentences);
    assert_eq!(shape(&compaction.segments), "cut 0..6");
    let Segment::Pruned { marks, .. } = &compaction.segments[0] else { panic!() };
    let marks: Vec<_> = marks.iter().map(|marked| (marked.message, marked.mark)).collect();
    let trim = Mark::Trim { head: Chars(1_000), tail: Chars(1_000) };
    assert_eq!(marks, [(1, Mark::Truncate { keep: Chars(2_000) }), (4, trim)]);
    let (view, tokens) = seen(&compaction, &messages);
    let shown = view.messages(&messages);
    assert!(result_texts(&shown)[0].len() < 2_200);
    let epitome_core::Block::Text(text) = &shown[1].blocks[0] else { panic!() };
    assert!(text.text.starts_with(&output(3_500)[..2_000]) && text.text.contains(TRUNCATED));
    assert!(tokens <= Tokens(2_000), "the current topic is within its half: {tokens}");
    assert!(matches!(outcome(&friday(), &messages, BUDGET, Some(&compaction)), Outcome::Nothing(_)));
}

#[test]
fn step_2_sealed_topics_become_summaries_of_about_200_tokens() {
    let messages = topics(2, 3_000);
    let plan = planned(&friday(), &messages, BUDGET, None);
    let mut talkative = Talkative::default();
    let compaction = run(plan, &messages, &mut talkative);
    assert_eq!(shape(&compaction.segments), "topic 0..2 | topic 2..4 | kept 4..5");
    for (number, (fresh, previous, level, most)) in talkative.asked.iter().enumerate() {
        assert_eq!((fresh.clone(), previous.len(), *level), (2 * number..2 * number + 2, 0, Level::Topic));
        assert_eq!(*most, Tokens(200));
    }
    for segment in &compaction.segments {
        if let Segment::Summary { text, .. } = segment {
            let tokens = count(text);
            assert!((Tokens(150)..=Tokens(200)).contains(&tokens), "{tokens}");
        }
    }
}

#[test]
fn step_2_waits_until_the_historical_tier_exceeds_its_share() {
    let share = Tokens(1_200);
    let within = topics(2, 1_800);
    let sealed: Tokens = path(&within[..4]).iter().map(|entry| entry.outline.tokens).sum();
    assert!(sealed <= share);
    assert!(matches!(outcome(&friday(), &within, BUDGET, None), Outcome::Nothing(_)));
    let beyond = topics(3, 1_800);
    assert_eq!(kinds(&planned(&friday(), &beyond, BUDGET, None), is_task), 3);
}

#[test]
fn step_3_the_3_oldest_topics_are_merged_into_a_bulk_of_about_300_tokens() {
    // 30 % of 4,000 hold five summaries of 200.
    let five = topics(5, 3_000);
    let mut talkative = Talkative::default();
    let first = run(planned(&friday(), &five, BUDGET, None), &five, &mut talkative);
    assert_eq!(
        shape(&first.segments),
        "topic 0..2 | topic 2..4 | topic 4..6 | topic 6..8 | topic 8..10 | kept 10..11"
    );

    let six = topics(6, 3_000);
    let plan = planned(&friday(), &six, BUDGET, Some(&first));
    talkative.asked.clear();
    let second = run(plan, &six, &mut talkative);
    assert_eq!(shape(&second.segments), "bulk 0..6 | topic 6..8 | topic 8..10 | topic 10..12 | kept 12..13");
    let texts: Vec<String> = first.segments.iter().take(3).filter_map(summary).collect();
    assert_eq!(
        talkative.asked[0],
        (6..6, texts, Level::Bulk, Tokens(300)),
        "from the summaries, not from the messages"
    );
    assert_eq!(talkative.asked.len(), 2, "one bulk, one new topic");
    assert_eq!(second.segments[1..3], first.segments[3..5], "what is not merged is not written again");
    let bulk = count(&summary(&second.segments[0]).unwrap());
    assert!((Tokens(250)..=Tokens(300)).contains(&bulk), "{bulk}");
}

fn summary(segment: &Segment) -> Option<String> {
    match segment {
        Segment::Summary { text, .. } => Some(text.clone()),
        _ => None,
    }
}

#[test]
fn step_3_is_repeated_until_the_tier_fits() {
    let messages = topics(10, 3_000);
    let compaction = run(planned(&friday(), &messages, BUDGET, None), &messages, &mut Talkative::default());
    assert_eq!(
        shape(&compaction.segments),
        "bulk 0..6 | bulk 6..12 | topic 12..14 | topic 14..16 | topic 16..18 | topic 18..20 | kept 20..21"
    );
}

#[test]
fn step_4_the_oldest_bulk_is_dropped_from_the_view_and_only_from_it() {
    // 20 % of 4,000 hold two bulks of 300.
    let messages = topics(13, 3_000);
    let compaction = run(planned(&friday(), &messages, BUDGET, None), &messages, &mut Talkative::default());
    assert_eq!(
        shape(&compaction.segments),
        "omitted 0..6 | bulk 6..12 | bulk 12..18 | topic 18..20 | topic 20..22 | topic 22..24 | topic 24..26 | kept 26..27"
    );
    assert!(seen(&compaction, &messages).1 <= BUDGET);
    let (all, _) = seen(&compaction.expanded(0..messages.len()), &messages);
    assert_eq!(all.messages(&messages), messages, "nothing is deleted");
}

#[test]
fn a_growing_conversation_shows_the_tiers_in_order() {
    let mut messages = vec![Message::text(Role::System, "be brief")];
    let mut force: Option<Compaction> = None;
    let mut order: Vec<&str> = Vec::new();
    let (mut bulks_gone, mut merges) = (0, 0);
    for turn in 0..60 {
        messages.push(at(user(&format!("question number {turn} about the report?")), turn * 2));
        messages.push(at(assistant(&output(900 + turn as usize * 10)), turn * 2 + 1));
        let mut talkative = Talkative::default();
        if let Outcome::Compact(plan) = outcome(&friday(), &messages, BUDGET, force.as_ref()) {
            let compaction = run(plan, &messages, &mut talkative);
            for (_, previous, level, _) in &talkative.asked {
                let merged = *level == Level::Bulk;
                merges += usize::from(merged);
                assert!(merged || previous.is_empty(), "a topic is summarised once");
                assert!(!merged || previous.len() == 3, "topics are merged by three");
            }
            assert_kept_texts(force.as_ref(), &compaction);
            for segment in &compaction.segments {
                let kind = match segment {
                    Segment::Summary { level: Level::Topic, .. } => "topic",
                    Segment::Summary { level: Level::Bulk, .. } => "bulk",
                    Segment::Omitted { .. } => "omitted",
                    _ => continue,
                };
                if !order.contains(&kind) {
                    order.push(kind);
                }
            }
            let first = compaction.segments.get(1).unwrap();
            if let Segment::Omitted { range, .. } = first {
                assert_eq!(range.start, 1, "only the oldest is dropped");
                bulks_gone += 1;
            }
            force = Some(compaction);
        }
        if let Some(compaction) = &force {
            let (_, tokens) = seen(compaction, &messages);
            assert!(tokens <= BUDGET, "turn {turn}: {tokens}");
        }
    }
    assert_eq!(order, ["topic", "bulk", "omitted"]);
    assert!(merges >= 3 && bulks_gone >= 1, "{merges} merges, {bulks_gone} drops");
}

// Every summary of the same level and range reads as before.
fn assert_kept_texts(before: Option<&Compaction>, after: &Compaction) {
    let Some(before) = before else { return };
    for old in &before.segments {
        let same = after.segments.iter().find(|new| {
            new.range() == old.range()
                && matches!((old, new), (Segment::Summary { .. }, Segment::Summary { .. }))
        });
        assert!(same.is_none_or(|new| new == old));
    }
}

//! Compactions that go on: cascades of summaries, parts that are shown again, summaries found in messages.

use epitome_core::Tokens;
use epitome_core::compact::{
    Compaction, Decision, LeadingSentences, Planned, Preset, Request, Segment, StrategyName, dry_run,
    in_force,
};

use crate::compaction::*;
use crate::strategies::{count, settings};
use crate::support::*;

fn summaries(compaction: &Compaction) -> Vec<(usize, &str)> {
    let summary = |segment: &'_ Segment| match segment {
        Segment::Summary { range, .. } => Some(range.len()),
        _ => None,
    };
    let texts = compaction.segments.iter().filter_map(|segment| match segment {
        Segment::Summary { text, .. } => Some(text.as_str()),
        _ => None,
    });
    compaction.segments.iter().filter_map(summary).zip(texts).collect()
}

#[test]
fn a_long_session_becomes_a_cascade_of_summaries() {
    for strategy in [StrategyName::Rolling, StrategyName::Checkpoint, StrategyName::Auto] {
        let mut settings = settings(strategy);
        settings.compact.summary_token_budget = Tokens(2_000);
        settings.compact.summary_cascade = true;
        let messages = chat(400, 500);
        let request = Request { budget: Some(Tokens(30_000)), ..asked(&settings) };
        let plan =
            dry_run(&path(&messages), &messages, &request, &mut LeadingSentences, &count).plan.unwrap();
        let tasks: Vec<(usize, u64)> = plan
            .parts
            .iter()
            .filter_map(|part| match part {
                Planned::Summary(task) => Some((task.range.len(), task.max_tokens.0)),
                Planned::Segment(_) => None,
            })
            .collect();
        assert!(tasks.len() > 2, "{strategy:?}: {tasks:?}");
        // What `auto` gives its summaries is what recent messages leave, up to an eighth of what they stand for.
        let most = if strategy == StrategyName::Auto { 25_000 } else { 2_000 };
        assert!(tasks.iter().map(|(_, most)| most).sum::<u64>() <= most, "{tasks:?}");
        assert!(
            tasks.is_sorted_by(|older, newer| older.0 >= newer.0),
            "the older, the more briefly: {tasks:?}"
        );
        settings.compact.summary_cascade = false;
        let request = Request { budget: Some(Tokens(30_000)), ..asked(&settings) };
        let done = run(&messages, &request, &mut Scribe::new("so far")).compaction.unwrap();
        assert_eq!(summaries(&done).len(), 1, "it must be asked for");
    }
}

#[test]
fn summaries_of_a_cascade_stay_until_their_group_is_full() {
    let mut settings = settings(StrategyName::Rolling);
    settings.compact.summary_token_budget = Tokens(400);
    settings.compact.summary_cascade = true;
    let mut messages = chat(20, 100);
    let mut previous: Option<Compaction> = None;
    let (mut kept, mut merged) = (0, 0);
    for round in 0..12 {
        let request = Request { previous: previous.as_ref(), ..asked(&settings) };
        let mut scribe = Scribe::new(&format!("round {round} {}", words(90)));
        let done = run(&messages, &request, &mut scribe).compaction.unwrap();
        let before: Vec<&str> = previous.iter().flat_map(summaries).map(|(_, text)| text).collect();
        kept += summaries(&done).iter().filter(|(_, text)| before.contains(text)).count();
        merged += scribe.asked.iter().filter(|asked| asked.previous.len() > 1).count();
        let all: u64 = summaries(&done).iter().map(|(_, text)| count(text).0).sum();
        assert!(all <= 400, "{all} in round {round}: {}", shape(&done));
        messages.extend(chat(14, 100));
        previous = Some(done);
    }
    assert!(kept > 10, "what is written is not written again: {kept}");
    assert!(merged > 2, "summaries of summaries: {merged}");
}

#[test]
fn a_part_can_be_shown_again_beside_its_summary() {
    let settings = settings(StrategyName::Rolling);
    let messages = chat(20, 100);
    let compaction = run(&messages, &asked(&settings), &mut Scribe::new("so far")).compaction.unwrap();
    let cases = [
        (0..20, "V0..20"),
        (14..20, "S0..14 V14..20"),
        (10..12, "S0..10 V10..12 O12..14 V14..20"),
        (12..20, "S0..12 V12..20"),
        (0..4, "V0..4 S4..14 V14..20"),
        (5..5, "S0..14 V14..20"),
        (15..99, "S0..14 V14..20"),
    ];
    for (range, expected) in cases {
        let revealed = compaction.revealed(&path(&messages), range.clone());
        assert_eq!(shape(&revealed), expected, "{range:?}");
    }
}

#[test]
fn a_call_is_shown_again_with_its_result() {
    let messages =
        [vec![user("go")], tool_loop(["one", "two"]).split_off(1), vec![assistant("done"), user("and now?")]]
            .concat();
    let calls = messages.iter().position(|message| message.role == epitome_core::Role::Assistant).unwrap();
    let hidden = Segment::Omitted { range: 0..messages.len() - 1, note: "gone".to_owned() };
    let last = Segment::Verbatim { range: messages.len() - 1..messages.len() };
    let compaction = Compaction { segments: vec![hidden, last], ..Compaction::verbatim(0) };
    let revealed = compaction.revealed(&path(&messages), calls..calls + 1);
    assert!(shape(&revealed).contains(&format!("V{calls}..{}", calls + 2)), "{}", shape(&revealed));
}

#[test]
fn a_summary_among_the_messages_is_a_summary_again() {
    for preset in [None, Some(Preset::Nous), Some(Preset::NousDraft), Some(Preset::Friday)] {
        let mut settings = preset.map_or_else(|| settings(StrategyName::Checkpoint), Preset::settings);
        settings.compact.compaction_threshold = None;
        let request = Request { budget: Some(Tokens(3_000)), ..asked(&settings) };
        let messages = chat(40, 400);
        let first = run(&messages, &request, &mut Scribe::new(&checkpoint("Port it."))).compaction.unwrap();
        let mut sent = seen(&first, &messages);
        let found = in_force(&path(&sent), &sent, &settings).unwrap_or_else(|| panic!("{preset:?}"));
        assert_eq!(seen(&found, &sent), sent, "{preset:?}: it shows what is there");
        let again = Request { previous: Some(&found), ..request };
        assert_eq!(run(&sent, &again, &mut Broken).report.decision, Decision::Nothing, "{preset:?}");
        let mut filed = sent.clone();
        filed.iter_mut().zip(0..).for_each(|(message, id)| message.meta.id = Some(format!("m{id}")));
        assert_eq!(in_force(&path(&filed), &filed, &settings), Some(found), "{preset:?}: as a file has it");

        sent.extend(chat(30, 400).into_iter().skip(usize::from(sent.len() % 2 == 1)));
        let found = in_force(&path(&sent), &sent, &settings).unwrap();
        let again = Request { previous: Some(&found), ..request };
        let mut scribe = Scribe::new(&checkpoint("Port it."));
        let second = run(&sent, &again, &mut scribe).compaction.unwrap();
        let previous: Vec<&String> = scribe.asked.iter().flat_map(|asked| &asked.previous).collect();
        let kept = second
            .segments
            .iter()
            .filter(|segment| {
                first
                    .segments
                    .iter()
                    .any(|old| summary_of(old).is_some() && summary_of(old) == summary_of(segment))
            })
            .count();
        assert!(
            previous.iter().any(|text| text.contains("Port it.")) || kept > 0,
            "{preset:?}: {previous:?}"
        );
    }
}

fn summary_of(segment: &Segment) -> Option<&str> {
    match segment {
        Segment::Summary { text, .. } => Some(text),
        _ => None,
    }
}

#[test]
fn summaries_between_messages_are_found_too() {
    let settings = settings(StrategyName::Rolling);
    for pins in [&[0_usize][..], &[3], &[0, 7, 8], &[5, 11]] {
        let messages = chat(20, 100);
        let request = Request { pins, ..asked(&settings) };
        let first = run(&messages, &request, &mut Scribe::new("so far")).compaction.unwrap();
        let sent = seen(&first, &messages);
        let found = in_force(&path(&sent), &sent, &settings).unwrap();
        assert_eq!(seen(&found, &sent), sent, "{pins:?}");
        assert_eq!(summaries(&found).len(), summaries(&first).len(), "{pins:?}: {}", shape(&found));
    }
}

#[test]
fn a_summary_among_what_is_summarised_is_merged_and_not_told() {
    let settings = settings(StrategyName::Rolling);
    let words = settings.compact.wording().around("what came before");
    let mut messages = vec![user("Port it."), assistant("[Earlier messages omitted]"), user(&words)];
    messages.extend(chat(20, 100).into_iter().skip(1));
    let mut scribe = Scribe::new("so far");
    run(&messages, &asked(&settings), &mut scribe).compaction.unwrap();
    assert_eq!(scribe.asked.len(), 1);
    assert_eq!(scribe.asked[0].previous, ["what came before"]);
    let mut plain = LeadingSentences;
    let done = run(&messages, &asked(&settings), &mut plain).compaction.unwrap();
    let text = summaries(&done)[0].1;
    assert!(text.contains("what came before") && text.contains("Port it."), "{text}");
    assert!(!text.contains("omitted") && !text.contains("A record of earlier work"), "{text}");
}

#[test]
fn what_only_looks_like_a_summary_is_none() {
    let settings = settings(StrategyName::Checkpoint);
    for text in ["[Previous conversation summary]", "I said: [Conversation Summary]\nno", "hello", ""] {
        let messages = [user(text), assistant("yes"), user("go on")];
        assert_eq!(in_force(&path(&messages), &messages, &settings), None, "{text:?}");
    }
    let messages = [assistant("[Conversation Summary]\nso far"), user("go on")];
    assert_eq!(in_force(&path(&messages), &messages, &settings), None, "the assistant has none");
    assert_eq!(in_force(&[], &[], &settings), None);
}

#[test]
fn what_a_new_checkpoint_loses_is_reported() {
    let settings = settings(StrategyName::Checkpoint);
    let request = Request { budget: Some(Tokens(3_000)), ..asked(&settings) };
    let mut messages = chat(40, 400);
    let first = run(&messages, &request, &mut Scribe::new(&checkpoint("Port it."))).compaction.unwrap();
    messages.extend(chat(30, 400));
    let again = Request { previous: Some(&first), ..request };
    let same = run(&messages, &again, &mut Scribe::new(&checkpoint("Port it."))).report;
    assert_eq!(same.drift.map(|drift| drift.score), Some(1.0));
    let other = checkpoint("Bake bread.").replace("src/engine/mod.rs", "flour");
    let report = run(&messages, &again, &mut Scribe::new(&other)).report;
    assert!(report.drift.is_some_and(|drift| drift.score < 0.7));
    assert!(report.notes.iter().any(|note| note.contains("no longer there")), "{:?}", report.notes);
    assert_eq!(run(&messages, &request, &mut LeadingSentences).report.drift, None, "nothing was replaced");
}

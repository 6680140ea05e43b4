//! Strategies by example: which segments they plan, with pins, with an earlier compaction, under a budget.

use epitome_core::checkpoint::{Checkpoint, READERS_NOTE, validate};
use epitome_core::compact::{
    Compaction, Decision, Fallback, LeadingSentences, Limits, Outcome, Placement, Plan, Planned, Preset,
    Request, Segment, Strategy, StrategyName, SummaryLength, SystemPlace, dry_run, view,
};
use epitome_core::digest::Digest;
use epitome_core::prune::ThinkingRule;
use epitome_core::settings::Settings;
use epitome_core::{Block, Entry, Message, Role, Tokens, ToolUse};

use crate::compaction::*;
use crate::log::capture;
use crate::support::*;

pub(crate) fn settings(strategy: StrategyName) -> Settings {
    let mut settings = Settings::default();
    settings.compact.strategy = strategy;
    settings
}

pub(crate) fn count(text: &str) -> Tokens {
    counter().text(text)
}

#[test]
fn pins_stay_as_they_are() {
    let settings = literal(Preset::NousDraft);
    let messages = chat(20, 100);
    let request = Request { pins: &[4, 5, 9], ..asked(&settings) };
    let compaction = run(&messages, &request, &mut Scribe::new("a summary")).compaction.unwrap();
    assert_eq!(shape(&compaction), "S0..4 V4..6 S6..9 V9..10 S10..14 V14..20");
    let after = seen(&compaction, &messages);
    for pin in [4, 5, 9] {
        assert!(after.contains(&messages[pin]));
    }
}

#[test]
fn nothing_is_added_to_a_pin() {
    let settings = literal(Preset::MicroAgent);
    let messages = chat(20, 100);
    let joined = run(&messages, &asked(&settings), &mut Scribe::new("a summary")).compaction.unwrap();
    let keeps = |compaction: &Compaction, at: usize| {
        let seen = view(compaction, &path(&messages), &messages, SystemPlace::Outside);
        seen.pieces.contains(&epitome_core::compact::Piece::Keep(at))
    };
    assert!(!keeps(&joined, 0), "the summary stands in the first message");
    let request = Request { pins: &[0], ..asked(&settings) };
    let pinned = run(&messages, &request, &mut Scribe::new("a summary")).compaction.unwrap();
    assert!(keeps(&pinned, 0), "which is pinned here");
}

#[test]
fn a_pin_on_what_is_summarised_already_shows_it_again() {
    let settings = settings(StrategyName::Rolling);
    let messages = chat(20, 100);
    let first = run(&messages, &asked(&settings), &mut Scribe::new("a summary")).compaction.unwrap();
    assert_eq!(shape(&first), "S0..14 V14..20");
    let request = Request { pins: &[3], previous: Some(&first), ..asked(&settings) };
    let second = run(&messages, &request, &mut Scribe::new("a summary")).compaction.unwrap();
    assert_eq!(shape(&second), "S0..3 V3..4 S4..14 V14..20");
}

#[test]
fn compacting_again_without_new_messages_changes_nothing() {
    let messages = chat(40, 3_000);
    for strategy in
        [StrategyName::Rolling, StrategyName::Checkpoint, StrategyName::Narrative, StrategyName::Auto]
    {
        let settings = settings(strategy);
        let budget = Some(Tokens(30_000));
        let first = Request { budget, ..asked(&settings) };
        let compaction = run(&messages, &first, &mut LeadingSentences).compaction.unwrap();
        let again = Request { previous: Some(&compaction), ..first };
        let done = run(&messages, &again, &mut Broken);
        assert_eq!(
            (done.report.decision, done.compaction),
            (Decision::Nothing, None),
            "{}",
            strategy.as_str()
        );
    }
}

#[test]
fn undoing_and_compacting_again_works() {
    let settings = settings(StrategyName::Checkpoint);
    let messages = chat(40, 3_000);
    let undone = Compaction::verbatim(messages.len());
    let request = Request { previous: Some(&undone), budget: Some(Tokens(30_000)), ..asked(&settings) };
    assert!(run(&messages, &request, &mut LeadingSentences).compaction.is_some());
}

#[test]
fn a_result_that_is_not_smaller_is_refused() {
    let settings = literal(Preset::NousDraft);
    let messages = numbered(8);
    let done = run(&messages, &asked(&settings), &mut Scribe::new("short"));
    assert_eq!((done.report.decision, done.compaction), (Decision::Refused, None));
    assert_eq!(done.report.tokens_before, done.report.tokens_after);
    assert!(done.report.reason.contains("tokens"), "{}", done.report.reason);
}

#[test]
fn a_dry_run_decides_the_same_and_writes_nothing() {
    let messages = chat(40, 3_000);
    let settings = Preset::Nous.settings();
    let request = Request::new(&settings);
    let preview = dry_run(&path(&messages), &messages, &request, &mut LeadingSentences, &count);
    let plan = preview.plan.unwrap();
    let ranges: Vec<_> = preview.report.segments.iter().map(|stretch| stretch.range.clone()).collect();
    let Planned::Summary(task) = &plan.parts[0] else { panic!("{plan:?}") };
    assert_eq!(task.max_tokens, preview.report.segments[0].tokens_after);
    let done = run(&messages, &request, &mut LeadingSentences);
    let compaction = done.compaction.unwrap();
    assert_eq!(compaction.segments.iter().map(|segment| segment.range().clone()).collect::<Vec<_>>(), ranges);
    assert!(done.report.tokens_after <= preview.report.tokens_after);
}

#[test]
fn what_was_pruned_stays_pruned() {
    let mut settings = settings(StrategyName::Prune);
    settings.prune.clear_at_least = Tokens(1_000);
    let large = output(20_000);
    let messages = tool_loop([large.as_str(); 12]);
    let first = run(&messages, &asked(&settings), &mut Broken).compaction.unwrap();
    let mut longer = messages.clone();
    longer.extend([assistant("done"), user("thanks")]);
    let request = Request { previous: Some(&first), ..asked(&settings) };
    let done = run(&longer, &request, &mut Broken);
    assert_eq!(done.report.tokens_after, done.report.tokens_before);
}

#[test]
fn a_growing_summary_is_a_tenth_of_what_it_covers() {
    let mut settings = literal(Preset::NousDraft);
    settings.compact.summary_length = SummaryLength::Growing;
    for (messages, expected) in [(chat(10, 100), 256), (chat(16, 1_000), 1_000), (chat(60, 1_000), 2_000)] {
        let preview = dry_run(&path(&messages), &messages, &asked(&settings), &mut LeadingSentences, &count);
        let Planned::Summary(task) = &preview.plan.unwrap().parts[0] else { panic!("a summary") };
        assert_eq!(task.max_tokens, Tokens(expected));
    }
}

#[test]
fn an_exchange_that_is_too_large_by_itself_is_split() {
    let settings = settings(StrategyName::Checkpoint);
    let large = words(2_000);
    let messages = tool_loop([large.as_str(); 30]);
    let request = Request { budget: Some(Tokens(20_000)), ..asked(&settings) };
    let done = run(&messages, &request, &mut LeadingSentences);
    let compaction = done.compaction.unwrap();
    let cut = compaction.first_kept().unwrap();
    assert!(cut > 20 && cut < 60, "{}", shape(&compaction));
    assert_eq!(messages[cut].role, Role::Assistant, "before a reply, never between a call and its result");
    assert_eq!(seen(&compaction, &messages)[0].role, Role::User);
}

#[test]
fn bound_thinking_goes_when_anything_before_it_changes() {
    let mut messages = chat(40, 3_000);
    messages.push(user("think"));
    messages.push(Message::new(Role::Assistant, vec![thinking("hm"), epitome_core::Block::text("so")]));
    messages.push(user("thanks"));
    let settings = Preset::Nous.settings();
    let free = run(&messages, &Request::new(&settings), &mut LeadingSentences).compaction.unwrap();
    assert!(seen(&free, &messages).contains(&messages[41]));
    let bound = Request { thinking: ThinkingRule::Bound, ..Request::new(&settings) };
    let compaction = run(&messages, &bound, &mut LeadingSentences).compaction.unwrap();
    let after = seen(&compaction, &messages);
    assert_eq!(after[after.len() - 2].blocks, messages[41].blocks[1..]);
}

#[test]
fn people_can_bring_their_own_strategy() {
    struct LastOnly;
    impl Strategy for LastOnly {
        fn name(&self) -> &'static str {
            "last-only"
        }
        fn plan(&self, path: &[Entry], _: &[Message], _: &Limits<'_>) -> Outcome {
            let last = path.len() - 1;
            let omitted = Segment::Omitted { range: 0..last, note: "old".to_owned() };
            let parts = [omitted, Segment::Verbatim { range: last..path.len() }];
            let parts = parts.into_iter().map(Planned::Segment).collect();
            let wording = epitome_core::compact::Wording::default();
            Outcome::Compact(epitome_core::compact::Plan {
                parts,
                placement: Placement::Pair,
                wording,
                favours: epitome_core::compact::Favours::Recent,
            })
        }
    }
    let settings = Settings::default();
    let request = Request { strategy: Some(&LastOnly), ..asked(&settings) };
    let done = run(&chat(11, 50), &request, &mut Broken);
    assert_eq!(done.report.strategy, "last-only");
    assert_eq!(shape(&done.compaction.unwrap()), "O0..10 V10..11");
}

#[test]
fn a_summary_can_stand_in_three_places() {
    let messages: Vec<Message> =
        [Message::text(Role::System, "rules")].into_iter().chain(chat(40, 100)).collect();
    for (placement, expected) in [
        (Placement::Pair, "system: rules|user: [Previous"),
        (Placement::FirstUser, "system: rules|user: [Previous"),
        (Placement::System, "system: rules|system: [Previous"),
    ] {
        let mut settings = settings(StrategyName::Rolling);
        settings.compact.placement = placement;
        let compaction = run(&messages, &asked(&settings), &mut Scribe::new("so far")).compaction.unwrap();
        let lines = lines(&seen(&compaction, &messages)).join("|");
        assert!(lines.starts_with(expected), "{placement:?}: {}", &lines[..80]);
    }
    let mut settings = settings(StrategyName::Rolling);
    settings.compact.placement = Placement::System;
    let compaction = run(&messages, &asked(&settings), &mut Scribe::new("so far")).compaction.unwrap();
    let outside = view(&compaction, &path(&messages), &messages, SystemPlace::Outside);
    let words = outside.system.unwrap();
    assert!(
        words.starts_with("[Previous conversation summary]\n\n") && words.ends_with("\n\nso far"),
        "{words}"
    );
    assert!(words.contains(READERS_NOTE), "the reader is told what it is");
}

#[test]
fn with_the_seeds_fallback_no_budget_is_enforced() {
    let mut settings = Preset::Nous.settings();
    settings.compact.fallback = Fallback::Seed;
    let messages = chat(40, 3_000);
    let request = Request { budget: Some(Tokens(5_000)), ..Request::new(&settings) };
    let done = run(&messages, &request, &mut Scribe::new(&checkpoint("go on")));
    assert!(done.report.shortfall > Tokens(10_000));
    assert_eq!(done.report.shortfall, done.report.tokens_after - done.report.budget, "and that is said");
}

#[test]
fn a_checkpoint_can_be_had_without_a_model() {
    let settings = settings(StrategyName::Checkpoint);
    let large = words(3_000);
    let mut messages =
        vec![user("Port the parser to Rust. Keep the tests."), assistant("I will read it first.")];
    messages.extend([
        edit("1"),
        result("1", "ok"),
        assistant("The lexer is done. More to come."),
        user("And the docs?"),
    ]);
    messages.extend([
        call("bash", "2"),
        failed("2", "error: no such file"),
        assistant(&large),
        user(&large),
        assistant("yes"),
    ]);
    let path = path(&messages);
    let mut offline = Digest::new(&path, &messages, &count);
    let request = Request { budget: Some(Tokens(4_000)), ..asked(&settings) };
    let first = run(&messages, &request, &mut offline).compaction.unwrap();
    let summary = first.summary().unwrap();
    assert!(validate(&summary).is_ok(), "{summary}");
    let read = Checkpoint::parse(&summary).checkpoint;
    assert_eq!(read.goal.as_ref().map(|goal| goal.text()), Some("Port the parser to Rust. Keep the tests."));
    assert!(read.done.iter().any(|item| item.text() == "The lexer is done."), "{summary}");
    assert_eq!(read.files.modified.iter().map(|file| file.text()).collect::<Vec<_>>(), ["src/lexer.rs"]);
    assert!(read.failed.iter().any(|item| item.text().contains("no such file")), "{summary}");

    messages.extend([
        user("Now the lexer's errors."),
        assistant("Looking."),
        user(&large),
        assistant(&large),
    ]);
    let path = crate::support::path(&messages);
    let mut offline = Digest::new(&path, &messages, &count);
    let again = Request { previous: Some(&first), ..request };
    let second = run(&messages, &again, &mut offline).compaction.unwrap();
    let read = Checkpoint::parse(&second.summary().unwrap()).checkpoint;
    assert_eq!(
        read.goal.as_ref().map(|goal| goal.text()),
        Some("Port the parser to Rust. Keep the tests."),
        "it outlives an update"
    );
    assert!(read.done.iter().any(|item| item.text() == "The lexer is done."));
}

fn edit(id: &str) -> Message {
    let input = r#"{"file_path":"src/lexer.rs","old_string":"a","new_string":"b"}"#.to_owned();
    let call = ToolUse { id: id.to_owned(), name: "Edit".to_owned(), input, extra: Vec::new() };
    Message::new(Role::Assistant, vec![Block::ToolUse(call)])
}

fn failed(id: &str, text: &str) -> Message {
    let mut message = result(id, text);
    if let Some(Block::ToolResult(result)) = message.blocks.first_mut() {
        result.is_error = true;
    }
    message
}

#[test]
fn numbers_can_follow_the_conversation() {
    let mut settings = Preset::NousDraft.settings();
    let messages = chat(40, 1_500);
    let fixed =
        dry_run(&path(&messages), &messages, &asked(&settings), &mut LeadingSentences, &count).plan.unwrap();
    settings.compact.adaptive = true;
    let request = Request { budget: Some(Tokens(60_000)), ..asked(&settings) };
    let adapted = dry_run(&path(&messages), &messages, &request, &mut LeadingSentences, &count).plan.unwrap();
    let kept = |plan: &Plan| match plan.parts.last() {
        Some(Planned::Segment(segment)) => segment.range().len(),
        _ => 0,
    };
    assert_eq!(kept(&fixed), 6);
    assert!((7..=9).contains(&kept(&adapted)), "{}", kept(&adapted));
}

#[test]
fn a_compaction_is_logged_in_the_words_of_the_micro_agent() {
    let settings = literal(Preset::MicroAgent);
    let messages = chat(24, 3_550);
    let lines = capture(|| {
        run(&messages, &Request::new(&settings), &mut Scribe::new("so far"));
    });
    let said: Vec<&str> = lines.iter().map(|line| line.message.as_str()).collect();
    assert_eq!(
        said,
        [
            "Compaction: estimated ~85,200 tokens, threshold 80,000 — compacting 17 messages",
            "Compaction: summarized 17 messages into ~2 tokens, freed ~60,322 estimated tokens",
        ]
    );
    let lines = capture(|| {
        run(&messages, &Request::new(&settings), &mut Broken);
    });
    assert!(lines.iter().any(|line| line.level == "WARN" && line.message.starts_with("Compaction failed: no connection.")));
}

#[test]
fn decisions_and_facts_stay_longer() {
    let mut settings = settings(StrategyName::Rolling);
    settings.compact.retain_tokens = Tokens(300);
    let mut messages = chat(30, 100);
    messages[10] = user(
        "We decided to use PostgreSQL instead of SQLite because of the replicas. Never touch the schema.",
    );
    let first = run(&messages, &asked(&settings), &mut Scribe::new("so far")).compaction.unwrap();
    assert_eq!(shape(&first), "S0..10 V10..12 S12..24 V24..30");
    messages.extend(chat(10, 100));
    let request = Request { previous: Some(&first), ..asked(&settings) };
    let second = run(&messages, &request, &mut Scribe::new("so far")).compaction.unwrap();
    assert!(
        !seen(&second, &messages).contains(&messages[10]),
        "and go with the next one: {}",
        shape(&second)
    );
}

//! Conformance with spec 008.1 v4, layer 2: the test cases of its Phase 2 under their own names.
//!
//! The cut point by itself is in `nous_v4_cuts`; validation, the history text and turn contexts are in
//! `nous_v4_checkpoint`. `test_concurrency_lock` is about sessions, which this crate does not know.

use epitome_core::checkpoint::validate;
use epitome_core::compact::{
    BudgetModel, Decision, Level, Placement, Preset, Request, Segment, StrategyName, Summarizer,
    SummaryLength,
};
use epitome_core::prune::PruneMode;
use epitome_core::settings;
use epitome_core::{Chars, Message, Role, Tokens};

use crate::compaction::*;
use crate::support::*;

fn with_system(tokens: usize, rest: Vec<Message>) -> Vec<Message> {
    [sized(Role::System, tokens)].into_iter().chain(rest).collect()
}

#[test]
fn the_numbers_of_v4() {
    let settings = Preset::Nous.settings();
    assert_eq!(settings.validate(), Ok(()));
    let compact = &settings.compact;
    assert!(compact.compaction_enabled, "the preset switches on what the spec ships switched off");
    assert_eq!(compact.strategy, StrategyName::Checkpoint);
    assert_eq!(compact.compaction_threshold, Some(Tokens(100_000)));
    assert_eq!(compact.keep_recent_tokens, Tokens(20_000));
    assert_eq!(compact.summary_max_chars, Some(Chars(6_000)));
    assert_eq!((compact.placement, compact.summary_length), (Placement::Pair, SummaryLength::Fixed));
    let prune = &settings.prune;
    assert_eq!((prune.tool_pruning_enabled, prune.prune_mode), (true, PruneMode::EveryCall));
    let trim = [prune.tool_soft_trim_chars, prune.tool_soft_trim_head, prune.tool_soft_trim_tail];
    assert_eq!(trim, [4_000, 1_500, 1_500].map(Chars));
    assert_eq!((prune.tool_hard_clear_after, prune.keep_last_tool_results), (6, 2));
}

#[test]
fn the_token_budget_model() {
    let model = BudgetModel::of(&Preset::Nous.settings());
    let thousands =
        [model.system, model.summary, model.recent, model.tools, model.output, model.safety_margin];
    assert_eq!(thousands.map(|tokens| tokens.0 / 1_000), [5, 4, 20, 30, 16, 20]);
}

#[test]
fn the_report_shows_the_components() {
    let settings = literal(Preset::Nous);
    let mut messages = with_system(1_000, chat(20, 6_000));
    messages.extend(tool_loop([words(500).as_str(), words(700).as_str()]));
    let done = run(&messages, &Request::new(&settings), &mut Scribe::new(&checkpoint("ship it")));
    let actual: Vec<_> = done.report.components.iter().map(|part| (part.name, part.actual)).collect();
    let [system, summary, recent, tools, output, margin] = actual.as_slice() else { panic!("{actual:?}") };
    assert_eq!(*system, ("system", Some(Tokens(1_000))));
    assert!(summary.1.unwrap() > Tokens(50) && summary.1.unwrap() < Tokens(300), "{summary:?}");
    assert!((Tokens(18_000)..Tokens(25_000)).contains(&recent.1.unwrap()), "{recent:?}");
    assert!((Tokens(1_200)..Tokens(1_300)).contains(&tools.1.unwrap()), "{tools:?}");
    assert_eq!((output.1, margin.1), (None, None));
    let sum = [summary, recent, tools].map(|part| part.1.unwrap()).into_iter().sum::<Tokens>();
    assert_eq!(sum, done.report.tokens_after);
}

#[test]
fn test_should_compact_under_threshold() {
    let settings = literal(Preset::Nous);
    let messages = with_system(4_000, chat(32, 3_000));
    let done = run(&messages, &Request::new(&settings), &mut Scribe::new("unused"));
    assert_eq!(done.report.pressure.tokens, Tokens(100_000), "system and history");
    assert_eq!((done.report.decision, done.compaction), (Decision::Nothing, None));
}

#[test]
fn test_should_compact_over_threshold() {
    let settings = literal(Preset::Nous);
    let messages = with_system(4_001, chat(32, 3_000));
    let done = run(&messages, &Request::new(&settings), &mut Scribe::new(&checkpoint("go on")));
    assert_eq!(done.report.decision, Decision::Compacted);
    let outside = Request { outside: Tokens(4_001), ..Request::new(&settings) };
    let done = run(&chat(32, 3_000), &outside, &mut Scribe::new(&checkpoint("go on")));
    assert_eq!(
        done.report.decision,
        Decision::Compacted,
        "a system prompt outside the messages counts as well"
    );
}

#[test]
fn the_recent_20k_tokens_are_kept() {
    let settings = literal(Preset::Nous);
    let messages = with_system(1_000, chat(50, 2_504));
    let compaction =
        run(&messages, &Request::new(&settings), &mut Scribe::new(&checkpoint("go on"))).compaction.unwrap();
    assert_eq!(shape(&compaction), "V0..1 S1..43 V43..51", "8 messages of 2,500 tokens are 20,000");
}

#[test]
fn test_cut_point_zero_guard() {
    let settings = literal(Preset::Nous);
    let messages = with_system(90_000, chat(10, 1_500));
    let mut scribe = Scribe::new(&checkpoint("unused"));
    let done = run(&messages, &Request::new(&settings), &mut scribe);
    assert_eq!((done.report.decision, done.compaction), (Decision::Nothing, None));
    assert!(scribe.asked.is_empty(), "it returns at once");
}

#[test]
fn test_alternation_preserved() {
    let settings = literal(Preset::Nous);
    for count in [40, 41, 42, 43] {
        let messages = chat(count, 3_000);
        let compaction = run(&messages, &Request::new(&settings), &mut Scribe::new(&checkpoint("go on")))
            .compaction
            .unwrap();
        let after = seen(&compaction, &messages);
        assert!(alternates(&after), "{count} messages");
        let lines = lines(&after);
        assert_eq!(lines[0], format!("user: [Previous conversation summary]\n\n{}", checkpoint("go on")));
        assert_eq!(lines[1], "assistant: I have the context from our previous conversation. Let's continue.");
    }
}

#[test]
fn test_alternation_no_user_in_recent() {
    let messages: Vec<Message> = [sized(Role::User, 5_000)]
        .into_iter()
        .chain((0..5).map(|_| sized(Role::Assistant, 25_000)))
        .collect();
    let done = run(&messages, &Request::new(&literal(Preset::Nous)), &mut Scribe::new(&checkpoint("go on")));
    assert_eq!(done.compaction, None, "no user message behind the cut: everything is kept");
}

#[test]
fn test_iterative_update_prompt() {
    let settings = literal(Preset::Nous);
    let messages = chat(70, 3_000);
    let first_text = checkpoint("the first");
    let first =
        run(&messages[..40], &Request::new(&settings), &mut Scribe::new(&first_text)).compaction.unwrap();
    assert_eq!(shape(&first), "S0..34 V34..40");
    let again = Request { previous: Some(&first), ..Request::new(&settings) };
    let mut scribe = Scribe::new(&checkpoint("the second"));
    let second = run(&messages, &again, &mut scribe).compaction.unwrap();
    assert_eq!(shape(&second), "S0..64 V64..70");
    let existing = first.summary().unwrap();
    assert_eq!(
        scribe.asked,
        [Asked { first: 34, messages: 30, previous: vec![existing] }],
        "the existing summary and the new conversation"
    );
}

#[test]
fn test_summarization_failure_fallback() {
    let settings = literal(Preset::Nous);
    let messages = chat(40, 3_000);
    let done = run(&messages, &Request::new(&settings), &mut Broken);
    let compaction = done.compaction.unwrap();
    assert_eq!(shape(&compaction), "O0..34 V34..40", "truncated without summary");
    assert_eq!(seen(&compaction, &messages), messages[34..]);

    let done = run(&messages, &Request::new(&settings), &mut Scribe::new("too short"));
    assert_eq!(shape(&done.compaction.unwrap()), "O0..34 V34..40", "a summary that fails validation is none");

    let escalating = Preset::Nous.settings();
    for summarizer in [&mut Broken as &mut dyn Summarizer, &mut Scribe::new("too short")] {
        let done = run(&messages, &Request::new(&escalating), summarizer);
        let compaction = done.compaction.unwrap();
        assert_eq!(shape(&compaction), "S0..34 V34..40", "an offline checkpoint takes its place");
        let summary = compaction.summary().unwrap();
        assert!(validate(&summary).is_ok(), "{summary}");
        assert!(!done.report.notes.is_empty());
    }
}

#[test]
fn test_conversation_state_updated() {
    let settings = literal(Preset::Nous);
    let messages = chat(70, 3_000);
    let mut compactions = Vec::new();
    for (until, goal) in [(40, "the first"), (70, "the second")] {
        let text = checkpoint(goal);
        let request = Request { previous: compactions.last(), ..Request::new(&settings) };
        let done = run(&messages[..until], &request, &mut Scribe::new(&text)).compaction.unwrap();
        assert_eq!(done.summary().as_deref(), Some(text.as_str()));
        assert!(matches!(&done.segments[0], Segment::Summary { level: Level::Checkpoint, .. }));
        compactions.push(done);
    }
    assert_eq!(compactions.len(), 2, "compaction_count");
}

#[test]
fn test_config_threshold_used() {
    let messages = chat(20, 3_000);
    let mut settings = literal(Preset::Nous);
    assert_eq!(run(&messages, &Request::new(&settings), &mut Broken).report.decision, Decision::Nothing);
    settings::apply(&mut settings, "NOUS_COMPACTION_THRESHOLD", "50000").unwrap();
    let done = run(&messages, &Request::new(&settings), &mut Scribe::new(&checkpoint("go on")));
    assert_eq!(done.report.decision, Decision::Compacted);
    for (name, value) in [
        ("NOUS_COMPACTION_ENABLED", "false"),
        ("NOUS_KEEP_RECENT_TOKENS", "15000"),
        ("NOUS_SUMMARY_MAX_CHARS", "5000"),
    ] {
        settings::apply(&mut settings, name, value).unwrap();
    }
    assert!(!settings.compact.compaction_enabled);
    assert_eq!(settings.compact.keep_recent_tokens, Tokens(15_000));
    assert_eq!(settings.compact.summary_max_chars, Some(Chars(5_000)));
}

#[test]
fn with_compaction_off_the_last_20_messages_are_kept() {
    let mut settings = literal(Preset::Nous);
    settings.compact.compaction_enabled = false;
    let messages = chat(60, 3_000);
    let compaction = run(&messages, &Request::new(&settings), &mut Broken).compaction.unwrap();
    assert_eq!(shape(&compaction), "O0..40 V40..60", "MAX_HISTORY_MESSAGES");
}

#[test]
fn a_summary_is_cut_at_6000_chars() {
    let settings = literal(Preset::Nous);
    let text = format!("{}{}", checkpoint("go on"), "- one more thing to remember\n".repeat(400));
    let compaction =
        run(&chat(40, 3_000), &Request::new(&settings), &mut Scribe::new(&text)).compaction.unwrap();
    let length = chars(&compaction.summary().unwrap());
    assert!((5_900..=6_000).contains(&length), "{length}");
}

#[test]
fn tool_results_of_what_is_kept_are_pruned() {
    let settings = literal(Preset::Nous);
    let mut messages = chat(40, 3_000);
    messages.extend(tool_loop([output(9_000).as_str(), "second", "third"]));
    let compaction =
        run(&messages, &Request::new(&settings), &mut Scribe::new(&checkpoint("go on"))).compaction.unwrap();
    assert_eq!(shape(&compaction), "S0..34 P34..47");
    let texts = result_texts(&seen(&compaction, &messages));
    assert!(texts[0].contains("--- trimmed (kept 1500 head + 1500 tail of 9000 chars) ---"));
}

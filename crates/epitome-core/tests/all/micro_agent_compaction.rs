//! Conformance with the C# micro agent, "Conversation Compaction": when it compacts, what it protects, what it rebuilds.
//!
//! Its per-result truncation is in `micro_agent`, its estimation in `micro_agent_estimation`, its boundary
//! adjustment message by message in `micro_agent_cuts`.

use epitome_core::compact::{Decision, Placement, Preset, Request, StrategyName};
use epitome_core::settings;
use epitome_core::{Chars, Message, Tokens};

use crate::compaction::*;
use crate::support::*;

// A request, then rounds of search: a call, a large result, a remark, a refinement by the user.
fn job_search(rounds: usize, result_tokens: usize) -> Vec<Message> {
    let mut messages = vec![user("Execute the job search prompt from search-prompt.txt")];
    for round in 0..rounds {
        let id = format!("call_{round}");
        messages.push(call("linkedin_job_detail", &id));
        messages.push(result(&id, &words(result_tokens)));
        messages.push(assistant(&format!("Round {round}: scored Company {round} at 7/10.")));
        messages.push(user(&format!("Refine the criteria, round {round}.")));
    }
    messages
}

#[test]
fn the_defaults_of_the_agent() {
    let settings = Preset::MicroAgent.settings();
    assert_eq!(settings.validate(), Ok(()));
    assert_eq!(settings.compact.strategy, StrategyName::Narrative);
    assert_eq!(settings.compact.compaction_threshold, Some(Tokens(80_000)), "CompactionThresholdTokens");
    assert_eq!(settings.compact.recency_window, 6, "ProtectedTailMessages");
    assert_eq!(settings.compact.summary_token_budget, Tokens(4_096), "SummarizationMaxTokens");
    assert_eq!(settings.compact.placement, Placement::FirstUser);
    assert_eq!(settings.max_conversation_messages, 50, "MaxConversationMessages");
    assert_eq!(settings.prune.tool_result_max_chars, Some(Chars(40_000)), "MaxToolResultChars");
}

#[test]
fn its_settings_keep_their_names() {
    let mut settings = settings::Settings::default();
    for (name, value) in [
        ("CompactionStrategy", "summarize"),
        ("CompactionThresholdTokens", "70000"),
        ("ProtectedTailMessages", "8"),
        ("MaxConversationMessages", "40"),
    ] {
        settings::apply(&mut settings, name, value).unwrap();
    }
    assert_eq!(settings.compact.strategy, StrategyName::Narrative);
    assert_eq!(settings.compact.compaction_threshold, Some(Tokens(70_000)));
    assert_eq!(settings.compact.recency_window, 8);
    assert_eq!(settings.max_conversation_messages, 40);
    settings::apply(&mut settings, "CompactionStrategy", "none").unwrap();
    assert_eq!(settings.compact.strategy, StrategyName::None);
}

#[test]
fn trigger_strategy_none_relies_on_message_count_trimming() {
    let mut settings = literal(Preset::MicroAgent);
    settings.compact.strategy = StrategyName::None;
    let large = chat(20, 10_000);
    assert_eq!(run(&large, &Request::new(&settings), &mut Broken).report.decision, Decision::Nothing);
    let many = chat(60, 20);
    let compaction = run(&many, &Request::new(&settings), &mut Broken).compaction.unwrap();
    assert_eq!(shape(&compaction), "O0..10 V10..60");
}

#[test]
fn trigger_below_the_threshold_nothing_is_done() {
    let settings = literal(Preset::MicroAgent);
    let at = chat(40, 2_000);
    let done = run(&at, &Request::new(&settings), &mut Broken);
    assert_eq!((done.report.decision, done.compaction), (Decision::Nothing, None));
}

#[test]
fn trigger_above_the_threshold_with_a_zone_it_compacts() {
    let settings = literal(Preset::MicroAgent);
    let above = chat(40, 2_001);
    let compaction = run(&above, &Request::new(&settings), &mut Scribe::new("so far")).compaction.unwrap();
    assert_eq!(shape(&compaction), "V0..1 S1..34 V34..40");
}

#[test]
fn trigger_with_less_than_two_messages_in_the_zone_the_large_context_is_accepted() {
    let settings = literal(Preset::MicroAgent);
    let protected = chat(8, 20_000);
    let done = run(&protected, &Request::new(&settings), &mut Scribe::new("unused"));
    assert_eq!((done.report.decision, done.compaction), (Decision::Nothing, None));
    assert!(done.report.reason.contains("everything is protected"), "{}", done.report.reason);
    let two = chat(9, 20_000);
    let compaction = run(&two, &Request::new(&settings), &mut Scribe::new("so far")).compaction.unwrap();
    assert_eq!(shape(&compaction), "V0..1 S1..3 V3..9");
}

#[test]
fn the_first_message_and_the_last_six_are_protected() {
    let settings = literal(Preset::MicroAgent);
    let messages = numbered(25);
    let compaction = run(&messages, &asked(&settings), &mut Scribe::new("so far")).compaction.unwrap();
    assert_eq!(shape(&compaction), "V0..1 S1..19 V19..25");
    let after = seen(&compaction, &messages);
    assert_eq!(after[after.len() - 6..], messages[19..]);
}

#[test]
fn a_tool_call_is_never_parted_from_its_result() {
    let settings = literal(Preset::MicroAgent);
    let mut messages = numbered(10);
    messages.extend([
        user("look"),
        call("bash", "1"),
        result("1", "ok"),
        call("bash", "2"),
        result("2", "ok"),
    ]);
    messages.extend([assistant("done"), user("thanks"), assistant("welcome")]);
    assert_eq!(messages.len() - 6, 12, "the boundary would fall on a result");
    let compaction = run(&messages, &asked(&settings), &mut Scribe::new("so far")).compaction.unwrap();
    assert_eq!(shape(&compaction), "V0..1 S1..11 V11..18", "it is pulled back to the call");
}

#[test]
fn reconstruction_with_an_acknowledgement() {
    let settings = literal(Preset::MicroAgent);
    let messages = numbered(20);
    let compaction = run(&messages, &asked(&settings), &mut Scribe::new("They counted.")).compaction.unwrap();
    let expected = [
        "user: msg 1\n\n[CONTEXT SUMMARY]\nThey counted.\n[END CONTEXT SUMMARY]",
        "assistant: Understood. Continuing with the current task.",
        "user: msg 15",
        "assistant: msg 16",
        "user: msg 17",
        "assistant: msg 18",
        "user: msg 19",
        "assistant: msg 20",
    ];
    assert_eq!(lines(&seen(&compaction, &messages)), expected);
}

#[test]
fn reconstruction_without_one_where_the_tail_starts_with_the_assistant() {
    let settings = literal(Preset::MicroAgent);
    let messages = numbered(21);
    let compaction = run(&messages, &asked(&settings), &mut Scribe::new("They counted.")).compaction.unwrap();
    let after = lines(&seen(&compaction, &messages));
    assert_eq!(after[0], "user: msg 1\n\n[CONTEXT SUMMARY]\nThey counted.\n[END CONTEXT SUMMARY]");
    assert_eq!(after[1], "assistant: msg 16");
    assert_eq!(after.len(), 7);
}

#[test]
fn job_search_a_single_round_does_not_trigger() {
    let settings = literal(Preset::MicroAgent);
    let messages = job_search(2, 13_000);
    assert_eq!(messages.len(), 9, "8 to 10 messages");
    let done = run(&messages, &Request::new(&settings), &mut Broken);
    assert!((Tokens(25_000)..Tokens(30_000)).contains(&done.report.tokens_before));
    assert_eq!(done.report.decision, Decision::Nothing);
}

#[test]
fn job_search_after_three_rounds_the_first_two_are_summarised() {
    let settings = literal(Preset::MicroAgent);
    let mut messages = job_search(4, 20_500);
    messages.extend((0..4).flat_map(|at| [assistant(&format!("scoring {at}")), user("go on")]));
    messages.truncate(25);
    assert_eq!(messages.len(), 25);
    let summary = "Job search by search-prompt.txt. Company 0 scored 7/10. Report: todays-jobs.md.";
    let done = run(&messages, &Request::new(&settings), &mut Scribe::new(summary));
    let compaction = done.compaction.unwrap();
    assert_eq!(shape(&compaction), "V0..1 S1..19 V19..25", "messages 1-18 go, 19-24 and 0 stay");
    assert!((Tokens(80_001)..Tokens(90_000)).contains(&done.report.tokens_before));
    assert!(done.report.tokens_after < Tokens(10_000), "{}", done.report.tokens_after);
    let after = lines(&seen(&compaction, &messages));
    assert!(
        after[0]
            .starts_with("user: Execute the job search prompt from search-prompt.txt\n\n[CONTEXT SUMMARY]\n")
    );
    assert!(after[0].contains(summary));
}

#[test]
fn when_the_summary_fails_it_falls_back_to_history_trimming() {
    let settings = literal(Preset::MicroAgent);
    let many = chat(60, 2_000);
    let done = run(&many, &Request::new(&settings), &mut Broken);
    assert_eq!(shape(&done.compaction.unwrap()), "O0..10 V10..60");
    assert!(done.report.notes.iter().any(|note| note.contains("no connection")));
    let few = chat(41, 2_000);
    let done = run(&few, &Request::new(&settings), &mut Broken);
    assert_eq!(
        (done.report.decision, done.compaction),
        (Decision::Nothing, None),
        "and nothing is beyond the count"
    );
}

#[test]
fn the_message_count_remains_a_hard_backstop() {
    let many = chat(60, 20);
    let compaction = run(&many, &Request::new(&literal(Preset::MicroAgent)), &mut Broken).compaction.unwrap();
    assert_eq!(shape(&compaction), "O0..10 V10..60");
    let settings = Preset::MicroAgent.settings();
    let escalated = run(&many, &Request::new(&settings), &mut Scribe::new("so far")).compaction.unwrap();
    assert_eq!(shape(&escalated), "V0..1 S1..54 V54..60", "summarised rather than left out");
}

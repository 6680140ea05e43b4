//! Conformance with the Nexus design, "Compaction in Agent System": compaction as a turn, first, second and Nth.
//!
//! Its fields are read from the segments. Turns are numbered from 1, as in the design; a turn is a query with its
//! response, so message `2n - 2` opens turn `n`. Lineage, forking and traversal are the ledger's.

use epitome_core::compact::{
    Compaction, DEFAULT_WINDOW, Decision, KeepBy, Placement, Preset, Request, StrategyName, SystemPlace, view,
};
use epitome_core::pressure::{Occasion, Trigger};
use epitome_core::settings::{self, Settings};
use epitome_core::{Message, Role, Tokens};

use crate::compaction::*;
use crate::support::*;

// Turns of so many tokens, half for the query, half for the response.
fn turns(count: usize, tokens: usize) -> Vec<Message> {
    chat(count * 2, tokens / 2)
}

fn turn_of(message: usize) -> usize {
    message / 2 + 1
}

fn summarized_through_turn(compaction: &Compaction) -> Option<usize> {
    compaction.summarized_through().map(turn_of)
}

fn first_kept_turn(compaction: &Compaction) -> Option<usize> {
    compaction.first_kept().map(turn_of)
}

fn compacted(messages: &[Message], previous: Option<&Compaction>, text: &str) -> (Compaction, Vec<Asked>) {
    let settings = literal(Preset::Nexus);
    let request = Request { previous, ..asked(&settings) };
    let mut scribe = Scribe::new(&checkpoint(text));
    let done = run(messages, &request, &mut scribe);
    (done.compaction.unwrap(), scribe.asked)
}

#[test]
fn the_numbers_of_the_design() {
    let settings = Preset::Nexus.settings();
    assert_eq!(settings.validate(), Ok(()));
    let compact = &settings.compact;
    assert_eq!(compact.strategy, StrategyName::Checkpoint);
    assert_eq!((compact.keep_recent_tokens, compact.keep_by), (Tokens(30_000), KeepBy::Turns));
    assert_eq!(compact.reserve_tokens, Tokens(20_000));
    assert_eq!(compact.placement, Placement::System);
    assert_eq!(DEFAULT_WINDOW, Tokens(200_000));
    let mut settings = Settings::default();
    settings::apply(&mut settings, "keepTokens", "25000").unwrap();
    settings::apply(&mut settings, "RESERVE_TOKENS", "10000").unwrap();
    assert_eq!(settings.compact.keep_recent_tokens, Tokens(25_000));
    assert_eq!(settings.compact.reserve_tokens, Tokens(10_000));
}

#[test]
fn first_compaction_summarises_turns_1_to_3_and_keeps_4_and_5() {
    let messages = turns(5, 15_000);
    let (first, asked) = compacted(&messages, None, "User discussed project setup");
    assert_eq!(summarized_through_turn(&first), Some(3));
    assert_eq!(first_kept_turn(&first), Some(4));
    assert_eq!(asked, [Asked { first: 0, messages: 6, previous: vec![] }]);
    assert_eq!(first.covered(), messages.len(), "its parent is the head");
}

#[test]
fn first_compaction_reports_tokens_before_and_after() {
    let settings = literal(Preset::Nexus);
    let messages = turns(10, 15_000);
    let done = run(&messages, &asked(&settings), &mut Scribe::new(&checkpoint("go on")));
    assert_eq!(done.report.tokens_before, Tokens(150_000));
    assert!(
        (Tokens(30_000)..Tokens(45_000)).contains(&done.report.tokens_after),
        "{}",
        done.report.tokens_after
    );
    assert_eq!(done.report.trigger, Some(Trigger::Manual));
}

#[test]
fn second_compaction_summarises_the_first_through_turn_6_and_keeps_7_and_8() {
    let messages = turns(8, 15_000);
    let (first, _) = compacted(&messages[..10], None, "the first");
    let (second, asked) = compacted(&messages, Some(&first), "the second");
    assert_eq!(summarized_through_turn(&second), Some(6));
    assert_eq!(first_kept_turn(&second), Some(7));
    let old = first.summary().unwrap();
    assert_eq!(
        asked,
        [Asked { first: 6, messages: 6, previous: vec![old] }],
        "turns 4-6, and the old summary"
    );
    assert_eq!(second.segments[0].range(), &(0..12), "the new summary includes the old one");
}

#[test]
fn nth_compaction_goes_on_indefinitely() {
    let messages = turns(40, 15_000);
    let mut previous: Option<Compaction> = None;
    for (number, head) in (5..=40).step_by(5).enumerate() {
        let (next, asked) = compacted(&messages[..head * 2], previous.as_ref(), &format!("number {number}"));
        assert_eq!(summarized_through_turn(&next), Some(head - 2), "C{} summarises up to", number + 1);
        assert_eq!(first_kept_turn(&next), Some(head - 1));
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].previous, previous.iter().filter_map(Compaction::summary).collect::<Vec<_>>());
        previous = Some(next);
    }
}

#[test]
fn the_new_summary_contains_the_old_one_without_a_model() {
    let settings = Preset::Nexus.settings();
    let messages = turns(8, 15_000);
    let mut offline = epitome_core::compact::LeadingSentences;
    let first = run(&messages[..10], &asked(&settings), &mut offline).compaction.unwrap();
    let again = Request { previous: Some(&first), ..asked(&settings) };
    assert!(run(&messages, &again, &mut offline).compaction.unwrap().summary().is_some());
}

#[test]
fn context_assembly_without_compaction_is_the_full_thread() {
    let messages = turns(5, 100);
    assert_eq!(seen(&Compaction::verbatim(messages.len()), &messages), messages);
}

#[test]
fn context_assembly_starts_with_a_system_summary() {
    let mut messages = turns(5, 15_000);
    let (first, _) = compacted(&messages, None, "project setup");
    messages.extend([user("and now?")]);
    let after = seen(&first, &messages);
    assert_eq!(after[0].role, Role::System);
    assert_eq!(lines(&after[..1]), [format!("system: {}", checkpoint("project setup"))]);
    assert_eq!(after[1..], messages[6..], "turn 4, turn 5, the new query");

    let outside = view(&first, &path(&messages), &messages, SystemPlace::Outside);
    assert_eq!(outside.system, Some(checkpoint("project setup")));
    assert_eq!(outside.messages(&messages), messages[6..]);
}

#[test]
fn trigger_threshold_is_the_window_less_the_reserve() {
    let settings = literal(Preset::Nexus);
    let at = turns(12, 15_000);
    let request = Request { window: Some(Tokens(200_000)), ..Request::new(&settings) };
    let done = run(&at, &request, &mut Scribe::new("unused"));
    assert_eq!(done.report.decision, Decision::Nothing, "180,000 are not more than 200,000 - 20,000");
    let above = Request { outside: Tokens(1), ..request };
    let done = run(&at, &above, &mut Scribe::new(&checkpoint("go on")));
    assert_eq!((done.report.decision, done.report.trigger), (Decision::Compacted, Some(Trigger::Threshold)));
    let other = Request { window: Some(Tokens(100_000)), ..Request::new(&settings) };
    let done = run(&turns(6, 15_000), &other, &mut Scribe::new(&checkpoint("go on")));
    assert_eq!(done.report.decision, Decision::Compacted, "90,000 of 100,000 less 20,000");
}

#[test]
fn trigger_overflow_compacts_whatever_we_count() {
    let settings = literal(Preset::Nexus);
    let messages = turns(5, 15_000);
    let request = Request { occasion: Occasion::Refused(1), ..Request::new(&settings) };
    let done = run(&messages, &request, &mut Scribe::new(&checkpoint("go on")));
    assert_eq!((done.report.decision, done.report.trigger), (Decision::Compacted, Some(Trigger::Overflow)));
    let fourth = Request { occasion: Occasion::Refused(4), ..Request::new(&settings) };
    let done = run(&messages, &fourth, &mut Scribe::new("unused"));
    assert_eq!(done.report.decision, Decision::Nothing, "three attempts must do");
}

#[test]
fn trigger_manual_compacts_below_the_threshold() {
    let messages = turns(5, 15_000);
    let settings = literal(Preset::Nexus);
    let quiet = run(&messages, &Request::new(&settings), &mut Scribe::new("unused"));
    assert_eq!(quiet.report.decision, Decision::Nothing);
    let (manual, _) = compacted(&messages, None, "asked for");
    assert_eq!(shape(&manual), "S0..6 V6..10");
}

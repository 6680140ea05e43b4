//! Conformance with the first draft of spec 008.1: its compaction, the tests it lists under their own names.

use epitome_core::compact::{BudgetModel, Decision, Fallback, Placement, Preset, Request, StrategyName};
use epitome_core::settings;
use epitome_core::{Chars, Message, Role, Tokens};

use crate::compaction::*;
use crate::support::*;

#[test]
fn the_numbers_of_the_draft() {
    let settings = Preset::NousDraft.settings();
    assert_eq!(settings.validate(), Ok(()));
    let compact = &settings.compact;
    assert_eq!(compact.strategy, StrategyName::Rolling);
    assert_eq!(compact.compaction_threshold, Some(Tokens(80_000)));
    assert_eq!(compact.recency_window, 6);
    assert_eq!(compact.summary_token_budget, Tokens(2_000));
    assert_eq!(compact.placement, Placement::Pair);
    assert_eq!(settings.prune.tool_result_max_chars, Some(Chars(4_000)));
    assert_eq!(settings.prune.warn_tokens, Tokens(60_000));
    assert_eq!(settings.max_conversation_messages, 20, "MAX_HISTORY_MESSAGES");
    assert_eq!(compact.fallback, Fallback::Escalate);
}

#[test]
fn the_token_budget_model() {
    let model = BudgetModel::of(&Preset::NousDraft.settings());
    let thousands =
        [model.system, model.summary, model.recent, model.tools, model.output, model.safety_margin];
    assert_eq!(thousands.map(|tokens| tokens.0 / 1_000), [5, 2, 30, 0, 16, 20]);
    assert_eq!(model.total(), Tokens(73_000));
}

#[test]
fn its_settings_keep_their_names() {
    let mut settings = settings::Settings::default();
    for (name, value) in [
        ("NOUS_INPUT_TOKEN_BUDGET", "90000"),
        ("NOUS_RECENCY_WINDOW", "8"),
        ("summary_token_budget", "1500"),
        ("tool_output_max_chars", "5000"),
    ] {
        settings::apply(&mut settings, name, value).unwrap();
    }
    assert_eq!(settings.compact.compaction_threshold, Some(Tokens(90_000)));
    assert_eq!(settings.compact.recency_window, 8);
    assert_eq!(settings.compact.summary_token_budget, Tokens(1_500));
    assert_eq!(settings.prune.tool_result_max_chars, Some(Chars(5_000)));
}

#[test]
fn test_no_compact_under_budget() {
    let settings = literal(Preset::NousDraft);
    let system = [sized(Role::System, 5_000)];
    let within: Vec<Message> = system.iter().cloned().chain(chat(30, 2_500)).collect();
    let done = run(&within, &Request::new(&settings), &mut Scribe::new("unused"));
    assert_eq!(done.report.decision, Decision::Nothing, "80,000 are not more than 80,000");
    assert_eq!(done.compaction, None);

    let above: Vec<Message> = system.into_iter().chain(chat(30, 2_501)).collect();
    let done = run(&above, &Request::new(&settings), &mut Scribe::new("a summary"));
    assert_eq!(done.report.decision, Decision::Compacted, "the system prompt counts, too");
}

#[test]
fn test_compact_conversation() {
    let messages = numbered(20);
    let settings = literal(Preset::NousDraft);
    let mut scribe = Scribe::new("they counted to fourteen");
    let compaction = run(&messages, &asked(&settings), &mut scribe).compaction.unwrap();
    assert_eq!(shape(&compaction), "S0..14 V14..20");
    assert_eq!(
        scribe.asked,
        [Asked { first: 0, messages: 14, previous: vec![] }],
        "old is everything before"
    );
    assert_eq!(
        lines(&seen(&compaction, &messages)),
        [
            "user: [Conversation Summary]\nthey counted to fourteen",
            "assistant: I understand the context. Continuing...",
            "user: msg 15",
            "assistant: msg 16",
            "user: msg 17",
            "assistant: msg 18",
            "user: msg 19",
            "assistant: msg 20",
        ],
        "the format after compaction"
    );
}

#[test]
fn test_compact_preserves_alternation() {
    let settings = Preset::NousDraft.settings();
    for count in 8..30 {
        let messages = chat(count, 40);
        let compaction = run(&messages, &asked(&settings), &mut Scribe::new("a summary")).compaction.unwrap();
        let after = seen(&compaction, &messages);
        assert!(alternates(&after), "{count} messages: {:?}", lines(&after));
        assert_eq!(after.last(), messages.last());
    }
}

#[test]
fn the_summary_rolls() {
    let settings = literal(Preset::NousDraft);
    let messages = numbered(30);
    let first = run(&messages[..20], &asked(&settings), &mut Scribe::new("one")).compaction.unwrap();
    let mut scribe = Scribe::new("one and two");
    let again = Request { previous: Some(&first), ..asked(&settings) };
    let second = run(&messages, &again, &mut scribe).compaction.unwrap();
    assert_eq!(shape(&second), "S0..24 V24..30");
    assert_eq!(
        scribe.asked,
        [Asked { first: 14, messages: 10, previous: vec!["one".to_owned()] }],
        "merge(old_summary, new_segment)"
    );
    assert_eq!(second.summary().as_deref(), Some("one and two"));
}

#[test]
fn the_summary_is_capped_at_2000_tokens() {
    let settings = literal(Preset::NousDraft);
    let messages = chat(20, 1_000);
    let compaction = run(&messages, &asked(&settings), &mut Scribe::new(&words(9_000))).compaction.unwrap();
    let tokens = counter().text(&compaction.summary().unwrap());
    assert!(tokens <= Tokens(2_000) && tokens >= Tokens(1_900), "{tokens}");
}

#[test]
fn when_the_summary_model_fails_the_old_messages_are_truncated_without_one() {
    let settings = literal(Preset::NousDraft);
    let messages = chat(20, 100);
    let done = run(&messages, &asked(&settings), &mut Broken);
    let compaction = done.compaction.unwrap();
    assert_eq!(shape(&compaction), "O0..14 V14..20");
    assert_eq!(seen(&compaction, &messages), messages[14..]);
    assert!(done.report.notes.iter().any(|note| note.contains("no connection")), "{:?}", done.report.notes);

    let escalated = run(&messages, &asked(&Preset::NousDraft.settings()), &mut Broken).compaction.unwrap();
    assert_eq!(shape(&escalated), "S0..14 V14..20", "an offline summary takes its place");
}

#[test]
fn tool_outputs_are_capped_in_what_is_kept() {
    let settings = literal(Preset::NousDraft);
    let mut messages = numbered(20);
    messages.extend(tool_loop([output(9_000).as_str()]));
    let compaction = run(&messages, &asked(&settings), &mut Scribe::new("a summary")).compaction.unwrap();
    let texts = result_texts(&seen(&compaction, &messages));
    assert!(texts.iter().all(|text| chars(text) <= 4_000), "{}", chars(&texts[0]));
}

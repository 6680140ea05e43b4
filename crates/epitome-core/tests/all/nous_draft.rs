//! Conformance with the draft of spec 008.1, Phase 1: tool output truncation, early warning, metric.
//!
//! `test_estimate_tokens` is in `nous_draft_estimation`.

use epitome_core::prune::{Settings, ThinkingRule, apply};
use epitome_core::settings;
use epitome_core::{Chars, Tokens};

use crate::log::{Line, capture};
use crate::support::*;

fn draft() -> Settings {
    let mut settings = settings::Settings::default();
    settings::apply(&mut settings, "tool_output_max_chars", "4000").unwrap();
    Settings { tool_pruning_enabled: false, ..settings.prune }
}

#[test]
fn test_tool_output_truncation() {
    assert_eq!(draft().tool_result_max_chars, Some(Chars(4_000)));
    let (short, long) = (output(4_000), output(60_000));
    let after = result_texts(&pruned(&tool_loop([short.as_str(), long.as_str()]), &draft()));
    assert_eq!(after[0], short);
    assert!((3_000..=4_000).contains(&chars(&after[1])), "{} chars", chars(&after[1]));
    assert!(after[1].starts_with(&long[..1_500]) && after[1].ends_with(&long[long.len() - 1_500..]));
}

fn log_of(text_chars: usize, settings: &Settings) -> Vec<Line> {
    let messages = [user(&output(text_chars))];
    let plan = planned(&messages, settings, Default::default(), ThinkingRule::Free);
    capture(|| {
        apply(&plan, &path(&messages), &messages, settings.warn_tokens);
    })
}

#[test]
fn an_early_warning_above_60k_estimated_input_tokens() {
    assert_eq!(Settings::default().warn_tokens, Tokens(60_000));
    let settings = Settings { warn_tokens: Tokens(600), ..Settings::default() };
    assert!(log_of(1_000, &settings).iter().all(|line| line.level != "WARN"));
    let lines = log_of(10_000, &settings);
    let warning = lines.iter().find(|line| line.level == "WARN").unwrap();
    assert_eq!(warning.message, "estimated input tokens exceed the early warning");
    assert_eq!(warning.fields["warn_tokens"], "600");
    assert!(warning.fields["input_tokens_estimated"].parse::<u64>().unwrap() > 600);
}

#[test]
fn input_tokens_estimated_is_tracked_per_turn() {
    let messages = [user("hello")];
    let plan = planned(&messages, &draft(), Default::default(), ThinkingRule::Free);
    let lines = capture(|| {
        apply(&plan, &path(&messages), &messages, Tokens(60_000));
    });
    let [metric] = lines.as_slice() else { panic!("one line, not {lines:?}") };
    assert_eq!(metric.target, "epitome::tokens");
    assert_eq!(metric.fields["input_tokens_estimated"], counter().message(&messages[0]).to_string());
}

#[test]
fn pruning_is_logged_in_the_words_of_spec_v4() {
    let large = output(10_000);
    let messages = tool_loop([large.as_str(); 8]);
    let plan = planned(&messages, &seed(), Default::default(), ThinkingRule::Free);
    let lines = capture(|| {
        apply(&plan, &path(&messages), &messages, Tokens(60_000));
    });
    let pruned: Vec<&Line> = lines.iter().filter(|line| line.target == "epitome::prune").collect();
    let [line] = pruned.as_slice() else { panic!("one line a pruning, not {pruned:?}") };
    assert_eq!((line.level, line.message.as_str()), ("INFO", "Pruned 6 tool results (soft: 4, hard: 2)"));
    let counts = ["pruned", "soft", "hard", "capped"].map(|field| line.fields[field].as_str());
    assert_eq!(counts, ["6", "4", "2", "0"]);
}

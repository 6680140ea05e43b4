//! Conformance with the C# micro agent, "Conversation Compaction": per-result truncation.
//!
//! There a tool result is clipped at `MaxToolResultChars` when it comes in, and what is clipped is gone.
//! Here the view is capped, from the first sending on, and the original stays where it is. The agent's
//! estimation table is in `micro_agent_estimation`.

use epitome_core::prune::{Outcome, PrunedForm, Settings, read_text};
use epitome_core::settings;
use epitome_core::{Chars, RecallId};

use crate::support::*;

// The agent caps and does nothing else to tool results.
fn micro_agent() -> Settings {
    Settings { tool_pruning_enabled: false, ..Settings::default() }
}

#[test]
fn max_tool_result_chars_is_40000() {
    assert_eq!(Settings::default().tool_result_max_chars, Some(Chars(40_000)));
    let mut settings = settings::Settings::default();
    settings::apply(&mut settings, "MaxToolResultChars", "12000").unwrap();
    assert_eq!(settings.prune.tool_result_max_chars, Some(Chars(12_000)));
}

#[test]
fn a_result_is_clipped_at_40000_chars_at_once() {
    let large = output(100_000);
    let messages = tool_loop([large.as_str()]);
    let after = &result_texts(&pruned(&messages, &micro_agent()))[0];
    assert!((39_000..=40_000).contains(&chars(after)), "{} chars, marker included", chars(after));
    assert_eq!(after[..19_000], large[..19_000]);
    assert_eq!(after[after.len() - 19_000..], large[large.len() - 19_000..]);
    assert!(after.contains(" tail of 100000 chars) ---\n[bash · 100000 chars · recall "));
    assert_eq!(result_texts(&messages), [large], "the original is kept");
}

#[test]
fn a_result_within_the_limit_is_not_clipped() {
    let messages = tool_loop([output(40_000).as_str(), output(39_999).as_str()]);
    assert_eq!(pruned(&messages, &micro_agent()), messages);
}

#[test]
fn a_result_just_above_the_limit_is_clipped() {
    for over in [1, 7, 39] {
        let after = &result_texts(&pruned(&tool_loop([output(40_000 + over).as_str()]), &micro_agent()))[0];
        assert!(chars(after) <= 40_000, "{} chars", chars(after));
    }
}

#[test]
fn the_clipped_result_can_be_recalled() {
    let large = output(100_000);
    let after = &result_texts(&pruned(&tool_loop([large.as_str()]), &micro_agent()))[0];
    let clipped = read_text(after, Outcome::Unknown).pruned.unwrap();
    assert_eq!(clipped.recall, RecallId::of(&large));
    assert_eq!(clipped.chars, Chars(100_000));
    assert!(matches!(clipped.form, PrunedForm::Trimmed { .. }));
}

#[test]
fn the_limit_can_be_off() {
    let messages = tool_loop([output(100_000).as_str()]);
    let settings = Settings { tool_result_max_chars: None, ..micro_agent() };
    assert_eq!(pruned(&messages, &settings), messages);
}

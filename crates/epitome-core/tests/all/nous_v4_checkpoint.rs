//! Conformance with spec 008.1 v4, layer 2: what its Phase 2 says about the text of checkpoints.

use epitome_core::checkpoint::{
    CheckpointError, TranscriptOptions, Validity, history_text, keep_turn_contexts, serialize_for_summary,
    validate,
};
use epitome_core::{Block, Chars, Message, Role};

use crate::support::*;

fn summary(chars: usize) -> String {
    format!("## Goal\nShip it.\n\n## Progress\n### Done\n- [x] most of it\n\n{}", output(chars))
}

#[test]
fn test_summary_validation_too_short() {
    let short = summary(0);
    assert_eq!(validate(&short), Err(CheckpointError::TooShort(Chars::of(&short))));
    let padding = 200 - short.len();
    assert_eq!(validate(&summary(padding)), Ok(Validity::Fine), "200 characters are enough");
    assert_eq!(validate(&summary(padding - 1)), Err(CheckpointError::TooShort(Chars(199))));
    let wide = format!("## Goal ## Progress {}", "界".repeat(180));
    assert_eq!(validate(&wide), Ok(Validity::Fine), "characters, not bytes");
}

#[test]
fn test_summary_validation_missing_sections() {
    let text = |headings: &str| format!("{headings}\n{}", output(300));
    let cases = [
        ("", 0),
        ("## Goal", 1),
        ("## Critical Context", 1),
        ("# Goal\n# Progress", 0),
        ("## Next Steps\n## Key Decisions", 0),
    ];
    for (headings, found) in cases {
        assert_eq!(validate(&text(headings)), Err(CheckpointError::MissingSections { found }), "{headings}");
    }
    for headings in
        ["## Goal\n## Progress", "## Progress\n## Critical Context", "## Goal\n## Critical Context"]
    {
        assert_eq!(validate(&text(headings)), Ok(Validity::Fine), "{headings}");
    }
}

#[test]
fn a_summary_that_is_too_long_is_accepted_with_a_warning() {
    let fixed = summary(0).len();
    assert_eq!(validate(&summary(8000 - fixed)), Ok(Validity::Fine));
    assert_eq!(validate(&summary(8001 - fixed)), Ok(Validity::TooLong(Chars(8001))));
}

#[test]
fn test_format_history_text_with_summary() {
    let messages = [user("hello"), assistant("hi")];
    assert_eq!(
        history_text(Some("We greeted."), &messages),
        "[Previous context summary]\nWe greeted.\n\n\nUser: hello\n\nAssistant: hi"
    );
    assert_eq!(history_text(None, &messages), "User: hello\n\nAssistant: hi");
    assert_eq!(history_text(Some(""), &messages[..1]), "User: hello");

    let many: Vec<Message> = (0..25).map(|number| user(&format!("message {number}"))).collect();
    let text = history_text(None, &many);
    assert_eq!(text.matches("User: ").count(), 20);
    assert!(text.starts_with("User: message 5\n") && text.ends_with("User: message 24"));

    let tools = [call("bash", "1"), result("1", "output"), assistant("done")];
    assert_eq!(history_text(None, &tools), "Assistant: done", "tool output is never told");
}

#[test]
fn test_turn_contexts_cleaned() {
    let cases = [(0, 1), (1, 1), (2, 1), (3, 1), (4, 2), (7, 3), (20, 8), (100, 8)];
    for (recent, kept) in cases {
        let mut contexts: Vec<usize> = (0..8).collect();
        keep_turn_contexts(recent, &mut contexts);
        assert_eq!(contexts, (8 - kept..8).collect::<Vec<_>>(), "{recent} recent messages");
    }
    keep_turn_contexts(4, &mut Vec::<()>::new());
}

#[test]
fn plain_messages_are_told_with_bold_labels() {
    let messages = [user("first\nline"), assistant("answer"), Message::text(Role::Assistant, "  ")];
    let text = serialize_for_summary(&messages, &TranscriptOptions::default());
    assert_eq!(text, "**User:** first\nline\n\n**Assistant:** answer");
    let numbered = TranscriptOptions { first: Some(7), ..TranscriptOptions::default() };
    assert_eq!(
        serialize_for_summary(&messages, &numbered),
        "**User (#7):** first\nline\n\n**Assistant (#8):** answer"
    );
}

#[test]
fn tool_results_are_previewed_at_700_characters_and_inputs_at_200() {
    let options = TranscriptOptions::default();
    let (fits, long) = (output(700), output(701));
    let told = |text: &str| serialize_for_summary(&[result("1", text)], &options);
    assert_eq!(told(&fits), format!("**Tool:** [tool result: {fits}]"));
    let (head, tail) = (&long[..500], &long[501..]);
    assert_eq!(told(&long), format!("**Tool:** [tool result: {head}\n... [1 chars omitted] ...\n{tail}]"));

    let called = |input: &str| {
        let mut block = call_block("bash", "1");
        if let Block::ToolUse(call) = &mut block {
            call.input = input.to_owned();
        }
        serialize_for_summary(&[Message::new(Role::Assistant, vec![block])], &options)
    };
    assert_eq!(called(&"é".repeat(200)), format!("**Assistant:** [called bash: {}]", "é".repeat(200)));
    assert_eq!(called(&"é".repeat(201)), format!("**Assistant:** [called bash: {}…]", "é".repeat(200)));
}

#[test]
fn the_whole_is_capped_at_100_000_characters_by_its_middle() {
    let options = TranscriptOptions::default();
    let label = "**User:** ".len();
    let whole = serialize_for_summary(&[user(&output(100_000 - label))], &options);
    assert_eq!((chars(&whole), whole.contains("middle omitted")), (100_000, false));
    let cut = serialize_for_summary(&[user(&output(100_001 - label))], &options);
    assert_eq!(chars(&cut), 100_000);
    assert!(cut.contains("[... 100001 chars, middle omitted ...]"));
    assert!(cut.starts_with("**User:** line 0 ") && cut.ends_with(&output(100_001 - label)[99_000..]));
    for most in [0, 5, 60] {
        let tiny = TranscriptOptions { most: Chars(most), ..options };
        assert!(chars(&serialize_for_summary(&[user(&output(500))], &tiny)) <= most);
    }
}

//! Conformance with spec 008.1 v4, layer 1: the test cases of its Phase 1 under their own names.
//!
//! `test_token_estimator_calibration` and `test_token_estimator_initial` are in `nous_v4_estimation`.

use epitome_core::prune::{Settings, ThinkingRule};
use epitome_core::turn::is_tool_result_message;
use epitome_core::{Block, Chars, Message, RecallId, Role};

use crate::support::*;

fn label(text: &str) -> String {
    format!("[bash · {} chars · recall {}]", chars(text), RecallId::of(text))
}

fn trimmed(text: &str) -> String {
    let (head, tail) = (&text[..1500], &text[text.len() - 1500..]);
    let count = text.len();
    format!(
        "{head}\n\n--- trimmed (kept 1500 head + 1500 tail of {count} chars) ---\n{}\n\n{tail}",
        label(text)
    )
}

fn cleared(text: &str) -> String {
    format!("[Tool output cleared — content was processed in earlier turns]\n{}", label(text))
}

fn is_result(message: &Message) -> bool {
    is_tool_result_message(&path(std::slice::from_ref(message))[0].outline)
}

#[test]
fn test_is_tool_result_message_positive() {
    assert!(is_result(&result("call_1", "ok")));
    let parallel = vec![result_block("call_1", "ok"), result_block("call_2", "ok"), Block::text("go on")];
    assert!(is_result(&Message::new(Role::User, parallel)));
    assert!(is_result(&Message::new(Role::Tool, vec![result_block("call_1", "a message of its own")])));
}

#[test]
fn test_is_tool_result_message_negative() {
    assert!(!is_result(&user("plain text")));
    assert!(!is_result(&Message::new(Role::User, vec![])));
    assert!(!is_result(&Message::new(Role::User, vec![Block::text("a list"), image()])));
    assert!(!is_result(&assistant("tool_result")));
    assert!(!is_result(&call("bash", "call_1")));
}

#[test]
fn test_soft_trim_large_result() {
    let large = output(24_000);
    let messages = tool_loop([large.as_str(), "second", "third"]);
    let after = pruned(&messages, &seed());
    assert_eq!(result_texts(&after), [trimmed(&large).as_str(), "second", "third"]);
}

#[test]
fn test_soft_trim_preserves_small() {
    let (at_limit, above) = (output(4_000), output(4_001));
    let messages = tool_loop([at_limit.as_str(), above.as_str(), "third", "fourth"]);
    let after = pruned(&messages, &seed());
    assert_eq!(result_texts(&after), [at_limit.as_str(), &trimmed(&above), "third", "fourth"]);
}

#[test]
fn test_hard_clear_old_results() {
    let outputs: Vec<String> = (0..9).map(|number| output(500 + number)).collect();
    let messages = tool_loop(outputs.iter().map(String::as_str));
    let after = result_texts(&pruned(&messages, &seed()));
    // Nine tool-result messages: the third oldest is the seventh from the end, that is, more than six old.
    let expected = |(at, text): (usize, &String)| if at < 3 { cleared(text) } else { text.clone() };
    assert_eq!(after, outputs.iter().enumerate().map(expected).collect::<Vec<_>>());

    let six = tool_loop(outputs.iter().take(6).map(String::as_str));
    assert_eq!(pruned(&six, &seed()), six, "six from the end is not more than six");
}

#[test]
fn test_hard_clear_takes_over_from_soft_trim() {
    let large: Vec<String> = (0..8).map(|number| output(10_000 + number)).collect();
    let messages = tool_loop(large.iter().map(String::as_str));
    let after = result_texts(&pruned(&messages, &seed()));
    let expected = |(at, text): (usize, &String)| match at {
        0..2 => cleared(text),
        2..6 => trimmed(text),
        _ => text.clone(),
    };
    assert_eq!(after, large.iter().enumerate().map(expected).collect::<Vec<_>>());
}

#[test]
fn test_protect_last_n_results() {
    let large = output(30_000);
    for keep in 1..=4 {
        let settings = Settings { keep_last_tool_results: keep, ..seed() };
        let after = result_texts(&pruned(&tool_loop([large.as_str(); 5]), &settings));
        for (at, text) in after.iter().enumerate() {
            let expected = if at < 5 - keep { trimmed(&large) } else { large.clone() };
            assert_eq!(*text, expected, "keep {keep}, result {at}");
        }
    }
}

#[test]
fn test_parallel_results_count_as_one_message() {
    let large = output(9_000);
    let calls = |number: usize| {
        let ids = [format!("a{number}"), format!("b{number}")];
        (Message::new(Role::Assistant, ids.iter().map(|id| call_block("bash", id)).collect()), ids)
    };
    let mut together = vec![user("go")];
    let mut apart = vec![user("go")];
    for number in 0..4 {
        let (assistant, ids) = calls(number);
        let results: Vec<Block> = ids.iter().map(|id| result_block(id, &large)).collect();
        together.extend([assistant.clone(), Message::new(Role::User, results.clone())]);
        apart.push(assistant);
        apart.extend(results.into_iter().map(|result| Message::new(Role::Tool, vec![result])));
    }
    let expected: Vec<String> =
        (0..8).map(|at| if at < 4 { trimmed(&large) } else { large.clone() }).collect();
    assert_eq!(result_texts(&pruned(&together, &seed())), expected);
    assert_eq!(result_texts(&pruned(&apart, &seed())), expected);
}

#[test]
fn test_never_modify_assistant_blocks() {
    let long = output(50_000);
    let reply = Message::new(
        Role::Assistant,
        vec![thinking(&long), redacted(), Block::text(long.as_str()), call_block("bash", "x")],
    );
    let mut messages = vec![user("go"), reply, result("x", "done")];
    messages.extend(tool_loop([long.as_str(); 9]));
    let after = pruned(&messages, &seed());
    assert_ne!(after, messages);
    for (before, after) in messages.iter().zip(&after).filter(|(before, _)| before.role == Role::Assistant) {
        assert_eq!(before, after);
    }
}

#[test]
fn test_never_modify_user_text() {
    let long = output(50_000);
    let mixed = Message::new(Role::User, vec![result_block("call_0", &long), Block::text(long.as_str())]);
    let mut messages =
        vec![Message::text(Role::System, long.as_str()), user(&long), call("bash", "call_0"), mixed];
    messages.extend(tool_loop([long.as_str(); 9]));
    let after = pruned(&messages, &seed());
    assert_eq!(after[..3], messages[..3]);
    assert_eq!(after[3].blocks[1], messages[3].blocks[1], "text beside a result is text");
    assert_ne!(after[3].blocks[0], messages[3].blocks[0]);
}

#[test]
fn test_skip_image_results() {
    let picture = result_of("call_0", vec![Block::text(output(20_000)), image()]);
    let mut messages =
        vec![user("go"), call("screenshot", "call_0"), Message::new(Role::User, vec![picture])];
    messages.extend(tool_loop([output(20_000).as_str(); 9]));
    let after = pruned(&messages, &seed());
    assert_eq!(after[2], messages[2]);
}

#[test]
fn test_empty_messages_noop() {
    assert_eq!(pruned(&[], &seed()), []);
    assert_eq!(pruned(&[Message::new(Role::User, vec![])], &seed()).len(), 1);
}

#[test]
fn test_all_protected_noop() {
    let messages = tool_loop([output(100_000).as_str(); 2]);
    assert_eq!(pruned(&messages, &seed()), messages);
}

#[test]
fn test_disabled_noop() {
    let messages = tool_loop([output(30_000).as_str(); 20]);
    let settings = Settings { tool_pruning_enabled: false, ..seed() };
    assert_eq!(pruned(&messages, &settings), messages);
}

#[test]
fn test_defaults_are_the_specs() {
    let settings = Settings::default();
    assert!(settings.tool_pruning_enabled);
    assert_eq!(settings.tool_soft_trim_chars, Chars(4_000));
    assert_eq!(settings.tool_soft_trim_head, Chars(1_500));
    assert_eq!(settings.tool_soft_trim_tail, Chars(1_500));
    assert_eq!(settings.tool_hard_clear_after, 6);
    assert_eq!(settings.keep_last_tool_results, 2);
}

#[test]
fn test_counts_of_the_log_line() {
    let large: Vec<String> = (0..8).map(|number| output(10_000 + number)).collect();
    let messages = tool_loop(large.iter().map(String::as_str));
    let plan = planned(&messages, &seed(), Default::default(), ThinkingRule::Free);
    assert_eq!((plan.soft, plan.hard, plan.capped, plan.truncated, plan.unthought), (4, 2, 0, 0, 0));
}

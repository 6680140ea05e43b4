//! When pruning moves: in steps that are worth it, when the cache has lapsed, when the budget is exceeded.

use std::sync::Arc;

use epitome_core::prune::{
    self, Budget, Change, Plan, PruneMode, Settings, Size, ThinkingRule, Why, apply, edits, json_bytes,
    text_of,
};
use epitome_core::{Block, Chars, Entry, Fields, Message, Outline, RawJson, Role, Text, Tokens};

use crate::support::*;

fn steps() -> Settings {
    Settings { clear_at_least: Tokens(5_000), ..Settings::default() }
}

fn plan(messages: &[Message], settings: &Settings) -> Plan {
    planned(messages, settings, Budget::default(), ThinkingRule::Free)
}

fn moments(plan: &Plan) -> Vec<(usize, Why)> {
    plan.steps.iter().map(|step| (step.at, step.why)).collect()
}

#[test]
fn nothing_moves_until_it_is_worth_it() {
    let large = output(20_000);
    let messages = tool_loop([large.as_str(); 3]);
    let held = plan(&messages, &Settings { clear_at_least: Tokens(20_000), ..Settings::default() });
    assert_eq!(held.marks, [], "one trimmed result is not worth a step");
    assert!(held.held_back > Tokens(3_000), "but it is known: {}", held.held_back);
    assert_eq!(held.before, held.after);

    let moved = plan(&messages, &Settings { clear_at_least: Tokens(1_000), ..Settings::default() });
    assert_eq!(moments(&moved), [(6, Why::Gain)]);
    assert_eq!(moved.held_back, Tokens::ZERO);
    assert_eq!(moved.before.tokens, moved.after.tokens + moved.steps[0].gain.tokens);
}

#[test]
fn a_step_takes_all_that_is_due() {
    let large = output(20_000);
    let messages = tool_loop([large.as_str(); 12]);
    let plan = plan(&messages, &steps());
    assert!(plan.steps.len() > 1 && plan.steps.len() < 10, "steps, not calls: {:?}", plan.steps);
    assert!(plan.steps.iter().all(|step| step.gain.tokens >= Tokens(5_000)));
    assert!(plan.held_back < Tokens(5_000));
}

#[test]
fn silence_makes_a_step_free() {
    let large = output(20_000);
    let mut messages = tool_loop([large.as_str(); 3]);
    messages.push(assistant("done"));
    for (minute, message) in messages.iter_mut().enumerate() {
        *message = at(message.clone(), minute as i64);
    }
    let wait = |minutes: i64| {
        let mut messages = messages.clone();
        messages.push(at(user("and now?"), 7 + minutes));
        moments(&plan(&messages, &Settings::default()))
    };
    assert_eq!(wait(4), []);
    assert_eq!(wait(5), [(8, Why::Lapse)]);
}

#[test]
fn a_thought_that_may_be_left_out_does_not_break_a_silence() {
    let mut messages = tool_loop([output(20_000).as_str(); 3]);
    messages.push(at(assistant("done"), 0));
    messages.push(at(Message::new(Role::Assistant, vec![thinking("was it all?")]), 3));
    messages.push(at(user("and now?"), 6));
    assert_eq!(moments(&plan(&messages, &Settings::default())), [(9, Why::Lapse)]);
}

#[test]
fn without_times_nothing_lapses() {
    let mut messages = tool_loop([output(20_000).as_str(); 3]);
    messages.push(at(assistant("done"), 0));
    messages.push(user("and now?"));
    assert_eq!(moments(&plan(&messages, &Settings::default())), []);
}

#[test]
fn a_budget_forces_a_step() {
    let messages = tool_loop([output(20_000).as_str(); 3]);
    let with = |budget| planned(&messages, &Settings::default(), budget, ThinkingRule::Free);
    let free = with(Budget::default());
    let tight = with(Budget { tokens: Some(Tokens(free.before.tokens.0 - 1)), ..Budget::default() });
    assert_eq!(moments(&tight), [(6, Why::Budget)]);
    assert_eq!(tight.shortfall, Size::default());

    let bytes = with(Budget { bytes: Some(free.before.bytes - 1), ..Budget::default() });
    assert_eq!(moments(&bytes), [(6, Why::Budget)]);
    let beside = Size { tokens: Tokens(1_000_000), bytes: 1 };
    let fixed = with(Budget { bytes: Some(free.before.bytes), fixed: beside, ..Budget::default() });
    assert_eq!(moments(&fixed), [(6, Why::Budget)], "the byte budget is for everything that is sent");
    let apart = with(Budget { tokens: Some(free.before.tokens), fixed: beside, ..Budget::default() });
    assert_eq!(moments(&apart), [], "the token budget is for the conversation");

    let hopeless = with(Budget { tokens: Some(Tokens(10)), ..Budget::default() });
    assert_eq!(hopeless.shortfall.tokens, Tokens(hopeless.after.tokens.0 - 10));
}

#[test]
fn a_budget_out_of_reach_changes_no_prefix_more_often() {
    let messages = tool_loop([output(9_000).as_str(); 20]);
    let with = |budget| planned(&messages, &steps(), budget, ThinkingRule::Free);
    let free = with(Budget::default());
    let tokens = with(Budget { tokens: Some(Tokens(10)), ..Budget::default() });
    let bytes = with(Budget { bytes: Some(10), ..Budget::default() });
    assert!(!free.steps.is_empty());
    assert_eq!(moments(&tokens), moments(&free));
    assert_eq!(moments(&bytes), moments(&free));
    assert_eq!(tokens.shortfall.tokens, free.after.tokens - Tokens(10));
}

#[test]
fn a_session_that_ends_with_the_model_meets_its_budget() {
    let mut messages = tool_loop([output(20_000).as_str(); 3]);
    let free = plan(&messages, &Settings::default());
    messages.push(assistant("and that is all there is to say"));
    let budget = Budget { tokens: Some(free.before.tokens), ..Budget::default() };
    let tight = planned(&messages, &Settings::default(), budget, ThinkingRule::Free);
    assert_eq!(moments(&tight), [(7, Why::Budget)], "only its last reply exceeds the budget");
    assert_eq!(tight.shortfall, Size::default());
}

#[test]
fn bytes_are_counted_as_they_were_written() {
    let messages = tool_loop([output(20_000).as_str(); 3]);
    // Written with escapes, every block is twice as long.
    let entry = |entry: Entry| {
        let mut outline = Outline::clone(&entry.outline);
        outline.bytes += outline.blocks.iter().map(|block| block.bytes).sum::<usize>();
        let twice: Vec<usize> = outline.blocks.iter().map(|block| 2 * block.bytes).collect();
        Entry { outline: Arc::new(outline.written_in(twice)), ..entry }
    };
    let compact = path(&messages);
    let escaped: Vec<Entry> = compact.iter().cloned().map(entry).collect();
    let planned = |path: &[Entry]| {
        prune::plan(path, &seed(), Budget::default(), &mut sizes(&messages), ThinkingRule::Free)
    };
    let (compact, escaped) = (planned(&compact), planned(&escaped));
    assert_eq!(escaped.soft, 1);
    let left = json_bytes(&output(20_000));
    let more_before = escaped.before.bytes - compact.before.bytes;
    let more_after = escaped.after.bytes - compact.after.bytes;
    assert_eq!(more_before - more_after, left, "what is trimmed goes as it was written");
}

#[test]
fn leading_system_messages_are_counted_apart() {
    let mut messages =
        vec![Message::text(Role::System, output(9_000)), Message::text(Role::Developer, "be kind")];
    messages.extend(tool_loop(["ok"]));
    let with = plan(&messages, &steps());
    let without = plan(&messages[2..], &steps());
    assert_eq!(with.before, without.before);
    assert!(with.fixed.tokens > Tokens(1_000));
}

#[test]
fn excluded_tools_are_never_touched() {
    let large = output(90_000);
    let mut messages = vec![user("go"), call("memory_read", "m"), result("m", &large)];
    messages.extend(tool_loop([large.as_str(); 9]));
    let settings = Settings { exclude_tools: vec!["memory_*".to_owned()], ..seed() };
    let after = pruned(&messages, &settings);
    assert_eq!(after[2], messages[2]);
    assert_ne!(result_texts(&after)[1], large);
}

#[test]
fn small_results_are_left_as_they_are() {
    let messages = tool_loop(["ok"; 12]);
    assert_eq!(pruned(&messages, &seed()), messages, "a marker would be longer than what it stands for");
}

#[test]
fn errors_outlive_a_clearing() {
    let failure =
        format!("{}\nTraceback (most recent call last):\nValueError: no such column", output(5_000));
    let messages = tool_loop([failure.as_str(); 9]);
    let settings = Settings { keep_error_tails: true, ..seed() };
    let cleared = &result_texts(&pruned(&messages, &settings))[0];
    assert!(cleared.starts_with("[Tool output cleared — content was processed in earlier turns]\n[bash · "));
    assert!(cleared.contains(" · ends in an error ("), "{cleared}");
    assert!(
        cleared.ends_with("]\nTraceback (most recent call last):\nValueError: no such column"),
        "{cleared}"
    );

    let small_tail = Settings { tool_soft_trim_tail: Chars(10), ..settings };
    let trimmed = &result_texts(&pruned(&messages, &small_tail))[4];
    assert!(trimmed.contains("(kept 1500 head + 61 tail of 5062 chars)"), "{trimmed}");
    assert!(
        trimmed.ends_with("\n\nTraceback (most recent call last):\nValueError: no such column"),
        "{trimmed}"
    );
}

#[test]
fn bound_thinking_goes_as_a_whole() {
    let think =
        |id: &str| Message::new(Role::Assistant, vec![thinking("hm"), redacted(), call_block("bash", id)]);
    let large = output(20_000);
    let mut messages = vec![user("go"), think("a"), result("a", "short")];
    for id in ["b", "c", "d"] {
        messages.extend([think(id), result(id, &large)]);
    }
    let settings = Settings { clear_at_least: Tokens(1), ..Settings::default() };
    let with = |messages: &[Message], rule| planned(messages, &settings, Budget::default(), rule);

    let untouched = with(&messages[..7], ThinkingRule::Bound);
    assert_eq!(untouched.marks, []);
    assert_eq!(with(&messages, ThinkingRule::Free).unthought, 0);
    let bound = with(&messages, ThinkingRule::Bound);
    assert_eq!(bound.unthought, 8, "every thinking block, also those before the change");
    assert!(bound.after.tokens < with(&messages, ThinkingRule::Free).after.tokens);

    messages.extend([think("e"), result("e", "short")]);
    assert_eq!(with(&messages, ThinkingRule::Bound).unthought, 10, "and those that come later");
}

#[test]
fn thinking_before_every_change_stays() {
    let large = output(20_000);
    let mut messages =
        vec![user("go"), Message::new(Role::Assistant, vec![thinking("hm"), call_block("bash", "x")])];
    messages.push(result("x", "short"));
    messages.extend(tool_loop([large.as_str(); 4]));
    let settings = Settings { clear_at_least: Tokens(1), ..Settings::default() };
    let plan = planned(&messages, &settings, Budget::default(), ThinkingRule::Bound);
    assert!(plan.soft > 0);
    assert_eq!(plan.unthought, 0);
}

#[test]
fn a_message_of_nothing_but_thinking_is_left_out_or_replaced() {
    let only = || Message::new(Role::Assistant, vec![thinking("hm")]);
    let large = output(20_000);
    let mut messages = tool_loop([large.as_str(); 4]);
    let from = messages.len();
    messages.extend([only(), only(), user("still there?"), only(), assistant("yes"), user("good"), only()]);
    let settings = Settings { clear_at_least: Tokens(1), ..Settings::default() };
    let plan = planned(&messages, &settings, Budget::default(), ThinkingRule::Bound);
    let path = path(&messages);
    let changes = edits(&plan, &path, |message, block| text_of(&messages[message].blocks[block]));
    let emptied: Vec<_> = changes.into_iter().filter(|(message, _)| *message >= from).collect();
    assert_eq!(
        emptied,
        [
            (from, Change::Replace(assistant("[thinking removed]"))),
            (from + 1, Change::Drop),
            (from + 3, Change::Drop),
            (from + 6, Change::Drop)
        ]
    );
}

#[test]
fn a_trimmed_result_is_later_cleared_under_its_first_id() {
    let large = output(20_000);
    let first = pruned(&tool_loop([large.as_str(); 3]), &seed());
    let mut later = first.clone();
    later.extend(tool_loop([large.as_str(); 6]).into_iter().skip(1));
    let mut original = tool_loop([large.as_str(); 3]);
    original.extend(tool_loop([large.as_str(); 6]).into_iter().skip(1));
    assert_eq!(pruned(&later, &seed()), pruned(&original, &seed()));
}

#[test]
fn a_capped_result_is_trimmed_like_its_original() {
    let large = output(20_000);
    // The second cap leaves less of the tail than the trim would.
    for (cap, head) in [(4_000, 1_500), (2_000, 100)] {
        let settings = Settings {
            tool_result_max_chars: Some(Chars(cap)),
            tool_soft_trim_head: Chars(head),
            ..Settings { prune_mode: PruneMode::EveryCall, ..Settings::default() }
        };
        let original = tool_loop([large.as_str(); 3]);
        let mut continued = pruned(&original[..3], &settings);
        assert!(result_texts(&continued)[0].contains(" tail of 20000 chars)"), "capped at once");
        continued.extend_from_slice(&original[3..]);
        let after = pruned(&continued, &settings);
        assert_eq!(after, pruned(&original, &settings), "cap {cap}");
        assert_ne!(after[2], continued[2], "trimmed further than capped");
    }
}

#[test]
fn extras_of_a_pruned_message_survive() {
    let mut messages = tool_loop([output(20_000).as_str(); 3]);
    let raw = RawJson::new("{\"type\":\"ephemeral\"}");
    if let Block::ToolResult(result) = &mut messages[2].blocks[0] {
        result.extra.push(("cache_control".to_owned(), raw.clone()));
        result.is_error = true;
    }
    messages[2].extra.push(("note".to_owned(), raw));
    let after = pruned(&messages, &seed());
    assert_eq!(after[2].extra, messages[2].extra);
    let (Block::ToolResult(before), Block::ToolResult(after)) = (&messages[2].blocks[0], &after[2].blocks[0])
    else {
        panic!("a tool result stays one");
    };
    assert_eq!(
        (&before.call_id, &before.extra, before.is_error),
        (&after.call_id, &after.extra, after.is_error)
    );
    assert_ne!(before.content, after.content);
}

#[test]
fn a_breakpoint_inside_a_pruned_result_moves_to_the_result() {
    let breakpoint = |ttl: &str| ("cache_control".to_owned(), RawJson::new(format!("{{\"ttl\":\"{ttl}\"}}")));
    let text = |extra| Block::Text(Text { text: output(9_000), extra });
    let with = |role, own: Fields| {
        let content = vec![text(vec![breakpoint("1")]), text(vec![breakpoint("2")]), text(vec![])];
        let mut messages = tool_loop([output(9_000).as_str(); 3]);
        let Block::ToolResult(result) = &mut messages[2].blocks[0] else { panic!("a tool result") };
        (result.content, result.extra) = (content, own);
        messages[2].role = role;
        let before = planned(&messages, &seed(), Budget::default(), ThinkingRule::Free);
        let after = pruned(&messages, &seed());
        assert!(before.soft == 1 && before.after.bytes < before.before.bytes);
        let Block::ToolResult(result) = &after[2].blocks[0] else { panic!("a tool result") };
        assert!(matches!(result.content.as_slice(), [Block::Text(only)] if only.extra.is_empty()));
        result.extra.clone()
    };
    assert_eq!(with(Role::User, vec![]), [breakpoint("2")], "the last one covers most");
    assert_eq!(with(Role::User, vec![breakpoint("own")]), [breakpoint("own")]);
    assert_eq!(with(Role::Tool, vec![]), [], "other dialects have no place for it");
}

#[test]
fn what_thinking_leaves_behind_makes_no_second_step() {
    let think = || Message::new(Role::Assistant, vec![thinking("only a thought")]);
    let (large, small) = (output(20_000), output(5_000));
    let mut messages = tool_loop([large.as_str(), &small, &small]);
    messages.extend([user("and?"), think(), user("and now?"), think(), user("well?")]);
    messages.extend(tool_loop(["ok"; 2]).into_iter().skip(1));
    messages.push(user("done?"));
    let settings = Settings { clear_at_least: Tokens(3_000), ..Settings::default() };
    let free = planned(&messages, &settings, Budget::default(), ThinkingRule::Bound);
    assert!(free.unthought == 2 && free.held_back > Tokens::ZERO, "{free:?}");
    // Around the size at which the second step would just meet the budget, and around that of the whole.
    for middle in [free.after.tokens - free.held_back, free.after.tokens] {
        for tokens in middle.0.saturating_sub(40)..middle.0 + 40 {
            let budget = Budget { tokens: Some(Tokens(tokens)), ..Budget::default() };
            let plan = planned(&messages, &settings, budget, ThinkingRule::Bound);
            let view = apply(&plan, &path(&messages), &messages, Tokens(u64::MAX));
            let again = planned(&view, &settings, budget, ThinkingRule::Bound);
            assert_eq!(again.marks, [], "budget {tokens}");
        }
    }
}

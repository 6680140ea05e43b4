//! Generated conversations, settings and budgets for property tests.
//!
//! Small enough to shrink well, rich enough to meet every rule: parallel calls written together and apart,
//! images, thinking, excluded tools, failures, orphans, silences, texts that quote our own markers.

use std::ops::Range;

use epitome_core::prune::{Budget, CLEARED, PruneMode, Settings, Size};
use epitome_core::{Block, Chars, Message, Role, Time, Tokens};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::{bool, option};

use crate::support::*;

/// A conversation.
pub(crate) fn conversation() -> impl Strategy<Value = Vec<Message>> {
    let leading = prop_oneof![3 => Just(vec![]), 1 => Just(vec![Message::text(Role::System, output(700))])];
    (leading, vec(part(), 0..14), vec(option::weighted(0.8, 0_i64..7), 80)).prop_map(
        |(leading, parts, gaps)| {
            let mut messages: Vec<Message> = leading.into_iter().chain(parts.into_iter().flatten()).collect();
            give_times(&mut messages, &gaps);
            number_calls(&mut messages);
            messages
        },
    )
}

fn part() -> impl Strategy<Value = Vec<Message>> {
    prop_oneof![
        2 => text(0..1_800).prop_map(|text| vec![user(&text)]),
        1 => text(1..900).prop_map(|text| vec![assistant(&text)]),
        8 => tool_turn(),
        1 => Just(vec![Message::new(Role::Assistant, vec![thinking("only a thought")])]),
        1 => text(0..900).prop_map(|text| vec![result("orphan", &text)]),
    ]
}

fn tool_turn() -> impl Strategy<Value = Vec<Message>> {
    let outputs =
        vec((prop::sample::select(TOOLS), tool_output(), bool::weighted(0.1), bool::weighted(0.1)), 1..4);
    (outputs, option::of(text(1..300)), bool::ANY, bool::ANY).prop_map(|(outputs, said, thinks, apart)| {
        let mut reply = Vec::new();
        reply.extend(thinks.then(|| thinking("let me see what the tools say to that")));
        reply.extend(thinks.then(redacted));
        reply.extend(said.map(Block::text));
        let mut results = Vec::new();
        for (tool, text, pictured, failed) in outputs {
            reply.push(call_block(tool, ""));
            let mut content = vec![Block::text(text)];
            content.extend(pictured.then(image));
            results.push(match result_of("", content) {
                Block::ToolResult(mut result) => {
                    result.is_error = failed;
                    Block::ToolResult(result)
                }
                other => other,
            });
        }
        let mut messages = vec![Message::new(Role::Assistant, reply)];
        if apart {
            messages.extend(results.into_iter().map(|result| Message::new(Role::Tool, vec![result])));
        } else {
            messages.push(Message::new(Role::User, results));
        }
        messages
    })
}

const TOOLS: &[&str] = &["bash", "read_file", "memory", "a tool · with [odd] name"];
const LINES: &[&str] = &[
    "a line of output\n",
    "漢字とかな、🙂 e\u{301}\n",
    "x",
    "    let error: String = read();\n",
    "\n\n--- trimmed (kept 4 head + 4 tail of 90 chars) ---\n",
    "[bash · 90 chars · recall 0123456789ab]\n\n",
    "[truncated]\n",
    "Exit code 1\n",
    CLEARED,
    "\n",
];
const ENDS: &[&str] = &[
    "",
    "\nerror: it broke",
    "\nTraceback (most recent call last):\nKeyError: 'a'",
    "\n0 errors",
    "\nexit code: 1\n",
];

fn text(length: Range<usize>) -> impl Strategy<Value = String> {
    (length, prop::sample::select(LINES), prop::sample::select(LINES)).prop_map(|(length, first, second)| {
        first.chars().chain(second.chars().cycle()).take(length).collect()
    })
}

fn tool_output() -> impl Strategy<Value = String> {
    (prop_oneof![text(0..200), text(200..1_200), text(1_000..3_500)], prop::sample::select(ENDS))
        .prop_map(|(text, end)| text + end)
}

fn give_times(messages: &mut [Message], gaps: &[Option<i64>]) {
    let mut now = 0;
    for (message, gap) in messages.iter_mut().zip(gaps.iter().cycle()) {
        now += gap.unwrap_or(0) * 60_000;
        message.meta.time = gap.map(|_| Time(now));
    }
}

// Gives every call and its result an id of their own; an orphan keeps the one it has.
fn number_calls(messages: &mut [Message]) {
    let (mut calls, mut results) = (0, 0);
    for block in messages.iter_mut().flat_map(|message| &mut message.blocks) {
        match block {
            Block::ToolUse(call) => {
                call.id = format!("call_{calls}");
                calls += 1;
            }
            Block::ToolResult(result) if result.call_id.is_empty() => {
                result.call_id = format!("call_{results}");
                results += 1;
            }
            _ => {}
        }
    }
}

/// Settings that pass validation.
pub(crate) fn settings() -> impl Strategy<Value = Settings> {
    let trim = (0_usize..300, 0_usize..300, prop_oneof![1_usize..500, 1_usize..2_500]);
    let zones = (1_usize..4, 0_usize..4);
    let limits = (option::of(1_000_usize..2_500), option::of(1_usize..1_500));
    let steps = (bool::weighted(0.25), 0_u64..900, 0_u64..7);
    let errors = (bool::weighted(0.7), 1_usize..1_001);
    (bool::weighted(0.9), trim, zones, limits, steps, errors, bool::ANY).prop_map(
        |(
            enabled,
            (head, tail, more),
            (keep, older),
            (cap, most),
            (every_call, gain, lapse),
            errors,
            exclude,
        )| {
            Settings {
                tool_pruning_enabled: enabled,
                tool_soft_trim_chars: Chars(head + tail + more),
                tool_soft_trim_head: Chars(head),
                tool_soft_trim_tail: Chars(tail),
                tool_hard_clear_after: keep + older,
                keep_last_tool_results: keep,
                tool_result_max_chars: cap.map(Chars),
                max_message_chars: most.map(Chars),
                exclude_tools: if exclude { vec!["memory".to_owned()] } else { vec![] },
                prune_mode: if every_call { PruneMode::EveryCall } else { PruneMode::Steps },
                clear_at_least: Tokens(gain),
                cache_lapse_minutes: lapse,
                keep_error_tails: errors.0,
                error_tail_chars: Chars(errors.1),
                ..Settings::default()
            }
        },
    )
}

/// Budgets, most of them none.
pub(crate) fn budget() -> impl Strategy<Value = Budget> {
    (option::weighted(0.3, 0_u64..6_000), option::weighted(0.3, 0_usize..20_000), 0_usize..500).prop_map(
        |(tokens, bytes, fixed)| Budget {
            tokens: tokens.map(Tokens),
            bytes,
            fixed: Size { tokens: Tokens(50), bytes: fixed },
        },
    )
}

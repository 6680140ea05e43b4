//! Plans brought into a budget, step by step, and the shape that comes of it.

use epitome_core::compact::{
    Favours, Level, Limits, Placement, Plan, Planned, Segment, SummaryTask, Wording, fit, minimum_budget,
    plan_tokens,
};
use epitome_core::prune::Mark;
use epitome_core::{Message, Role, Tokens};

use crate::notation::{talk, words};
use crate::support::{call, counter, image, output, path, result, user};

fn count(text: &str) -> Tokens {
    counter().text(text)
}

// A summary of everything before the cut, the rest as it was.
fn plan(cut: usize, messages: &[Message], cap: u64) -> Plan {
    let task = SummaryTask::over(0..cut, Level::Checkpoint, None, Tokens(cap));
    let rest = Segment::Verbatim { range: cut..messages.len() };
    let old = (cut > 0).then_some(Planned::Summary(task));
    let parts = old.into_iter().chain([Planned::Segment(rest)]).collect();
    Plan { parts, placement: Placement::Pair, wording: Wording::default(), favours: Favours::Recent }
}

// One letter a message: summarised, omitted, pruned or verbatim; a changed message in a capital.
fn shape(plan: &Plan) -> String {
    let mut shape = String::new();
    for part in &plan.parts {
        match part {
            Planned::Summary(task) => shape.push_str(&"s".repeat(task.range.len())),
            Planned::Segment(Segment::Summary { range, .. }) => shape.push_str(&"w".repeat(range.len())),
            Planned::Segment(Segment::Omitted { range, .. }) => shape.push_str(&"o".repeat(range.len())),
            Planned::Segment(Segment::Verbatim { range }) => shape.push_str(&"v".repeat(range.len())),
            Planned::Segment(Segment::Pruned { range, marks }) => shape.extend(
                range
                    .clone()
                    .map(|at| if marks.iter().any(|marked| marked.message == at) { 'P' } else { 'p' }),
            ),
        }
        shape.push('|');
    }
    shape.pop();
    shape
}

struct Fit {
    shape: String,
    notes: String,
    plan: Plan,
}

fn fitted(messages: &[Message], plan: Plan, budget: u64, pins: &[usize]) -> Fit {
    let path = path(messages);
    let limits = Limits { budget: Tokens(budget), pins, previous: None, ..Limits::default() };
    let minimum = minimum_budget(&path, &limits);
    let fitted = fit(plan, &path, messages, &limits, &count);
    let most = plan_tokens(&fitted.plan, &path, messages, &limits, &count);
    assert!(most <= Tokens(budget) || Tokens(budget) < minimum, "{most} tokens of {budget}");
    Fit { shape: shape(&fitted.plan), notes: fitted.notes.join("; "), plan: fitted.plan }
}

fn cap(fit: &Fit) -> u64 {
    let caps = fit.plan.parts.iter().filter_map(|part| match part {
        Planned::Summary(task) => Some(task.max_tokens.0),
        Planned::Segment(_) => None,
    });
    caps.sum()
}

#[test]
fn a_plan_that_fits_is_returned_as_it_is() {
    let messages = talk("u*50 a*50 u*50 a*50");
    let wanted = plan(2, &messages, 200);
    let fit = fitted(&messages, wanted.clone(), 400, &[]);
    assert_eq!((fit.plan, fit.notes.as_str()), (wanted, ""));
}

#[test]
fn a_little_too_much_comes_off_the_summary() {
    let messages = talk("u*500 a*500 u*50 a*50");
    let fit = fitted(&messages, plan(2, &messages, 1_000), 1_100, &[]);
    assert_eq!(fit.shape, "ss|vv");
    assert!((875..1_000).contains(&cap(&fit)), "{}", cap(&fit));
}

#[test]
fn tool_results_of_what_is_kept_are_pruned_before_anything_else_goes() {
    let mut messages = talk("u a u");
    for number in 0..10 {
        let id = format!("c{number}");
        messages.extend([call("bash", &id), result(&id, &output(8_000))]);
    }
    let fit = fitted(&messages, plan(2, &messages, 500), 16_000, &[]);
    assert!(fit.notes.starts_with("tool results pruned in what is kept: "), "{}", fit.notes);
    assert_eq!(cap(&fit), 500, "the summary keeps its room");
    let tighter = fitted(&messages, plan(2, &messages, 500), 10_000, &[]);
    assert_eq!(tighter.shape.matches('P').count(), 8, "the newest two are never pruned: {}", tighter.shape);
}

#[test]
fn the_cut_moves_exchange_by_exchange() {
    let messages = talk("u*100 a*100 u*100 a*100 u*100 a*100 u*100 a*100");
    for (budget, expected) in
        [(2_000, "vvvvvvvv"), (800, "ss|vvvvvv"), (650, "ssss|vvvv"), (400, "ssssss|vv")]
    {
        let fit = fitted(&messages, plan(0, &messages, 0), budget, &[]);
        assert_eq!(fit.shape, expected, "budget {budget}: {}", fit.notes);
    }
}

#[test]
fn inside_an_exchange_that_is_too_large_the_cut_moves_turn_by_turn() {
    let messages = talk("u*50 a*50 u*50 a+1 t-1*300 a+2 t-2*300 a+3 t-3*300 a+4 t-4*300");
    let fit = fitted(&messages, plan(2, &messages, 100), 1_200, &[]);
    assert_eq!(
        fit.shape, "ss|v|ssss|vvvv",
        "its earlier turns are summarised, the request stays: {}",
        fit.notes
    );
}

#[test]
fn a_tool_loop_with_thinking_is_cut_only_without_its_thinking() {
    let messages = talk("u*50 a~+1 t-1*300 a~+2 t-2*300 a~+3 t-3*300");
    let fit = fitted(&messages, plan(0, &messages, 100), 600, &[]);
    assert_eq!(fit.shape, "v|ssss|P|v", "{}", fit.notes);
    assert!(fit.notes.contains("all thinking goes"), "{}", fit.notes);
    let marks = fit.plan.parts.iter().find_map(|part| match part {
        Planned::Segment(Segment::Pruned { marks, .. }) => Some(marks),
        _ => None,
    });
    assert_eq!(marks.map(|marks| marks[0].mark), Some(Mark::Remove));
}

#[test]
fn the_largest_items_of_the_last_turn_are_cut_short() {
    let mut messages = talk("u*50 a*50 u*50");
    messages.extend([call("bash", "big"), result("big", &words(9_000))]);
    let fit = fitted(&messages, plan(0, &messages, 100), 1_500, &[]);
    assert_eq!(fit.shape, "ss|vv|P", "{}", fit.notes);
    assert!(fit.notes.contains("large items cut short in what is kept: 1"), "{}", fit.notes);

    let request = [user(&words(9_000))];
    let fit = fitted(&request, plan(0, &request, 100), 1_500, &[]);
    assert_eq!(fit.shape, "P", "one huge request: {}", fit.notes);
}

#[test]
fn what_cannot_be_cut_short_is_summarised_and_the_request_stays() {
    let mut messages = talk("u*50 a*50 u*50");
    let mut huge = call("write", "big");
    if let epitome_core::Block::ToolUse(call) = &mut huge.blocks[0] {
        call.input = format!("{{\"content\":\"{}\"}}", words(9_000));
    }
    messages.extend([huge, result("big", "written")]);
    let fit = fitted(&messages, plan(0, &messages, 100), 600, &[]);
    assert_eq!(fit.shape, "ss|v|ss", "{}", fit.notes);

    let pictures = [Message::new(Role::User, vec![image(); 3])];
    assert_eq!(fitted(&pictures, plan(0, &pictures, 100), 600, &[]).shape, "s");
}

#[test]
fn pins_stay_whatever_happens() {
    let messages = talk("s u*500 a+1 t-1 a*500 u*30 a*500 u*500");
    let fit = fitted(&messages, plan(0, &messages, 100), 500, &[3, 5]);
    assert_eq!(fit.shape, "v|s|vv|s|v|ss", "a call stays with its result: {}", fit.notes);

    let least = minimum_budget(&path(&messages), &Limits { pins: &[3, 5], ..Limits::default() });
    let fit = fitted(&messages, plan(0, &messages, 100), least.0, &[3, 5]);
    assert!(
        fit.shape.contains("vv|") && fit.notes.contains("everything but what is pinned"),
        "{}",
        fit.notes
    );
}

#[test]
fn illegal_plans_are_mended() {
    let messages = talk("s u a+1 t-1 a u a");
    let cases = [
        (plan(3, &messages, 100), "v|sss|vvv"),
        (plan(5, &messages, 100), "v|ssss|vv"),
        (
            Plan {
                parts: vec![
                    Planned::Segment(Segment::Verbatim { range: 0..3 }),
                    Planned::Segment(Segment::Omitted { range: 3..5, note: String::new() }),
                    Planned::Segment(Segment::Verbatim { range: 5..7 }),
                ],
                ..plan(0, &messages, 0)
            },
            "vv|ooo|vv",
        ),
    ];
    for (plan, expected) in cases {
        assert_eq!(fitted(&messages, plan, 4_000, &[]).shape, expected);
    }
}

#[test]
fn below_the_minimum_it_says_so() {
    let messages = talk("u*500 a*500 u*500 a*500");
    let fit = fitted(&messages, plan(2, &messages, 100), 10, &[]);
    assert!(fit.notes.contains("budget 10 is below the minimum of 256 tokens"), "{}", fit.notes);
    assert_eq!(fit.shape, "ssss");
}

#[test]
fn summaries_are_shortened_together_before_the_cut_moves() {
    let messages = talk("u*500 a*500 u*500 a*500 u*100 a*100");
    let task = |range| Planned::Summary(SummaryTask::over(range, Level::Topic, None, Tokens(400)));
    let tail = Planned::Segment(Segment::Verbatim { range: 4..6 });
    let parts = vec![task(0..2), task(2..4), tail];
    let fit = fitted(&messages, Plan { parts, ..plan(0, &messages, 0) }, 700, &[]);
    assert_eq!(fit.shape, "ss|ss|vv");
    assert!(cap(&fit) > 300 && cap(&fit) < 460, "{}", cap(&fit));
}

//! Calibration against providers made up for the purpose, whose bills are known exactly.

use epitome_core::calibrate::{Calibration, Gauge, ReplayEvent, Verdict, replay};
use epitome_core::{Block, BlockKind, Message, Outline, Role, Tokens, Usage};
use proptest::prelude::*;

use crate::support::{assistant, call_block, cases, counter, result, thinking, user};

const MODEL: &str = "claude-sonnet-4-5";

/// A provider: what it bills for a token of ours, a frame, a call, and before the first message.
#[derive(Clone, Copy, Debug)]
struct Bills {
    ratio: f64,
    frame: f64,
    call: f64,
    offset: f64,
    /// Whether reasoning leaves the context when the user speaks again.
    drops_thinking: bool,
}

const CLAUDE: Bills = Bills { ratio: 1.22, frame: 11.0, call: 48.0, offset: 4_400.0, drops_thinking: false };

impl Bills {
    fn message(&self, message: &Message) -> Bill {
        let frame = if message.role == Role::Assistant { 0.0 } else { self.frame };
        let mut bill = Bill { tokens: frame, thinking: 0.0 };
        for part in Outline::of(message, &counter(), 0).blocks {
            let tokens = self.ratio * part.tokens.0 as f64;
            bill.tokens += tokens + if part.kind == BlockKind::ToolUse { self.call } else { 0.0 };
            bill.thinking += if part.kind == BlockKind::Thinking { tokens } else { 0.0 };
        }
        bill
    }

    fn context(&self, messages: &[Message]) -> Tokens {
        let bills: Vec<_> = messages.iter().map(|message| self.message(message)).collect();
        self.sum(messages, &bills)
    }

    fn sum(&self, messages: &[Message], bills: &[Bill]) -> Tokens {
        let speaks = |message: &Message| message.blocks.iter().any(|block| block.kind() == BlockKind::Text);
        let last_user = messages.iter().rposition(|message| message.role == Role::User && speaks(message));
        let dropped = if self.drops_thinking { last_user.unwrap_or(0) } else { 0 };
        let tokens: f64 = bills.iter().map(|bill| bill.tokens).sum();
        let thinking: f64 = bills.iter().take(dropped).map(|bill| bill.thinking).sum();
        Tokens((self.offset + tokens - thinking).round() as u64)
    }

    /// Fills in the usage of every reply.
    fn bill(&self, mut messages: Vec<Message>) -> Vec<Message> {
        let bills: Vec<_> = messages.iter().map(|message| self.message(message)).collect();
        for place in (0..messages.len()).filter(|place| place % 2 == 1) {
            let input = self.sum(&messages[..place], &bills[..place]);
            let output = Tokens(bills[place].tokens.round() as u64);
            let meta = &mut messages[place].meta;
            meta.usage = Some(Usage { cache_read: input, output, ..Usage::default() });
            meta.model = Some(MODEL.to_owned());
        }
        messages
    }
}

#[derive(Clone, Copy)]
struct Bill {
    tokens: f64,
    /// The part of it that is for reasoning.
    thinking: f64,
}

/// A session of `exchanges`, each a question, a few tool calls and an answer; every second message is a reply.
fn session(exchanges: usize) -> Vec<Message> {
    let mut messages = Vec::new();
    for exchange in 0..exchanges {
        messages.push(user(&format!("Please look into problem {exchange} and tell me what you find.")));
        for round in 0..3 {
            let id = format!("{exchange}-{round}");
            let thought = format!("Step {round}: {}", "I should read the file first. ".repeat(12));
            messages.push(Message::new(Role::Assistant, vec![thinking(&thought), call_block("bash", &id)]));
            let line = "src/main.rs:42:    let total: u64 = items.iter().map(|item| item.price).sum();\n";
            messages.push(result(&id, &line.repeat(1 + (exchange * 31 + round * 17) % 40)));
        }
        messages.push(assistant(&format!(
            "Problem {exchange} is an overflow in the sum. {}",
            "It is fixed. ".repeat(9)
        )));
    }
    messages
}

fn events(messages: &[Message]) -> impl Iterator<Item = ReplayEvent<'_>> {
    messages.iter().map(ReplayEvent::Message)
}

#[test]
fn meets_its_bounds_on_every_provider() {
    let cases = [
        CLAUDE,
        Bills { drops_thinking: true, ..CLAUDE },
        Bills { ratio: 1.35, offset: 20_000.0, ..CLAUDE },
        Bills { ratio: 1.0, frame: 4.0, call: 8.0, offset: 300.0, drops_thinking: false },
    ];
    for bills in cases {
        let rows = replay(events(&bills.bill(session(40))), &counter()).rows();
        let row = &rows[0];
        assert_eq!((row.calls, row.scored), (160, 155));
        assert!(row.next_call.median <= 0.005 && row.next_call.p95 <= 0.02, "{bills:?} {row:?}");
        assert!(row.whole_context.median <= 0.03, "{bills:?} {row:?}");
        assert!(row.chars_per_four.median > row.whole_context.median, "{bills:?} {row:?}");
    }
}

#[test]
fn after_a_compaction_only_the_whole_context_holds() {
    let billed = CLAUDE.bill(session(20));
    let (mut gauge, mut calibration) = observed(&billed);
    let kept = [&[user("Summary: problems 0 to 17 were overflows, all fixed.")], &billed[billed.len() - 8..]]
        .concat();

    gauge.reset();
    kept.iter().for_each(|message| gauge.push(&outline(message)));
    assert_eq!(gauge.next_call(&calibration, MODEL), None, "the anchor is gone with the context");
    let (estimate, actual) = (gauge.whole_context(&calibration, MODEL), CLAUDE.context(&kept));
    assert!(off(estimate, actual) <= 0.03, "{estimate} instead of {actual}");

    let usage = Usage { input: actual, output: Tokens(50), ..Usage::default() };
    let verdict = gauge.observe(&mut calibration, MODEL, &usage, &outline(&assistant("Done.")));
    assert_eq!(verdict, Verdict::Anchored, "a smaller context after a reset is no truncation");
    assert!(gauge.next_call(&calibration, MODEL).is_some());
}

#[test]
fn bad_usage_teaches_nothing() {
    let billed = CLAUDE.bill(session(10));
    let (gauge, calibration) = observed(&billed);
    let last = billed.last().and_then(|message| message.meta.usage).unwrap();
    let cases = [
        (Usage::default(), Verdict::Missing),
        (last, Verdict::Stale),
        (Usage { input: Tokens(4_096), output: Tokens(10), ..Usage::default() }, Verdict::Truncated),
    ];
    for (usage, verdict) in cases {
        let (mut gauge, mut learned) = (gauge.clone(), calibration.clone());
        gauge.push(&outline(&user("And now something else.")));
        let reply = outline(&assistant("Certainly."));
        assert_eq!(gauge.observe(&mut learned, MODEL, &usage, &reply), verdict);
        assert_eq!(learned, calibration, "{verdict:?}");
    }
}

#[test]
fn an_aborted_call_leaves_the_anchor_in_place() {
    let (mut gauge, mut calibration) = observed(&CLAUDE.bill(session(10)));
    gauge.push(&outline(&user("Stop.")));
    let before = gauge.next_call(&calibration, MODEL);
    let nothing = outline(&Message::new(Role::Assistant, vec![]));
    gauge.observe(&mut calibration, MODEL, &Usage::default(), &nothing);
    assert_eq!(gauge.next_call(&calibration, MODEL), before);
}

/// A reply that was cut off was billed a token or two, and its calls were never answered: text stays, calls go.
#[test]
fn a_reply_that_was_cut_off_counts_by_what_is_kept_of_it() {
    let mut billed = CLAUDE.bill(session(10));
    let (mut gauge, mut calibration) = observed(&billed);
    let question = user("Write it all out.");
    gauge.push(&outline(&question));
    billed.push(question);
    let text = "I will write all of it out now, beginning with the first part. ".repeat(20);
    let cut = Message::new(Role::Assistant, vec![Block::text(text.as_str()), call_block("write", "never")]);
    let usage = Usage { input: CLAUDE.context(&billed), output: Tokens(2), ..Usage::default() };
    gauge.observe(&mut calibration, MODEL, &usage, &outline(&cut));
    billed.push(assistant(&text));
    let again = user("Go on.");
    gauge.push(&outline(&again));
    billed.push(again);
    let (estimate, actual) = (gauge.next_call(&calibration, MODEL).unwrap(), CLAUDE.context(&billed));
    assert!(off(estimate, actual) <= 0.005, "{estimate} instead of {actual}");
}

#[test]
fn another_model_needs_its_own_anchor() {
    let (gauge, calibration) = observed(&CLAUDE.bill(session(5)));
    assert!(gauge.next_call(&calibration, MODEL).is_some());
    assert_eq!(gauge.next_call(&calibration, "gpt-5.1"), None);
    assert!(gauge.whole_context(&calibration, "gpt-5.1") < gauge.whole_context(&calibration, MODEL));
}

#[test]
fn confidence_grows_and_state_survives() {
    let (gauge, calibration) = observed(&CLAUDE.bill(session(10)));
    let confidence = calibration.of(MODEL).confidence();
    assert_eq!(calibration.of("claude-opus-4-5").confidence().samples, 0);
    assert!(confidence.samples >= 30 && confidence.spread < 0.1, "{confidence:?}");

    let json = serde_json::to_string(&(&gauge, &calibration)).unwrap();
    let (again, restored): (Gauge, Calibration) = serde_json::from_str(&json).unwrap();
    assert_eq!(again.next_call(&restored, MODEL), gauge.next_call(&calibration, MODEL));
    assert_eq!(again.whole_context(&restored, MODEL), gauge.whole_context(&calibration, MODEL));
}

proptest! {
    #![proptest_config(cases(64))]

    /// Whatever is reported, ratios stay in their range and estimates finite.
    #[test]
    fn survives_any_usage(reports in proptest::collection::vec((0_u64..10_000_000, 0_u64..1_000_000), 1..40)) {
        let (mut gauge, mut calibration) = (Gauge::default(), Calibration::default());
        for (input, output) in reports {
            gauge.push(&outline(&user("Something was said here, and then some more.")));
            let usage = Usage { input: Tokens(input), output: Tokens(output), ..Usage::default() };
            gauge.observe(&mut calibration, MODEL, &usage, &outline(&assistant("Indeed it was.")));
            prop_assert!((0.5..=2.0).contains(&calibration.of(MODEL).ratio()));
            prop_assert!(gauge.whole_context(&calibration, MODEL) < Tokens(100_000_000));
        }
    }
}

fn observed(billed: &[Message]) -> (Gauge, Calibration) {
    let (mut gauge, mut calibration) = (Gauge::default(), Calibration::default());
    for message in billed {
        match message.meta.usage {
            Some(usage) => {
                gauge.observe(&mut calibration, MODEL, &usage, &outline(message));
            }
            None => gauge.push(&outline(message)),
        }
    }
    (gauge, calibration)
}

fn outline(message: &Message) -> Outline {
    Outline::of(message, &counter(), 0)
}

fn off(estimate: Tokens, actual: Tokens) -> f64 {
    (estimate.0 as f64 - actual.0 as f64).abs() / actual.0 as f64
}

//! Where nothing of a model's is used, the context is what it would be without one.

use epitome_core::compact::{
    self, Compaction, Level, Request, Segment, StrategyName, Summarizer, SummaryRequest, view, view_tokens,
};
use epitome_core::digest::Digest;
use epitome_core::fidelity::{Context, Reading};
use epitome_core::settings::Settings;
use epitome_core::{Entry, Message, Outline, Role, Tokens};
use epitome_llm::summary::Rung;
use proptest::prelude::*;

use super::carried::{LEVELS, both, said};
use super::{counter, request, runtime, summarizer, tokens};
use crate::upstream::{Act, Upstream};

fn refusal() -> Act {
    Act::Refuse(401, Vec::new(), r#"{"error":{"type":"authentication_error","message":"no"}}"#.to_owned())
}

// More orders than there is room for, and names beside them.
fn crowded() -> Vec<Message> {
    let mut messages = vec![
        Message::text(Role::User, "/mode"),
        Message::text(
            Role::User,
            "read docs/theme.md in full, then src/theme.rs, and then any of the other selectors.",
        ),
        Message::text(Role::Assistant, "I read docs/theme.md and src/theme.rs."),
    ];
    for number in 0..30 {
        let order = format!(
            "Never let the column of table{number}_rows be wider than what the report of that week is about, and never let the other one be narrower, whoever asks and whatever they say about the paper and the printer that they have there."
        );
        let reply = format!(
            "The table table{number}_rows uses mdLink{number} and mdCode in src/part{number}.rs now."
        );
        messages.extend([Message::text(Role::User, order), Message::text(Role::Assistant, reply)]);
    }
    messages
}

#[test]
fn an_order_that_finds_no_room_changes_nothing() {
    let messages = crowded();
    for level in [Level::Narrative, Level::Rolling, Level::Topic, Level::Bulk] {
        for room in (100..400).step_by(20) {
            let request = SummaryRequest { level, max_tokens: Tokens(room), ..request(&messages, &[]) };
            let (text, by_code, written) = both(&request, vec![refusal()], Tokens(200_000));
            assert_eq!(written.rung, Rung::Offline);
            assert_eq!(text, by_code, "{level:?} {room}");
        }
    }
}

/// The context that comes of these messages, and what the summary in it has.
fn compacted(messages: &[Message], budget: Tokens, summarizer: &mut dyn Summarizer) -> (Compaction, Context) {
    let path = path(messages);
    let mut settings = Settings::default();
    settings.compact.strategy = StrategyName::Auto;
    let asked = Request { budget: Some(budget), ..Request::new(&settings) };
    let count = |text: &str| tokens(text);
    let done = compact::compact(&path, messages, &asked, summarizer, &count).compaction.unwrap();
    let view = view(&done, &path, messages, compact::SystemPlace::Outside);
    let size = view_tokens(&view, &path, &count);
    let context = Context::of(view.system.as_deref(), &view.messages(messages), size);
    (done, context)
}

fn path(messages: &[Message]) -> Vec<Entry> {
    let entry = |message| Entry { outline: Outline::of(message, &counter(), 0).into(), time: None };
    messages.iter().map(entry).collect()
}

#[test]
fn room_that_is_left_is_used_without_asking_again() {
    let messages = crowded();
    let (path, count) = (path(&messages), |text: &str| tokens(text));
    let exam = Reading::of(None, &messages).exam(messages.len() - 1);
    for budget in [500, 700, 900, 1_200].map(Tokens) {
        let (alone, context) = compacted(&messages, budget, &mut Digest::new(&path, &messages, &count));
        let (upstream, runtime) = (Upstream::new(vec![refusal()]), runtime());
        let (mut model, mut offline) =
            (summarizer(&upstream, &runtime), Digest::new(&path, &messages, &count));
        let (beside, other) = compacted(&messages, budget, &mut model.beside(&mut offline));
        let summaries = |done: &Compaction| {
            done.segments.iter().filter(|segment| matches!(segment, Segment::Summary { .. })).count()
        };
        assert!(summaries(&alone) > 0);
        assert_eq!(upstream.requests().len(), summaries(&beside));
        let kept = |context: &Context| exam.score(context).columns().map(|tally| tally.kept);
        let (alone_kept, beside_kept) = (kept(&context), kept(&other));
        assert_eq!(alone_kept, beside_kept, "{budget:?}\n{alone:?}\n\n{beside:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn code_writes_what_it_writes_alone(
        messages in said(),
        level in prop::sample::select(LEVELS.to_vec()),
        room in 60_u64..500,
    ) {
        let request = SummaryRequest { level, max_tokens: Tokens(room), ..request(&messages, &[]) };
        let (text, by_code, _) = both(&request, vec![refusal()], Tokens(200_000));
        if text == by_code {
            return Ok(());
        }
        // One that is too long, or no shorter than what it is of, is made shorter in any case.
        let all: Tokens = messages.iter().map(|message| counter().message(message)).sum();
        let is_too_long = tokens(&by_code) > Tokens(room) || tokens(&by_code) >= all;
        prop_assert!(is_too_long, "{by_code}\n\n{text}");
    }
}

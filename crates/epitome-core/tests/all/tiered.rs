//! Properties of the `tiered` strategy, over generated conversations.

use epitome_core::compact::{Compaction, Due, Limits, Outcome, Segment, Strategy as _, Tiered, check_tiling};
use epitome_core::{Block, Message, Role, Tokens};
use proptest::prelude::*;

use crate::conversations::conversation;
use crate::friday_tiers::{Talkative, count, friday, seen, shape};
use crate::support::*;

// Topics come and go: some user messages announce one.
fn announced() -> impl Strategy<Value = Vec<Message>> {
    (conversation(), proptest::collection::vec(0_usize..3, 80)).prop_map(|(mut messages, choices)| {
        for (message, choice) in messages.iter_mut().zip(choices) {
            if let (0, Role::User, [Block::Text(text)]) =
                (choice, message.role, message.blocks.as_mut_slice())
            {
                text.text.insert_str(0, "New topic. ");
            }
        }
        messages
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn any_budget_above_the_minimum_is_met(
        messages in announced(), more in 0_u64..3_000, over_share in any::<bool>(), cut in 0_usize..60,
        pins in proptest::collection::btree_set(0_usize..60, 0..3),
    ) {
        let due = if over_share { Due::OverShare } else { Due::OverBudget };
        let tiered = Tiered { due, ..friday() };
        let all = path(&messages);
        let pins: Vec<usize> = pins.into_iter().filter(|pin| *pin < messages.len()).collect();
        let mut previous: Option<Compaction> = None;
        for length in [cut.min(messages.len()), messages.len()] {
            let (path, messages) = (&all[..length], &messages[..length]);
            let limits = Limits { budget: Tokens(0), pins: &pins, previous: previous.as_ref(), ..Limits::default() };
            let budget = tiered.minimum(path, &limits) + Tokens(more);
            let limits = Limits { budget, ..limits };
            let outcome = tiered.plan(path, messages, &limits);
            prop_assert_eq!(&outcome, &tiered.plan(path, messages, &limits), "deterministic");
            if let Outcome::Compact(plan) = outcome {
                let compaction = plan.run(messages, &mut Talkative::default(), &count);
                prop_assert_eq!(check_tiling(&compaction.segments, length), Ok(()));
                let (_, tokens) = seen(&compaction, messages);
                prop_assert!(tokens <= budget, "{} of {}: {}", tokens, budget, shape(&compaction.segments));
                let limits = Limits { budget, pins: &pins, previous: Some(&compaction), ..Limits::default() };
                let again = tiered.plan(path, messages, &limits);
                prop_assert!(matches!(again, Outcome::Nothing(_)), "{:?}\nafter {}", again, shape(&compaction.segments));
                let untouched = |pin: &usize| compaction.segments.iter().any(|segment| match segment {
                    Segment::Verbatim { range } => range.contains(pin),
                    Segment::Pruned { range, marks } => {
                        range.contains(pin) && marks.iter().all(|marked| marked.message != *pin)
                    }
                    _ => false,
                });
                prop_assert!(pins.iter().filter(|pin| **pin < length).all(untouched));
                previous = Some(compaction);
            }
        }
    }
}

/// What a pin keeps before the current topic is a topic of its own, also when the tiers are looked at again.
#[test]
fn a_pinned_exchange_does_not_grow_into_the_current_topic() {
    let words = |number: usize| "word ".repeat(number);
    let lengths = [(Role::User, 10), (Role::Assistant, 270), (Role::User, 10), (Role::Assistant, 200)];
    let later = [(Role::User, 10), (Role::Assistant, 150), (Role::User, 10), (Role::Assistant, 80)];
    let all = lengths.into_iter().chain(later);
    let messages: Vec<Message> = all.map(|(role, length)| Message::text(role, words(length))).collect();
    let (path, pins, budget) = (path(&messages), [2, 3], Tokens(1_000));
    let limits = Limits { budget, pins: &pins, previous: None, ..Limits::default() };
    let Outcome::Compact(plan) = friday().plan(&path, &messages, &limits) else { panic!("nothing to do") };
    let compaction = plan.run(&messages, &mut Talkative::default(), &count);
    assert_eq!(shape(&compaction.segments), "topic 0..2 | kept 2..4 | kept 4..8");
    let again = friday().plan(&path, &messages, &Limits { previous: Some(&compaction), ..limits });
    assert!(matches!(again, Outcome::Nothing(_)), "{again:?}");
}

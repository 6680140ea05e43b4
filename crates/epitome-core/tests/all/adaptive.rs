//! Numbers that follow the conversation, what stays longer, and cascades of summaries.

use epitome_core::adaptive::cascade::{self, Existing, GROUP, Rewritten, Tier};
use epitome_core::adaptive::retention::{MOST_PIECES, WORTH_KEEPING, keep_longer, scores};
use epitome_core::adaptive::{recency_window, threshold};
use epitome_core::turn::tool_pairs;
use epitome_core::{Entry, Message, Role, Tokens};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::conversations::conversation;
use crate::support::{assistant, call, output, path, result, tool_loop, user};

const BASE: Tokens = Tokens(100_000);
const WINDOW: Tokens = Tokens(200_000);

fn chat(turns: usize, chars: usize) -> Vec<Entry> {
    let messages: Vec<Message> =
        (0..turns).flat_map(|_| [user(&output(chars)), assistant(&output(chars))]).collect();
    path(&messages)
}

#[test]
fn the_threshold_follows_the_growth() {
    assert_eq!(threshold(&[], BASE, WINDOW), BASE);
    assert_eq!(threshold(&chat(3, 30_000), BASE, WINDOW), BASE, "three turns are no pattern");
    assert_eq!(threshold(&chat(12, 40), BASE, WINDOW), Tokens(150_000), "short turns may fill more");
    let middling = chat(12, 24_000);
    let turn = middling[0].outline.tokens + middling[1].outline.tokens;
    let expected = Tokens(200_000 - 9 * turn.0);
    assert!(expected > Tokens(50_000) && expected < Tokens(150_000), "{expected}");
    assert_eq!(threshold(&middling, BASE, WINDOW), expected);
    assert_eq!(threshold(&chat(12, 60_000), BASE, WINDOW), Tokens(50_000), "long turns are compacted early");
    assert_eq!(
        threshold(&chat(12, 40), BASE, Tokens(100_000)),
        Tokens(90_000),
        "never at the edge of the window"
    );
}

#[test]
fn the_recency_window_follows_the_size_of_messages() {
    assert_eq!(recency_window(&[], 6, Tokens(80_000)), 6);
    assert_eq!(recency_window(&chat(20, 40), 6, Tokens(80_000)), 9);
    assert_eq!(recency_window(&chat(20, 60_000), 6, Tokens(80_000)), 3);
    let middling = chat(20, 20_000);
    let expected = 24_000 / middling[39].outline.tokens.0 as usize;
    assert!((4..=8).contains(&expected), "{expected}");
    assert_eq!(recency_window(&middling, 6, Tokens(80_000)), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn adaptive_numbers_stay_in_their_bounds(
        messages in conversation(), base in 1_u64..200_000, window in 1_u64..1_000_000, count in 0_usize..100,
    ) {
        let path = path(&messages);
        let found = threshold(&path, Tokens(base), Tokens(window)).0;
        prop_assert!(found <= base + base / 2 && found <= window);
        prop_assert!(found >= base.div_ceil(2) || found == window * 9 / 10);
        let found = recency_window(&path, count, Tokens(window));
        prop_assert!(found >= count / 2 && found <= count + count.div_ceil(2));
    }
}

#[test]
fn decisions_constraints_and_preferences_score() {
    let worth = [
        user("You must never touch the public API."),
        user("We decided to use PostgreSQL instead of MySQL."),
        user("I prefer tabs, please use them everywhere."),
        user("Das Budget beträgt höchstens 500 Euro."),
        user("Nous avons décidé de garder l'ancien format."),
        user("El informe debe estar listo el lunes."),
        assistant("Agreed, we'll use SQLite. The root cause was a missing index, fixed in v2."),
        Message::text(Role::System, "rules"),
    ];
    let routine = [
        user("thanks"),
        user("ok, go on"),
        user("What does this function do?"),
        user("thanks, mustard and agreement are unrelated words: dismissed"),
        assistant("Let me look at the file."),
        assistant("Here is the list of files."),
        call("bash", "1"),
        result("1", "I prefer this and must never decide"),
    ];
    for (message, score) in worth.iter().zip(scores(&path(&worth), &worth)) {
        assert!(score >= WORTH_KEEPING, "{score} {message:?}");
    }
    for (message, score) in routine.iter().zip(scores(&path(&routine), &routine)) {
        assert!(score < WORTH_KEEPING, "{score} {message:?}");
    }
}

#[test]
fn what_matters_stays_as_whole_exchanges() {
    let messages = [
        Message::text(Role::System, "rules"),
        user("hello"),
        assistant("hi"),
        user("You must always run the tests, we decided that."),
        call("bash", "1"),
        result("1", "ok"),
        assistant("done"),
        user("thanks"),
        assistant("you are welcome"),
        user("next thing"),
        assistant("sure"),
    ];
    let path = path(&messages);
    assert_eq!(keep_longer(&path, &messages, 9, Tokens(1_000)), [3, 4, 5, 6]);
    assert_eq!(
        keep_longer(&path, &messages, 9, Tokens(50)),
        [3],
        "where the exchange is too large, its opening"
    );
    assert!(keep_longer(&path, &messages, 9, Tokens(5)).is_empty());
    assert!(keep_longer(&path, &messages, 3, Tokens(1_000)).is_empty());
    assert_eq!(
        keep_longer(&path, &messages, 5, Tokens(1_000)),
        [3],
        "a cut through the exchange leaves its opening"
    );
}

#[test]
fn the_best_come_first_and_of_equals_the_newest() {
    let messages: Vec<Message> =
        (0..40).flat_map(|_| [user("we must never do it"), assistant("fine")]).collect();
    let kept = keep_longer(&path(&messages), &messages, 80, Tokens(100_000));
    assert_eq!(kept, (80 - 2 * MOST_PIECES..80).collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_stays_fits_and_is_whole(messages in conversation(), at in 0.0..=1.0_f64, room in 0_u64..3_000) {
        let path = path(&messages);
        let cut = (messages.len() as f64 * at) as usize;
        let kept = keep_longer(&path, &messages, cut, Tokens(room));
        prop_assert!(kept.is_sorted() && kept.iter().all(|at| *at < cut));
        let tokens: Tokens = kept.iter().map(|at| path[*at].outline.tokens).sum();
        prop_assert!(tokens <= Tokens(room));
        for pair in tool_pairs(path.iter().map(|entry| entry.outline.as_ref())).pairs {
            // A result that stands before its cut may answer a call that opens no exchange; both or none stay.
            prop_assert_eq!(kept.contains(&pair.call.message), kept.contains(&pair.result.message));
        }
        for score in scores(&path, &messages) {
            prop_assert!((0.0..=1.0).contains(&score));
        }
    }
}

fn existing(sizes: &[(u64, u32)]) -> Vec<Existing> {
    sizes.iter().map(|(tokens, depth)| Existing { tokens: Tokens(*tokens), depth: *depth }).collect()
}

/// `0-3:d1=500* 4=800`: the summaries of a tier, its depth and size; a star where it is to be written.
fn shape(tiers: &[Tier]) -> String {
    let tier = |tier: &Tier| {
        let range = match tier.range.len() {
            1 => tier.range.start.to_string(),
            _ => format!("{}-{}", tier.range.start, tier.range.end - 1),
        };
        let star = if tier.rewritten == Rewritten::Yes { "*" } else { "" };
        format!("{range}:d{}={}{star}", tier.depth, tier.max_tokens)
    };
    tiers.iter().map(tier).collect::<Vec<_>>().join(" ")
}

#[test]
fn older_summaries_are_summarised_again() {
    type Sizes = &'static [(u64, u32)];
    let cases: &[(Sizes, u64, &str)] = &[
        (&[], 0, ""),
        (&[(500, 0), (500, 0)], 1_000, "0:d0=500 1:d0=500"),
        (&[(500, 0)], 300, "0:d0=300*"),
        (&[(500, 0); 5], 2_000, "0-3:d1=500* 4:d0=500"),
        (&[(500, 0); 9], 2_000, "0-3:d1=500* 4-7:d1=500* 8:d0=500"),
        (&[(500, 1), (500, 0), (500, 0), (500, 0), (500, 0)], 2_000, "0:d1=500 1-4:d1=500*"),
        (&[(500, 1), (500, 0), (500, 0)], 1_400, "0-1:d2=250* 2:d0=500"),
        (&[(500, 0), (500, 0), (500, 0)], 300, "0-2:d2=200*"),
        (&[(500, 0), (500, 0)], 50, "0-1:d1=50*"),
    ];
    for (sizes, cap, expected) in cases {
        assert_eq!(shape(&cascade::plan(&existing(sizes), Tokens(*cap))), *expected, "{sizes:?} into {cap}");
    }
}

#[test]
fn a_thousand_summaries_need_few_levels() {
    let tiers = cascade::plan(&existing(&[(1_000, 0); 1_024]), Tokens(8_000));
    assert!(tiers.iter().map(|tier| tier.max_tokens).sum::<Tokens>() <= Tokens(8_000));
    assert!(tiers.iter().all(|tier| tier.depth <= 5), "{}", shape(&tiers));
    assert!(tiers.len() >= GROUP);
}

proptest! {
    #[test]
    fn a_cascade_tiles_and_fits(sizes in vec((0_u64..3_000, 0_u32..4), 0..60), cap in 0_u64..30_000) {
        let tiers = cascade::plan(&existing(&sizes), Tokens(cap));
        let mut next = 0;
        for tier in &tiers {
            prop_assert_eq!(tier.range.start, next);
            next = tier.range.end;
            if tier.rewritten == Rewritten::No {
                let (tokens, depth) = sizes[tier.range.start];
                prop_assert_eq!((tier.range.len(), tier.max_tokens, tier.depth), (1, Tokens(tokens), depth));
            }
        }
        prop_assert_eq!(next, sizes.len());
        prop_assert!(tiers.iter().map(|tier| tier.max_tokens).sum::<Tokens>() <= Tokens(cap));
        let after: Vec<Existing> =
            tiers.iter().map(|tier| Existing { tokens: tier.max_tokens, depth: tier.depth }).collect();
        prop_assert!(cascade::plan(&after, Tokens(cap)).iter().all(|tier| tier.rewritten == Rewritten::No));
    }
}

#[test]
fn errors_of_tools_score_a_little() {
    let messages = tool_loop(["error: no such thing", "fine"]);
    let scores = scores(&path(&messages), &messages);
    assert!(scores[2] > scores[4]);
}

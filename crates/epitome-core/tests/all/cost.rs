//! What compaction costs and saves.

use epitome_core::cost::{
    CacheState, Change, MOST_TURNS, Money, Situation, SummaryCall, Tariff, Verdict, growth, least_gain,
    remaining_turns, worth_compacting, worth_pruning,
};
use epitome_core::models::{Caching, LongContext, ModelTable, Price};
use epitome_core::{Message, Role, Time, Tokens};
use proptest::prelude::*;

use crate::support::{assistant, output, path, tool_loop, user};

fn tariff(input: f64, output: f64, write: f64, read: f64) -> Tariff {
    Tariff::new(Price { input, output }, None, Caching { minimum: Tokens(1_024), write, read })
}

// Claude Opus 4.5: 5 dollars in, 25 out, writes at 1.25, reads at 0.1.
fn opus() -> Tariff {
    Tariff::of(&ModelTable::default().get("claude-opus-4-5").model)
}

fn situation(turns: u64) -> Situation {
    let (tokens, cached) = (Tokens(100_000), Tokens(98_000));
    Situation { tariff: opus(), tokens, cached, turns, growth: Tokens(2_000), hard: None }
}

// From 100,000 to 40,000 tokens, the system prompt of 5,000 unchanged.
fn change() -> Change {
    let summary =
        SummaryCall { tariff: opus(), input: Tokens(99_000), cached: Tokens(98_000), output: Tokens(2_000) };
    Change { unchanged: Tokens(5_000), after: Tokens(40_000), summary: Some(summary) }
}

#[test]
fn the_figures_are_those_of_the_price_list() {
    let verdict = worth_compacting(&situation(40), &change());
    // 98,000 read at 0.5, 1,000 written at 6.25, 2,000 of output at 25 micro-dollars.
    assert_eq!(verdict.summary, Money::micros(49_000 + 6_250 + 50_000));
    // The next call: 5,000 read and 35,000 written instead of 98,000 read and 2,000 written.
    assert_eq!(verdict.cost_now, Money::micros(105_250 + (2_500 + 218_750) - (49_000 + 12_500)));
    assert_eq!(verdict.saving_per_turn, Money::micros(30_000));
    assert_eq!(verdict.rewritten, Tokens(33_000));
    assert_eq!(verdict.saving, Money::micros(39 * 30_000 - 265_000));
    assert_eq!(verdict.break_even_turns, Some(10));
    assert_eq!(
        verdict.to_string(),
        "it pays: billing 33,000 cached tokens again and the summary ($0.105) cost $0.265 now, each later turn \
         saves $0.030, paid back after 10 turns; over 40 expected turns that is $0.905"
    );
}

#[test]
fn few_turns_do_not_pay() {
    let verdict = worth_compacting(&situation(9), &change());
    assert!(!verdict.pays);
    assert_eq!(verdict.break_even_turns, Some(10));
    assert!(verdict.to_string().starts_with("it does not pay: "));
    assert!(worth_compacting(&situation(10), &change()).pays);
}

#[test]
fn a_lapsed_cache_makes_it_free() {
    let cold = Situation { cached: Tokens::ZERO, ..situation(1) };
    let verdict = worth_pruning(&cold, Tokens(5_000), Tokens(10_000));
    assert!(verdict.pays);
    assert_eq!(verdict.cost_now, Money::micros(-62_500));
    assert_eq!(
        verdict.to_string(),
        "it pays: the next call already saves $0.062, each later one $0.00500; over 1 expected turn that is $0.062"
    );
}

#[test]
fn calls_that_save_nothing_are_not_said_to_save() {
    let verdict = Verdict {
        cost_now: Money::micros(-285_000),
        saving_per_turn: Money::micros(-370),
        saving: Money::micros(1_270_000),
        break_even_turns: Some(1),
        ..worth_compacting(&situation(46), &change())
    };
    assert_eq!(
        verdict.to_string(),
        "it pays: the next call already saves $0.285, each later one $0.022 on average; over 46 expected turns that \
         is $1.27"
    );
    let dearer = Verdict { saving: Money::micros(280_000), ..verdict };
    assert_eq!(
        dearer.to_string(),
        "it pays: the next call already saves $0.285; over 46 expected turns that is $0.280"
    );
    let never = Verdict {
        pays: false,
        cost_now: Money::micros(285_000),
        saving: Money::micros(-300_000),
        break_even_turns: None,
        ..verdict
    };
    assert!(!never.to_string().contains("saves"), "{never}");
}

#[test]
fn turns_after_a_forced_compaction_do_not_count() {
    let forced = Situation { hard: Some(Tokens(110_000)), ..situation(40) };
    let verdict = worth_compacting(&forced, &change());
    assert_eq!((verdict.turns, verdict.pays), (6, false));
    let still = Situation { growth: Tokens::ZERO, ..forced };
    assert_eq!(worth_compacting(&still, &change()).turns, 40);
    let over = Situation { hard: Some(Tokens(90_000)), ..situation(40) };
    assert_eq!(worth_compacting(&over, &change()).turns, 1);
}

#[test]
fn long_context_prices_count() {
    let long = LongContext { above: Tokens(100_000), price: Price { input: 10.0, output: 37.5 } };
    let caching = Caching { minimum: Tokens(1_024), write: 1.25, read: 0.1 };
    let dearer = Tariff::new(Price { input: 5.0, output: 25.0 }, Some(long), caching);
    let verdict = worth_compacting(&Situation { tariff: dearer, ..situation(40) }, &change());
    // From the second call on the long one is billed at twice the price: 100,000 read and 2,000 written.
    let long_call = 100_000 + 25_000;
    let short_call = 20_000 + 12_500;
    assert_eq!(verdict.saving_per_turn, Money::micros(long_call - short_call));
}

#[test]
fn a_prefix_below_the_cache_minimum_is_never_served() {
    let tariff = tariff(5.0, 25.0, 1.25, 0.1);
    assert_eq!(tariff.input(Tokens(1_000), Tokens(1_000)), Money::micros(5_000));
    assert_eq!(tariff.input(Tokens(2_000), Tokens(1_000)), Money::micros(12_500));
    assert_eq!(tariff.input(Tokens(2_000), Tokens(1_500)), Money::micros(750 + 3_125));
}

#[test]
fn caches_lapse_by_the_clock_and_unknown_clocks_are_warm() {
    let cache = CacheState { prefix: Tokens(50_000), used: Some(Time(1_000)), lapse_millis: 300_000 };
    assert_eq!(cache.alive(Some(Time(300_999))), Tokens(50_000));
    assert_eq!(cache.alive(Some(Time(301_000))), Tokens::ZERO);
    assert_eq!(cache.alive(None), Tokens(50_000));
    assert_eq!(CacheState { used: None, ..cache }.alive(Some(Time(i64::MAX))), Tokens(50_000));
}

#[test]
fn the_field_s_complaint_is_a_step_that_does_not_pay() {
    // Pruning at each call: 137,000 cached tokens billed again to save 4,000.
    let every_call = Situation { tokens: Tokens(141_000), cached: Tokens(141_000), ..situation(40) };
    let verdict = worth_pruning(&every_call, Tokens::ZERO, Tokens(4_000));
    assert!(!verdict.pays);
    assert_eq!(verdict.rewritten, Tokens(137_000));
    let least = least_gain(&every_call, Tokens::ZERO).unwrap();
    assert!(worth_pruning(&every_call, Tokens::ZERO, least).pays);
    assert!(!worth_pruning(&every_call, Tokens::ZERO, least - Tokens(1)).pays);
}

#[test]
fn the_future_is_as_long_as_the_past() {
    let cases: &[(Vec<Message>, u64)] = &[
        (vec![], 1),
        (vec![user("hi")], 1),
        (vec![user("hi"), assistant("a"), user("b"), assistant("c")], 2),
        (vec![user("hi"), assistant("a"), assistant("b")], 1),
        (tool_loop(vec!["ok"; 30]), 30),
        (tool_loop(vec!["ok"; 500]), MOST_TURNS),
    ];
    for (messages, expected) in cases {
        assert_eq!(remaining_turns(&path(messages)), *expected);
    }
}

#[test]
fn growth_is_the_mean_of_the_newest_turns() {
    assert_eq!(growth(&[]), Tokens::ZERO);
    assert_eq!(growth(&path(&[user("hi")])), Tokens::ZERO);
    let messages = [Message::text(Role::System, output(4_000)), user("hi"), assistant("hello")];
    let path = path(&messages);
    assert_eq!(growth(&path), path[1].outline.tokens + path[2].outline.tokens);
}

fn situations() -> impl Strategy<Value = (Situation, Change)> {
    let prices = (0.0..30.0_f64, 0.0..100.0_f64, 1.0..2.0_f64, 0.0..=1.0_f64);
    let sizes = (5_000_u64..300_000, 0.0..=1.0_f64, 0.0..=1.0_f64, 0.0..=1.0_f64);
    let future = (1_u64..300, 0_u64..8_000, prop::option::of(0_u64..400_000));
    let summary = prop::option::of((0_u64..300_000, 0.0..=1.0_f64, 0_u64..10_000));
    (prices, sizes, future, summary).prop_map(|((input, output, write, read), sizes, future, summary)| {
        let tariff =
            Tariff::new(Price { input, output }, None, Caching { minimum: Tokens::ZERO, write, read });
        let (tokens, cached, smaller, unchanged) = sizes;
        let of = |whole: u64, share: f64| Tokens((whole as f64 * share) as u64);
        let after = of(tokens, smaller);
        let (turns, growth, hard) = future;
        let situation = Situation {
            tariff,
            tokens: Tokens(tokens),
            cached: of(tokens, cached),
            turns,
            growth: Tokens(growth),
            hard: hard.map(Tokens),
        };
        let summary = summary.map(|(input, cached, output)| SummaryCall {
            tariff,
            input: Tokens(input),
            cached: of(input, cached),
            output: Tokens(output),
        });
        (situation, Change { unchanged: of(after.0, unchanged), after, summary })
    })
}

proptest! {
    #[test]
    fn more_turns_never_make_it_worse((situation, change) in situations(), more in 1_u64..100) {
        let now = worth_compacting(&situation, &change);
        let longer = worth_compacting(&Situation { turns: situation.turns + more, ..situation }, &change);
        prop_assert!(longer.saving >= now.saving);
        prop_assert!(!now.pays || longer.pays);
        prop_assert_eq!(longer.cost_now, now.cost_now);
        prop_assert_eq!(now.pays, now.break_even_turns.is_some_and(|even| even <= now.turns));
    }

    #[test]
    fn without_saving_it_never_pays((situation, change) in situations(), more in 0_u64..1_000) {
        let larger = Change { after: situation.tokens + Tokens(more), ..change };
        let verdict = worth_compacting(&situation, &larger);
        prop_assert!(!verdict.pays && verdict.saving <= Money::ZERO);
        let free = Situation { tariff: tariff(0.0, 0.0, 1.25, 0.1), ..situation };
        let verdict = worth_compacting(&free, &Change { summary: None, ..change });
        prop_assert!(!verdict.pays);
    }

    #[test]
    fn a_dearer_summary_never_helps((situation, change) in situations(), more in 0_u64..10_000) {
        let Some(summary) = change.summary else { return Ok(()) };
        let dearer = SummaryCall { output: summary.output + Tokens(more), ..summary };
        let now = worth_compacting(&situation, &change);
        let then = worth_compacting(&situation, &Change { summary: Some(dearer), ..change });
        prop_assert!(then.saving <= now.saving);
        prop_assert!(!then.pays || now.pays);
    }

    #[test]
    fn prices_scale_the_verdict((situation, change) in situations()) {
        let change = Change { summary: None, ..change };
        let with = |input| Situation { tariff: tariff(input, 0.0, 1.25, 0.1), ..situation };
        let (cheap, dear) = (worth_compacting(&with(2.0), &change), worth_compacting(&with(6.0), &change));
        prop_assert_eq!(cheap.pays, dear.pays);
        prop_assert_eq!(cheap.break_even_turns, dear.break_even_turns);
        prop_assert_eq!(cheap.saving + cheap.saving + cheap.saving, dear.saving);
    }

    #[test]
    fn a_smaller_result_never_saves_less((situation, change) in situations(), less in 0_u64..50_000) {
        let smaller = Change { after: (change.after - Tokens(less)).max(change.unchanged), ..change };
        prop_assert!(
            worth_compacting(&situation, &smaller).saving >= worth_compacting(&situation, &change).saving
        );
    }

    #[test]
    fn the_least_gain_is_where_pruning_starts_to_pay((situation, _) in situations(), at in 0.0..=1.0_f64) {
        let unchanged = Tokens((situation.cached.0 as f64 * at) as u64);
        let most = situation.tokens - unchanged;
        match least_gain(&situation, unchanged) {
            Some(least) => {
                prop_assert!(worth_pruning(&situation, unchanged, least).pays);
                prop_assert!(!worth_pruning(&situation, unchanged, least - Tokens(1)).pays);
            }
            None => prop_assert!(!worth_pruning(&situation, unchanged, most).pays),
        }
    }
}

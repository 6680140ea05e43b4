//! A provider's cache, simulated, and what calls come to with it.

use epitome_core::cost::{Bill, Money, Part, PromptCache, Tariff, Till};
use epitome_core::models::ModelTable;
use epitome_core::{Time, Tokens, Usage};
use proptest::prelude::*;

const MINUTE: i64 = 60_000;
const LIFETIME: u64 = 5 * 60_000;

// Claude Sonnet 4.5: 3 dollars in, 15 out, writes at 1.25, reads at 0.1, nothing below 1,024 tokens.
fn sonnet() -> Tariff {
    Tariff::of(&ModelTable::default().get("claude-sonnet-4-5").model)
}

fn cache() -> PromptCache {
    PromptCache::new(&sonnet(), LIFETIME)
}

// A request as letters, each a part with its tokens.
fn request(letters: &str, tokens: &[u64]) -> Vec<(Vec<u8>, Tokens)> {
    letters.bytes().zip(tokens).map(|(letter, tokens)| (vec![letter], Tokens(*tokens))).collect()
}

fn parts(request: &[(Vec<u8>, Tokens)]) -> impl Iterator<Item = Part<'_>> {
    request.iter().map(|(bytes, tokens)| Part { bytes, tokens: *tokens })
}

fn usage(input: u64, cache_write: u64, cache_read: u64) -> Usage {
    let (input, cache_write, cache_read) = (Tokens(input), Tokens(cache_write), Tokens(cache_read));
    Usage { input, cache_write, cache_read, output: Tokens::ZERO }
}

#[test]
fn what_was_sent_is_served_up_to_the_first_change() {
    let mut cache = cache();
    let steps = [
        ("ab", usage(0, 3_000, 0)),
        ("abc", usage(0, 500, 3_000)),
        ("abc", usage(0, 0, 3_500)),
        // Another second part: the third is behind a change, though its bytes are known.
        ("axc", usage(0, 1_500, 2_000)),
        // What was sent before the change is still kept.
        ("abc", usage(0, 0, 3_500)),
        ("a", usage(0, 0, 2_000)),
        ("bc", usage(0, 3_000, 0)),
    ];
    for (number, (letters, expected)) in steps.into_iter().enumerate() {
        let sent = request(letters, &[2_000, 1_000, 500]);
        assert_eq!(cache.send(Time(number as i64), parts(&sent)), expected, "{letters} as call {number}");
    }
}

#[test]
fn what_nobody_uses_for_five_minutes_is_gone() {
    let mut cache = cache();
    let (whole, start) = (request("abc", &[2_000, 1_000, 500]), request("ab", &[2_000, 1_000]));
    cache.send(Time(0), parts(&whole));
    // Using the beginning keeps the beginning, not the rest.
    assert_eq!(cache.send(Time(3 * MINUTE), parts(&start)), usage(0, 0, 3_000));
    assert_eq!(cache.send(Time(6 * MINUTE), parts(&whole)), usage(0, 500, 3_000));
    assert_eq!(cache.send(Time(11 * MINUTE - 1), parts(&whole)), usage(0, 0, 3_500));
    assert_eq!(cache.send(Time(16 * MINUTE - 1), parts(&whole)), usage(0, 3_500, 0));
}

#[test]
fn what_is_short_is_not_kept() {
    let mut cache = cache();
    let short = request("ab", &[500, 523]);
    assert_eq!(cache.send(Time(0), parts(&short)), usage(1_023, 0, 0));
    assert_eq!(cache.send(Time(1), parts(&short)), usage(1_023, 0, 0));
    let enough = request("abc", &[500, 523, 1]);
    assert_eq!(cache.send(Time(2), parts(&enough)), usage(0, 1_024, 0));
    assert_eq!(cache.send(Time(3), parts(&enough)), usage(0, 0, 1_024));
}

#[test]
fn where_one_part_ends_counts() {
    let mut cache = cache();
    let joined = [(b"ab".to_vec(), Tokens(3_000))];
    let apart = [(b"a".to_vec(), Tokens(2_000)), (b"b".to_vec(), Tokens(1_000))];
    cache.send(Time(0), parts(&joined));
    assert_eq!(cache.send(Time(1), parts(&apart)), usage(0, 3_000, 0));
}

#[test]
fn calls_are_added_up_at_the_prices_of_the_list() {
    let mut till = Till::new(sonnet(), Tokens(3_200), LIFETIME);
    till.call(Time(0), parts(&request("ab", &[2_000, 1_000])), Tokens(100));
    let last = till.call(Time(MINUTE), parts(&request("abc", &[2_000, 1_000, 500])), Tokens(10));
    assert_eq!(last, Usage { output: Tokens(10), ..usage(0, 500, 3_000) });
    till.summarised(Money::micros(42));
    let expected = Bill {
        calls: 2,
        usage: Usage { output: Tokens(110), ..usage(0, 3_500, 3_000) },
        largest: Tokens(3_500),
        overflows: 1,
        // 3,500 written at 3.75, 3,000 read at 0.3 micro-dollars.
        input: Money::micros(13_125 + 900),
        output: Money::micros(1_650),
        summaries: Money::micros(42),
    };
    assert_eq!(*till.bill(), expected);
    assert_eq!(till.bill().sent(), Money::micros(14_067));
    assert_eq!(till.bill().total(), Money::micros(15_717));
    let mut twice = expected;
    twice.add(&expected);
    assert_eq!((twice.calls, twice.largest, twice.total()), (4, Tokens(3_500), Money::micros(31_434)));
}

proptest! {
    // Whatever is sent and whenever: all of it is billed once, at a price between reading and writing all of it.
    #[test]
    fn a_bill_lies_between_reading_and_writing_everything(
        calls in prop::collection::vec((prop::collection::vec((0u8..4, 0u64..3_000), 1..8), 0i64..10 * MINUTE), 1..20)
    ) {
        let tariff = sonnet();
        let mut till = Till::new(tariff, Tokens(u64::MAX), LIFETIME);
        let (mut now, mut least, mut most) = (0, Money::ZERO, Money::ZERO);
        for (sent, pause) in calls {
            now += pause;
            // The bytes of a part say how long it is, as those of a message do.
            let sent: Vec<(Vec<u8>, Tokens)> =
                sent.into_iter().map(|(kind, tokens)| (format!("{kind} {tokens}").into_bytes(), Tokens(tokens))).collect();
            let total: Tokens = sent.iter().map(|(_, tokens)| *tokens).sum();
            let usage = till.call(Time(now), parts(&sent), Tokens::ZERO);
            prop_assert_eq!(usage.total_input(), total);
            prop_assert_eq!(tariff.billed(&usage), tariff.input(total, usage.cache_read));
            // At once again, everything that can be served is.
            let again = till.clone().call(Time(now), parts(&sent), Tokens::ZERO);
            prop_assert_eq!(again.cache_write, Tokens::ZERO);
            least += tariff.rates(total).read.times(total);
            most += tariff.rates(total).write.times(total);
        }
        let cost = till.bill().input;
        prop_assert!(least <= cost && cost <= most, "{} is not within {} and {}", cost, least, most);
    }
}

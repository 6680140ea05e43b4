//! What is learnt about the window of a model from the calls to it.

use epitome_core::{Tokens, Usage};
use epitome_llm::{Failure, Kind, Window};
use proptest::prelude::*;

fn overflow(limit: Option<u64>, requested: Option<u64>) -> Failure {
    let kind = Kind::Overflow { limit: limit.map(Tokens), requested: requested.map(Tokens) };
    Failure::new(kind, "too long")
}

fn billed(input: u64) -> Usage {
    Usage { input: Tokens(input), ..Usage::default() }
}

#[test]
fn nothing_is_known_at_first() {
    let mut window = Window::default();
    assert_eq!(window.limit(), None);
    assert!(!window.answered(Tokens(9_000), &billed(9_500)));
    window.failed(Tokens(9_000), &Failure::new(Kind::Server, "no"));
    assert_eq!(window.limit(), None, "what passes or fails otherwise sets no bound");
}

#[test]
fn what_the_server_tells_counts() {
    let mut window = Window::default();
    window.failed(Tokens(150_000), &overflow(Some(128_000), Some(160_000)));
    assert_eq!(window.limit(), Some(Tokens(128_000)));
    window.failed(Tokens(50_000), &overflow(Some(32_000), None));
    assert_eq!(window.limit(), Some(Tokens(32_000)), "the window has become smaller");
    assert!(!window.answered(Tokens(60_000), &billed(60_000)));
    assert_eq!(window.limit(), None, "and larger again");
}

#[test]
fn what_it_does_not_tell_is_found_by_trying() {
    let mut window = Window::default();
    window.failed(Tokens(10_000), &overflow(None, None));
    assert_eq!(window.limit(), Some(Tokens(9_000)));
    assert!(!window.answered(Tokens(9_000), &billed(9_500)));
    assert_eq!(window.limit(), Some(Tokens(9_500)), "what passed passes again");
}

#[test]
fn a_silent_cut_tells_the_window() {
    let mut window = Window::default();
    assert!(window.answered(Tokens(20_000), &billed(4_096)));
    assert_eq!(window.limit(), Some(Tokens(4_096)));
}

#[test]
fn an_answer_that_filled_it_tells_it() {
    let mut window = Window::default();
    let full = Usage { output: Tokens(96), ..billed(8_096) };
    assert!(!window.answered(Tokens(8_000), &full));
    window.filled(Tokens(9_000), Some(&full));
    assert_eq!(window.limit(), Some(Tokens(8_192)));
    let mut unbilled = Window::default();
    unbilled.filled(Tokens(9_000), None);
    assert_eq!(unbilled.limit(), Some(Tokens(8_100)), "it is less than what was asked for");
    assert!(Failure::of_ending("model_context_window_exceeded").unwrap().is_overflow());
    assert_eq!(Failure::of_ending("max_tokens"), None);
}

proptest! {
    // Against a server that counts a little differently and tells nothing, little, or something wrong, whoever keeps to the
    // limit gets through after a few refusals.
    #[test]
    fn whoever_keeps_to_it_gets_through(
        size in 200u64..500_000,
        first in 200u64..2_000_000,
        tells in 0u8..4,
        lie in 1u64..1_000_000,
    ) {
        let mut window = Window::default();
        let mut sent = first;
        let mut refusals = 0;
        while sent > size {
            let (limit, requested) = match tells {
                0 => (None, None),
                1 => (Some(size), Some(sent)),
                2 => (None, Some(sent)),
                _ => (Some(lie), None),
            };
            window.failed(Tokens(sent), &overflow(limit, requested));
            let next = window.limit().unwrap().0;
            prop_assert!(next < sent, "{next} after {sent}");
            sent = next;
            refusals += 1;
            prop_assert!(refusals < 100);
        }
    }

    #[test]
    fn no_history_upsets_it(calls in prop::collection::vec((any::<u64>(), any::<u64>(), 0u8..3), 0..20)) {
        let mut window = Window::default();
        for (expected, other, what) in calls {
            match what {
                0 => drop(window.answered(Tokens(expected), &billed(other))),
                1 => window.failed(Tokens(expected), &overflow(None, Some(other))),
                _ => window.failed(Tokens(expected), &overflow(Some(other.max(1)), None)),
            }
            let limit = window.limit();
            prop_assert!(limit.is_none_or(|limit| window.refused.is_none_or(|refused| limit < refused || refused.0 == 0)));
        }
    }
}

//! Spec 008.1 v4, Phase 2: `find_cut_point`, test by test.

use epitome_core::Tokens;
use epitome_core::compact::Cuts;
use epitome_core::compact::cuts::keep_recent_tokens;

use crate::notation::talk;
use crate::support::path;

fn find_cut_point(line: &str, keep: u64) -> usize {
    keep_recent_tokens(&path(&talk(line)), Tokens(keep))
}

#[test]
fn test_find_cut_point_keeps_recent() {
    let line = "u*100 a*100 u*100 a*100 u*100 a*100";
    assert_eq!(find_cut_point(line, 200), 4, "the last two messages reach 200");
    assert_eq!(find_cut_point(line, 201), 4, "the assistant's message that reaches it is not kept");
    assert_eq!(find_cut_point(line, 301), 2, "a user message that reaches it is the cut");
    assert_eq!(find_cut_point(line, 400), 2);
}

#[test]
fn test_find_cut_point_returns_zero_when_fits() {
    assert_eq!(find_cut_point("u*100 a*100", 201), 0);
    assert_eq!(find_cut_point("u*100 a*100", 20_000), 0);
    assert_eq!(find_cut_point("", 1), 0);
    assert_eq!(find_cut_point("s*900 u*100 a*100", 201), 0, "system messages are not history");
}

#[test]
fn test_find_cut_point_snaps_to_user() {
    assert_eq!(find_cut_point("u*10 a*10 u*10 a*500 u*10 a*10", 100), 4, "forward, never mid-turn");
    assert_eq!(find_cut_point("s u*10 a*10 u*10 a*500 u*10 a*10", 100), 5);
}

#[test]
fn test_find_cut_point_no_user_after_returns_zero() {
    assert_eq!(find_cut_point("u*10 a*10 u*10 a*500", 100), 0);
    assert_eq!(find_cut_point("u*10 a*300 a*300", 100), 0);
}

#[test]
fn overhead_is_not_counted_and_every_message_counts_for_something() {
    let line = "u a u a*96 u a";
    assert_eq!(find_cut_point(line, 98), 4);
    assert_eq!(find_cut_point(line, 99), 2);
    assert_eq!(keep_recent_tokens(&path(&talk("u a- u a-")), Tokens(3)), 2);
}

#[test]
fn reaching_it_at_the_first_message_is_nothing_to_compact() {
    assert_eq!(find_cut_point("u*100 a*100", 200), 0);
    assert_eq!(find_cut_point("s u*100 a*100", 200), 0);
}

#[test]
fn the_spec_takes_any_user_message_and_a_legal_cut_does_not() {
    let line = "u*50 a*50 u*50 a+1 u-1*50 a*50 u*50";
    let messages = talk(line);
    let literal = keep_recent_tokens(&path(&messages), Tokens(130));
    assert_eq!(literal, 4, "a tool result has the user's role in this dialect");
    let cuts = Cuts::of(&path(&messages));
    assert_eq!(cuts.next(literal), Some(6));
    assert_eq!(cuts.previous(literal), Some(2));
}

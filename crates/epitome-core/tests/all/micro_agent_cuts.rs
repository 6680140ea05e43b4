//! The micro agent: protected tail and boundary adjustment.

use epitome_core::compact::Cuts;
use epitome_core::compact::cuts::{keep_last_messages, protected_tail};

use crate::notation::talk;
use crate::support::path;

fn tail(line: &str, count: usize) -> usize {
    protected_tail(&path(&talk(line)), count)
}

#[test]
fn the_last_messages_are_protected() {
    assert_eq!(tail("u a u a u a u a u a", 6), 4);
    assert_eq!(tail("s u a u a u a u a u a", 6), 5, "leading system messages are not counted");
    let search_rounds = ["u", "a", "u", "a"].into_iter().cycle().take(25).collect::<Vec<_>>().join(" ");
    assert_eq!(tail(&search_rounds, 6), 19, "messages 1 to 18 are the zone, 19 to 24 the tail");
}

#[test]
fn the_boundary_is_pulled_back_to_include_the_tool_use() {
    assert_eq!(tail("u a u a+1 u-1 a u a u a", 6), 3);
    assert_eq!(tail("u a u a+1+2 t-1 t-2 a u a u a", 6), 3, "over parallel results, each a message");
    assert_eq!(tail("u a u a u-7 u-8 u-9 a u a u a", 6), 3, "whatever stands before them");
}

#[test]
fn the_walk_back_ends_behind_the_first_message() {
    assert_eq!(tail("u u-1 u-2 u-3 u-4 u-5 u-6 u-7 u-8", 4), 2);
    assert_eq!(tail("u a+1 u-1 a u a u a", 6), 2, "one message is no zone, so nothing is compacted");
}

#[test]
fn everything_protected_is_nothing_to_compact() {
    for (line, count) in [("", 6), ("u a", 6), ("u a u a u a", 6), ("u a u a u a u", 6), ("s s", 0)] {
        assert_eq!(tail(line, count), 0, "{line}");
    }
    assert_eq!(tail("u a u", 0), 3, "a tail of nothing");
}

#[test]
fn a_legal_cut_near_the_boundary_keeps_pairs_together() {
    let line = "u a+1 u-1 a u a u a u";
    let cuts = Cuts::of(&path(&talk(line)));
    assert_eq!(cuts.previous_turn(tail(line, 7)), Some(1));
    assert_eq!(cuts.previous_turn(tail(line, 6)), Some(3));
}

#[test]
fn the_window_of_the_draft_counts_messages_and_nothing_else() {
    let window = |line: &str, count: usize| keep_last_messages(&path(&talk(line)), count);
    assert_eq!(window("u a u a u a u a", 6), 2);
    assert_eq!(window("s u a u a u a u a", 6), 3);
    assert_eq!(window("u a+1 u-1 a u a u a", 6), 2, "even between a call and its result");
    assert_eq!(window("u a u a u a", 6), 0);
    assert_eq!(window("u a", 6), 0);
    assert_eq!(window("s u", 1), 0);
}

//! The Nexus design: partition by turns, a turn being a query with all that answers it.

use epitome_core::Tokens;
use epitome_core::compact::cuts::partition_turns;

use crate::notation::talk;
use crate::support::path;

// Five turns of 100 tokens, overhead included.
const FIVE: &str = "u*46 a*46 u*46 a*46 u*46 a*46 u*46 a*46 u*46 a*46";

fn partition(line: &str, keep: u64) -> usize {
    partition_turns(&path(&talk(line)), Tokens(keep))
}

#[test]
fn the_first_compaction_keeps_turns_four_and_five() {
    assert_eq!(partition(FIVE, 200), 6);
    assert_eq!(partition(FIVE, 299), 6, "whole turns only");
    assert_eq!(partition(FIVE, 300), 4);
}

#[test]
fn a_turn_holds_its_tool_calls() {
    assert_eq!(partition("u*46 a*46 u*20 a+1 u-1 a*46 u*46 a*46", 150), 6);
    assert_eq!(partition("u*46 a*46 u*20 a+1 u-1 a*46 u*46 a*46", 250), 2);
}

#[test]
fn the_newest_turn_is_kept_however_large() {
    assert_eq!(partition("u a u*46 a*900", 100), 2);
}

#[test]
fn nothing_to_summarise() {
    assert_eq!(partition("", 100), 0);
    assert_eq!(partition(FIVE, 500), 0, "everything fits");
    assert_eq!(partition("s u*46 a*900", 100), 0, "there is but one turn");
    assert_eq!(partition("a a", 1), 0, "there is no turn");
}

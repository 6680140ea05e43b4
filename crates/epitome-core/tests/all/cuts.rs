//! Legal cuts, property by property, and what pins hold on to.

use epitome_core::compact::{CutRule, Cuts, pin_closure};

use crate::notation::talk;
use crate::support::path;

fn cuts(line: &str) -> Cuts {
    Cuts::of(&path(&talk(line)))
}

fn legal(line: &str) -> (Vec<usize>, Vec<usize>) {
    let cuts = cuts(line);
    let places = || 0..=talk(line).len();
    let strict = places().filter(|at| cuts.check(*at).is_ok()).collect();
    (strict, places().filter(|at| cuts.check_turn(*at).is_ok()).collect())
}

#[test]
fn every_rule_has_a_case_that_only_it_refuses() {
    use CutRule::*;
    let cases = [
        ("u a u a", 2, Ok(())),
        ("u a u a", 0, Err(BothSides)),
        ("u a u a", 4, Err(BothSides)),
        ("s u a u", 1, Err(BothSides)),
        ("s s u a u", 1, Err(BothSides)),
        ("u a+1 t-1 a u", 2, Err(ToolPair)),
        ("u a+1+2 t-1 t-2 a u", 3, Err(ToolPair)),
        ("u a+1+2 u-2-1 a u", 2, Err(ToolPair)),
        ("u a a+1 t-1 u", 2, Err(WholeReply)),
        ("u a! u a u", 2, Err(CompactionItem)),
        ("u a! u a u", 4, Ok(())),
        ("u a~+1 t-1 a u a", 3, Err(ThinkingLoop)),
        ("u a~+1 t-1 a u a", 4, Ok(())),
        ("u a-9 t-8 u", 2, Err(TurnStart)),
        ("u a+1 t-1 a u", 3, Err(AssistantFirst)),
        ("u a s u", 2, Err(TurnStart)),
    ];
    for (line, at, expected) in cases {
        assert_eq!(cuts(line).check(at), expected, "{line} at {at}");
    }
    for rule in CutRule::INSIDE {
        assert!(CutRule::ALL.contains(rule), "a cut inside an exchange needs no property of its own: {rule}");
    }
}

#[test]
fn cuts_fall_before_exchanges_and_where_asked_before_turns() {
    let cases: &[(&str, &[usize], &[usize])] = &[
        ("", &[], &[]),
        ("u", &[], &[]),
        ("u a u a", &[2], &[1, 2, 3]),
        ("s u a u a", &[3], &[2, 3, 4]),
        ("u a+1 t-1 a+2 t-2 a", &[], &[1, 3, 5]),
        ("u a~+1 t-1 a+2 t-2 a u a", &[6], &[6, 7]),
        ("u a+1+2 t-1 t-2 a u", &[5], &[1, 4, 5]),
        ("u a a+1 t-1 a a u", &[6], &[1, 4, 6]),
        ("a a u", &[2], &[2]),
        ("u a~ u a~ u", &[2, 4], &[1, 2, 3, 4]),
    ];
    for (line, strict, turns) in cases {
        assert_eq!(legal(line), (strict.to_vec(), turns.to_vec()), "{line}");
    }
}

#[test]
fn a_call_at_the_end_waits_for_its_result() {
    let cases: &[(&str, &[usize])] = &[
        ("u a u a+1", &[3]),
        ("u a u a+1+2 t-1", &[3, 4]),
        ("u a u a a+1 a+2 t-2", &[3, 4, 5, 6]),
        ("u a+1 u a", &[]),
        ("u a+1 u a+2", &[3]),
        ("u a+1 a+2 t-2 u", &[]),
    ];
    for (line, kept) in cases {
        let closure = pin_closure(&path(&talk(line)), &[]);
        assert_eq!(&closure, kept, "{line}");
    }
}

#[test]
fn nearest_cuts_include_the_place_itself() {
    let cuts = cuts("s u a u a+1 t-1 a u a");
    assert_eq!([cuts.next(0), cuts.next(3), cuts.next(4), cuts.next(8)], [Some(3), Some(3), Some(7), None]);
    assert_eq!(
        [cuts.previous(2), cuts.previous(3), cuts.previous(6), cuts.previous(99)],
        [None, Some(3), Some(3), Some(7)]
    );
    assert_eq!([cuts.next_turn(4), cuts.next_turn(5), cuts.next_turn(9)], [Some(4), Some(6), None]);
    assert_eq!([cuts.previous_turn(5), cuts.previous_turn(1)], [Some(4), None]);
    assert_eq!(cuts.leading(), 1);
}

#[test]
fn a_pin_holds_on_to_its_atom() {
    let cases: &[(&str, &[usize], &[usize])] = &[
        ("u a u a", &[1], &[1]),
        ("u a+1 t-1 a u", &[1], &[1, 2]),
        ("u a+1 t-1 a u", &[2], &[1, 2]),
        ("u a+1+2 t-1 t-2 a u", &[3], &[1, 2, 3]),
        ("u a a+1 a+2 t-1 t-2 a u", &[4], &[1, 2, 3, 4, 5]),
        ("u a! u a u", &[], &[1]),
        ("u a! u a u", &[4, 0, 99], &[0, 1, 4]),
        ("s u a u", &[0, 3], &[0, 3]),
    ];
    for (line, pins, expected) in cases {
        assert_eq!(&pin_closure(&path(&talk(line)), pins), expected, "{line} {pins:?}");
    }
}

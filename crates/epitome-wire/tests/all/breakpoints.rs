//! Breakpoints of the cache stay, stay few, and stand only where they may.

use epitome_wire::check::{Rule, check};
use epitome_wire::{Dialect, Gone, count_breakpoints, decode_message, keep_breakpoints, room_for_breakpoint};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::cases;

const FIVE: &str = r#"{"type":"ephemeral"}"#;
const HOUR: &str = r#"{"type":"ephemeral","ttl":"1h"}"#;

fn user(text: &str) -> String {
    format!(r#"{{"role":"user","content":"{text}"}}"#)
}

fn marked(text: &str, breakpoint: &str) -> String {
    format!(r#"{{"role":"user","content":[{{"type":"text","text":"{text}","cache_control":{breakpoint}}}]}}"#)
}

fn kept(outside: usize, gone: &[(&str, usize)], sent: &[String]) -> Vec<String> {
    let gone: Vec<Gone<'_>> = gone.iter().map(|(json, at)| Gone { json, at: *at }).collect();
    let mut sent = sent.to_vec();
    keep_breakpoints(outside, &gone, &mut sent);
    sent
}

#[test]
fn a_breakpoint_moves_to_what_stands_for_its_message() {
    let gone = marked("old", FIVE);
    let sent = [user("summary"), user("new")];
    assert_eq!(kept(0, &[(&gone, 1)], &sent), [marked("summary", FIVE), user("new")]);
    assert_eq!(kept(0, &[(&user("old"), 1)], &sent), sent, "there was none");
    assert_eq!(
        kept(0, &[(&gone, 0)], &sent),
        [marked("summary", FIVE), user("new")],
        "nothing stands before"
    );
    assert_eq!(kept(0, &[(&gone, 9)], &sent), [user("summary"), marked("new", FIVE)]);
    assert_eq!(kept(0, &[(&gone, 1)], &[]), [] as [&str; 0]);
    let taken = [marked("summary", HOUR), user("new")];
    assert_eq!(kept(0, &[(&gone, 1)], &taken), taken, "what has one needs no other");
}

#[test]
fn only_blocks_that_may_carry_one_do() {
    let gone = marked("old", FIVE);
    let cases = [
        (
            r#"{"role":"assistant","content":[{"type":"text","text":"a" } , {"type":"thinking","thinking":"t","signature":"s"}]}"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"a" ,"cache_control":{"type":"ephemeral"}} , {"type":"thinking","thinking":"t","signature":"s"}]}"#,
        ),
        (
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"},{"type":"text","text":" "}]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x","cache_control":{"type":"ephemeral"}},{"type":"text","text":" "}]}"#,
        ),
        (
            r#"{"role":"user","content":[{"type":"text","text":"a","cache_control": null}]}"#,
            r#"{"role":"user","content":[{"type":"text","text":"a","cache_control": {"type":"ephemeral"}}]}"#,
        ),
        (
            r#"{"role":"user","content":"\u00e9 {"}"#,
            r#"{"role":"user","content":[{"type":"text","text":"\u00e9 {","cache_control":{"type":"ephemeral"}}]}"#,
        ),
    ];
    for (before, after) in cases {
        assert_eq!(kept(0, &[(&gone, 1)], &[before.to_owned()]), [after]);
    }
    for before in [
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"}]}"#,
        r#"{"role":"user","content":""}"#,
        r#"{"role":"user","content":[]}"#,
        "nonsense",
    ] {
        let sent = [user("first"), before.to_owned()];
        assert_eq!(kept(0, &[(&gone, 2)], &sent), [marked("first", FIVE), before.to_owned()]);
    }
}

#[test]
fn there_are_never_more_than_four_and_the_latest_win() {
    let gone = [marked("a", FIVE), marked("b", FIVE), marked("c", FIVE)];
    let gone: Vec<(&str, usize)> = gone.iter().zip(1..).map(|(json, at)| (json.as_str(), at)).collect();
    let sent = [user("x"), user("y"), user("z")];
    let expected = [user("x"), marked("y", FIVE), marked("z", FIVE)];
    assert_eq!(kept(2, &gone, &sent), expected);
    assert_eq!(kept(4, &gone, &sent), sent);
}

#[test]
fn of_several_the_one_that_lives_longest_stays() {
    let (short, long) = (marked("a", FIVE), marked("b", HOUR));
    let sent = [user("summary")];
    for gone in [[(&*long, 1), (&*short, 1)], [(&*short, 1), (&*long, 1)]] {
        assert_eq!(kept(0, &gone, &sent), [marked("summary", HOUR)]);
    }
}

#[test]
fn the_oldest_breakpoints_make_room_for_another() {
    let sent = [marked("a", FIVE), user("b"), marked("c", FIVE), marked("d", FIVE)];
    for (outside, left) in [(0, 3), (1, 2), (2, 1), (3, 0), (4, 0)] {
        let mut after = sent.to_vec();
        assert_eq!(room_for_breakpoint(outside, &mut after), outside < 4, "{outside}");
        let kept: Vec<usize> = after.iter().map(|json| count_breakpoints(json)).collect();
        assert_eq!(kept.iter().sum::<usize>(), left, "{outside}: {after:?}");
        assert!(kept.is_sorted_by_key(|count| *count) || left == 3, "the later ones stay: {after:?}");
        if left == 3 {
            assert_eq!(after, sent, "what has room stays as it is");
        }
    }
}

#[test]
fn only_breakpoints_are_counted() {
    let tools = format!(
        r#"[{{"name":"a","input_schema":{{"properties":{{"cache_control":{{"type":"string"}}}}}}}},{{"name":"b","cache_control":{FIVE}}}]"#
    );
    assert_eq!(count_breakpoints(&tools), 1);
    let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{"cache_control":{"type":"x"}}}]}"#;
    assert_eq!(count_breakpoints(call), 0);
    let inner = format!(
        r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":[{{"type":"text","text":"x","cache_control":{FIVE}}}]}}]}}"#
    );
    assert_eq!(count_breakpoints(&inner), 1);
    assert_eq!(kept(0, &[(&inner, 1)], &[user("s")]), [marked("s", FIVE)]);
    assert_eq!(count_breakpoints("\"cache_control\""), 0);
}

fn message() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-c]{0,3}".prop_map(|text| user(&text)),
        2 => ("[a-c]{1,3}", any::<bool>()).prop_map(|(text, long)| marked(&text, if long { HOUR } else { FIVE })),
        1 => Just(r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"}]}"#.to_owned()),
    ]
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn legal_before_is_legal_after(messages in vec(message(), 1..7), from in 0usize..7, to in 0usize..7, outside in 0usize..3) {
        let total = outside + messages.iter().map(|json| count_breakpoints(json)).sum::<usize>();
        prop_assume!(total <= 4);
        let (from, to) = (from.min(to).min(messages.len()), from.max(to).min(messages.len()));
        let mut sent = messages.clone();
        sent.splice(from..to, [user("summary")]);
        let gone: Vec<(&str, usize)> = messages[from..to].iter().map(|json| (json.as_str(), from + 1)).collect();
        let once = kept(outside, &gone, &sent);
        prop_assert_eq!(&once, &kept(outside, &gone, &sent));
        let count = once.iter().map(|json| count_breakpoints(json)).sum::<usize>();
        prop_assert!(outside + count <= total);
        let had_one = gone.iter().any(|(json, _)| count_breakpoints(json) > 0);
        prop_assert_eq!(count_breakpoints(&once[from]), usize::from(had_one));
        let decoded: Vec<_> = once.iter().map(|json| decode_message(Dialect::Anthropic, json).unwrap().0).collect();
        let broken = check(Dialect::Anthropic, None, &decoded);
        prop_assert!(broken.iter().all(|violation| violation.rule != Rule::TooManyCacheBreakpoints));
    }
}

//! Fidelity by future use: what is asked for, column by column.

use epitome_core::fidelity::{Baseline, Context, Reading, Scores, Tally, cuts};
use epitome_core::{Block, Message, Role, Tokens, ToolUse};

use crate::support::{assistant, call, counter, path, result, user};

fn tally(kept: usize, asked: usize) -> Tally {
    Tally { asked, kept }
}

fn said(texts: &[&str]) -> Context {
    Context { texts: texts.iter().map(|text| (*text).to_owned()).collect(), tokens: Tokens::ZERO }
}

fn calls(input: &str) -> Message {
    let call = ToolUse { id: "later".into(), name: "bash".into(), input: input.into(), extra: Vec::new() };
    Message::new(Role::Assistant, vec![Block::ToolUse(call)])
}

// What a context keeps of `before` in view of what comes after it.
fn scores(before: &[Message], after: &[Message], context: &[&str]) -> Scores {
    let messages = [before, after].concat();
    Reading::of(None, &messages).exam(before.len()).score(&said(context))
}

#[test]
fn items_are_asked_for_where_only_the_past_can_have_told_them() {
    let before = [user("look at src/main.rs and order #W2378156 of 2024-05-20, not lib/other.rs")];
    let after = [assistant("Reading src/main.rs and other/new.rs for W2378156 on 2024-05-20.")];
    let cases: &[(&[&str], usize)] = &[
        (&["src/main.rs W2378156 2024-05-20"], 3),
        (&["/home/src/main.rs"], 1),
        (&["src/main.rsx W23781567 2024-05-201"], 0),
        (&["src / main.rs", "W2378156"], 1),
        (&[], 0),
    ];
    for (context, kept) in cases {
        assert_eq!(scores(&before, &after, context).items, tally(*kept, 3), "{context:?}");
    }
}

#[test]
fn what_is_given_back_first_is_not_asked_for() {
    let before = [user("use src/main.rs and src/lib.rs")];
    let given = [result("1", "found src/main.rs"), assistant("src/main.rs, src/lib.rs"), user("src/lib.rs")];
    assert_eq!(
        scores(&before, &given, &[]).items,
        tally(0, 1),
        "the result gives the one back, not the other"
    );
    let of_operator = [
        Message::text(Role::System, "work in src/main.rs"),
        user("use src/main.rs"),
        assistant("src/main.rs"),
    ];
    assert_eq!(Reading::of(None, &of_operator).exam(2).score(&said(&[])).items, tally(0, 0));
}

#[test]
fn pairs_must_still_stand_together() {
    let before = [user("port 8080 is for web_server\n\n\n\n\n\n\n\ndb_server has 5432")];
    let after = [assistant("web_server on 8080"), assistant("8080 5432")];
    let cases: &[(&str, usize)] = &[
        ("web_server 8080", 1),
        ("web_server\n\n\n8080", 1),
        ("web_server\n\n\n\n8080", 0),
        ("web_server\n\n\n\n8080\nweb_server", 1),
    ];
    for (context, kept) in cases {
        assert_eq!(scores(&before, &after, &[context]).pairs, tally(*kept, 1), "{context:?}");
    }
}

#[test]
fn runs_are_asked_for_in_calls_whatever_the_white_space() {
    let before = [result("1", "fn add(a: u32,\n  b: u32) -> u32 { a + b }")];
    let after = [calls(r#"{"new":"fn add(a: u32, b: u32)\n"}"#)];
    // fn add ( a : u32 , b : u32 ) are eleven tokens: four runs.
    let cases: &[(&str, usize)] =
        &[("fn add(a: u32, b: u32)", 4), ("add ( a : u32 , b : u32", 2), ("fn add", 0)];
    for (context, kept) in cases {
        assert_eq!(scores(&before, &after, &[context]).runs, tally(*kept, 4), "{context:?}");
    }
    let spoken = [assistant("fn add(a: u32, b: u32)")];
    assert_eq!(scores(&before, &spoken, &[]).runs, tally(0, 0), "only calls count");
}

#[test]
fn constraints_are_the_users_and_word_for_word() {
    let before = [
        user("Fix the bug. You must not touch\tthe tests! Thanks.\n- always run ruff"),
        assistant("I must never do that."),
    ];
    let context = "user: You must not touch the tests! always run black";
    assert_eq!(scores(&before, &[assistant("ok")], &[context]).constraints, tally(1, 2));
}

#[test]
fn cuts_fall_where_a_reply_begins() {
    let mut messages = vec![Message::text(Role::System, "be good"), user("go")];
    for number in 0..10 {
        let id = number.to_string();
        messages.extend([call("bash", &id), result(&id, "done")]);
    }
    assert_eq!(cuts(&path(&messages)), [10, 14, 18]);
    assert_eq!(cuts(&path(&messages[..2])), Vec::<usize>::new());
}

#[test]
fn baselines_fit() {
    let mut messages = vec![user("You must fix src/main.rs.")];
    for number in 0..20 {
        let id = number.to_string();
        messages.extend([
            call("bash", &id),
            result(&id, &format!("line of out_{number} and more words\n").repeat(20)),
        ]);
    }
    let count = |text: &str| counter().text(text);
    for baseline in Baseline::ALL {
        let context = baseline.context(&path(&messages), &messages, Tokens(500), &count);
        assert!(
            context.tokens <= Tokens(500) || baseline == Baseline::Words,
            "{baseline}: {}",
            context.tokens
        );
        assert!(!context.texts.is_empty(), "{baseline}");
    }
}

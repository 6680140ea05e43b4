//! Fidelity by future use: what is asked for, column by column.

use epitome_core::compact::{Compaction, Level, Segment, SystemPlace};
use epitome_core::fidelity::{Baseline, Context, Growing, Interval, Knows, Reading, Scores, Tally, cuts};
use epitome_core::prune::text_of;
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

#[test]
fn items_are_what_no_sentence_would_hold() {
    let cases: &[(&str, &[&str])] = &[
        ("see src/a/b.rs, ./run.sh and ~/notes.txt.", &["src/a/b.rs", "./run.sh", "~/notes.txt"]),
        ("and/or yes/no", &[]),
        ("https://example.org/a?b=1&c=2. (http://x.y/z)", &["https://example.org/a?b=1&c=2", "http://x.y/z"]),
        ("Foo.bar(self.load_config, maxItems=250)", &["Foo.bar", "self.load_config", "maxItems", "250"]),
        ("main.rs:42: ValueError: 7 of 1.25", &["main.rs", "ValueError", "1.25"]),
        ("order #W2378156 (omar_rossi_1241@mail.org)", &["W2378156", "omar_rossi_1241@mail.org"]),
        ("on 2024-05-20T15:00:00 at 15:30", &["2024-05-20T15:00:00", "15:30"]),
        ("the well-known theme-selector-list, e.g. Plain Words", &["theme-selector-list"]),
        ("漢字とかな and naïve", &[]),
    ];
    for (text, expected) in cases {
        let messages = [user(text), assistant(text)];
        let lost = Reading::of(None, &messages).exam(1).lost(&Context::default());
        assert_eq!(lost.items, *expected, "{text}");
    }
}

#[test]
fn names_of_arguments_are_the_tools_own() {
    let before = [user("set retry_limit to 500 in base_url")];
    let after = [calls(r#"{"retry_limit":500,"path":"base_url"}"#)];
    let messages = [&before[..], &after[..]].concat();
    let lost = Reading::of(None, &messages).exam(1).lost(&Context::default());
    assert_eq!(lost.items, ["500", "base_url"]);
}

#[test]
fn intervals_hold_the_mean_and_are_the_same_every_time() {
    assert_eq!(Interval::of(&[]), None);
    let one = Interval::of(&[0.5]).unwrap();
    assert_eq!((one.low, one.mean, one.high, one.count), (0.5, 0.5, 0.5, 1));
    let values: Vec<f64> = (0..100).map(|value| f64::from(value % 10) / 10.0).collect();
    let (few, many) = (Interval::of(&values[..10]).unwrap(), Interval::of(&values).unwrap());
    assert_eq!(Interval::of(&values), Some(many));
    for interval in [few, many] {
        assert!((interval.mean - 0.45).abs() < 1e-9);
        assert!(interval.low < interval.mean && interval.mean < interval.high, "{interval:?}");
    }
    assert!(many.high - many.low < few.high - few.low, "more conversations say more");
    // Of a hundred values with a deviation of 0.287 the mean deviates by 0.0287: 95 % lie within 1.96 of that.
    assert!((many.high - many.low - 2.0 * 1.96 * 0.0287).abs() < 0.02, "{many:?}");
}

// A session in which ever more is read, and the first thing that was read is edited at the end.
fn growing() -> Vec<Message> {
    let mut messages = vec![user("Please make the parser faster. You must not edit vendor/old.c.")];
    for number in 0..60 {
        let id = number.to_string();
        let shown = format!("step_{number} reads table_{number} and goes on with more words\n").repeat(10);
        messages.extend([call("bash", &id), result(&id, &shown)]);
    }
    messages.push(assistant("Now step_0 and step_58."));
    messages
}

#[test]
fn ten_rounds_ask_what_each_compaction_still_knows() {
    let messages = growing();
    let path = path(&messages);
    let place = SystemPlace::Outside;
    let counter = counter();
    let knows = Knows::Record;
    let growing =
        Growing { path: &path, messages: &messages, budget: Tokens(800), place, counter: &counter, knows };
    let reading = Reading::of(None, &messages);
    // Each compaction says only what was asked for first and how often it was compacted.
    let mut covered = Vec::new();
    let rounds = growing.rounds(&reading, &mut |path, _, previous| {
        assert_eq!(
            previous.map(Compaction::covered),
            covered.last().copied(),
            "each builds on the one before"
        );
        covered.push(path.len());
        let known = if covered.len() < 5 { "step_0 table_0" } else { "step_0" };
        let text = format!("Please make the parser faster. {known}");
        let range = 0..path.len();
        let segments = vec![Segment::Summary { range, text, level: Level::Checkpoint }];
        Some(Compaction { segments, ..Compaction::verbatim(0) })
    });
    let rounds = rounds.expect("the session is long enough");
    assert_eq!(rounds.iter().map(|round| round.cut).collect::<Vec<_>>(), covered);
    assert!(rounds.windows(2).all(|rounds| rounds[0].cut < rounds[1].cut));
    for (number, round) in rounds.iter().enumerate() {
        assert_eq!(round.goal, tally(1, 2), "the other sentence is lost");
        assert_eq!(round.scores.constraints, tally(0, 1));
        assert_eq!(round.lasting, tally(1, 1), "step_0 is used behind the last cut");
        assert_eq!(round.held, tally(if number < 4 { 2 } else { 1 }, 2));
        assert!(round.summary > Tokens::ZERO && round.summary < round.tokens);
    }
    let mut sizes = Vec::new();
    let piped = Growing { knows: Knows::Shown, ..growing };
    piped.rounds(&reading, &mut |path, messages, previous| {
        assert_eq!((previous, path.len()), (None, messages.len()), "only what was shown is known");
        let summary = text_of(&messages[0].blocks[0]).unwrap();
        assert!(sizes.is_empty() || summary.contains("round 1"), "{summary}");
        sizes.push(messages.len());
        let text = format!("round 1 to {}", sizes.len());
        let segments = vec![Segment::Summary { range: 0..path.len(), text, level: Level::Checkpoint }];
        Some(Compaction { segments, ..Compaction::verbatim(0) })
    });
    assert_eq!(sizes.len(), 10);
    assert!(sizes.iter().skip(1).all(|size| *size < covered[1]), "{sizes:?}");
    assert_eq!(growing.rounds(&reading, &mut |_, _, _| None), None);
    let ample = Growing { budget: Tokens(1_000_000), ..growing };
    assert_eq!(ample.rounds(&reading, &mut |_, _, _| panic!("never due")), None);
}

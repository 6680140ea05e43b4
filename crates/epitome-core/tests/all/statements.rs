//! Statements: orders, wishes, decisions and questions, told from what is only told.

use epitome_core::statements::{self, Kind};
use epitome_core::{Block, Message, Role};
use proptest::prelude::*;

use Kind::{Constraint, Decision, Preference, Question};

#[test]
fn sentences_are_judged_by_their_cues() {
    let cases: &[(&str, Option<Kind>)] = &[
        ("You must not change the public API.", Some(Constraint)),
        ("Never commit to main.", Some(Constraint)),
        ("Please don't touch the generated files", Some(Constraint)),
        ("The timeout should be 30 seconds.", Some(Constraint)),
        ("no new dependencies", Some(Constraint)),
        ("Make sure the tests pass.", Some(Constraint)),
        ("I don’t want to spend more than $200.", Some(Constraint)),
        ("Only refund to the original payment method.", Some(Constraint)),
        ("I don't have my order id.", None),
        ("I never received the package.", None),
        ("The tests pass now.", None),
        ("It don't work", None),
        ("We'll use SQLite instead of Postgres.", Some(Decision)),
        ("I decided to split the module.", Some(Decision)),
        ("I'd like to exchange the lamp.", Some(Preference)),
        ("Please run the tests.", Some(Preference)),
        ("Should I go on?", Some(Question)),
        ("What is the status of W2378156?", Some(Question)),
        ("Could you cancel it?", Some(Preference)),
        ("Das darf niemals ins Log.", Some(Constraint)),
        ("Wir verwenden Rust statt Go.", Some(Decision)),
        ("Ich möchte eine Rückerstattung.", Some(Preference)),
        ("Il faut garder la compatibilité.", Some(Constraint)),
        ("On prend Redis au lieu de Kafka.", Some(Decision)),
        ("No toques la base de datos.", Some(Constraint)),
        ("Vamos a usar React.", Some(Decision)),
        ("不要修改数据库。", Some(Constraint)),
        ("我们决定用 SQLite。", Some(Decision)),
        ("テストを必ず実行してください。", Some(Constraint)),
        ("SQLiteにします。", Some(Decision)),
    ];
    for (text, expected) in cases {
        let found: Vec<Kind> = statements::read(text).iter().map(|found| found.kind).collect();
        assert_eq!(found, expected.iter().copied().collect::<Vec<_>>(), "{text}");
    }
}

#[test]
fn sentences_are_told_from_code_and_from_each_other() {
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        ("One. Two! Three? e.g. four, v1.2 five", &["One.", "Two!", "Three?", "e.g. four, v1.2 five"]),
        ("- first point\n- second point\n1. third", &["first point", "second point", "third"]),
        ("```\nlet must = 1;\n```\nafter", &["after"]),
        ("> quoted\n<tag>\n| a | b |\nsaid", &["said"]),
        ("fn main() { must(); }\nlet x = y;\nwords", &["words"]),
        (
            "This sentence was wrapped at some column by an editor\nand goes on here. Next one.",
            &["This sentence was wrapped at some column by an editor\nand goes on here.", "Next one."],
        ),
        ("A heading\nshort lines stay apart", &["A heading", "short lines stay apart"]),
        ("好的。不要改！", &["好的。", "不要改！"]),
    ];
    for (text, expected) in cases {
        let found: Vec<&str> = statements::sentences(text).map(|sentence| sentence.text).collect();
        assert_eq!(&found, expected, "{text}");
    }
}

#[test]
fn only_the_user_gives_orders() {
    let said = "You must wait. We'll use nom instead. Okay?";
    let kinds = |role: Role| {
        let message = Message::new(role, vec![Block::text("Hello."), Block::text(said)]);
        let found: Vec<(Kind, usize)> =
            statements::of(&message).iter().map(|found| (found.kind, found.block)).collect();
        found
    };
    assert_eq!(kinds(Role::User), [(Constraint, 1), (Decision, 1), (Question, 1)]);
    assert_eq!(kinds(Role::Assistant), [(Decision, 1), (Question, 1)]);
    assert_eq!(kinds(Role::System), []);
    assert_eq!(kinds(Role::Tool), []);
}

proptest! {
    /// Whatever the text, sentences lie inside it, in order and apart.
    #[test]
    fn sentences_lie_in_the_text(text in "(\\PC|[a-zA-Z .!?\\n#*`>-]|must |不要|。){0,120}") {
        let mut end = 0;
        for sentence in statements::sentences(&text) {
            prop_assert!(sentence.span.start >= end);
            prop_assert_eq!(text.get(sentence.span.clone()), Some(sentence.text));
            end = sentence.span.end;
        }
        prop_assert!(statements::read(&text).len() <= statements::sentences(&text).count());
    }
}

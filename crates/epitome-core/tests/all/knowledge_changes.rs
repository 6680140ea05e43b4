//! Knowledge over time: what is said again, what changes, and what is being worked on.

use epitome_core::checkpoint::{Checkpoint, Item, Request};
use epitome_core::knowledge::{Change, Earlier, Finding, Known, Standing, current_task, extract, reconcile};
use epitome_core::{Message, Role};
use proptest::prelude::*;

fn user(text: &str) -> Vec<Finding> {
    extract(&[Message::text(Role::User, text)], 0)
}

fn known(texts: &[&str]) -> Vec<Known> {
    let found = texts.iter().flat_map(|text| user(text));
    let known = found.map(|Finding { kind, subject, text, .. }| Known {
        kind,
        subject,
        text,
        standing: Standing::Current,
    });
    known.collect()
}

#[test]
fn what_is_said_again_is_known() {
    let cases = [
        ("The database port is 5433.", "the database PORT is 5433"),
        ("The database port is 5433.", "The database listens on port 5433."),
        ("The database port is 5433.", "Remember that the database port is 5433!"),
        ("Never commit to main.", "Please never commit to main"),
        ("Never commit to main.", "never commit to `main`!"),
        ("We'll use nom for the parser.", "We'll use nom for the parser, because it is fast."),
        ("不要使用表情符号。", "不要使用表情符号！"),
    ];
    for (before, after) in cases {
        let changes = reconcile(&known(&[before]), &user(after));
        assert_eq!(changes, [Change::Same(Earlier::Known(0))], "{before} / {after}");
    }
}

#[test]
fn another_value_takes_the_place_of_the_one_before() {
    let cases = [
        ("The database listens on port 5433.", "The database port is 5434."),
        ("The database listens on port 5433.", "The database port is now 5434."),
        ("The config lives in /etc/app.toml.", "The config file is /opt/app.toml."),
        ("Use tabs.", "Use spaces."),
        ("Use tabs for indentation.", "From now on use spaces, not tabs."),
        ("Never commit to main.", "From now on always commit to main."),
        ("Always answer in German.", "Answer in English."),
        ("I prefer short answers.", "I prefer detailed answers."),
        ("We'll use nom for the parser.", "We'll use winnow for the parser."),
        ("We'll use SQLite for the session store.", "Let's go with Postgres instead of SQLite."),
        ("For the cache we'll use Redis.", "we no longer use Redis for the cache"),
        ("Call me Ada.", "Call me Grace."),
        ("Antworte immer auf Deutsch.", "Antworte ab jetzt auf Englisch."),
        ("The project uses Python 3.11.", "The project uses Python 3.12."),
    ];
    for (before, after) in cases {
        let changes = reconcile(&known(&["The API port is 8080.", before]), &user(after));
        assert_eq!(changes, [Change::Supersedes(Earlier::Known(1))], "{before} / {after}");
    }
}

#[test]
fn what_is_about_something_else_stays() {
    let cases = [
        ("The database port is 5433.", "The API port is 8080."),
        ("The database port is 5433.", "The database name is `orders`."),
        ("Never commit to main.", "Never push to production."),
        ("We'll use nom for the parser.", "We'll use Redis for the cache instead."),
        ("The project uses Redis.", "The project uses Kafka."),
        ("Use tabs.", "Don't use emojis."),
    ];
    for (before, after) in cases {
        assert_eq!(reconcile(&known(&[before]), &user(after)), [Change::New], "{before} / {after}");
    }
}

#[test]
fn fresh_findings_see_each_other() {
    let fresh = user("Use tabs. Use spaces. Use spaces! Use tabs.");
    let changes = reconcile(&[], &fresh);
    let fresh = Earlier::Fresh;
    assert_eq!(
        changes,
        [Change::New, Change::Supersedes(fresh(0)), Change::Same(fresh(1)), Change::Supersedes(fresh(1))]
    );
}

#[test]
fn what_was_rejected_is_not_learnt_again_and_not_replaced() {
    let mut known = known(&["Use tabs."]);
    known[0].standing = Standing::Rejected;
    assert_eq!(reconcile(&known, &user("use tabs")), [Change::Same(Earlier::Known(0))]);
    assert_eq!(reconcile(&known, &user("Use spaces.")), [Change::New]);
}

#[test]
fn the_task_is_what_was_asked_for_last() {
    let said = |texts: &[(Role, &str)]| {
        texts.iter().map(|(role, text)| Message::text(*role, *text)).collect::<Vec<_>>()
    };
    let user = Role::User;
    let asked = said(&[
        (user, "Port the parser to nom."),
        (Role::Assistant, "Shall I begin with the lexer?"),
        (user, "Yes, please go ahead!"),
        (user, "[Request interrupted by user]"),
    ]);
    assert_eq!(current_task(&asked, None).as_deref(), Some("Port the parser to nom."));

    let going_on = said(&[(user, "ok, continue"), (Role::Assistant, "Done.")]);
    assert_eq!(current_task(&going_on, None), None);
    let mut checkpoint = Checkpoint { goal: Item::new("A fast parser", None), ..Checkpoint::default() };
    assert_eq!(current_task(&going_on, Some(&checkpoint)).as_deref(), Some("A fast parser"));
    checkpoint.request = Request::new("Port the lexer", None);
    assert_eq!(current_task(&going_on, Some(&checkpoint)).as_deref(), Some("Port the lexer"));
    checkpoint.in_progress = Item::new("Porting numbers", None).into_iter().collect();
    assert_eq!(current_task(&going_on, Some(&checkpoint)).as_deref(), Some("Porting numbers"));
    assert_eq!(current_task(&asked, Some(&checkpoint)).as_deref(), Some("Port the parser to nom."));

    let secret = said(&[(user, "Log in with password=hunter2-Zk99x and look.")]);
    assert!(!current_task(&secret, None).unwrap().contains("hunter2"));
    let long = said(&[(user, "word ".repeat(500).as_str())]);
    assert!(current_task(&long, None).unwrap().chars().count() <= 601);
}

proptest! {
    /// Whatever is learnt is known the next time, whatever came before.
    #[test]
    fn what_was_learnt_is_known(picks in prop::collection::vec(0..SAID.len(), 1..8)) {
        let said: Vec<Message> = picks.iter().map(|at| Message::text(Role::User, SAID[*at])).collect();
        let fresh = extract(&said, 0);
        let changes = reconcile(&[], &fresh);
        let mut current: Vec<usize> = Vec::new();
        for (number, change) in changes.iter().enumerate() {
            match change {
                Change::New => current.push(number),
                Change::Same(Earlier::Fresh(of)) => prop_assert!(current.contains(of)),
                Change::Supersedes(Earlier::Fresh(of)) => {
                    prop_assert!(current.contains(of));
                    current.retain(|other| other != of);
                    current.push(number);
                }
                _ => prop_assert!(false, "nothing was known"),
            }
        }
        let known: Vec<Known> = current.iter().map(|at| Known {
            kind: fresh[*at].kind,
            subject: fresh[*at].subject.clone(),
            text: fresh[*at].text.clone(),
            standing: Standing::Current,
        }).collect();
        for (place, at) in current.iter().enumerate() {
            let again = reconcile(&known, &fresh[*at..=*at]);
            prop_assert_eq!(again, vec![Change::Same(Earlier::Known(place))]);
        }
    }
}

const SAID: [&str; 12] = [
    "The database port is 5433.",
    "The database listens on port 5434.",
    "The config lives in /etc/app.toml.",
    "Use tabs.",
    "From now on use spaces instead of tabs.",
    "Never commit to main.",
    "Always commit to main.",
    "We'll use nom for the parser.",
    "We'll use winnow for the parser instead of nom.",
    "Let's go with Postgres.",
    "We decided to store sessions in SQLite because it needs no server.",
    "Don't use emojis.",
];

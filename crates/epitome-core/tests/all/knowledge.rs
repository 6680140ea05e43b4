//! Knowledge: what stays true is told from what only happens.

use epitome_core::knowledge::{Finding, Kind, extract};
use epitome_core::secrets::{self, masked};
use epitome_core::{Block, Message, Role, ToolResult};
use proptest::prelude::*;

use Kind::{Decision, Fact, Preference};
use Role::{Assistant, User};

fn found(role: Role, text: &str) -> Vec<Finding> {
    extract(&[Message::text(role, text)], 0)
}

fn check(cases: &[(Role, Kind, &str, &str)]) {
    for (role, kind, subject, text) in cases {
        let found = found(*role, text);
        let [only] = found.as_slice() else { panic!("{text:?}: {found:?}") };
        assert_eq!((only.kind, only.subject.as_str()), (*kind, *subject), "{text:?}");
        assert_eq!(only.text, *text);
    }
}

#[test]
fn facts_stay_true() {
    check(&[
        (User, Fact, "database port", "The database listens on port 5433."),
        (User, Fact, "database port", "The database port is 5433."),
        (User, Fact, "database port", "our DB port is now 5434"),
        (User, Fact, "config path", "The config lives in /etc/app/config.toml."),
        (Assistant, Fact, "config path", "The config file is /etc/app/config.toml."),
        (User, Fact, "server stag url", "The staging server is https://staging.example.com."),
        (User, Fact, "logs path", "The logs are in /var/log/app."),
        (User, Fact, "project python version", "The project uses Python 3.12."),
        (User, Fact, "python version", "We use Python 3.12 for everything."),
        (Assistant, Fact, "environment version", "The environment is running Python 3.9.20."),
        (User, Fact, "branch default", "The default branch is `develop`."),
        (User, Fact, "name user", "My name is Sam Lee."),
        (User, Fact, "email user", "My email is sam@example.com."),
        (Assistant, Fact, "email user", "Your email is sam@example.com."),
        (User, Fact, "id user", "Sure, my user ID is sam_lee_77."),
        (User, Fact, "name project", "The project is called Zephyr."),
        (User, Fact, "bill owner service", "The billing service is owned by Priya."),
        (User, Fact, "deadline", "The deadline is 2024-06-30."),
        (User, Fact, "beta deadline", "Deadline for the beta: 2024-06-30"),
        (User, Fact, "budget", "The budget is $4,500."),
        (Assistant, Fact, "path urlvalidator", "`URLValidator` is defined in `web/core/validators.py`."),
        (
            Assistant,
            Fact,
            "cache cause ignore key tenant",
            "The root cause is that the cache key ignores the tenant.",
        ),
        (
            Assistant,
            Fact,
            "cause fail fixture old schema test",
            "The tests fail because the fixture still uses the old schema.",
        ),
        (User, Fact, "cache job rewrite timing", "Remember that the nightly job rewrites the cache."),
        (User, Fact, "2 ci core runner", "FYI, the CI runner has only 2 cores."),
        (User, Fact, "database port", "Die Datenbank lauscht auf Port 5433."),
        (User, Fact, "config path", "Die Konfiguration liegt unter /etc/app.toml."),
        (User, Fact, "name projekt", "Das Projekt heißt Zephyr."),
        (User, Fact, "port serveur", "Le serveur écoute sur le port 8080."),
        (User, Fact, "config path", "La configuration se trouve dans /etc/app.toml."),
        (User, Fact, "base dato port", "La base de datos escucha en el puerto 5433."),
        (User, Fact, "数据库端口", "数据库端口是5433。"),
        (User, Fact, "データベースポート", "データベースのポートは5433です。"),
    ]);
}

#[test]
fn decisions_come_with_their_reason() {
    check(&[
        (
            Assistant,
            Decision,
            "database session store",
            "We decided to store sessions in SQLite because it needs no server.",
        ),
        (
            Assistant,
            Decision,
            "database session store",
            "We decided to store sessions in SQLite. That way no server is needed.",
        ),
        (User, Decision, "database", "Let's go with Postgres instead of SQLite."),
        (User, Decision, "parser", "We'll use nom for the parser."),
        (User, Decision, "parser", "We'll use winnow for the parser, since nom is slow."),
        (User, Decision, "cache", "For the cache we'll use Redis."),
        (User, Decision, "cache", "we no longer use Redis for the cache"),
        (User, Decision, "package-manager", "Switch to pnpm."),
        (User, Decision, "api date version", "Decision: version the API by date."),
        (
            Assistant,
            Decision,
            "btreemap",
            "I'll use a BTreeMap instead of a HashMap because the order matters.",
        ),
        (User, Decision, "database", "Wir haben uns für SQLite entschieden, weil es keinen Server braucht."),
        (User, Decision, "database garder", "Nous avons décidé de garder SQLite parce que c'est simple."),
        (User, Decision, "database", "Hemos decidido usar Postgres porque es más rápido."),
        (User, Decision, "sqliteにします", "SQLiteにします。"),
    ]);
}

#[test]
fn preferences_are_the_users() {
    check(&[
        (User, Preference, "answer verbosity", "I prefer short answers."),
        (User, Preference, "answer language", "Please always answer in German."),
        (User, Preference, "answer language", "Answer in English."),
        (User, Preference, "commit main", "Never commit to main."),
        (User, Preference, "commit linter run", "Always run the linter before you commit."),
        (User, Preference, "indentation", "From now on use spaces, not tabs."),
        (User, Preference, "indentation", "Use tabs."),
        (User, Preference, "indentation", "Use tabs for indentation."),
        (User, Preference, "emoji", "Don't use emojis."),
        (User, Preference, "emoji", "No emojis please"),
        (User, Preference, "api change public", "Do not change the public API."),
        (User, Preference, "name user", "Call me Ada."),
        (User, Preference, "bump change schema version", "Whenever you change the schema, bump the version."),
        (User, Preference, "answer language", "Antworte immer auf Deutsch."),
        (User, Preference, "indentation", "Ab jetzt verwenden wir Leerzeichen statt Tabs."),
        (User, Preference, "emoji", "Verwende keine Emojis."),
        (User, Preference, "answer language", "Réponds toujours en français."),
        (User, Preference, "emoji", "N'utilise pas d'emojis."),
        (User, Preference, "answer language", "Responde siempre en español."),
        (User, Preference, "不要使用表情符号", "不要使用表情符号。"),
        (User, Preference, "今後は日本語で答えてください", "今後は日本語で答えてください。"),
    ]);
    assert_eq!(found(Assistant, "I prefer short answers. Never commit to main. Use tabs."), []);
}

#[test]
fn what_passes_is_no_knowledge() {
    let cases: &[(Role, &str)] = &[
        (User, "Hello!"),
        (User, "Thanks, that works."),
        (User, "Is the port 5433?"),
        (User, "The port might be 5433."),
        (User, "If the port is 5433, tell me."),
        (User, "Should we switch to Redis?"),
        (User, "If we switch to Redis we lose durability."),
        (User, "We haven't decided yet."),
        (User, "I'll go with the second option."),
        (User, "I like it."),
        (User, "I'd prefer the second one."),
        (User, "I want to return the lamp."),
        (User, "I never received the package."),
        (User, "It always fails on Mondays."),
        (User, "No problem."),
        (User, "No tests found."),
        (User, "Don't worry about the warnings."),
        (User, "Don't touch it yet."),
        (User, "Use grep to find the bug."),
        (User, "Use the following order id."),
        (User, "Remember to run the tests."),
        (User, "Can you always answer in French?"),
        (User, "Die Tests laufen gerade."),
        (Assistant, "The tests are running."),
        (Assistant, "The build is failing right now."),
        (Assistant, "The parser is slow."),
        (Assistant, "The current file is src/main.rs."),
        (Assistant, "The error is `ValueError`."),
        (Assistant, "`owner` is a `ForeignKey`."),
        (Assistant, "So `reuse` is set to `None`."),
        (Assistant, "The function is called when the page loads."),
        (Assistant, "I need to find the root cause."),
        (Assistant, "Maybe the root cause is a missing index on the table."),
        (Assistant, "They failed because it was not documented anywhere."),
        (Assistant, "Let's use grep to find the callers."),
        (Assistant, "I'll use sed to view the file."),
        (Assistant, "Now I will run the tests."),
        (Role::System, "The database port is 5433."),
        (Role::Tool, "The database port is 5433."),
    ];
    for (role, text) in cases {
        assert_eq!(found(*role, text), [], "{text:?}");
    }
}

#[test]
fn what_tools_print_is_not_read() {
    let result = ToolResult {
        call_id: "1".into(),
        name: None,
        content: vec![Block::text("The database port is 5433.")],
        is_error: false,
        extra: Vec::new(),
    };
    let message = Message::new(User, vec![Block::ToolResult(result), Block::text("The API port is 8080.")]);
    let found = extract(&[message], 7);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].message, found[0].block, found[0].text.as_str()), (7, 1, "The API port is 8080."));
    assert_eq!(
        found_text("```\nThe database port is 5433.\n```\n> Never commit to main."),
        Vec::<String>::new()
    );
}

#[test]
fn a_pasted_document_gives_only_what_it_says_outright() {
    let pasted =
        format!("No emojis\nUse tabs\n{}Never commit to main.", "One more line of text.\n".repeat(100));
    assert_eq!(found_text(&pasted), ["Never commit to main."]);
}

#[test]
fn secrets_are_masked() {
    let text = "The staging database is postgres://app:S3cure-9x@db.example.com/main.";
    assert_eq!(found_text(text), [masked(text).into_owned()]);
    assert!(!found_text(text)[0].contains("S3cure"));
}

fn found_text(text: &str) -> Vec<String> {
    found(User, text).into_iter().map(|found| found.text).collect()
}

fn talk() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("The database port is 5433. "),
        Just("we decided to keep it because "),
        Just("Never commit "),
        Just("the root cause is "),
        Just("remember that "),
        Just("不要"),
        Just("は"),
        Just("端口是5433。"),
        Just("password=hunter2-Zk99x "),
        Just("instead of "),
        Just("use "),
        Just(", "),
        Just(".\n"),
        Just("`a_b` "),
        Just("don’t "),
    ];
    let any = prop_oneof![3 => piece.prop_map(str::to_owned), 1 => "\\PC{0,6}".prop_map(|text| text)];
    prop::collection::vec(any, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// Whatever is said, findings lie in their message, in order and apart, and are its words.
    #[test]
    fn findings_lie_in_their_message(texts in prop::collection::vec(talk(), 1..4)) {
        let said: Vec<Message> = texts.iter().enumerate()
            .map(|(at, text)| Message::text(if at % 2 == 0 { User } else { Assistant }, text.clone()))
            .collect();
        let found = extract(&said, 10);
        prop_assert_eq!(&found, &extract(&said, 10));
        let mut last = (0, 0);
        for finding in &found {
            prop_assert!((finding.message, finding.span.start) >= last);
            last = (finding.message, finding.span.end);
            let text = texts[finding.message - 10].get(finding.span.clone());
            prop_assert!(text.is_some_and(|text| !text.is_empty()));
            prop_assert!(!finding.subject.is_empty());
            for secret in secrets::find(&texts[finding.message - 10]) {
                let hidden = texts[finding.message - 10].get(secret.span.clone()).unwrap_or_default();
                let inside = finding.span.start <= secret.span.start && secret.span.end <= finding.span.end;
                let times = |text: &str| text.matches(hidden).count();
                prop_assert!(!inside || hidden.len() < 6 || times(&finding.text) < text.map_or(0, times));
            }
            if !finding.text.contains("[secret: ") {
                prop_assert_eq!(text, Some(finding.text.as_str()));
            }
        }
    }
}

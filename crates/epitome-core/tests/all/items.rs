//! Items: what is found in texts of all kinds, and what is not.

use epitome_core::items::{self, Kind};
use proptest::prelude::*;

use Kind::{Date, Email, Error, Id, Identifier, Number, Path, Url, Version};

fn found(text: &str) -> Vec<(Kind, &str)> {
    items::find(text).map(|item| (item.kind, item.text)).collect()
}

#[test]
fn items_are_found_by_their_shape() {
    let cases: &[(&str, &[(Kind, &str)])] = &[
        ("", &[]),
        ("A plain sentence, with a dash - and dots... e.g. this one; and/or that, i.e. nothing!", &[]),
        (
            "snake_case camelCase PascalCase HTTPServer MAX_SIZE",
            &[
                (Identifier, "snake_case"),
                (Identifier, "camelCase"),
                (Identifier, "PascalCase"),
                (Identifier, "HTTPServer"),
                (Identifier, "MAX_SIZE"),
            ],
        ),
        ("use `retry` and `cargo`, not retry()", &[(Identifier, "retry"), (Identifier, "cargo")]),
        (
            "self.assertEqual(a.b, std::fmt::Display)",
            &[(Identifier, "self.assertEqual"), (Identifier, "std::fmt::Display")],
        ),
        (
            "run with --no-cache -x --jobs=4",
            &[(Identifier, "--no-cache"), (Identifier, "--jobs"), (Number, "4")],
        ),
        (
            "see src/main.rs:12:5 and ./a/b_c, /tmp/x.log.",
            &[(Path, "src/main.rs"), (Number, "12"), (Number, "5"), (Path, "./a/b_c"), (Path, "/tmp/x.log")],
        ),
        ("read/write yes/no TCP/IP 1/2 km/h </div> // note", &[(Number, "1"), (Number, "2")]),
        (
            "README.md 0001_initial.py .gitignore ~/notes $HOME/bin",
            &[
                (Path, "README.md"),
                (Path, "0001_initial.py"),
                (Path, ".gitignore"),
                (Path, "~/notes"),
                (Path, "$HOME/bin"),
            ],
        ),
        (
            r"open C:\Users\me\a.txt or C:\\Users\\new\\b.txt\nthen f:\n+",
            &[(Path, r"C:\Users\me\a.txt"), (Path, r"C:\\Users\\new\\b.txt")],
        ),
        (
            "(https://example.com/a?b=1&c=2). git@github.com:me/it.git, docs.rs/x www.example.com/y",
            &[
                (Url, "https://example.com/a?b=1&c=2"),
                (Url, "git@github.com:me/it.git"),
                (Path, "docs.rs/x"),
                (Url, "www.example.com/y"),
            ],
        ),
        ("mail ann.lee+x@example.org!", &[(Identifier, "ann.lee"), (Email, "x@example.org")]),
        ("mail ann.lee@example.org!", &[(Email, "ann.lee@example.org")]),
        (
            "order #W2378156 of mei_kovacs_8020, item 9523456873, phone 415-555-1234",
            &[(Id, "W2378156"), (Id, "mei_kovacs_8020"), (Id, "9523456873"), (Id, "415-555-1234")],
        ),
        (
            "commit 3f9ab2c1 and 550e8400-e29b-41d4-a716-446655440000 fix #1234 at 127.0.0.1:8080",
            &[
                (Id, "3f9ab2c1"),
                (Id, "550e8400-e29b-41d4-a716-446655440000"),
                (Id, "#1234"),
                (Id, "127.0.0.1"),
                (Number, "8080"),
            ],
        ),
        (
            "timeout 30s, 16GB, 12.5%, $1,299.00, €5, 10_000, 1e5, -3, [100,200,300], 30-day",
            &[
                (Number, "30s"),
                (Number, "16GB"),
                (Number, "12.5%"),
                (Number, "$1,299.00"),
                (Number, "€5"),
                (Number, "10_000"),
                (Number, "1e5"),
                (Number, "3"),
                (Number, "100"),
                (Number, "200"),
                (Number, "300"),
                (Number, "30"),
            ],
        ),
        (
            "2024-05-16T15:00:00Z, May 20, 2024; 16. Mai 2024; 05/16/2024 at 15:30 or 5 pm",
            &[
                (Date, "2024-05-16T15:00:00Z"),
                (Date, "May 20, 2024"),
                (Date, "16. Mai 2024"),
                (Date, "05/16/2024"),
                (Date, "15:30"),
                (Date, "5 pm"),
            ],
        ),
        (
            "v1.2.3 and 1.2.3-rc.1 of pkg@2.0.1",
            &[(Version, "v1.2.3"), (Version, "1.2.3-rc.1"), (Version, "pkg@2.0.1")],
        ),
        (
            "error[E0382]: ValueError, requests.exceptions.ConnectionError, ENOENT; errors",
            &[
                (Error, "E0382"),
                (Error, "ValueError"),
                (Error, "requests.exceptions.ConnectionError"),
                (Error, "ENOENT"),
            ],
        ),
        (
            r#"{"path":"src/a_b.py","old":"x_y\nfoo_bar\tbaz_1"}"#,
            &[(Path, "src/a_b.py"), (Identifier, "x_y"), (Identifier, "foo_bar"), (Identifier, "baz_1")],
        ),
        (
            "请修改src/main.rs文件，把“max_size”改为30秒。",
            &[(Path, "src/main.rs"), (Identifier, "max_size"), (Number, "30")],
        ),
        ("größe_max für Ändern", &[(Identifier, "größe_max")]),
        ("tests/test_a.py::TestB::test_c", &[(Path, "tests/test_a.py"), (Identifier, "TestB::test_c")]),
        ("_emphasis_ __init__ **bold**", &[(Identifier, "__init__")]),
    ];
    for (text, expected) in cases {
        assert_eq!(&found(text), expected, "{text}");
    }
}

#[test]
fn spellings_of_one_item_share_a_key() {
    let same = [
        ("./src/a.rs", "src/a.rs"),
        ("build/target/", "build/target"),
        ("$1,299.00", "1299"),
        ("10_000", "10,000"),
        ("0.50", "0.5"),
        ("30s", "30"),
        ("12%", "12"),
        ("May 16, 2024", "2024-05-16"),
        ("16 May 2024", "05/16/2024"),
        ("16.05.2024", "16. Mai 2024"),
        ("https://example.com/a/", "http://www.example.com/a"),
        ("#1234", "#1234"),
        ("v1.2.3", "1.2.3"),
    ];
    let key = |text: &str| items::find(text).map(|item| item.key().into_owned()).collect::<Vec<_>>();
    for (left, right) in same {
        assert_eq!(key(left), key(right), "{left} and {right}");
        assert_eq!(key(left).len(), 1, "{left}");
    }
    assert_ne!(key("30s"), key("300s"));
    assert_ne!(key("2024-05-16"), key("2024-05-17"));
}

proptest! {
    /// Whatever the text, items lie inside it, in order, apart from each other, and are what their spans say.
    #[test]
    fn items_lie_in_the_text(text in "(\\PC|[a-z_./:0-9 $#@\\\\\"`-]){0,80}") {
        let mut end = 0;
        for item in items::find(&text) {
            prop_assert!(item.span.start >= end && item.span.end > item.span.start);
            prop_assert_eq!(text.get(item.span.clone()), Some(item.text));
            prop_assert!(!item.key().is_empty());
            end = item.span.end;
        }
    }

    /// What is found is found again where it stands by itself, and inside JSON.
    #[test]
    fn items_are_found_wherever_they_stand(
        item in "[a-z]{2,6}(_[a-z]{2,5}|[A-Z][a-z]{3,5}|/[a-z]{2,5}\\.rs|[0-9]{4})",
        words in prop::collection::vec("[a-z]{1,8}", 0..6),
    ) {
        let text = format!("{} {item}\n{item}, ({item})", words.join(" "));
        let json = serde_json::to_string(&text).unwrap();
        for text in [text, json] {
            let keys: Vec<&str> = items::find(&text).map(|found| found.text).collect();
            prop_assert_eq!(keys, vec![item.as_str(); 3]);
        }
    }
}

/// A sign that joins names again and again must not make the walk go back over the text.
#[test]
fn long_runs_are_walked_once() {
    for unit in
        ["a:", "a/", "1/", "a::", "a.", "-", "1.", "\\", "a@", "`", "1:", "$", "a-1", "é", "://", "1,000,"]
    {
        let text = unit.repeat(200_000);
        assert!(items::find(&text).count() <= text.len());
    }
}

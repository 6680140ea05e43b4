//! Failed tool calls: what counts as one, and what is remembered of it.

use epitome_core::Message;

use crate::artifacts::{artifacts, round, shape};

#[test]
fn failed_calls_change_nothing_and_are_remembered() {
    // Tool, input, output, flagged; files; the error.
    let cases = [
        (
            "Edit",
            r#"{"file_path":"a.rs"}"#,
            "String to replace not found in file.",
            true,
            "",
            "String to replace not found in file.",
        ),
        (
            "edit",
            r#"{"path":"a.rs"}"#,
            "Error: could not find the exact text",
            false,
            "",
            "Error: could not find the exact text",
        ),
        (
            "str_replace_editor",
            r#"{"command":"str_replace","path":"/a.py"}"#,
            "No replacement was performed, old_str `x` did not appear verbatim in /a.py.",
            false,
            "",
            "No replacement was performed, old_str `x` did not appear verbatim in /a.py.",
        ),
        (
            "Read",
            r#"{"file_path":"a.rs"}"#,
            "<tool_use_error>File does not exist.</tool_use_error>",
            true,
            "",
            "<tool_use_error>File does not exist.</tool_use_error>",
        ),
        (
            "bash",
            r#"{"command":"rm a.txt"}"#,
            "rm: cannot remove 'a.txt': No such file or directory",
            false,
            "",
            "rm: cannot remove 'a.txt': No such file or directory",
        ),
        (
            "bash",
            r#"{"command":"cat a.txt"}"#,
            "cat: a.txt: No such file or directory",
            false,
            "",
            "cat: a.txt: No such file or directory",
        ),
        (
            "bash",
            r#"{"command":"cp a.txt b.txt"}"#,
            "cp: a.txt: No such file or directory\nexit code 1",
            true,
            "",
            "cp: a.txt: No such file or directory",
        ),
        (
            "bash",
            r#"{"command":"touch a && python run.py"}"#,
            "Traceback (most recent call last):\n  File \"run.py\", line 1\nValueError: bad input",
            false,
            "c:a",
            "ValueError: bad input",
        ),
        (
            "bash",
            r#"{"command":"sed -i s/a/b/ x && touch y; touch z"}"#,
            "sed: can't read x: No such file or directory",
            false,
            "c:z",
            "sed: can't read x: No such file or directory",
        ),
        (
            "bash",
            r#"{"command":"cargo build"}"#,
            "   Compiling x\nerror[E0308]: mismatched types\n --> src/lib.rs:3:5",
            false,
            "",
            "error[E0308]: mismatched types",
        ),
        (
            "book_reservation",
            r#"{"user":"u1"}"#,
            "Error: payment amount does not add up",
            false,
            "",
            "Error: payment amount does not add up",
        ),
        (
            "fetch",
            r#"{"url":"https://example.org"}"#,
            "{\"error\": \"timeout\"}",
            false,
            "",
            "{\"error\": \"timeout\"}",
        ),
        (
            "bash",
            r#"{"command":"rm a.txt b.txt"}"#,
            "<returncode>1</returncode>\n<output>\nrm: cannot remove 'b.txt': No such file or directory\n</output>",
            false,
            "d:a.txt",
            "rm: cannot remove 'b.txt': No such file or directory",
        ),
        (
            "bash",
            r#"{"command":"ed x.py"}"#,
            "<returncode>127</returncode>\n<output>\nbash: ed: command not found\n</output>",
            false,
            "",
            "bash: ed: command not found",
        ),
        (
            "bash",
            r#"{"command":"pytest t.py"}"#,
            "    def test_a():\n>       parse('')\nE       IndexError: list index out of range\n\nt.py:3: IndexError\n1 failed in 0.1s",
            false,
            "",
            "E IndexError: list index out of range",
        ),
    ];
    for (tool, input, output, flagged, files, error) in cases {
        let found = artifacts(&round(0, tool, input, output, flagged));
        assert_eq!(shape(&found), files, "{tool} {input}");
        let failed: Vec<_> =
            found.failed.iter().map(|failed| (failed.tool.as_str(), failed.error.as_str())).collect();
        assert_eq!(failed, [(tool, error)], "{input}");
    }
}

#[test]
fn what_only_looks_like_an_error_is_none() {
    let cases = [
        (
            "Read",
            r#"{"file_path":"a.log"}"#,
            "line one\nerror: something failed\nTraceback (most recent call last):",
        ),
        ("bash", r#"{"command":"cat build.log"}"#, "error[E0308]: mismatched types"),
        ("bash", r#"{"command":"grep -n error src/a.rs"}"#, "12: error: String"),
        ("bash", r#"{"command":"cargo test"}"#, "test result: ok. 3 passed; 0 failed"),
        ("web_search", r#"{"query":"q"}"#, "How to fix error: x"),
    ];
    for (tool, input, output) in cases {
        assert!(artifacts(&round(0, tool, input, output, false)).failed.is_empty(), "{tool} {input}");
    }
}

#[test]
fn the_same_failure_is_listed_once() {
    let again = |number| round(number, "bash", r#"{"command":"make"}"#, "make: *** [all] Error 2", false);
    let messages: Vec<Message> = (0..3).flat_map(again).collect();
    let found = artifacts(&messages);
    let [failed] = found.failed.as_slice() else { panic!("{:?}", found.failed) };
    assert_eq!((failed.times, failed.message, failed.input.as_str()), (3, 4, "make"));
}

#[test]
fn an_error_is_told_with_its_place() {
    let cases = [
        (
            "cargo build",
            "error[E0382]: borrow of moved value: `rows`\n  --> src/table.rs:41:9\n   |\n41 |     rows.len()\nerror: could not compile `shop`",
            "--> src/table.rs:41:9",
        ),
        (
            "python run.py",
            "Traceback (most recent call last):\n  File \"run.py\", line 3, in <module>\n    main()\n  File \"shop/cart.py\", line 27, in total\n    return sum(prices)\nTypeError: unsupported operand",
            "File \"shop/cart.py\", line 27, in total",
        ),
        (
            "node run.js",
            "TypeError: cart is undefined\n    at total (/app/cart.js:12:9)\n    at main (/app/run.js:3:1)",
            "at total (/app/cart.js:12:9)",
        ),
        ("make", "make: *** [all] Error 2", ""),
    ];
    for (command, output, place) in cases {
        let input = serde_json::json!({ "command": command }).to_string();
        let found = artifacts(&round(0, "bash", &input, output, false));
        let places: Vec<_> =
            found.failed.iter().map(|failed| failed.place.as_deref().unwrap_or("")).collect();
        assert_eq!(places, [place], "{command}");
    }
}

#[test]
fn a_failure_that_was_solved_says_by_which_change() {
    let make = |number, output| round(number, "bash", r#"{"command":"make"}"#, output, false);
    let edit = r#"{"path":"src/cart.c","old_text":"a","new_text":"b"}"#;
    let mut messages = make(0, "make: *** [all] Error 2").to_vec();
    messages.extend(round(1, "edit", edit, "ok", false));
    assert!(
        artifacts(&messages).failed.iter().all(|failed| failed.solved.is_none()),
        "nobody has tried again"
    );

    messages.extend(make(2, "cc -o shop\nfine"));
    let found = artifacts(&messages);
    let [failed] = found.failed.as_slice() else { panic!("{:?}", found.failed) };
    let solved = failed.solved.as_ref().expect("it works");
    assert_eq!((solved.message, solved.changed.as_deref()), (4, Some("src/cart.c")));

    messages.extend(make(3, "make: *** [all] Error 2"));
    assert!(artifacts(&messages).failed.iter().all(|failed| failed.solved.is_none()), "it fails again");
}

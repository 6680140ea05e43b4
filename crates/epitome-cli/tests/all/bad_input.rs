//! Bad input: one clear sentence, a hint, the right exit code, and no output file.

use std::fs;

use crate::run::{epitome, epitome_with, example};

#[test]
fn bad_files_are_refused_in_one_sentence() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let deep_inside = format!(
        "{{\"messages\":[{{\"role\":\"user\",\"content\":{}{}}}]}}",
        "[".repeat(2_000),
        "]".repeat(2_000)
    );
    let long_line = "x".repeat(100_000_000);
    let cases: &[(&str, &[u8], &str)] = &[
        ("not JSON", b"hello world\n", "not JSON"),
        ("empty", b"", "empty"),
        ("blank", b"\n \n", "empty"),
        ("wrong format", b"{\"foo\":1}", "no known transcript format"),
        ("a number", b"42", "expected an object or an array"),
        ("100 MB on one line", long_line.as_bytes(), "not JSON"),
        ("deep nesting", deep.as_bytes(), "nested deeper"),
        ("deep content", deep_inside.as_bytes(), "nested deeper"),
        ("invalid UTF-8", b"{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\xfe\"}]}", "UTF-8"),
        ("lone surrogate", b"{\"messages\":[{\"role\":\"user\",\"content\":\"\\ud800\"}]}", "lone surrogate"),
        ("cut off", b"{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assi", "never closed"),
        ("unknown role", b"{\"messages\":[{\"role\":\"alien\",\"content\":\"a\"}]}", "unknown role"),
        ("broken gzip", b"\x1f\x8b\x08\x00garbage", "gzip"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes, expected) in cases {
        let input = folder.path().join("input");
        let output = folder.path().join("output");
        fs::write(&input, bytes).unwrap();
        let large = bytes.len() > 10_000_000;
        for command in ["compact", "inspect", "count"].into_iter().take(if large { 1 } else { 3 }) {
            let mut arguments = vec![command, input.to_str().unwrap()];
            if command == "compact" {
                arguments.extend(["-o", output.to_str().unwrap()]);
            }
            let ran = epitome(&arguments);
            assert_eq!(ran.code, 1, "{name}: {}", ran.stderr);
            assert!(ran.stdout.is_empty(), "{name}");
            let mut said = ran.stderr.lines();
            let (error, hint) = (said.next().unwrap(), said.next().unwrap_or_default());
            assert!(error.starts_with("error: ") && error.contains(expected), "{name}: {error}");
            assert!(error.len() < 400, "{name}: {error}");
            assert!(hint.starts_with("hint: ") && said.next().is_none(), "{name}: {}", ran.stderr);
        }
        let left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["input"], "{name}: nothing is left behind");
        if !large {
            let piped = epitome_with(bytes, &["compact", "-"]);
            assert_eq!((piped.code, piped.stdout.len()), (1, 0), "{name}: {}", piped.stderr);
        }
    }
}

#[test]
fn hints_do_not_offer_what_would_not_help() {
    let binary = epitome_with(b"\x7fELF\xff\xfe", &["compact", "-"]);
    assert!(binary.stderr.contains("hint: transcripts are text"), "{}", binary.stderr);
    let other = epitome(&["compact", &example(), "--format", "codex"]);
    assert!(other.stderr.contains("hint: leave --format away"), "{}", other.stderr);
    let nowhere = epitome(&["compact", &example(), "-o", "/proc/x.jsonl"]);
    let said = "cannot write /proc/x.jsonl: /proc takes no files";
    assert!(cfg!(not(target_os = "linux")) || nowhere.stderr.contains(said), "{}", nowhere.stderr);
}

#[test]
fn a_damaged_line_is_named_and_can_be_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("session.jsonl");
    let example = fs::read_to_string(example()).unwrap();
    let mut lines: Vec<&str> = example.lines().collect();
    let cut = &lines[41][..200];
    lines[41] = cut;
    fs::write(&input, lines.join("\n")).unwrap();
    let input = input.to_str().unwrap();
    let strict = epitome(&["compact", input]);
    assert_eq!((strict.code, strict.stdout.len()), (1, 0));
    assert!(strict.stderr.contains("line 42") && strict.stderr.contains("--lenient"), "{}", strict.stderr);
    let lenient = epitome(&["inspect", "--lenient", input]);
    assert!(lenient.text().contains("damaged: line 42"), "{}", lenient.text());
    let compacted = epitome(&["compact", "--lenient", input]);
    assert!(compacted.text().ends_with(cut), "what could not be read is kept as it was");
    assert!(
        compacted.stderr.contains("damaged: ") && compacted.stderr.contains("line 42"),
        "{}",
        compacted.stderr
    );
    for command in ["compact", "count"] {
        let ran = epitome(&[command, "--json", "--lenient", input]);
        assert!(
            ran.stderr.contains("session.jsonl: line 42, column 196: string is never closed"),
            "{command}: {}",
            ran.stderr
        );
        let damaged = &ran.json()["damaged"];
        assert_eq!(damaged.as_array().unwrap().len(), 1, "{command}");
        assert!(damaged[0].as_str().unwrap().starts_with("line 42, "), "{command}: {damaged}");
    }
    fs::write(input, example + &"{\n".repeat(30)).unwrap();
    let many = epitome(&["count", "--lenient", input]);
    assert_eq!(many.stderr.lines().count(), 11, "{}", many.stderr);
    assert!(many.stderr.contains("20 places more"), "{}", many.stderr);
}

#[test]
fn misuse_exits_with_two() {
    for arguments in [
        &["compact"][..],
        &["frobnicate"],
        &["compact", "x", "--budget", "many"],
        &["compact", "x", "--strategy", "magic"],
        &["inspect", "x", "--format", "klingon"],
        &["inspect", "x", "--set", "tool_hard_clear_after"],
        &["inspect", "x", "--set", "tool_hard_claer_after=3"],
        &["inspect", "-", "-"],
    ] {
        let ran = epitome(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stdout.is_empty() && ran.stderr.starts_with("error: "), "{arguments:?}: {}", ran.stderr);
    }
    let missing = epitome(&["inspect", "/no/such/file"]);
    assert_eq!(missing.code, 1);
    assert!(missing.stderr.contains("hint:"), "{}", missing.stderr);
}

#[test]
fn help_teaches() {
    let ran = epitome(&["--help"]);
    assert!(ran.text().contains("Examples:") && ran.text().contains("epitome inspect session.jsonl"));
    for command in ["inspect", "compact", "count"] {
        let ran = epitome(&[command, "--help"]);
        assert!(ran.text().contains("Usage: epitome"), "{command}");
    }
}

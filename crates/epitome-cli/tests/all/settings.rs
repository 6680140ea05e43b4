//! Settings in layers: file, environment, flags.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::run::{command, epitome, example, repository};

fn cleared(output: std::process::Output) -> u64 {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["cleared"].as_u64().unwrap()
}

#[test]
fn flags_beat_the_environment_which_beats_the_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("epitome.toml"), "prune_mode = \"every-call\"\ntool_hard_clear_after = 3\n")
        .unwrap();
    let example = example();
    let run = |variables: &[(&str, &str)], flags: &[&str]| {
        let arguments = [&["compact", "--json", &example], flags].concat();
        cleared(
            command(&arguments).current_dir(folder.path()).envs(variables.iter().copied()).output().unwrap(),
        )
    };
    assert_eq!(run(&[], &[]), 15);
    assert_eq!(run(&[("EPITOME_TOOL_HARD_CLEAR_AFTER", "10")], &[]), 8);
    assert_eq!(run(&[("EPITOME_TOOL_HARD_CLEAR_AFTER", "10")], &["--set", "tool_hard_clear_after=14"]), 4);
    assert_eq!(run(&[], &["--set", "NOUS_TOOL_HARD_CLEAR_AFTER=14"]), 4, "a seed's name for it works, too");
}

#[test]
fn models_can_be_added_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    fs::write(&file, "[models.my-own-model]\nwindow = 24000\nratio = 2.0\n").unwrap();
    let ran = epitome(&[
        "inspect",
        "--json",
        "--model",
        "my-own-model",
        "--config",
        file.to_str().unwrap(),
        &example(),
    ]);
    let session = &ran.json_lines()[0];
    assert_eq!(session["context_window"], 24_000);
    assert_eq!(session["model_tokens"].as_u64().unwrap(), session["tokens"].as_u64().unwrap() * 2);
    assert!(session["warnings"][0].as_str().unwrap().contains("small"), "{session}");
}

#[test]
fn mistakes_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("epitome.toml");
    let run = |content: &str| {
        fs::write(&file, content).unwrap();
        epitome(&["inspect", "--config", file.to_str().unwrap(), &example()])
    };
    let cases = [
        ("tool_soft_trim_char = 3\n", "did you mean tool_soft_trim_chars?"),
        ("tool_hard_clear_after = \"soon\"\n", "tool_hard_clear_after cannot be \"soon\""),
        ("tool_soft_trim_chars = \n", "epitome.toml"),
        ("tool_soft_trim_head = 9000\n", "the settings do not fit together"),
        ("[models.x]\nwindw = 3\n", "windw"),
        ("[compaction]\nstrategy = \"auto\"\n", "settings stand at the top of the file"),
        ("preset = \"nexos\"\n", "micro-agent, nexus"),
    ];
    for (content, expected) in cases {
        let ran = run(content);
        assert_ne!(ran.code, 0, "{content}");
        assert!(ran.stderr.contains(expected), "{content}: {}", ran.stderr);
    }
    let missing = epitome(&["inspect", "--config", "/no/such/file.toml", &example()]);
    assert_eq!(missing.code, 1);
    let output = command(&["inspect", &example()]).env("EPITOME_TOOL_HARD_CLEAR", "3").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("did you mean tool_hard_clear_after?"));
}

// Those of the documents and scripts: whoever sets one as they say must not be told that it is no setting.
#[test]
fn variables_that_are_no_settings_are_let_be() {
    let mut names: BTreeSet<String> =
        ["LISTEN", "ANTHROPIC_UPSTREAM", "OPENAI_UPSTREAM", "WRITE"].map(str::to_owned).into();
    let folders = ["docs", "scripts"].map(|folder| repository().join(folder));
    let files =
        folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    let pages = ["README.md", "CONTRIBUTING.md"].map(|page| repository().join(page));
    for file in files.chain(pages).filter(|file| file.is_file()) {
        let text = fs::read_to_string(&file).unwrap();
        names.extend(text.split("EPITOME_").skip(1).map(|rest| {
            rest.chars()
                .take_while(|letter| letter.is_ascii_uppercase() || *letter == '_')
                .collect::<String>()
        }));
    }
    names.remove("");
    assert!(names.len() > 7, "{names:?}");
    for name in names {
        let output = command(&["count", &example()]).env(format!("EPITOME_{name}"), "x").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("unknown setting"), "{name}: {said}");
    }
}

#[test]
fn a_preset_is_named_in_the_file_in_the_environment_or_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("epitome.toml"), "preset = \"nexus\"\n").unwrap();
    let told = |variables: &[(&str, &str)], flags: &[&str]| {
        let arguments = [&["config", "preset", "placement", "--json"], flags].concat();
        let output =
            command(&arguments).current_dir(folder.path()).envs(variables.iter().copied()).output().unwrap();
        let lines = String::from_utf8(output.stdout).unwrap();
        let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let field = |row: usize, name: &str| rows[row][name].as_str().unwrap().to_owned();
        (field(0, "value"), field(0, "origin"), field(1, "value"), field(1, "origin"))
    };
    let expected = |row: [&str; 4]| {
        let [preset, origin, placement, from] = row.map(str::to_owned);
        (preset, origin, placement, from)
    };
    let file = expected(["nexus", "epitome.toml", "system", "preset nexus"]);
    assert_eq!(told(&[], &[]), file);
    let variable = [("EPITOME_PRESET", "micro-agent")];
    let environment = expected(["micro-agent", "EPITOME_PRESET", "first-user", "preset micro-agent"]);
    assert_eq!(told(&variable, &[]), environment);
    let flag = expected(["nexus", "flag", "system", "preset nexus"]);
    assert_eq!(told(&variable, &["--preset", "nexus"]), flag);
    assert_eq!(told(&variable, &["--set", "preset=nexus"]), flag);
    assert_eq!(told(&variable, &["--set", "preset=none"]), expected(["none", "default", "pair", "default"]));
}

#[cfg(unix)]
#[test]
fn variables_may_be_any_bytes() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let bytes = OsStr::from_bytes(b"\xff\xfe");
    for name in [OsStr::new("SOMETHING"), bytes] {
        let output = command(&["count", &example()]).env(name, bytes).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let output = command(&["count", &example()]).env("EPITOME_WARN_TOKENS", bytes).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "of ours they must make sense");
}

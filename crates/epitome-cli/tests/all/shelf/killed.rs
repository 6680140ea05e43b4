//! An import that is killed at any moment is finished by the next one, and nothing is there twice.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use super::{Desk, figures, on_both, server};
use crate::run::command;

on_both!(killed_imports_are_finished);

/// Rounds on a file, and on a server, which takes longer.
const ROUNDS: [u64; 2] = [32, 12];

fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// A pi session with a branch and a compaction.
fn session(name: &str, exchanges: usize) -> String {
    let mut text = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"{name}\",\"timestamp\":\"2026-01-01T08:00:00.000Z\",\"cwd\":\"/\"}}\n"
    );
    let mut parent = "null".to_owned();
    let mut entry = |text: &mut String, id: String, rest: String| {
        writeln!(
            text,
            "{{\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T08:00:01.000Z\",{rest}}}"
        )
        .unwrap();
        parent = format!("\"{id}\"");
    };
    for number in 0..exchanges {
        let said = |role: &str, word: &str| {
            format!(
                "\"type\":\"message\",\"message\":{{\"role\":\"{role}\",\"content\":[{{\"type\":\"text\",\"text\":\"{word} {number} of {name} {}\"}}]}}",
                "words ".repeat(40)
            )
        };
        entry(&mut text, format!("u{number}"), said("user", "question"));
        entry(&mut text, format!("a{number}"), said("assistant", "answer"));
        if number == exchanges / 2 {
            let rest = "\"type\":\"compaction\",\"summary\":\"What was asked.\",\"firstKeptEntryId\":\"u1\",\"tokensBefore\":900".to_owned();
            entry(&mut text, "c".to_owned(), rest);
        }
    }
    writeln!(text, "{{\"id\":\"b\",\"parentId\":\"a0\",\"timestamp\":\"2026-01-01T08:00:02.000Z\",\"type\":\"message\",\"message\":{{\"role\":\"user\",\"content\":\"another way\"}}}}").unwrap();
    // The branch that was entered last is the main path; go back to the other one.
    writeln!(text, "{{\"id\":\"z\",\"parentId\":\"a{}\",\"timestamp\":\"2026-01-01T08:00:03.000Z\",\"type\":\"message\",\"message\":{{\"role\":\"user\",\"content\":\"the end\"}}}}", exchanges - 1).unwrap();
    text
}

/// How far an import has come, as can be seen from outside.
fn progress(desk: &Desk) -> u64 {
    match desk.address().strip_prefix("sqlite:") {
        Some(path) => fs::metadata(Path::new(&format!("{path}-wal"))).map_or(0, |found| found.len() / 4096),
        None => server::psql(desk.address(), "SELECT count(*) FROM sessions").trim().parse().unwrap_or(0),
    }
}

fn chains(desk: &Desk) -> Vec<(String, String)> {
    let told =
        |session: &serde_json::Value| (session["chain"].to_string(), session["compactions"].to_string());
    let mut chains: Vec<_> = desk.sessions().iter().map(told).collect();
    chains.sort();
    chains
}

fn killed_imports_are_finished(desk: &Desk) {
    let mut seed = 0x5eed_1235_8132_1345;
    let mut cut_short = 0;
    let is_file = desk.address().starts_with("sqlite:");
    let rounds = ROUNDS[usize::from(!is_file)];
    // Brings the schema, so that there is progress to be seen.
    desk.import_text(&session("first", 2));
    let mut most = 1;
    for round in 0..rounds {
        let folder = desk.folder.path().join(format!("logs{round}"));
        fs::create_dir(&folder).unwrap();
        for number in 0..4 {
            let text = session(&format!("s{round}-{number}"), 3 + number);
            fs::write(folder.join(format!("{number}.jsonl")), text).unwrap();
        }
        let folder = folder.to_str().unwrap();
        let before = progress(desk);
        let until = before + random(&mut seed) % most.max(8);
        let mut import = command(&["import", "--whole", folder, "--db", desk.address()]);
        let mut child = import.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while child.try_wait().unwrap().is_none() && progress(desk) < until {
            std::thread::yield_now();
        }
        most = most.max(progress(desk).saturating_sub(before));
        let _ = child.kill();
        child.wait().unwrap();
        let [new, _, grown, unchanged, messages] = figures(&desk.import(&[folder]));
        assert_eq!(new + grown + unchanged, 8, "every path is one session");
        cut_short += u64::from(messages > 0);
        assert_eq!(figures(&desk.import(&[folder])), [0, 0, 0, 8, 0], "nothing is left to do");
        if round % 8 == 7 {
            desk.is_sound();
        }
    }
    assert!(cut_short > rounds / 8, "most were killed before the end, {cut_short} of {rounds}");
    let at_once = Desk::new();
    at_once.import_text(&session("first", 2));
    at_once.import(&[desk.folder.path().to_str().unwrap()]);
    assert!(chains(desk) == chains(&at_once), "what was killed and finished is what was never killed");
    desk.is_sound();
}

//! `epitome eval fidelity`.

use serde_json::json;

use crate::run::{epitome, epitome_with, example};

// An agent that is told a number of things once and needs them at the end.
fn session() -> String {
    let mut messages =
        vec![json!({"role": "user", "content": "You must never edit src/vendor/legacy_code.rs. Fix it."})];
    let call = |at: usize, command: &str| {
        let arguments = json!({"command": command}).to_string();
        json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": format!("call_{at}"), "type": "function", "function": {"name": "bash", "arguments": arguments}}]})
    };
    for at in 0..20 {
        let shown = format!("config_value_{at} = read(source, {at}00, fallback)\n");
        messages.push(call(at, &format!("cat file_{at}.rs")));
        messages
            .push(json!({"role": "tool", "tool_call_id": format!("call_{at}"), "content": shown.repeat(9)}));
    }
    for at in 0..20 {
        let edit = format!("edit file_{at}.rs: config_value_{at} = read(source, {at}00, fallback)");
        messages.push(call(20 + at, &edit));
        messages
            .push(json!({"role": "tool", "tool_call_id": format!("call_{}", 20 + at), "content": "done"}));
    }
    json!({"messages": messages}).to_string()
}

#[test]
fn strategies_stand_beside_baselines() {
    let input = session();
    let arguments = ["eval", "fidelity", "--json", "--budget", "600", "-"];
    let report = epitome_with(input.as_bytes(), &arguments).json();
    assert_eq!(report["conversations"], 1);
    let rows = report["strategies"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["strategy"].as_str().unwrap()).collect();
    assert_eq!(names, ["auto", "keep-last", "mask", "head-tail", "random", "index", "words"]);
    for row in rows {
        for column in ["items", "pairs", "runs", "constraints"] {
            assert!(row[column]["asked"].as_u64().unwrap() > 0, "{column} of {row}");
        }
        let tokens = row["tokens"].as_u64().unwrap();
        assert!(tokens > 0 && (tokens <= 600 || row["strategy"] == "words"), "{row}");
    }
    let words = rows.last().unwrap();
    assert_eq!((words["items"]["mean"].as_f64(), words["runs"]["mean"].as_f64()), (Some(1.0), Some(0.0)));

    let named = ["eval", "fidelity", "--budget", "600", "--strategies", "nous,rolling,mask", "-"];
    let table = epitome_with(input.as_bytes(), &named);
    for expected in ["nous", "rolling", "mask", "1 conversation cut"] {
        assert!(table.text().contains(expected), "{}", table.text());
    }
}

#[test]
fn what_cannot_be_measured_is_said() {
    let unknown = epitome(&["eval", "fidelity", "--budget", "600", "--strategies", "keep-lats", &example()]);
    assert_eq!(unknown.code, 2);
    assert!(
        unknown.stderr.contains("keep-lats") && unknown.stderr.contains("keep-last"),
        "{}",
        unknown.stderr
    );
    let ample = epitome(&["eval", "fidelity", "--budget", "1M", &example()]);
    assert_eq!(ample.code, 1);
    assert!(ample.stderr.contains("hint:"), "{}", ample.stderr);
}

//! `epitome eval fidelity` and `epitome eval repeat`.

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
fn what_was_lost_can_be_listed() {
    let arguments = ["eval", "fidelity", "--budget", "600", "--strategies", "keep-last", "--lost"];
    let listed = epitome_with(session().as_bytes(), &[&arguments[..], &["-"]].concat());
    for expected in ["lost by keep-last:", "item        config_value_0", "constraint  You must never edit"] {
        assert!(listed.text().contains(expected), "{}", listed.text());
    }
    let json = epitome_with(session().as_bytes(), &[&arguments[..], &["--json", "-"]].concat()).json();
    let row = &json["strategies"][0];
    let missed = row["items"]["asked"].as_u64().unwrap() - row["items"]["kept"].as_u64().unwrap();
    let lost: usize =
        json["lost"].as_array().unwrap().iter().map(|at| at["items"].as_array().unwrap().len()).sum();
    assert!(missed > 0);
    assert_eq!(lost as u64, missed);
}

#[test]
fn ten_compactions_in_a_row_are_measured() {
    let arguments = ["eval", "repeat", "--budget", "600", "--strategy", "auto"];
    let report = epitome_with(session().as_bytes(), &[&arguments[..], &["--json", "-"]].concat()).json();
    let rounds = report["rounds"].as_array().unwrap();
    assert_eq!((rounds.len(), &report["conversations"], &report["too_short"]), (10, &json!(1), &json!(0)));
    for round in rounds {
        assert!(round["tokens"].as_u64().unwrap() <= 600, "{round}");
        for column in ["constraints", "goal", "items", "items_of_first", "held"] {
            assert!(round[column].is_number(), "{column} of {round}");
        }
    }
    assert_eq!(rounds[0]["items_of_first"].as_f64(), Some(1.0));
    let table = epitome_with(session().as_bytes(), &[&arguments[..], &["-"]].concat());
    assert!(table.text().contains("1 conversation compacted ten times with auto"), "{}", table.text());
    let short = epitome(&["eval", "repeat", "--budget", "1M", &example()]);
    assert_eq!(short.code, 1);
    assert!(short.stderr.contains("no session is compacted ten times"), "{}", short.stderr);
    let baseline = epitome(&["eval", "repeat", "--budget", "600", "--strategy", "mask", &example()]);
    assert_eq!(baseline.code, 2);
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

//! Files and failures, read from the tool calls of many agents.

use epitome_core::artifacts::{Artifacts, Touched, of};
use epitome_core::{Block, Fields, Message, Role, ToolResult, ToolUse};
use proptest::prelude::*;
use serde_json::json;

use crate::support::{path, user};

/// A call and its result, as two messages.
pub(crate) fn round(number: usize, tool: &str, input: &str, output: &str, is_error: bool) -> [Message; 2] {
    let id = format!("call_{number}");
    let call =
        ToolUse { id: id.clone(), name: tool.to_owned(), input: input.to_owned(), extra: Fields::new() };
    let content = vec![Block::text(output)];
    let result = ToolResult { call_id: id, name: None, content, is_error, extra: Fields::new() };
    [
        Message::new(Role::Assistant, vec![Block::ToolUse(call)]),
        Message::new(Role::User, vec![Block::ToolResult(result)]),
    ]
}

pub(crate) fn artifacts(messages: &[Message]) -> Artifacts {
    of(&path(messages), messages)
}

/// `r:a,b c:d m:e d:f`, files by name, empty lists left out.
pub(crate) fn shape(artifacts: &Artifacts) -> String {
    let list = |sign: &str, files: &[Touched]| {
        let mut names: Vec<&str> = files.iter().map(|touched| touched.file.as_str()).collect();
        names.sort_unstable();
        (!names.is_empty()).then(|| format!("{sign}:{}", names.join(",")))
    };
    let Artifacts { read, created, modified, deleted, .. } = artifacts;
    let lists = [list("r", read), list("c", created), list("m", modified), list("d", deleted)];
    lists.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn command(script: &str, output: &str) -> Artifacts {
    artifacts(&round(0, "bash", &json!({ "command": script }).to_string(), output, false))
}

const COMMANDS: &[(&str, &str)] = &[
    // Looking.
    ("cat src/main.rs", "r:src/main.rs"),
    ("cat -n ./a.py b.py", "r:a.py,b.py"),
    ("head -n 20 a.txt", "r:a.txt"),
    ("tail -c 100 a.txt", "r:a.txt"),
    ("tail -20 a.txt", "r:a.txt"),
    ("sed -n '1,20p' lib.rs", "r:lib.rs"),
    ("sed -n -e 1p -e 3p lib.rs", "r:lib.rs"),
    ("nl -ba lib.rs | sed -n 10,20p", "r:lib.rs"),
    ("awk -F: '{print $1}' /etc/passwd", "r:/etc/passwd"),
    ("jq .name package.json", "r:package.json"),
    ("diff old.txt new.txt", "r:new.txt,old.txt"),
    ("cat < in.txt", "r:in.txt"),
    ("cd src && cat main.rs", "r:src/main.rs"),
    ("cd /repo && cd lib && head a.py", "r:/repo/lib/a.py"),
    ("cd /repo; cat /etc/hosts", "r:/etc/hosts"),
    ("ls -la", ""),
    ("grep -rn 'pattern > x' src", ""),
    ("find . -name '*.rs' | xargs wc -l", ""),
    ("echo hello", ""),
    ("echo 'a > b'", ""),
    ("python run.py", ""),
    ("cargo test 2>&1 | tail -5", ""),
    ("cat *.rs", ""),
    ("cat $FILE", ""),
    ("cat file > /dev/null", "r:file"),
    // Creating.
    ("echo hi > new.txt", "c:new.txt"),
    ("echo hi >new.txt 2>&1", "c:new.txt"),
    ("cat > a.py <<'EOF'\nimport os\nprint('x') > y\nEOF", "c:a.py"),
    ("cat <<EOF > a.py\nrm -rf important\nEOF\npython a.py", "c:a.py"),
    ("cat << 'END' | tee conf.ini\n[a]\nEND", "c:conf.ini"),
    ("touch a b", "c:a,b"),
    ("cp a.txt b.txt", "c:b.txt r:a.txt"),
    ("cp -r a.txt dir/", "r:a.txt"),
    ("curl -s -o page.html https://example.org", "c:page.html"),
    ("wget -O data.csv https://example.org/x", "c:data.csv"),
    ("ln -s target link", "c:link"),
    ("dd if=/dev/zero of=disk.img bs=1M", "c:disk.img"),
    ("python gen.py &> out.log", "c:out.log"),
    ("mkdir -p src/new", ""),
    ("PYTHONPATH=. python x.py > out.txt", "c:out.txt"),
    // Changing.
    ("sed -i 's/a/b/' lib.rs", "m:lib.rs"),
    ("sed -i.bak -e 's/a/b/' lib.rs main.rs", "m:lib.rs,main.rs"),
    ("sed -i '' 's/a/b/' lib.rs", "m:lib.rs"),
    ("perl -pi -e 's/a/b/' lib.rs", "m:lib.rs"),
    ("perl -i -pe 's/a/b/' lib.rs", "m:lib.rs"),
    ("echo more >> log.txt", "m:log.txt"),
    ("echo x | tee -a log.txt", "m:log.txt"),
    ("truncate -s 0 log.txt", "m:log.txt"),
    ("git checkout -- src/a.rs", "m:src/a.rs"),
    ("git checkout main", ""),
    ("git restore src/a.rs", "m:src/a.rs"),
    ("git restore --staged src/a.rs", ""),
    ("patch -p1 <<'EOF'\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\nEOF", "m:x.py"),
    ("git apply <<'EOF'\n--- /dev/null\n+++ b/y.py\n@@ -0,0 +1 @@\n+b\nEOF", "c:y.py"),
    ("apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.rs\n*** End Patch\nEOF", "m:a.rs"),
    // Deleting and moving.
    ("rm a.txt", "d:a.txt"),
    ("rm -rf build.log tmp.txt", "d:build.log,tmp.txt"),
    ("rm -rf build/", "d:build"),
    ("touch build/a.o && rm -rf build", "d:build"),
    ("rm -rf build && touch build/a.o; cat build.rs", "c:build/a.o d:build r:build.rs"),
    ("sudo rm /etc/x.conf", "d:/etc/x.conf"),
    ("mv a.txt b.txt", "c:b.txt d:a.txt"),
    ("mv a.txt b.txt dir", "d:a.txt,b.txt"),
    ("git rm old.rs", "d:old.rs"),
    ("git rm --cached old.rs", ""),
    ("git mv a.rs b.rs", "c:b.rs d:a.rs"),
    // Shells in shells, and several in a row.
    ("bash -lc \"sed -i 's/x/y/' a.rs && cat b.rs\"", "r:b.rs m:a.rs"),
    ("sh -c 'echo 1 > one'; cat two", "c:one r:two"),
    ("touch a && mv a b && rm b", "d:a,b"),
    ("cat a; echo x > a", "m:a"),
    ("for f in a b; do cat $f; done", ""),
    ("if true; then rm x.txt; fi", "d:x.txt"),
    // SWE-agent's commands.
    ("create reproduce.py\n", "c:reproduce.py"),
    ("open src/lib.py 120", "r:src/lib.py"),
];

#[test]
fn commands_touch_files() {
    for (script, expected) in COMMANDS {
        let order = |shape: &str| {
            let mut parts: Vec<String> = shape.split_whitespace().map(str::to_owned).collect();
            parts.sort();
            parts
        };
        let found = shape(&command(script, "ok"));
        assert_eq!(order(&found), order(expected), "{script}");
    }
}

#[test]
fn tools_of_many_agents_are_known() {
    let cases = [
        // Claude Code.
        ("Read", json!({"file_path": "/r/a.rs"}), "r:/r/a.rs"),
        ("Write", json!({"file_path": "/r/a.rs", "content": "x"}), "c:/r/a.rs"),
        ("Edit", json!({"file_path": "/r/a.rs", "old_string": "a", "new_string": "b"}), "m:/r/a.rs"),
        ("MultiEdit", json!({"file_path": "/r/a.rs", "edits": []}), "m:/r/a.rs"),
        ("NotebookEdit", json!({"notebook_path": "/r/a.ipynb", "new_source": ""}), "m:/r/a.ipynb"),
        ("Bash", json!({"command": "rm x.txt", "description": "d"}), "d:x.txt"),
        ("Glob", json!({"pattern": "**/*.rs"}), ""),
        ("Grep", json!({"pattern": "x", "path": "src/a.rs"}), ""),
        ("Task", json!({"prompt": "read a file"}), ""),
        // pi.
        ("read", json!({"path": "docs/a.md"}), "r:docs/a.md"),
        ("write", json!({"path": "docs/a.md", "content": "x"}), "c:docs/a.md"),
        ("edit", json!({"path": "docs/a.md", "oldText": "a", "newText": "b"}), "m:docs/a.md"),
        // Codex.
        ("shell", json!({"command": ["bash", "-lc", "cat a.rs"], "workdir": "/r"}), "r:/r/a.rs"),
        ("shell", json!({"command": ["cat", "a.rs"]}), "r:a.rs"),
        (
            "shell",
            json!({"command": ["apply_patch", "*** Begin Patch\n*** Add File: n.rs\n+x\n*** End Patch"]}),
            "c:n.rs",
        ),
        ("apply_patch", json!({"input": "*** Begin Patch\n*** Delete File: o.rs\n*** End Patch"}), "d:o.rs"),
        ("local_shell", json!({"action": {"command": ["rm", "a"]}}), "d:a"),
        ("exec_command", json!({"cmd": "touch z"}), "c:z"),
        // SWE-agent and Anthropic's editor.
        ("str_replace_editor", json!({"command": "view", "path": "/r/a.py"}), "r:/r/a.py"),
        ("str_replace_editor", json!({"command": "view", "path": "/r"}), ""),
        ("str_replace_editor", json!({"command": "create", "path": "/r/b.py", "file_text": ""}), "c:/r/b.py"),
        ("str_replace_editor", json!({"command": "str_replace", "path": "/r/a.py"}), "m:/r/a.py"),
        ("str_replace_based_edit_tool", json!({"command": "insert", "path": "/r/a.py"}), "m:/r/a.py"),
        ("open", json!({"path": "a.py"}), "r:a.py"),
        ("create", json!({"filename": "a.py"}), "c:a.py"),
        // Generic names.
        ("read_file", json!({"path": "./a.txt"}), "r:a.txt"),
        ("mcp__filesystem__read_file", json!({"path": "a.txt"}), "r:a.txt"),
        ("read_file", json!({"paths": ["a.txt", "b.txt"]}), "r:a.txt,b.txt"),
        ("write_to_file", json!({"path": "a.txt"}), "c:a.txt"),
        ("replaceInFile", json!({"filePath": "a.txt"}), "m:a.txt"),
        ("delete_file", json!({"target_file": "a.txt"}), "d:a.txt"),
        ("move_file", json!({"source": "a.txt", "destination": "b.txt"}), "c:b.txt d:a.txt"),
        ("run_terminal_cmd", json!({"command": "cat a.txt"}), "r:a.txt"),
        ("search_direct_flight", json!({"origin": "JFK", "path": "not/a/file"}), ""),
    ];
    for (tool, input, expected) in cases {
        let found = artifacts(&round(0, tool, &input.to_string(), "done", false));
        assert_eq!(shape(&found), expected, "{tool} {input}");
        assert!(found.failed.is_empty(), "{tool} {input}");
    }
}

#[test]
fn inputs_that_are_no_json_are_read_leniently() {
    let patch = "*** Begin Patch\n*** Update File: a.rs\n*** End Patch";
    assert_eq!(shape(&artifacts(&round(0, "apply_patch", patch, "ok", false))), "m:a.rs");
    assert_eq!(shape(&artifacts(&round(0, "bash", "rm a.txt", "", false))), "d:a.txt");
    assert_eq!(shape(&artifacts(&round(0, "Read", "{\"file_path\": \"a.t", "ok", false))), "");
}

#[test]
fn a_writer_says_whether_the_file_was_new() {
    let cases = [
        ("File created successfully at: /r/a.rs", "c:/r/a.rs"),
        ("The file /r/a.rs has been updated. Here's the result", "m:/r/a.rs"),
        ("ok", "c:/r/a.rs"),
    ];
    for (said, expected) in cases {
        let found = artifacts(&round(0, "Write", r#"{"file_path":"/r/a.rs"}"#, said, false));
        assert_eq!(shape(&found), expected, "{said}");
    }
}

#[test]
fn a_file_is_listed_by_what_became_of_it() {
    let cases: &[(&[&str], &str)] = &[
        (&["cat a", "cat a"], "r:a"),
        (&["cat a", "echo x > a"], "m:a"),
        (&["echo x > a", "echo y > a"], "c:a"),
        (&["echo x > a", "cat a"], "c:a"),
        (&["sed -i s/x/y/ a", "cat a"], "m:a"),
        (&["sed -i s/x/y/ a", "rm a"], "d:a"),
        (&["rm a", "echo x > a"], "c:a"),
        (&["mv a b", "cat b"], "c:b d:a"),
    ];
    for (scripts, expected) in cases {
        let messages: Vec<Message> = scripts
            .iter()
            .enumerate()
            .flat_map(|(n, script)| round(n, "bash", &json!({ "command": script }).to_string(), "", false))
            .collect();
        assert_eq!(shape(&artifacts(&messages)), *expected, "{scripts:?}");
    }
}

#[test]
fn the_last_touch_is_remembered() {
    let mut messages = vec![user("go")];
    for (number, script) in ["cat a", "cat b", "sed -i s/x/y/ c", "cat a"].iter().enumerate() {
        messages.extend(round(number, "bash", &json!({ "command": script }).to_string(), "", false));
    }
    let found = artifacts(&messages);
    let touched = |file: &str, message| Touched { file: file.to_owned(), message };
    assert_eq!(found.read, [touched("b", 3), touched("a", 7)]);
    assert_eq!(found.modified, [touched("c", 5)]);
}

#[test]
fn an_editor_with_a_state_edits_the_file_it_has_open() {
    let calls = [
        ("shell", r#"{"command":"open src/a.py 10"}"#, "[File: src/a.py]"),
        ("shell", r#"{"command":"edit 3:4\nx = 1\nend_of_edit"}"#, "File updated."),
        ("edit", r#"{"search":"a","replace":"b"}"#, "Text replaced."),
        ("create", r#"{"filename":"b.py"}"#, "[File: b.py]"),
        ("insert", r#"{"text":"import os"}"#, "Inserted."),
    ];
    let rounds = calls.iter().enumerate();
    let messages: Vec<Message> =
        rounds.flat_map(|(n, (tool, input, said))| round(n, tool, input, said, false)).collect();
    assert_eq!(shape(&artifacts(&messages)), "c:b.py m:src/a.py");
}

#[test]
fn a_call_without_a_result_touches_nothing() {
    let [call, _] = round(0, "Write", r#"{"file_path":"a.rs"}"#, "", false);
    assert_eq!(artifacts(&[call]), Artifacts::default());
}

proptest! {
    #[test]
    fn no_input_is_too_strange(script in "[ -~\n漢é]{0,80}", tool in "[a-zA-Z_.]{0,12}", output in "[ -~\n]{0,60}") {
        for tool in [tool.as_str(), "bash", "apply_patch", "Edit"] {
            let input = json!({ "command": &script, "path": &script }).to_string();
            let messages = round(0, tool, &input, &output, false);
            prop_assert_eq!(artifacts(&messages), artifacts(&messages));
            artifacts(&round(0, tool, &script, &output, true));
        }
    }

    #[test]
    fn quoted_text_is_never_a_file(text in "[a-z >|;&<]{0,30}") {
        let found = command(&format!("echo '{text}' \"{text}\""), "");
        prop_assert_eq!(found, Artifacts::default());
    }
}

//! Documents that are generated from the code, or that quote what the command prints.

use std::fmt::Write;
use std::fs;

use epitome::SERVING;
use epitome_core::settings::SETTINGS;

use crate::run::{command, repository};

const PREFACE: &str = "# Settings

Each setting has one name. It can stand in `epitome.toml`, in the environment as `EPITOME_` and the name in capitals, or on
the command line as `--set name=value`; later ones win. The names that other systems use for the same thing work in the file
and with `--set` as well, and so do the sections of `conversation.history.compression`. Tokens and characters may be written as
`20k` or `1.5M`.

A preset takes the numbers of a known system in place of the defaults: `preset = \"nexus\"` in the file, `EPITOME_PRESET`, or
`--set preset=nexus` (`nous`, `nous-draft`, `micro-agent`, `nexus`, `friday`; `none` for the defaults). What is set wins over it,
wherever it is set.

```toml
# epitome.toml
tool_hard_clear_after = 10
exclude_tools = [\"todo_write\", \"mcp__memory__*\"]

[models.my-own-model]        # add a model, or change what is known of one
window = 65536
max_output = 8192
price = { input = 0.5, output = 1.5 }   # US dollars for a million tokens
ratio = 1.15                 # its tokens for one of o200k, to start from

[keys]                       # where ANTHROPIC_API_KEY and OPENAI_API_KEY are not set
anthropic = \"…\"
```

## Budgets

A budget is for the conversation of the main thread; leading system messages, the system prompt and tools are counted apart
and always kept. It is in o200k tokens, or in those of a known model that `--model` names. Every strategy but `none` and
`prune` meets any budget from 256 tokens on, plus what is pinned (with what must stay with it) in full and 32 tokens for each
pinned stretch. Where a budget is missed all the same, the result is written and the command exits with 1; `none` and
`prune` report by how much they miss it, and exit with 0. So does what `--expand` shows again on purpose.

## All of them

";

const PROXY: &str = "
## The proxy

What `epitome serve` is told. Its flags `--listen`, `--anthropic-upstream`, `--openai-upstream`, `--mode` and `--tenants` say the same. Models whose names
fit a pattern may have upstreams of their own; the first that fits is taken.

```toml
# epitome.toml
openai_upstream = \"https://openrouter.ai/api\"

[[upstream]]
model = \"qwen*\"              # * stands for any characters, ? for one
url = \"http://127.0.0.1:11434\"
dialect = \"chat\"             # anthropic, chat or responses; without it, all of them

[[route]]
path = \"/v1/responses\"        # calls whose path begins like this; key = \"…\" for those whose key ends like that
mode = \"observe\"
```

| name | default | what it does |
|---|---|---|
";

// Run with EPITOME_WRITE=1 to write it anew.
#[test]
fn the_settings_page_is_true() {
    let mut page = PREFACE.to_owned();
    writeln!(page, "| name | default | what it does | also known as |\n|---|---|---|---|").unwrap();
    for setting in SETTINGS {
        let default = setting.default_value();
        let default = if default.is_empty() { "none".to_owned() } else { format!("`{default}`") };
        let aliases: Vec<String> = setting.aliases.iter().map(|alias| format!("`{alias}`")).collect();
        writeln!(page, "| `{}` | {default} | {} | {} |", setting.name, setting.doc, aliases.join(", "))
            .unwrap();
    }
    page.push_str(PROXY);
    for setting in SERVING {
        writeln!(page, "| `{}` | `{}` | {} |", setting.name, setting.default, setting.doc).unwrap();
    }
    let path = repository().join("docs/settings.md");
    if std::env::var_os("EPITOME_WRITE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), page, "docs/settings.md is out of date");
}

// The README shows commands and what they print; both are run here.
#[test]
fn the_readme_shows_what_is_printed() {
    let readme = fs::read_to_string(repository().join("README.md")).unwrap();
    let mut shown = 0;
    // The ledger of the README is the one of somebody who has none yet.
    let data = tempfile::tempdir().unwrap();
    for block in readme.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        let (prompt, expected) = block.split_once('\n').unwrap();
        let arguments: Vec<&str> = prompt.strip_prefix("$ epitome ").unwrap().split_whitespace().collect();
        let mut command = command(&arguments);
        command.env_remove("EPITOME_STRATEGY").env("XDG_DATA_HOME", data.path()).current_dir(repository());
        let output = command.output().unwrap();
        let mut printed = String::from_utf8(output.stdout).unwrap();
        let is_report = arguments.contains(&"compact") && !arguments.contains(&"--show");
        if is_report || arguments.contains(&"import") {
            printed = String::from_utf8(output.stderr).unwrap();
        }
        for line in expected.lines().filter(|line| line.trim() != "…") {
            assert!(
                printed.lines().any(|other| other.trim_end() == line.trim_end()),
                "{prompt}: {line:?} is not in\n{printed}"
            );
        }
        shown += 1;
    }
    assert!(shown >= 2, "the README shows real output");
}

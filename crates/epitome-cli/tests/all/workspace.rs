//! The rules that hold between crates: who may depend on whom, what the pure core refuses, which licences may enter.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What each crate of ours may depend on. A crate that is not listed may not exist.
const MAY_USE: &[(&str, &[&str])] = &[
    ("epitome-core", &[]),
    ("epitome-wire", &["epitome-core"]),
    ("epitome-ledger", &["epitome-core"]),
    ("epitome-llm", &["epitome-core", "epitome-wire"]),
    ("epitome", &["epitome-core", "epitome-ledger", "epitome-llm", "epitome-wire"]),
    ("epitome-server", &["epitome", "epitome-core", "epitome-wire"]),
    ("epitome-cli", &["epitome", "epitome-core", "epitome-ledger", "epitome-server", "epitome-wire"]),
];

/// Crates that would bring async, I/O, a clock or randomness into the core.
const NOT_IN_CORE: &[&str] = &[
    "async-std",
    "chrono",
    "fastrand",
    "futures",
    "getrandom",
    "hyper",
    "jiff",
    "mio",
    "rand",
    "reqwest",
    "smol",
    "socket2",
    "tempfile",
    "time",
    "tokio",
    "ureq",
    "uuid",
    "walkdir",
];

/// Modules of the standard library that do the same, by whatever path they are reached.
const NOT_IN_CORE_MODULES: &[&str] = &["env", "fs", "io", "net", "os", "process", "thread", "time"];

/// Words that do the same.
const NOT_IN_CORE_WORDS: &[&str] = &["SystemTime", "Instant", "RandomState", "async", "await"];

struct Workspace {
    root: PathBuf,
    /// Package id to package.
    packages: BTreeMap<String, Value>,
    /// Package id to the ids it depends on outside of tests.
    depends: BTreeMap<String, Vec<String>>,
}

impl Workspace {
    fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &host()])
            .current_dir(&root)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let packages =
            array(&metadata["packages"]).map(|package| (text(&package["id"]), package.clone())).collect();
        let normal = |dependency: &Value| array(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null());
        let depends = array(&metadata["resolve"]["nodes"])
            .map(|node| {
                let used = array(&node["deps"]).filter(|dependency| normal(dependency));
                (text(&node["id"]), used.map(|dependency| text(&dependency["pkg"])).collect())
            })
            .collect();
        Self { root, packages, depends }
    }

    fn name(&self, id: &str) -> &str {
        self.packages[id]["name"].as_str().unwrap()
    }

    fn ours(&self) -> impl Iterator<Item = &String> {
        self.packages.iter().filter(|(_, package)| package["source"].is_null()).map(|(id, _)| id)
    }

    /// Everything that `id` reaches outside of tests, itself included.
    fn closure(&self, id: &str) -> BTreeSet<&str> {
        let mut seen = BTreeSet::new();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if seen.insert(self.name(id)) {
                open.extend(self.depends[id].iter().map(String::as_str));
            }
        }
        seen
    }
}

// What other platforms would need is not on this machine.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(output.stdout).unwrap();
    version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().unwrap().iter()
}

#[test]
fn crates_depend_only_downwards() {
    let workspace = Workspace::read();
    for id in workspace.ours() {
        let name = workspace.name(id);
        let (_, allowed) = MAY_USE
            .iter()
            .find(|(listed, _)| *listed == name)
            .unwrap_or_else(|| panic!("{name} is not listed"));
        let used = workspace.depends[id]
            .iter()
            .map(|used| workspace.name(used))
            .filter(|used| used.starts_with("epitome"));
        for used in used {
            assert!(allowed.contains(&used), "{name} may not depend on {used}");
        }
    }
    assert_eq!(workspace.ours().count(), MAY_USE.len());
}

#[test]
fn core_is_pure() {
    let workspace = Workspace::read();
    let core = workspace.ours().find(|id| workspace.name(id) == "epitome-core").unwrap();
    let reached = workspace.closure(core);
    let impure_crates: Vec<_> = NOT_IN_CORE.iter().filter(|name| reached.contains(*name)).collect();
    assert!(impure_crates.is_empty(), "epitome-core reaches {impure_crates:?}");

    let sources = rust_files(&workspace.root.join("crates/epitome-core/src"));
    assert!(sources.len() > 5, "the core's sources were not found");
    for path in sources {
        let source = fs::read_to_string(&path).unwrap();
        let impure = impure(source.split("#[cfg(test)]").next().unwrap());
        assert!(impure.is_empty(), "{} uses {impure:?}", path.display());
    }
}

/// What impure things this code names.
fn impure(code: &str) -> Vec<String> {
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let names = |code: &str| -> Vec<String> {
        code.split(|character| !is_part(character)).map(str::to_owned).collect()
    };
    let mut found = names(&code);
    found.retain(|word| NOT_IN_CORE_WORDS.contains(&word.as_str()));
    for imported in code.split("use std::").skip(1) {
        let mut modules = names(imported.split(';').next().unwrap());
        modules.retain(|name| NOT_IN_CORE_MODULES.contains(&name.as_str()));
        found.extend(modules);
    }
    for module in NOT_IN_CORE_MODULES.iter().map(|module| format!("{module}::")) {
        // A module that is imported under its name, or reached by its path; not one of ours that ends alike.
        let is_std = |at: usize| {
            let before = &code[..at];
            before.ends_with("std::") || !before.ends_with(|before| is_part(before) || before == ':')
        };
        found.extend(code.match_indices(&module).filter(|(at, _)| is_std(*at)).map(|_| module.clone()));
    }
    found
}

#[test]
fn impurity_is_found_however_it_is_written() {
    let impure_code = [
        "use std::fs;",
        "use std::{fs, io};",
        "use std::{\n    collections::{BTreeMap, HashMap},\n    io::{self, Read},\n};",
        "use std::io as input;",
        "use std::time::Duration;",
        "pub use std::env;",
        "let name = std::env::var(\"HOME\");",
        "let text = fs::read_to_string(path);",
        "let now = Instant::now();",
        "async fn call() {}",
        "call().await;",
        "let state = RandomState::new();",
    ];
    for code in impure_code {
        assert!(!impure(code).is_empty(), "{code}");
    }
    let pure_code = [
        "use std::collections::HashMap;",
        "use std::{borrow::Cow, fmt, ops::{Add, Range}};",
        "use crate::units::{Time, Tokens};",
        "fn time(entry: &Entry) -> Option<Time> { entry.time }",
        "// std::fs is for others",
        "let instants = studio::count();",
    ];
    for code in pure_code {
        assert_eq!(impure(code), Vec::<String>::new(), "{code}");
    }
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The crates that are built. The metadata also name what a dependency could use and nobody turns on.
fn built(root: &Path) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--workspace", "--locked", "--edges", "all", "--prefix", "none", "--format", "{p}"])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    let names: BTreeSet<String> =
        lines.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect();
    assert!(names.contains("serde"));
    names
}

#[test]
fn dependencies_obey_deny_toml() {
    let workspace = Workspace::read();
    let rules: toml::Table = fs::read_to_string(workspace.root.join("deny.toml")).unwrap().parse().unwrap();
    let allowed: Vec<&str> =
        rules["licenses"]["allow"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let banned: Vec<&str> =
        rules["bans"]["deny"].as_array().unwrap().iter().map(|ban| ban["name"].as_str().unwrap()).collect();
    for name in built(&workspace.root) {
        assert!(!banned.contains(&name.as_str()), "{name} is banned");
    }
    for package in workspace.packages.values() {
        let name = package["name"].as_str().unwrap();
        let licence = package["license"].as_str().unwrap_or_else(|| panic!("{name} names no licence"));
        assert!(permits(licence, &allowed), "{name} is under {licence}");
        if let Some(source) = package["source"].as_str() {
            assert!(source.starts_with("registry+"), "{name} comes from {source}");
        }
    }
}

/// Whether an SPDX expression can be met with the allowed licences alone.
fn permits(expression: &str, allowed: &[&str]) -> bool {
    let expression = expression.replace('/', " OR ");
    let flat = expression.replace(['(', ')'], " ");
    flat.split(" AND ").all(|part| part.split(" OR ").any(|licence| allowed.contains(&licence.trim())))
}

#[test]
fn licence_expressions_are_read() {
    let allowed = ["MIT", "Apache-2.0", "Unicode-3.0"];
    assert!(permits("MIT/Apache-2.0", &allowed));
    assert!(permits("GPL-3.0 OR MIT", &allowed));
    assert!(permits("(MIT OR Apache-2.0) AND Unicode-3.0", &allowed));
    assert!(!permits("MIT AND GPL-3.0", &allowed));
    assert!(!permits("GPL-3.0", &allowed));
}

// Whoever reads about a script finds it.
#[test]
fn every_script_that_is_named_exists() {
    let root = Workspace::read().root;
    let mut named = 0;
    let documents = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "deny.toml", "clippy.toml"];
    let folders = ["docs", "scripts"].map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let inside =
        folders.into_iter().flatten().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    for path in documents.iter().map(|name| root.join(name)).chain(inside) {
        let text = fs::read_to_string(&path).unwrap();
        for rest in text.split("scripts/").skip(1) {
            let name: String =
                rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect();
            assert!(root.join("scripts").join(&name).is_file(), "{} names scripts/{name}", path.display());
            named += 1;
        }
    }
    assert!(named > 3);
}

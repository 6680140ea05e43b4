//! What tests share: how many cases a property is tried on, and where transcripts are.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use epitome_wire::files::{Damage, ReadOptions, Reader};
use proptest::prelude::ProptestConfig;

/// Properties are tried on so many cases, or on as many as `PROPTEST_CASES` says.
///
/// No seeds are kept: a failure becomes a test with a name.
pub(crate) fn cases(usual: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: asked.unwrap_or(usual), failure_persistence: None, ..ProptestConfig::default() }
}

/// The project's own transcripts.
pub(crate) fn fixtures() -> Vec<PathBuf> {
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"))
}

/// The transcripts in the folder that `EPITOME_TRANSCRIPTS` names, if it does.
pub(crate) fn recorded() -> Vec<PathBuf> {
    std::env::var_os("EPITOME_TRANSCRIPTS").map_or_else(Vec::new, |folder| files(Path::new(&folder)))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.to_string_lossy().contains(".json") => files.push(path),
                false => {}
            }
        }
    }
    files.sort();
    files
}

/// A reader of the transcripts in a file, damaged ones included.
pub(crate) fn read(path: &Path) -> Reader<BufReader<File>> {
    let options = ReadOptions { damage: Damage::KeepGoing, ..ReadOptions::default() };
    Reader::new(BufReader::new(File::open(path).unwrap()), options)
}

/// Says how many recorded conversations a test used, past the harness, which swallows what is printed.
pub(crate) fn report_use(test: &str, conversations: usize) {
    let folder = std::env::var_os("EPITOME_TRANSCRIPTS");
    assert!(conversations > 0 || folder.is_none(), "the folder holds no conversation");
    let unset = if folder.is_none() { " (EPITOME_TRANSCRIPTS is not set)" } else { "" };
    // One write, or other tests' words come in between.
    let line = format!("{test}: {conversations} recorded conversations used{unset}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

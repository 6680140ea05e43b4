//! Artifacts: which files a conversation read, created, modified and deleted, and which tool calls failed.
//!
//! They are read from the tool calls themselves, so no summary can paraphrase them away. It knows the tools of the
//! common agents and the everyday commands of a shell, and is conservative: what it does not understand, names
//! with variables or wildcards and calls without a result touch nothing.

mod call;
mod collect;
mod commands;
mod failure;
mod failures;
mod patch;
mod shell;

pub use collect::{Artifacts, Touched, of};
pub use failures::{Failed, Solved};

/// What a call does to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Deed {
    /// It is looked at.
    Read,
    /// It is there afterwards; whether it was there before is not known.
    Write,
    /// It is there afterwards and was not before.
    Create,
    /// It was there before and is another afterwards.
    Modify,
    /// It is gone.
    Delete,
}

/// One deed of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Effect {
    deed: Deed,
    file: String,
}

impl Effect {
    /// The effect on a file, if its name is one.
    fn new(deed: Deed, file: &str) -> Option<Self> {
        Some(Self { deed, file: file_name(file)? })
    }
}

/// A file's name as it is listed; `None` for what is no plain name of a file.
fn file_name(written: &str) -> Option<String> {
    const LONGEST: usize = 512;
    let name = written.trim();
    let name = name.strip_prefix("file://").unwrap_or(name);
    let mut plain = name;
    while let Some(rest) = plain.strip_prefix("./") {
        plain = rest.trim_start_matches('/');
    }
    let special = plain.contains(['*', '?', '$', '`', '\n', '\0', '<', '>', '|', '"', '{', '}']);
    let nowhere = plain.starts_with("/dev/") || plain.starts_with("/proc/") || plain.contains("://");
    let folder = plain.ends_with('/') || matches!(plain, "" | "." | ".." | "-" | "~");
    (!special && !nowhere && !folder && plain.len() <= LONGEST).then(|| plain.to_owned())
}

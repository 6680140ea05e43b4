//! Where results go, settled before the work begins: nothing is written over an input, and nothing twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::args::Compact;
use crate::fail::{failure, misuse};
use crate::input::{Source, is_stdin};
use crate::print::plural;

/// A place to write to.
#[derive(Debug)]
pub(super) enum Target {
    /// Not written at all.
    Nowhere,
    /// Standard output.
    Stdout,
    /// A device or a pipe, which is written into as it stands.
    Stream(PathBuf),
    /// A file, which appears whole or not at all; links are followed.
    File {
        /// The file.
        path: PathBuf,
        /// What is there now.
        old: Option<Metadata>,
    },
}

/// The places that a command line asks for.
pub(super) struct Targets {
    /// Of each source.
    sessions: BTreeMap<PathBuf, Target>,
    /// Of the report.
    pub(super) report: Target,
}

impl Targets {
    /// Settles where everything goes, or says why it cannot go there.
    pub(super) fn settle(arguments: &Compact, sources: &[Source]) -> anyhow::Result<Self> {
        let output = arguments.output.as_deref();
        if arguments.dry_run && output.is_some() {
            let hint = "leave -o away; --report FILE writes the plan as JSON";
            return Err(misuse("-o has no meaning for a dry run, which writes no session", hint));
        }
        let folder = output.filter(|output| output.is_dir());
        let writes = !arguments.json && !arguments.dry_run;
        let has_stdin = sources.iter().any(|source| is_stdin(&source.path));
        if sources.len() > 1 && has_stdin {
            return Err(misuse("stdin cannot be compacted together with files", "compact it by itself"));
        }
        if sources.len() > 1 && folder.is_none() && (output.is_some() || writes) {
            let hint = "name an existing folder with -o, or compact one file at a time";
            return Err(misuse(
                format!("{} cannot be written to one place", plural(sources.len(), "file")),
                hint,
            ));
        }
        let mut sessions = BTreeMap::new();
        let mut taken = Taken::new(sources);
        for source in sources {
            let target = match (output, folder, &source.name) {
                (None, ..) if !writes => Target::Nowhere,
                (None, ..) => Target::Stdout,
                (_, Some(folder), Some(name)) => settle(&folder.join(name), Folders::AreMade)?,
                (_, Some(_), None) => {
                    return Err(misuse("stdin has no name to be written under", "name a file with -o"));
                }
                (Some(file), None, _) => settle(file, Folders::Exist)?,
            };
            taken.take(&target)?;
            sessions.insert(source.path.clone(), target);
        }
        let report =
            arguments.report.as_deref().map_or(Ok(Target::Nowhere), |path| settle(path, Folders::Exist))?;
        taken.take(&report)?;
        let reports_to_stdout = arguments.json || matches!(report, Target::Stdout);
        if reports_to_stdout && sessions.values().any(|target| matches!(target, Target::Stdout)) {
            let hint = "write the session to a file with -o";
            return Err(misuse("both the session and the report would go to stdout", hint));
        }
        Ok(Self { sessions, report })
    }

    /// Where the sessions of this file go.
    pub(super) fn of(&self, source: &Path) -> &Target {
        self.sessions.get(source).unwrap_or(&Target::Nowhere)
    }
}

/// The files that may not be written, or not again.
struct Taken {
    inputs: BTreeSet<PathBuf>,
    outputs: BTreeSet<PathBuf>,
}

impl Taken {
    fn new(sources: &[Source]) -> Self {
        let inputs = sources.iter().filter_map(|source| source.path.canonicalize().ok()).collect();
        Self { inputs, outputs: BTreeSet::new() }
    }

    fn take(&mut self, target: &Target) -> anyhow::Result<()> {
        let path = match target {
            Target::Nowhere | Target::Stdout => return Ok(()),
            Target::Stream(path) => path.canonicalize().unwrap_or_else(|_| path.clone()),
            Target::File { path, .. } => path.clone(),
        };
        if self.inputs.contains(&path) {
            let hint = "write somewhere else, then move it over the original once you have looked at it";
            return Err(failure(
                format!("{} would be overwritten, and it is an input", path.display()),
                hint,
            ));
        }
        let is_file = matches!(target, Target::File { .. });
        if is_file && self.outputs.contains(&path) {
            let hint = "compact files of the same name one at a time, or the folder that holds them all";
            return Err(failure(format!("{} would be written twice", path.display()), hint));
        }
        self.outputs.insert(path);
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Folders {
    /// The file's folder must be there.
    Exist,
    /// Folders that are missing will be made.
    AreMade,
}

pub(super) fn settle(path: &Path, folders: Folders) -> anyhow::Result<Target> {
    let cannot = |error: io::Error| cannot_write(path, &error);
    // Opening this name again would start at the beginning of what a shell may have opened to append to.
    if is_stdin(path) || path == Path::new("/dev/stdout") {
        return Ok(Target::Stdout);
    }
    let old = match fs::metadata(path) {
        Ok(old) => old,
        Err(error) if error.kind() == ErrorKind::NotFound => return settle_new(path, folders),
        Err(error) => return Err(cannot(error)),
    };
    if old.is_dir() {
        return Err(failure(format!("cannot write {}: it is a folder", path.display()), "name a file in it"));
    }
    if !old.is_file() {
        return Ok(Target::Stream(path.to_path_buf()));
    }
    // Whoever made it read-only did not want it replaced.
    OpenOptions::new().write(true).open(path).map_err(cannot)?;
    let path = path.canonicalize().map_err(cannot)?;
    probe(path.parent().unwrap_or(&path), &path)?;
    Ok(Target::File { path, old: Some(old) })
}

fn settle_new(path: &Path, folders: Folders) -> anyhow::Result<Target> {
    if let Ok(link) = fs::read_link(path) {
        return settle(&path.parent().unwrap_or(Path::new("")).join(link), folders);
    }
    let missing = |path: &Path| {
        failure(format!("cannot write {}: there is no such folder", path.display()), "make the folder first")
    };
    let name = path.file_name().filter(|_| !path.as_os_str().as_encoded_bytes().ends_with(b"/"));
    let (Some(name), Some(parent)) = (name, path.parent()) else { return Err(missing(path)) };
    let here = |folder: &Path| if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.into() };
    let found = parent.ancestors().find_map(|folder| Some((folder, here(folder).canonicalize().ok()?)));
    let Some((folder, real)) = found else { return Err(missing(path)) };
    let Ok(rest) = parent.strip_prefix(folder) else { return Err(missing(path)) };
    if folders == Folders::Exist && rest != Path::new("") {
        return Err(missing(path));
    }
    if !real.is_dir() {
        return Err(cannot_write(path, &ErrorKind::NotADirectory.into()));
    }
    probe(&real, path)?;
    Ok(Target::File { path: real.join(rest).join(name), old: None })
}

// Better to learn now than after the work that nothing can be written there.
fn probe(folder: &Path, path: &Path) -> anyhow::Result<()> {
    tempfile::tempfile_in(folder).map(drop).map_err(|error| match error.kind() {
        // The folder is there; it is of a kind that takes no files.
        ErrorKind::NotFound => {
            let what = format!("cannot write {}: {} takes no files", path.display(), folder.display());
            failure(what, "write elsewhere with -o")
        }
        _ => cannot_write(folder, &error),
    })
}

/// That a place cannot be written to, and what to do.
pub(super) fn cannot_write(path: &Path, error: &io::Error) -> anyhow::Error {
    let hint = match error.kind() {
        ErrorKind::NotFound => "check that the folder exists",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "check the permissions, or write elsewhere"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room, or write elsewhere",
        _ => "write elsewhere with -o",
    };
    // The names of temporary files mean nothing to anyone.
    let reason = error.raw_os_error().map_or_else(|| error.kind().to_string(), |_| error.to_string());
    failure(format!("cannot write {}: {reason}", path.display()), hint)
}

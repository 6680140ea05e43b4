//! Where the ledger is, and what to do where it cannot be opened.

use std::env;
use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use epitome_ledger::LedgerError;

use crate::fail::{failure, misuse};
use crate::print::{FAINT, paint, say};

/// The address of the ledger: the one that was named, or a file in the platform's data folder.
pub(super) fn address(named: Option<&str>) -> anyhow::Result<String> {
    if let Some(named) = named {
        if named.is_empty() {
            return Err(misuse(
                "no database is named",
                "write --db sqlite:FILE, or leave --db and EPITOME_DB away",
            ));
        }
        let known = ["sqlite:", "postgres:", "postgresql:"].iter().any(|scheme| named.starts_with(scheme));
        return match known {
            true => Ok(named.to_owned()),
            false => Err(misuse(
                format!("not a database: {named:?}"),
                format!("write sqlite:{named} for a file, or postgres://USER@HOST/DATABASE"),
            )),
        };
    }
    let folder = data_folder().ok_or_else(|| {
        misuse("there is no home folder to keep the ledger in", "name a database: --db sqlite:ledger.db")
    })?;
    Ok(format!("sqlite:{}", folder.join("epitome").join("ledger.db").display()))
}

// Where the platform wants programs to keep their data.
fn data_folder() -> Option<PathBuf> {
    let variable = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || variable("HOME");
    if cfg!(target_os = "macos") {
        home().map(|home| home.join("Library/Application Support"))
    } else if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else {
        variable("XDG_DATA_HOME").or_else(|| home().map(|home| home.join(".local/share")))
    }
}

/// Where turns wait that the ledger of this address cannot take just now: beside its file, or where a file would be.
pub(super) fn spool(address: &str) -> anyhow::Result<PathBuf> {
    let default = self::address(None);
    let path = match file(address) {
        Some(path) => path.to_owned(),
        None => default?.trim_start_matches("sqlite:").into(),
    };
    Ok(path.with_extension("spool"))
}

/// The address as it may be shown: without a password.
pub(super) fn shown(address: &str) -> String {
    let password = || {
        let (scheme, rest) = address.split_once("://")?;
        let (user, host) = rest.rsplit_once('@')?;
        let (user, _) = user.split_once(':')?;
        Some(format!("{scheme}://{user}:…@{host}"))
    };
    password().unwrap_or_else(|| address.to_owned())
}

fn file(address: &str) -> Option<&Path> {
    address.strip_prefix("sqlite:").map(Path::new)
}

/// Fails where there is no ledger to read.
pub(super) fn require(address: &str) -> anyhow::Result<()> {
    match file(address) {
        Some(path) if path.is_dir() => Err(is_folder(path)),
        Some(path) if !path.exists() => Err(failure(
            format!("there is no ledger at {}", path.display()),
            "epitome import FILE… begins one; --db or EPITOME_DB names another",
        )),
        _ => Ok(()),
    }
}

fn is_folder(path: &Path) -> anyhow::Error {
    let hint = format!("name a file in it: --db sqlite:{}", path.join("ledger.db").display());
    misuse(format!("{} is a folder", path.display()), hint)
}

/// Makes the file and the folder that it lies in. What is said in sessions is nobody else's business.
pub(super) fn prepare(address: &str) -> anyhow::Result<()> {
    if let Some(path) = file(address).filter(|path| path.is_dir()) {
        return Err(is_folder(path));
    }
    let Some(path) = file(address).filter(|path| !path.exists()) else { return Ok(()) };
    let cannot = |what: &str, path: &Path, error: &io::Error| {
        let what = format!("cannot make the {what} {}: {error}", path.display());
        failure(what, "--db sqlite:PATH keeps the ledger elsewhere")
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).map_err(|error| cannot("folder", folder, &error))?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| cannot("file", path, &error))?;
    // A name that was mistyped shows at once.
    say(paint(FAINT, format_args!("a new ledger is begun at {}", path.display())));
    Ok(())
}

/// What the ledger refused, with a hint what to do.
pub(crate) fn refused(error: &LedgerError, name: &str) -> anyhow::Error {
    let hint = match error {
        LedgerError::BadAddress(_) => "a database is sqlite:PATH or postgres://USER@HOST/DATABASE",
        LedgerError::NewerSchema { .. } => "use the version of epitome that wrote it, or a later one",
        LedgerError::NotALedger(_) => "name another file with --db",
        LedgerError::Damaged(_) => {
            "epitome doctor says what is wrong; restore a backup, or save what can be read with epitome export"
        }
        LedgerError::ReadOnly(_) => "check the permissions of the file and its folder",
        LedgerError::OlderSchema { .. } => {
            "any command that writes brings it up; a file on a read-only medium must be copied first"
        }
        LedgerError::NoLedger(_) => "epitome import FILE… begins one; --db or EPITOME_DB names another",
        LedgerError::Full(_) => "make room on the disk, then try again; nothing was half-written",
        LedgerError::Unavailable(_) => "check that the server runs and that --db names it rightly",
        LedgerError::Busy(_) | LedgerError::HeadMoved { .. } | LedgerError::Overtaken { .. } => {
            "another process writes to it; try again"
        }
        LedgerError::NotFound { .. } => "epitome sessions lists what there is",
        LedgerError::BadRequest(what) if what.contains("cursor") => {
            "--after takes what the page before printed behind \"more:\""
        }
        LedgerError::BadRequest(what) if what.contains("no word to search") => {
            "a word has two letters or more, also before *; name another one beside it, such as 'C++ template'"
        }
        LedgerError::BadRequest(_) => "epitome help COMMAND explains what it takes",
        _ => "--log text tells more",
    };
    let what = match error {
        LedgerError::BadRequest(_) | LedgerError::NotFound { .. } | LedgerError::BadAddress(_) => {
            error.to_string()
        }
        _ => format!("{name}: {error}"),
    };
    failure(what, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        let cases = [
            ("postgres://me:secret@host/db", "postgres://me:…@host/db"),
            ("postgres://me@host/db", "postgres://me@host/db"),
            ("postgres://me:a@b:c@host/db", "postgres://me:…@host/db"),
            ("sqlite:/tmp/a@b.db", "sqlite:/tmp/a@b.db"),
        ];
        for (address, expected) in cases {
            assert_eq!(shown(address), expected);
        }
    }
}

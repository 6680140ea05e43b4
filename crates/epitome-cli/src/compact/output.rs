//! Where a compacted session goes: nowhere until it is whole.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::NamedTempFile;

use crate::args::Compact;
use crate::fail::failure;

/// Collects the sessions of one file at a time and puts them in place when the file is done.
///
/// Everything goes to a temporary file first, so that a failure half-way leaves no half-written output, neither in a file
/// nor in a pipe.
pub(super) struct Output<'a> {
    arguments: &'a Compact,
    open: Option<Spool>,
}

enum Spool {
    /// For stdout.
    Hidden(File),
    /// Beside the file it will become.
    Beside(NamedTempFile, PathBuf),
}

impl<'a> Output<'a> {
    pub(super) fn new(arguments: &'a Compact) -> Self {
        Self { arguments, open: None }
    }

    /// Adds a session of `source`.
    pub(super) fn write(&mut self, source: &Path, text: &str) -> anyhow::Result<()> {
        if self.open.is_none() {
            self.open = Some(self.spool(source)?);
        }
        match &mut self.open {
            Some(Spool::Hidden(file)) => file.write_all(text.as_bytes())?,
            Some(Spool::Beside(file, _)) => file.write_all(text.as_bytes())?,
            None => {}
        }
        Ok(())
    }

    /// Puts what was written of `source` in place.
    pub(super) fn finish(&mut self, source: &Path) -> anyhow::Result<()> {
        match self.open.take() {
            None => Ok(()),
            Some(Spool::Hidden(_)) if self.arguments.json => Ok(()),
            Some(Spool::Hidden(mut file)) => {
                file.rewind()?;
                io::copy(&mut file, &mut io::stdout().lock())?;
                Ok(())
            }
            Some(Spool::Beside(file, path)) => place(file, &path)
                .with_context(|| format!("cannot write what became of {}", source.display())),
        }
    }

    /// Forgets what was written of `source`.
    pub(super) fn discard(&mut self, _source: &Path) -> anyhow::Result<()> {
        self.open = None;
        Ok(())
    }

    fn spool(&self, source: &Path) -> anyhow::Result<Spool> {
        let Some(output) = &self.arguments.output else {
            return Ok(Spool::Hidden(tempfile::tempfile().context("cannot make a temporary file")?));
        };
        let name = source.file_name().filter(|_| output.is_dir());
        let path = name.map_or_else(|| output.clone(), |name| output.join(name));
        if path.exists() && source.exists() && path.canonicalize()? == source.canonicalize()? {
            let hint = "write somewhere else, then move it over the original once you have looked at it";
            return Err(failure(
                format!("{} would be overwritten by its own compaction", path.display()),
                hint,
            ));
        }
        Ok(Spool::Beside(beside(&path)?, path))
    }
}

/// Writes a file whole or not at all.
pub(super) fn write_file(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let mut file = beside(path)?;
    file.write_all(content)?;
    place(file, path)
}

fn beside(path: &Path) -> anyhow::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let cannot = |error: io::Error| {
        failure(format!("cannot write to {}: {error}", folder.display()), "check that the folder exists")
    };
    NamedTempFile::new_in(folder).map_err(cannot)
}

fn place(mut file: NamedTempFile, path: &Path) -> anyhow::Result<()> {
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut packed = GzEncoder::new(beside(path)?, Compression::default());
        file.rewind()?;
        io::copy(&mut file, &mut packed)?;
        file = packed.finish()?;
    }
    file.flush()?;
    file.persist(path)
        .map_err(|error| failure(format!("cannot write {}: {}", path.display(), error.error), ""))?;
    Ok(())
}

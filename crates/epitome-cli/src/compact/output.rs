//! Writing results: nothing appears until it is whole.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use anyhow::Context;
use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::NamedTempFile;

use super::target::{Target, Targets, cannot_write};

/// Collects the sessions of one file at a time and puts them in place when the file is done.
///
/// Everything goes to a temporary file first, so that a failure half-way leaves no half-written output, neither in a file
/// nor in a pipe.
pub(super) struct Output<'a> {
    targets: &'a Targets,
    open: Option<Spool>,
}

/// What is written but not yet in place.
enum Spool {
    /// Without a name, to be copied.
    Hidden(File),
    /// Beside the file it will become.
    Beside(NamedTempFile),
}

impl<'a> Output<'a> {
    pub(super) fn new(targets: &'a Targets) -> Self {
        Self { targets, open: None }
    }

    /// Adds a session of `source`.
    pub(super) fn write(&mut self, source: &Path, text: &str) -> anyhow::Result<()> {
        let target = self.targets.of(source);
        if matches!(target, Target::Nowhere) {
            return Ok(());
        }
        let spool = match self.open.take() {
            Some(spool) => spool,
            None => Spool::new(target)?,
        };
        self.open.insert(spool).add(target, text.as_bytes())
    }

    /// Puts what was written of `source` in place.
    pub(super) fn finish(&mut self, source: &Path) -> anyhow::Result<()> {
        self.open.take().map_or(Ok(()), |spool| spool.place(self.targets.of(source)))
    }

    /// Forgets what was written of the source at hand.
    pub(super) fn discard(&mut self) {
        self.open = None;
    }
}

/// Writes all of a target at once.
pub(super) fn write(target: &Target, content: &[u8]) -> anyhow::Result<()> {
    if matches!(target, Target::Nowhere) {
        return Ok(());
    }
    let mut spool = Spool::new(target)?;
    spool.add(target, content)?;
    spool.place(target)
}

impl Spool {
    fn new(target: &Target) -> anyhow::Result<Self> {
        let Target::File { path, old } = target else {
            return Ok(Spool::Hidden(tempfile::tempfile().context("cannot make a temporary file")?));
        };
        Ok(Spool::Beside(beside(path, old.as_ref()).map_err(|error| cannot_write(path, &error))?))
    }

    fn add(&mut self, target: &Target, bytes: &[u8]) -> anyhow::Result<()> {
        match (self, target) {
            (Spool::Beside(file), Target::File { path, .. }) => {
                file.write_all(bytes).map_err(|error| cannot_write(path, &error))
            }
            (Spool::Beside(file), _) => Ok(file.write_all(bytes)?),
            (Spool::Hidden(file), _) => file.write_all(bytes).context("cannot write a temporary file"),
        }
    }

    fn place(self, target: &Target) -> anyhow::Result<()> {
        match (self, target) {
            (Spool::Beside(file), Target::File { path, old }) => {
                persist(file, path, old.as_ref()).map_err(|error| cannot_write(path, &error))
            }
            (Spool::Hidden(file), Target::Stream(path)) => {
                pour(file, path).map_err(|error| cannot_write(path, &error))
            }
            (Spool::Hidden(mut file), Target::Stdout) => {
                file.rewind()?;
                let mut out = io::stdout().lock();
                io::copy(&mut file, &mut out)?;
                // What stays in the buffer could fail when nobody is left to tell.
                Ok(out.flush()?)
            }
            _ => Ok(()),
        }
    }
}

// A file that will be renamed to `path`, as open to others as `path` is or as new files are.
fn beside(path: &Path, old: Option<&Metadata>) -> io::Result<NamedTempFile> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".epitome-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Of a new file the umask takes away what it takes from all new files.
        let open_to_all = || fs::Permissions::from_mode(0o666);
        builder.permissions(old.map_or_else(open_to_all, Metadata::permissions));
    }
    let file = builder.tempfile_in(folder)?;
    if let Some(old) = old {
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, fchown};
            // Only root can give files away; for everyone else it stays as it is.
            let _ = fchown(file.as_file(), Some(old.uid()), Some(old.gid()));
        }
        file.as_file().set_permissions(old.permissions())?;
    }
    Ok(file)
}

fn persist(mut file: NamedTempFile, path: &Path, old: Option<&Metadata>) -> io::Result<()> {
    if is_gzip(path) {
        file.rewind()?;
        let mut packed = beside(path, old)?;
        pack(&mut file, &mut packed)?;
        file = packed;
    }
    file.flush()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

fn pour(mut file: File, path: &Path) -> io::Result<()> {
    file.rewind()?;
    let mut stream = OpenOptions::new().write(true).open(path)?;
    match is_gzip(path) {
        true => pack(&mut file, &mut stream),
        false => io::copy(&mut file, &mut stream).map(drop),
    }
}

fn pack(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut packed = GzEncoder::new(to, Compression::default());
    io::copy(from, &mut packed)?;
    packed.finish().map(drop)
}

fn is_gzip(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

//! Room in SQLite's write-ahead log.
//!
//! A write that makes a file longer costs twice what one does that does not: the file system has to record the new length. So
//! the log gets its length before it is needed; SQLite goes through it again and again.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Pages of the log after which they are moved into the file.
pub(super) const PAGES: u64 = 8192;
/// Bytes that a page takes in the log, and some more for what the last transaction writes beyond.
const BYTES: u64 = (PAGES + 256) * (4096 + 24);
/// Bytes that are written in one go.
const PIECE: usize = 1 << 18;
/// After so many appends it is worth it.
const WORTH: usize = 64;

/// The log of a file.
pub(super) struct Log {
    path: PathBuf,
    appends: usize,
}

impl Log {
    /// The log of the file at `path`.
    pub(super) fn of(path: &Path) -> Self {
        let mut name = path.as_os_str().to_owned();
        name.push("-wal");
        Self { path: name.into(), appends: 0 }
    }

    /// Gives the log its length, once, when so many more appends make it worth it. Nobody else may write meanwhile: zeros
    /// behind the last page of a log are no pages.
    pub(super) fn make_room_for(&mut self, appends: usize) {
        let before = self.appends;
        self.appends = before.saturating_add(appends);
        if before >= WORTH || self.appends < WORTH {
            return;
        }
        // A log that grows as it is written is slower and nothing else.
        if let Err(error) = extend(&self.path) {
            tracing::debug!(%error, "the write-ahead log grows as it is written");
        }
    }
}

fn extend(path: &Path) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    let end = file.seek(SeekFrom::End(0))?;
    // A disk that is too small for it must not be filled by it.
    fill(&mut file, end).inspect_err(|_| {
        let _ = file.set_len(end);
    })
}

fn fill(file: &mut File, mut end: u64) -> std::io::Result<()> {
    let zeros = vec![0; PIECE];
    while end < BYTES {
        let piece = usize::try_from(BYTES - end).unwrap_or(PIECE).min(PIECE);
        file.write_all(zeros.get(..piece).unwrap_or_default())?;
        end += piece as u64;
    }
    file.sync_all()
}

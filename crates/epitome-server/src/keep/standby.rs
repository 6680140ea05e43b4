//! In place of a ledger that is out of reach: a scratch one, on which a conversation that is refused as too long is made smaller.
//!
//! What it makes of a call is only sent where the call itself waits on disk, so that nothing is left out that is recorded nowhere.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use epitome::ledger::{Ledger, Options};
use tokio::sync::Mutex;

use super::engines::Engines;
use super::store::Store;

/// How the folders of scratch ledgers begin, and the file that whoever uses one holds a lock on.
const SCRATCH: &str = "scratch-";
const HELD: &str = "held";

/// The scratch ledger, once it was needed.
pub(super) struct Standby {
    folder: PathBuf,
    scratch: Mutex<Option<Arc<Scratch>>>,
}

/// A ledger that goes when nobody needs it any longer.
pub(super) struct Scratch {
    pub(super) engines: Engines,
    folder: PathBuf,
    _held: File,
}

impl Standby {
    /// In a folder of its own below this one, where those that a crash left behind are cleared away: they hold conversations.
    pub(super) fn below(folder: &Path) -> Self {
        let left = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        for scratch in left.filter(|entry| entry.file_name().to_string_lossy().starts_with(SCRATCH)) {
            let is_in_use = File::open(scratch.path().join(HELD)).is_ok_and(|held| held.try_lock().is_err());
            if !is_in_use && let Err(error) = std::fs::remove_dir_all(scratch.path()) {
                let path = scratch.path();
                tracing::warn!(path = %path.display(), %error, "what a crash left behind cannot be cleared away");
            }
        }
        Self { folder: folder.join(format!("{SCRATCH}{}", uuid::Uuid::now_v7())), scratch: Mutex::default() }
    }

    /// The scratch ledger.
    pub(super) async fn scratch(&self, store: &Store) -> epitome::Result<Arc<Scratch>> {
        let mut scratch = self.scratch.lock().await;
        if let Some(scratch) = &*scratch {
            return Ok(Arc::clone(scratch));
        }
        let folder = self.folder.clone();
        let held = super::spool::make_folder(&folder).and_then(|()| {
            let held = File::create(folder.join(HELD))?;
            held.try_lock()?;
            Ok(held)
        });
        let _held = held
            .map_err(|error| epitome::Error::Interrupted(format!("no room for a scratch ledger: {error}")))?;
        let address = format!("sqlite:{}", folder.join("scratch.db").display());
        let ledger = Ledger::open(&address, Options::default()).await?;
        let made = Arc::new(Scratch { engines: store.beside(ledger).await?, folder, _held });
        Ok(Arc::clone(scratch.insert(made)))
    }

    /// The ledger is back, or the end has come.
    pub(super) async fn clear(&self) {
        let Some(scratch) = self.scratch.lock().await.take() else { return };
        scratch.engines.close().await;
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is of no use to anybody, and says nothing that the spool does not say.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

//! What could not be recorded, kept on disk until it can be: turns outlive a ledger that is down, and a crash meanwhile.
//!
//! Each turn is a file of its own that holds the whole call as the client sent it. Recording it later finds its session by what was
//! said, as for any call; what turns out to be recorded already is not recorded twice.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use epitome::wire::reply::Answer;
use epitome::{Dialect, TenantId, Tokens, Usage};
use serde::{Deserialize, Serialize};

use super::request::Request;

/// So long a reply that was cut off waits for its client to come back: the libraries of clients try again within seconds.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// A turn that waits.
const WAITING: &str = "json";
/// A turn that waits and is being recorded.
const TAKEN: &str = "taken";
/// A reply that was cut off and waits for its client.
const CUT: &str = "cut";

/// The folder of what waits to be recorded.
#[derive(Clone, Debug)]
pub(super) struct Spool(Arc<Path>);

/// A turn that waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) tenant: TenantId,
    dialect: String,
    pub(super) model: String,
    pub(super) agent: String,
    pub(super) name: Option<String>,
    /// What stands before it, where its provider holds that.
    #[serde(default)]
    pub(super) behind: Option<String>,
    /// The conversation that goes on with what comes of it, where its provider holds that.
    #[serde(default)]
    pub(super) conversation: Option<String>,
    /// Whether later calls may name the reply.
    #[serde(default)]
    pub(super) may_be_followed: bool,
    pub(super) body: String,
    pub(super) reply: Option<Said>,
}

/// What came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Said {
    pub(super) messages: Vec<String>,
    pub(super) is_whole: bool,
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) id: Option<String>,
    usage: Option<[u64; 4]>,
}

impl Said {
    pub(super) fn usage(&self) -> Option<Usage> {
        self.usage.map(|[input, cache_read, cache_write, output]| Usage {
            input: Tokens(input),
            cache_read: Tokens(cache_read),
            cache_write: Tokens(cache_write),
            output: Tokens(output),
        })
    }
}

impl Entry {
    /// Of a call, whose body is still to be added.
    pub(super) fn of(request: &Request<'_>) -> Self {
        let elsewhere = request.elsewhere.clone().unwrap_or_default();
        Self {
            id: uuid::Uuid::now_v7().to_string(),
            tenant: request.tenant,
            dialect: request.dialect.to_string(),
            model: request.model.clone(),
            agent: request.agent.clone(),
            name: request.name.clone(),
            behind: elsewhere.behind,
            conversation: elsewhere.conversation,
            may_be_followed: request.may_be_followed,
            body: String::new(),
            reply: None,
        }
    }

    /// The same with what the client sent.
    pub(super) fn with_body(mut self, text: &str) -> Self {
        text.clone_into(&mut self.body);
        self
    }

    /// The same with what came of it.
    pub(super) fn answered(mut self, answer: &Answer) -> Self {
        if !answer.messages.is_empty() {
            self.reply = Some(Said {
                messages: answer.messages.clone(),
                is_whole: answer.is_whole,
                model: answer.model.clone(),
                id: answer.id.clone(),
                usage: answer
                    .usage
                    .map(|usage| [usage.input.0, usage.cache_read.0, usage.cache_write.0, usage.output.0]),
            });
        }
        self
    }

    pub(super) fn dialect(&self) -> Option<Dialect> {
        Dialect::ALL.into_iter().find(|dialect| dialect.to_string() == self.dialect)
    }
}

impl Spool {
    pub(super) fn at(folder: PathBuf) -> Self {
        Self(folder.into())
    }

    /// Keeps a turn, in place of what was kept of it before.
    pub(super) async fn keep(&self, entry: &Entry) -> io::Result<()> {
        self.write(entry, WAITING).await
    }

    /// Keeps a reply that was cut off, until its client comes back or never does.
    pub(super) async fn keep_cut(&self, entry: &Entry) -> io::Result<()> {
        self.write(entry, CUT).await
    }

    async fn write(&self, entry: &Entry, kind: &'static str) -> io::Result<()> {
        let (folder, entry) = (Arc::clone(&self.0), entry.clone());
        let kept = tokio::task::spawn_blocking(move || write(&folder, &entry, kind)).await;
        kept.unwrap_or_else(|error| Err(io::Error::other(error)))
    }

    /// Lets go of a turn that is recorded.
    pub(super) fn let_go(&self, id: &str) {
        for kind in [TAKEN, CUT] {
            // A file that is left is recorded once more, which changes nothing.
            let _ = std::fs::remove_file(self.0.join(format!("{id}.{kind}")));
        }
    }

    /// How many turns wait.
    pub(super) fn depth(&self) -> usize {
        self.waiting(PATIENCE).len()
    }

    /// What waits, the oldest first; replies that were cut off once they have waited for so long.
    pub(super) fn waiting(&self, patience: Duration) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(&self.0) else { return Vec::new() };
        let is_old = |path: &Path| {
            let written = std::fs::metadata(path).and_then(|about| about.modified());
            // A clock that was set back makes nobody wait.
            written.is_ok_and(|written| written.elapsed().is_ok_and(|age| age >= patience))
        };
        let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
        let mut waiting: Vec<PathBuf> = paths
            .filter(|path| match path.extension().and_then(|kind| kind.to_str()) {
                Some(WAITING | TAKEN) => true,
                Some(CUT) => is_old(path),
                _ => false,
            })
            .collect();
        // What was taken before comes before what came since of the same turn.
        waiting.sort_by_key(|path| {
            (path.with_extension(""), path.extension().is_some_and(|kind| kind == WAITING))
        });
        waiting
    }

    /// Takes a turn that waits: what is written of it from now on is a file of its own.
    pub(super) fn take(&self, path: &Path) -> Option<Entry> {
        let taken = path.with_extension(TAKEN);
        if path != taken && std::fs::rename(path, &taken).is_err() {
            return None;
        }
        let entry = std::fs::read(&taken).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if entry.is_none() {
            aside(&taken, "it cannot be read");
        }
        entry
    }

    /// What can never be recorded is kept beside what can.
    pub(super) fn set_aside(&self, entry: &Entry, why: &str) {
        aside(&self.0.join(format!("{}.{TAKEN}", entry.id)), why);
    }
}

/// Whether the ledger may take it later.
pub(super) fn is_passing(error: &epitome::Error) -> bool {
    matches!(error, epitome::Error::Ledger(_) | epitome::Error::Contended | epitome::Error::Interrupted(_))
}

fn aside(path: &Path, why: &str) {
    tracing::error!(path = %path.display(), why, "a turn that had to wait cannot be recorded; its file stays");
    let _ = std::fs::rename(path, path.with_extension("unreadable"));
}

/// Makes a folder that is nobody else's business.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

fn write(folder: &Path, entry: &Entry, kind: &str) -> io::Result<()> {
    make_folder(folder)?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let (path, draft) =
        (folder.join(format!("{}.{kind}", entry.id)), folder.join(format!("{}.draft", entry.id)));
    let mut file = options.open(&draft)?;
    file.write_all(&serde_json::to_vec(entry)?)?;
    file.sync_all()?;
    std::fs::rename(&draft, &path)
}

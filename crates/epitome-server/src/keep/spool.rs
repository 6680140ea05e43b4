//! What could not be recorded, kept on disk until it can be: turns outlive a ledger that is down, and a crash meanwhile.
//!
//! Each turn is a file of its own that holds the whole call as the client sent it. Recording it later finds its session by what was
//! said, as for any call; what turns out to be recorded already is not recorded twice.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

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
/// What is being written.
const DRAFT: &str = "draft";
/// A turn that can never be recorded.
const ASIDE: &str = "unreadable";

/// Nobody writes on a draft for so long.
const WRITING: Duration = Duration::from_secs(60);

/// The folder of what waits to be recorded.
#[derive(Clone, Debug)]
pub(super) struct Spool(Arc<Path>);

/// What a spool holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    /// Turns that wait.
    pub(super) waiting: usize,
    /// Turns that can never be recorded.
    pub(super) aside: usize,
    /// The room that all of it takes.
    pub(super) bytes: u64,
}

/// A turn that waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) tenant: TenantId,
    /// The name of the key that the tenant was told by, where that was not the ledger's.
    #[serde(default)]
    pub(super) by: Option<String>,
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
            by: None,
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

    /// The same, whose tenant was told by the key of this name.
    pub(super) fn told_by(mut self, key: Option<String>) -> Self {
        self.by = key;
        self
    }

    pub(super) fn dialect(&self) -> Option<Dialect> {
        Dialect::ALL.into_iter().find(|dialect| dialect.to_string() == self.dialect)
    }

    /// Under which names later calls go on from what came of it.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        let id = self.reply.as_ref().and_then(|said| said.id.as_deref()).filter(|_| self.may_be_followed);
        id.map(super::elsewhere::reply).into_iter().chain(self.conversation.clone())
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

    /// What there is, and how much room it takes.
    pub(super) fn held(&self) -> Held {
        let mut held = Held { waiting: self.waiting(PATIENCE).len(), ..Held::default() };
        for path in self.files() {
            held.bytes += std::fs::metadata(&path).map_or(0, |about| about.len());
            held.aside += usize::from(kind(&path) == Some(ASIDE));
        }
        held
    }

    /// What waits, the oldest first; replies that were cut off once they have waited for so long.
    pub(super) fn waiting(&self, patience: Duration) -> Vec<PathBuf> {
        let mut waiting = self.files();
        waiting.retain(|path| match kind(path) {
            Some(WAITING | TAKEN) => true,
            Some(CUT) => is_older(path, patience),
            _ => false,
        });
        // What was taken before comes before what came since of the same turn.
        waiting.sort_by_key(|path| (path.with_extension(""), kind(path) == Some(WAITING)));
        waiting
    }

    /// Whether any turn is kept, whatever becomes of it.
    pub(super) fn holds_anything(&self) -> bool {
        self.files().iter().any(|path| path.is_file())
    }

    fn files(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(&self.0) else { return Vec::new() };
        entries.filter_map(Result::ok).map(|entry| entry.path()).collect()
    }

    /// Clears away what a crash left in the midst of being written; what is whole in it waits like the rest.
    pub(super) fn tidy(&self) {
        for draft in self.files() {
            if kind(&draft) != Some(DRAFT) || !is_older(&draft, WRITING) {
                continue;
            }
            let is_whole = matches!(read(&draft), Ok(Some(_)));
            let tidied = match is_whole {
                true => std::fs::rename(&draft, draft.with_extension(WAITING)),
                false => std::fs::remove_file(&draft),
            };
            if let Err(error) = tidied {
                tracing::warn!(path = %draft.display(), %error, "what a crash left behind cannot be cleared away");
            }
        }
    }

    /// Takes a turn that waits: what is written of it from now on is a file of its own.
    pub(super) fn take(&self, path: &Path) -> Option<Entry> {
        let taken = path.with_extension(TAKEN);
        if path != taken && std::fs::rename(path, &taken).is_err() {
            return None;
        }
        match read(&taken) {
            Ok(Some(entry)) => Some(entry),
            Ok(None) => {
                aside(&taken, "it cannot be read");
                None
            }
            Err(error) => {
                tracing::warn!(path = %taken.display(), %error, "a turn that waits cannot be looked at just now");
                None
            }
        }
    }

    /// What can never be recorded is kept beside what can.
    pub(super) fn set_aside(&self, entry: &Entry, why: &str) {
        aside(&self.0.join(format!("{}.{TAKEN}", entry.id)), why);
    }
}

fn kind(path: &Path) -> Option<&str> {
    path.extension()?.to_str()
}

// A clock that was set back makes nobody wait.
fn is_older(path: &Path, age: Duration) -> bool {
    let written = std::fs::metadata(path).and_then(|about| about.modified());
    let now = SystemTime::now();
    written.is_ok_and(|written| now.duration_since(written).map_or(true, |passed| passed >= age))
}

// What a file holds; nothing where that is no turn.
fn read(path: &Path) -> io::Result<Option<Entry>> {
    Ok(serde_json::from_slice(&std::fs::read(path)?).ok())
}

fn aside(path: &Path, why: &str) {
    tracing::error!(path = %path.display(), why, "a turn that had to wait cannot be recorded; its file stays");
    let _ = std::fs::rename(path, path.with_extension(ASIDE));
}

/// Makes a folder that is nobody else's business.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

fn write(folder: &Path, entry: &Entry, kind: &str) -> io::Result<()> {
    let path = folder.join(format!("{}.{kind}", entry.id));
    replace(&path, &serde_json::to_vec(entry)?)
}

/// Writes a file that is nobody else's business, so that after a crash it is there as it was or as it is now.
pub(super) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    make_folder(folder)?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let draft = path.with_extension(DRAFT);
    let mut file = options.open(&draft)?;
    file.write_all(content)?;
    file.sync_all()?;
    std::fs::rename(&draft, path)?;
    // The name is in the folder, which has to reach the disk as well.
    #[cfg(unix)]
    std::fs::File::open(folder)?.sync_all()?;
    Ok(())
}

//! Finding and reading the files that a command names: folders, gzip, stdin, several at once, with a progress bar.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use epitome_wire::files::{Damage, ReadOptions, Reader, Transcript};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::Input;
use crate::fail::{failure, misuse};
use crate::print::{WARN, paint, plural};

/// How much of a file is read at once.
const READ_BUFFER: usize = 1 << 18;

/// File names that hold sessions, when a folder is searched.
const SESSION_FILES: [&str; 4] = [".jsonl", ".json", ".traj", ".gz"];

/// The files to read, in order; stdin is `-`.
pub(crate) fn files(input: &Input) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in &input.files {
        if is_stdin(path) {
            found.push(path.clone());
            continue;
        }
        let metadata = fs::metadata(path).map_err(|error| cannot_read(path, &error))?;
        if metadata.is_dir() {
            let before = found.len();
            search(path, &mut found)?;
            if found.len() == before {
                let hint = format!("a folder is searched for files ending in {}", SESSION_FILES.join(", "));
                return Err(failure(format!("no session files in {}", path.display()), hint));
            }
        } else {
            found.push(path.clone());
        }
    }
    if found.iter().filter(|path| is_stdin(path)).count() > 1 {
        return Err(misuse("stdin was named twice", "name - once"));
    }
    Ok(found)
}

/// Whether this name means stdin.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn search(folder: &Path, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = entries.map_err(|error| cannot_read(folder, &error))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // Links are not followed: a loop of them would never end, and what they point at is named elsewhere.
        let kind = entry.file_type().with_context(|| format!("cannot look at {}", entry.path().display()))?;
        if name.starts_with('.') {
            continue;
        } else if kind.is_dir() {
            search(&entry.path(), found)?;
        } else if kind.is_file() && SESSION_FILES.iter().any(|ending| name.ends_with(ending)) {
            found.push(entry.path());
        }
    }
    Ok(())
}

fn cannot_read(path: &Path, error: &io::Error) -> anyhow::Error {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "check the path; - reads from stdin",
        io::ErrorKind::PermissionDenied => "check the file's permissions",
        _ => "",
    };
    failure(format!("cannot read {}: {error}", path.display()), hint)
}

/// Opens a file or stdin.
pub(crate) fn open(path: &Path) -> anyhow::Result<Box<dyn Read>> {
    if is_stdin(path) {
        return Ok(Box::new(io::stdin().lock()));
    }
    Ok(Box::new(File::open(path).map_err(|error| cannot_read(path, &error))?))
}

/// What comes of reading files.
pub(crate) enum Item<T> {
    /// A session, worked on.
    Session(T),
    /// The file ends.
    Done,
    /// The rest of the file cannot be read.
    Failed,
}

/// How the sessions are to be read.
pub(crate) fn options(input: &Input) -> ReadOptions {
    let damage = if input.lenient { Damage::KeepGoing } else { Damage::Stop };
    ReadOptions { format: input.format, damage, ..ReadOptions::default() }
}

/// Reads every session of every file, works on each in parallel, and hands the results over in the order of the files.
///
/// One session a worker is in memory at a time. A file that cannot be read is reported and the others go on; the command
/// fails at the end, having done what it could.
pub(crate) fn each_session<T: Send>(
    input: &Input,
    work: impl Fn(&Path, Transcript) -> anyhow::Result<T> + Sync,
    mut sink: impl FnMut(&Path, Item<T>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let files = files(input)?;
    let options = options(input);
    let progress = Progress::new(&files);
    let next = AtomicUsize::new(0);
    let workers = thread::available_parallelism().map_or(1, usize::from).min(files.len());
    // Bounded, so that a slow terminal slows the workers instead of filling the memory.
    let (sender, results) = mpsc::sync_channel(64);
    let mut failed = 0;
    thread::scope(|scope| -> anyhow::Result<()> {
        for _ in 0..workers {
            let sender = sender.clone();
            scope.spawn(|| {
                let sender = sender;
                let file = || next.fetch_add(1, Ordering::Relaxed);
                while let Some((at, path)) = Some(file()).and_then(|at| Some((at, files.get(at)?))) {
                    // The other side is gone when the command has failed: then there is nothing left to do.
                    let send = |outcome| sender.send((at, outcome)).is_ok();
                    let read = read(path, &options, &progress, |transcript| {
                        Ok(send(Ok(Item::Session(work(path, transcript)?))))
                    });
                    if !send(read.map(|()| Item::Done)) {
                        return;
                    }
                }
            });
        }
        drop(sender);
        in_order(results, |at, outcome| {
            let path = &files[at];
            progress.suspended(|| match outcome {
                Ok(item) => sink(path, item),
                Err(error) if files.len() == 1 => Err(named(error, path)),
                Err(error) => {
                    anstream::eprintln!("{} {:#}", paint(WARN, "skipped:"), named(error, path));
                    failed += 1;
                    sink(path, Item::Failed)
                }
            })
        })
    })?;
    progress.finish();
    if failed == 0 {
        return Ok(());
    }
    let what = format!("{failed} of {} could not be read", plural(files.len(), "file"));
    Err(failure(what, "the reasons stand above; --lenient keeps going at damaged lines"))
}

/// The error with the file's name, and with the hint that the reader knows.
pub(crate) fn named(error: anyhow::Error, path: &Path) -> anyhow::Error {
    match error.downcast::<epitome_wire::files::FileError>() {
        Ok(error) => {
            let hint = error.hint().unwrap_or_default().to_owned();
            failure(format!("{}: {error}", path.display()), hint)
        }
        Err(error) => error,
    }
}

fn read(
    path: &Path,
    options: &ReadOptions,
    progress: &Progress,
    mut each: impl FnMut(Transcript) -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let counted = Counted { inner: open(path)?, progress };
    for transcript in Reader::new(BufReader::with_capacity(READ_BUFFER, counted), *options) {
        if !each(transcript?)? {
            break;
        }
    }
    Ok(())
}

// Results of later files wait until those of earlier files have been handed over. A file ends with `Done` or an error.
fn in_order<T>(
    results: mpsc::Receiver<(usize, anyhow::Result<Item<T>>)>,
    mut sink: impl FnMut(usize, anyhow::Result<Item<T>>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut current = 0;
    let mut waiting: BTreeMap<usize, Vec<anyhow::Result<Item<T>>>> = BTreeMap::new();
    for (at, outcome) in results {
        waiting.entry(at).or_default().push(outcome);
        while let Some(outcomes) = waiting.remove(&current) {
            let ended = !matches!(outcomes.last(), Some(Ok(Item::Session(_))));
            for outcome in outcomes {
                sink(current, outcome)?;
            }
            if !ended {
                break;
            }
            current += 1;
        }
    }
    Ok(())
}

/// A progress bar over the bytes of all files, shown on a terminal once the work has taken a second.
struct Progress {
    bar: ProgressBar,
    started: Instant,
}

impl Progress {
    fn new(files: &[PathBuf]) -> Self {
        let total =
            files.iter().filter_map(|path| fs::metadata(path).ok()).map(|metadata| metadata.len()).sum();
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {bytes} of {total_bytes}, {eta} left") {
            bar.set_style(style);
        }
        Self { bar, started: Instant::now() }
    }

    fn advance(&self, bytes: u64) {
        let due = self.bar.is_hidden() && self.started.elapsed() > Duration::from_secs(1);
        if due && io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(bytes);
    }

    fn suspended<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

struct Counted<'a> {
    inner: Box<dyn Read>,
    progress: &'a Progress,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.progress.advance(count as u64);
        Ok(count)
    }
}

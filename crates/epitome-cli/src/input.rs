//! Finding and reading the files that a command names: folders, gzip, stdin, several at once, with a progress bar.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::thread;

use epitome_wire::files::{Damage, ReadOptions, Reader, Transcript};

use crate::args::Input;
use crate::fail::{failure, misuse};
use crate::ordered::in_order;
use crate::print::{WARN, paint, plural, say};
use crate::progress::Progress;

/// How much of a file is read at once.
const READ_BUFFER: usize = 1 << 18;

/// File names that hold sessions, when a folder is searched.
const SESSION_FILES: [&str; 4] = [".jsonl", ".json", ".traj", ".gz"];

/// A file to read.
pub(crate) struct Source {
    /// The file; stdin is `-`.
    pub(crate) path: PathBuf,
    /// What to call it elsewhere: its path below the folder that was named, or its own name; stdin has none.
    pub(crate) name: Option<PathBuf>,
}

/// The files to read, in order.
pub(crate) fn sources(input: &Input) -> anyhow::Result<Vec<Source>> {
    let (sources, refused) = readable(input)?;
    refused.into_iter().next().map_or(Ok(sources), Err)
}

/// The files to read, in order, and why others are none of them. Where there are no files, the first reason is the error.
pub(crate) fn readable(input: &Input) -> anyhow::Result<(Vec<Source>, Vec<anyhow::Error>)> {
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for path in &input.files {
        if is_stdin(path) {
            found.push(Source { path: path.clone(), name: None });
            continue;
        }
        let is_folder = match fs::metadata(path) {
            Ok(metadata) => metadata.is_dir(),
            Err(error) => {
                refused.push(cannot_read(path, &error));
                continue;
            }
        };
        if !is_folder {
            found.push(Source { path: path.clone(), name: path.file_name().map(PathBuf::from) });
            continue;
        }
        let (mut inside, before) = (Vec::new(), refused.len());
        search(path, &mut inside, &mut refused);
        if inside.is_empty() && refused.len() == before {
            let hint = format!("a folder is searched for files ending in {}", SESSION_FILES.join(", "));
            refused.push(failure(format!("no session files in {}", path.display()), hint));
        }
        found.extend(inside.into_iter().map(|file| {
            let name = file.strip_prefix(path).ok().map(Path::to_path_buf);
            Source { path: file, name }
        }));
    }
    if found.iter().filter(|source| is_stdin(&source.path)).count() > 1 {
        return Err(misuse("stdin was named twice", "name - once"));
    }
    if found.is_empty() && !refused.is_empty() {
        return Err(refused.swap_remove(0));
    }
    Ok((found, refused))
}

/// Works on the files that there are; what else was named is reported, and fails the command at the end.
pub(crate) fn each_found(
    input: &Input,
    work: impl FnOnce(&[Source]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (sources, refused) = readable(input)?;
    for error in &refused {
        say(format_args!("{} {error:#}", paint(WARN, "skipped:")));
    }
    work(&sources)?;
    match refused.len() {
        0 => Ok(()),
        count => {
            let what = format!("{count} of what was named could not be looked at");
            Err(failure(what, "the reasons stand above; the rest was done"))
        }
    }
}

/// Whether this name means stdin.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn search(folder: &Path, found: &mut Vec<PathBuf>, refused: &mut Vec<anyhow::Error>) {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => return refused.push(cannot_read(folder, &error)),
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // Links are not followed: a loop of them would never end, and what they point at is named elsewhere.
        let kind = match entry.file_type() {
            _ if name.starts_with('.') => continue,
            Ok(kind) => kind,
            Err(error) => {
                refused.push(cannot_read(&entry.path(), &error));
                continue;
            }
        };
        if kind.is_dir() {
            search(&entry.path(), found, refused);
        } else if kind.is_file() && SESSION_FILES.iter().any(|ending| name.ends_with(ending)) {
            found.push(entry.path());
        }
    }
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
/// One session a worker is in memory at a time, and a few results. A file that cannot be read is reported and the others
/// go on; the command fails at the end, having done what it could.
pub(crate) fn each_session<T: Send>(
    options: &ReadOptions,
    sources: &[Source],
    work: impl Fn(&Path, Transcript) -> anyhow::Result<T> + Sync,
    mut sink: impl FnMut(&Path, Item<T>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let work = |path: &Path, transcript, _: &Progress| work(path, transcript);
    each_shown(options, sources, work, |path, item, progress| progress.suspended(|| sink(path, item)))
}

/// The same for work and a sink that take long: the bar stays, unless the sink asks it to give way to what it prints.
pub(crate) fn each_shown<T: Send>(
    options: &ReadOptions,
    sources: &[Source],
    work: impl Fn(&Path, Transcript, &Progress) -> anyhow::Result<T> + Sync,
    mut sink: impl FnMut(&Path, Item<T>, &Progress) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let sizes = sources.iter().filter_map(|source| fs::metadata(&source.path).ok());
    let progress = Progress::new(sizes.map(|metadata| metadata.len()).sum());
    let workers = thread::available_parallelism().map_or(1, usize::from).min(sources.len());
    let mut failed = 0;
    in_order(
        sources,
        workers,
        |source, send| {
            let read = read(&source.path, options, &progress, |transcript| {
                Ok(send(Ok(Item::Session(work(&source.path, transcript, &progress)?))))
            });
            send(read.map(|()| Item::Done));
        },
        |source, outcome| {
            let path = &source.path;
            match outcome {
                Ok(item) => sink(path, item, &progress),
                Err(error) if sources.len() == 1 => Err(named(error, path)),
                Err(error) => {
                    let told = named(error, path);
                    progress.suspended(|| say(format_args!("{} {told:#}", paint(WARN, "skipped:"))));
                    failed += 1;
                    sink(path, Item::Failed, &progress)
                }
            }
        },
    )?;
    progress.finish();
    if failed == 0 {
        return Ok(());
    }
    let what = format!("{failed} of {} could not be read", plural(sources.len(), "file"));
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
    let input = progress.counting(open(path)?);
    for transcript in Reader::new(BufReader::with_capacity(READ_BUFFER, input), *options) {
        if !each(transcript?)? {
            break;
        }
    }
    Ok(())
}

//! The power fails: what was not synchronised is gone, and still nothing that was acknowledged is.
//!
//! A worker writes under `strace`, which records every write, every synchronisation and every acknowledgement. From that the disk
//! is rebuilt as it would be had the power failed at some moment: with what was synchronised by then, and of the rest
//! nothing, or whatever the disk happened to have written.

use std::collections::HashMap;
use std::fs;
use std::process::Command;

use crate::crash::{Acknowledged, check, note};
use crate::support::*;
use crate::worker::{Worker, random};

/// What a process did to a file, or said.
#[derive(Debug)]
enum Call {
    Write { file: String, at: usize, bytes: Vec<u8> },
    Length { file: String, length: usize },
    Sync { file: String },
    Remove { file: String },
    Say { text: String },
}

/// The bytes of a string that `strace` wrote in hexadecimal.
fn bytes(text: &str) -> Vec<u8> {
    let digits = text.split("\\x").skip(1);
    digits.map(|pair| u8::from_str_radix(pair, 16).expect("no string is cut short")).collect()
}

fn text(hexadecimal: &str) -> String {
    String::from_utf8_lossy(&bytes(hexadecimal)).into_owned()
}

impl Call {
    /// What a line says that was begun, if it matters.
    fn parse(line: &str) -> Option<Self> {
        let (name, rest) = line.split_once('(')?;
        if name == "unlink" {
            return Some(Self::Remove { file: text(rest.split('"').nth(1)?) });
        }
        let (number, rest) = rest.split_once('<')?;
        let (file, rest) = rest.split_once('>')?;
        let file = text(file);
        let last = |rest: &str| {
            let digits: String =
                rest.chars().skip_while(|it| !it.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
            digits.parse().unwrap()
        };
        Some(match name {
            "write" if number == "1" => Self::Say { text: text(rest.split('"').nth(1)?) },
            "pwrite64" => {
                let mut parts = rest.split('"');
                let bytes = bytes(parts.nth(1)?);
                let at = last(parts.next()?.rsplit_once(", ")?.1);
                Self::Write { file, at, bytes }
            }
            "ftruncate" => Self::Length { file, length: last(rest) },
            "fsync" | "fdatasync" => Self::Sync { file },
            _ => return None,
        })
    }
}

/// A file on a disk: what is safe, and what was written since.
#[derive(Default)]
struct File {
    safe: Vec<u8>,
    since: Vec<Call>,
}

fn apply(bytes: &mut Vec<u8>, call: &Call) {
    match call {
        Call::Write { at, bytes: written, .. } => {
            let end = at + written.len();
            bytes.resize(bytes.len().max(end), 0);
            bytes[*at..end].copy_from_slice(written);
        }
        Call::Length { length, .. } => bytes.resize(*length, 0),
        _ => {}
    }
}

/// The files of a ledger, and what was acknowledged.
#[derive(Default)]
struct Disk {
    files: HashMap<String, File>,
    acknowledged: Acknowledged,
}

impl Disk {
    /// How much was written to the file that a call synchronises.
    fn written(&self, call: &Call) -> usize {
        match call {
            Call::Sync { file } => self.files.get(file).map_or(0, |file| file.since.len()),
            _ => 0,
        }
    }

    fn take(&mut self, call: Call, written: usize) {
        match call {
            Call::Write { ref file, .. } | Call::Length { ref file, .. } => {
                self.files.entry(file.clone()).or_default().since.push(call);
            }
            Call::Sync { file } => {
                let Some(file) = self.files.get_mut(&file) else { return };
                file.since.drain(..written).for_each(|call| apply(&mut file.safe, &call));
            }
            Call::Remove { file } => {
                self.files.remove(&file);
            }
            Call::Say { text } => {
                let lines = text.lines().filter_map(|line| line.strip_prefix("ack "));
                lines.for_each(|line| note(&mut self.acknowledged, line));
            }
        }
    }

    /// Lays down what is left when the power fails, and looks for what was acknowledged.
    fn fails(&self, original: &Place, kept: &mut impl FnMut() -> bool) {
        let place = Place::sqlite();
        for ending in ["", "-wal"] {
            let Some(file) = self.files.get(&format!("{}{ending}", original.file().display())) else {
                continue;
            };
            let mut bytes = file.safe.clone();
            file.since.iter().filter(|_| kept()).for_each(|call| apply(&mut bytes, call));
            fs::write(format!("{}{ending}", place.file().display()), bytes).unwrap();
        }
        run(async {
            let ledger = place.open().await;
            check(&ledger, &self.acknowledged).await;
            ledger.close().await;
        });
    }
}

/// Has the power fail at every acknowledgement and often in between, and counts how often it did.
fn replay(log: &str, place: &Place, mut kept: impl FnMut() -> bool) -> usize {
    let (mut disk, mut begun, mut failures) = (Disk::default(), HashMap::new(), 0);
    for (number, line) in log.lines().enumerate() {
        let (process, line) = line.split_once(' ').unwrap();
        let line = line.trim_start();
        let (call, written) = if line.starts_with("<... ") {
            let Some(begun) = begun.remove(process) else { continue };
            begun
        } else {
            let Some(call) = Call::parse(line) else { continue };
            let written = disk.written(&call);
            // What is said is on its way at once; what is written is there when the call returns.
            if line.ends_with("<unfinished ...>") && !matches!(call, Call::Say { .. }) {
                begun.insert(process.to_owned(), (call, written));
                continue;
            }
            (call, written)
        };
        let told = matches!(call, Call::Say { .. });
        disk.take(call, written);
        if !disk.acknowledged.sessions.is_empty() && (told || number.is_multiple_of(23)) {
            disk.fails(place, &mut kept);
            failures += 1;
        }
    }
    assert!(disk.acknowledged.sessions.len() >= 4, "{:?}", disk.acknowledged);
    failures
}

#[test]
fn what_was_acknowledged_survives_the_loss_of_power() {
    let place = Place::sqlite();
    let log = place.folder.path().join("calls");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-xx", "-s", "1000000", "-o"]).arg(&log);
    strace.args(["-e", "trace=pwrite64,write,ftruncate,unlink,fsync,fdatasync"]);
    strace.arg(std::env::current_exe().unwrap());
    let said = Worker::start_by(strace, "write-some 7 6", &place.address).finish();
    assert!(said.len() >= 24);
    let log = fs::read_to_string(&log).unwrap();
    assert!(replay(&log, &place, || false) > 24);
    let mut seed = 0x5eed_9999_8888_7777;
    assert!(replay(&log, &place, || random(&mut seed).is_multiple_of(2)) > 24);
}

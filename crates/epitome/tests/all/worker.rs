//! A process of its own that runs an agent, so that it can be killed: this test binary, started again.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::support::run;
use crate::{contention, endurance};

/// What a worker does, handed over in the environment.
const TASK: &str = "EPITOME_TEST_AGENT";

/// A worker that runs.
pub(crate) struct Worker {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Worker {
    /// Starts one that does this.
    pub(crate) fn start(task: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "worker::worker", "--nocapture", "--ignored"])
            .env(TASK, task)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// What it says next; nothing once it has ended.
    pub(crate) fn next(&mut self) -> Option<String> {
        self.lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("ack ").map(str::to_owned))
    }

    /// Kills it without warning.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Lets it end by itself.
    pub(crate) fn finish(mut self) -> Vec<String> {
        let said = std::iter::from_fn(|| self.next()).collect();
        assert!(self.child.wait().unwrap().success(), "the worker failed");
        said
    }
}

// Whoever runs the ignored tests by hand has no task to hand over.
#[test]
#[ignore = "started by other tests, as a process that can be killed"]
fn worker() {
    let Ok(task) = std::env::var(TASK) else { return };
    let words: Vec<&str> = task.split(' ').collect();
    match words.as_slice() {
        ["endure", turns, log, address] => run(endurance::agent(turns.parse().unwrap(), log, address)),
        ["contend", name, messages, address] => {
            run(contention::writer(name, messages.parse().unwrap(), address));
        }
        ["stall", address] => run(contention::stalling(address)),
        _ => panic!("no such task: {task}"),
    }
}

/// Tells whoever started this process.
pub(crate) fn acknowledge(line: &str) {
    let mut out = std::io::stdout().lock();
    // The harness may have left a line unfinished.
    out.write_all(format!("\nack {line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// A random number that depends on nothing but its seed.
pub(crate) fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

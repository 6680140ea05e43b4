//! A process of its own that writes to a ledger, so that it can be killed: this test binary, started again.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use epitome_ledger::model::{
    Expect, Lease, NewMessage, NewReply, NewSession, NewTurn, Purge, Session, SessionId, TurnId, Warrant,
};
use epitome_ledger::{Ledger, LedgerError, Options};

use crate::support::*;

/// What a worker does, handed over in the environment.
const TASK: &str = "EPITOME_TEST_WORKER";

/// A worker that runs.
pub(crate) struct Worker {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Worker {
    /// Starts one that does `task` on the database at `address`.
    pub(crate) fn start(task: &str, address: &str) -> Self {
        Self::start_by(Command::new(std::env::current_exe().unwrap()), task, address)
    }

    /// Starts one by a program that starts what it is told, which is this binary.
    pub(crate) fn start_by(mut program: Command, task: &str, address: &str) -> Self {
        let mut child = program
            .args(["--exact", "worker::worker", "--nocapture", "--ignored"])
            .env(TASK, format!("{task} {address}"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// What it says next; nothing once it is dead.
    pub(crate) fn next(&mut self) -> Option<String> {
        self.lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("ack ").map(str::to_owned))
    }

    /// Kills it without warning and returns what it had said.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::iter::from_fn(|| self.next()).collect()
    }

    /// Lets it end by itself.
    pub(crate) fn finish(mut self) -> Vec<String> {
        let said = std::iter::from_fn(|| self.next()).collect();
        assert!(self.child.wait().unwrap().success());
        said
    }
}

// Whoever runs the ignored tests by hand has no task to hand over.
#[test]
#[ignore = "started by other tests, as a process that can be killed"]
fn worker() {
    let Ok(task) = std::env::var(TASK) else { return };
    let mut words = task.split(' ').map(str::to_owned);
    let mut word = || words.next().unwrap();
    let kind = word();
    match kind.as_str() {
        "write" => {
            let (seed, address) = (word().parse().unwrap(), word());
            run(write(seed, u64::MAX, address));
        }
        "write-some" => {
            let (seed, rounds, address) = (word().parse().unwrap(), word().parse().unwrap(), word());
            run(write(seed, rounds, address));
        }
        "open" => run(async {
            acknowledge("opening");
            Ledger::open(&word(), Options::default()).await.unwrap();
            std::future::pending::<()>().await;
        }),
        "lease" => {
            let (session, rounds, address) = (word().parse().unwrap(), word().parse().unwrap(), word());
            run(lease(session, rounds, address));
        }
        "hold" => {
            let (session, address) = (word().parse().unwrap(), word());
            run(keep_lease(session, address));
        }
        "fill" => run(crate::full::fill(word())),
        "visit" => run(crate::still::visit(word())),
        other => panic!("no such task: {other}"),
    }
}

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

/// The one message that a session can have at a place.
pub(crate) fn message(session: SessionId, ordinal: u64) -> NewMessage {
    let words = (ordinal * 37 % 211) as usize;
    user(&format!("{session} {ordinal} {}", "some more words ".repeat(words)))
}

async fn write(seed: u64, rounds: u64, address: String) {
    let ledger = persist(async || Ledger::open(&address, Options::default()).await).await.unwrap();
    let writer = |number| {
        let ledger = ledger.clone();
        async move { Writer::open(ledger, seed.wrapping_mul(4) + number).await.run(rounds).await }
    };
    futures_util::future::join_all((0..4).map(writer)).await;
}

/// Writes to one session after the other, so many times or until it is killed.
struct Writer {
    ledger: Ledger,
    session: Session,
    /// Sessions that it left for a fork of them.
    left: Vec<SessionId>,
    seed: u64,
}

impl Writer {
    async fn open(ledger: Ledger, seed: u64) -> Self {
        let new = NewSession::of("agent");
        let session = persist(async || ledger.create_session(ME, new.clone()).await).await;
        let session = match session {
            Some(session) => session,
            None => ledger.session(ME, new.id).await.unwrap(),
        };
        let mut seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        random(&mut seed);
        Self { ledger, session, left: Vec::new(), seed }
    }

    async fn run(mut self, rounds: u64) {
        for _ in 0..rounds {
            match random(&mut self.seed) % 14 {
                0 if self.session.messages > 4 => self.compact().await,
                1 if self.session.head.is_some() => self.fork().await,
                2 | 3 => self.in_two_steps().await,
                4 => drop(persist(async || self.ledger.pack().await).await),
                5 if !self.left.is_empty() => self.purge().await,
                _ => self.append().await,
            }
            let Session { id, head, messages, .. } = &self.session;
            if let Some(head) = head {
                acknowledge(&format!("{id} {head} {messages}"));
            }
        }
    }

    fn expect(&self) -> Expect {
        expect(&self.session)
    }

    async fn refresh(&mut self) {
        let id = self.session.id;
        let ledger = self.ledger.clone();
        self.session = persist(async || ledger.session(ME, id).await).await.unwrap();
    }

    fn messages(&self, from: u64, count: u64) -> Vec<NewMessage> {
        (from..from + count).map(|ordinal| message(self.session.id, ordinal)).collect()
    }

    async fn append(&mut self) {
        let mut turns = Vec::new();
        let mut ordinal = self.session.messages;
        for _ in 0..random(&mut self.seed) % 3 + 1 {
            let reply = NewReply { messages: self.messages(ordinal + 1, 1), ..NewReply::default() };
            turns.push(NewTurn { reply: Some(reply), ..NewTurn::of(self.messages(ordinal, 1)) });
            ordinal += 2;
        }
        let (ledger, expect) = (self.ledger.clone(), self.expect());
        persist(async || ledger.append(ME, expect, turns.clone()).await).await.unwrap();
        self.refresh().await;
    }

    async fn in_two_steps(&mut self) {
        let (ledger, expect, at) = (self.ledger.clone(), self.expect(), self.session.messages);
        let turn = NewTurn::of(self.messages(at, 1));
        let answer = Expect { head: Some(turn.id), ..expect };
        persist(async || ledger.append(ME, expect, vec![turn.clone()]).await).await.unwrap();
        let reply = NewReply { messages: self.messages(at + 1, 1), ..NewReply::default() };
        persist(async || ledger.reply(ME, answer, reply.clone()).await).await.unwrap();
        self.refresh().await;
    }

    async fn compact(&mut self) {
        let length = self.session.messages as usize;
        let cut = 1 + random(&mut self.seed) as usize % (length - 1);
        let new = compaction(vec![summary(0..cut, &format!("summary of {cut}")), verbatim(cut..length)]);
        let (ledger, expect) = (self.ledger.clone(), self.expect());
        persist(async || ledger.compact(ME, expect, new.clone()).await).await.unwrap();
        self.refresh().await;
    }

    async fn purge(&mut self) {
        let at = random(&mut self.seed) as usize % self.left.len();
        let id = self.left.swap_remove(at);
        acknowledge(&format!("purging {id}"));
        let warrant = Warrant { actor: "owner".to_owned(), reason: "asked for".to_owned() };
        persist(async || match self.ledger.purge(ME, Purge::Session(id), warrant.clone()).await {
            // It was done, and the answer was lost.
            Err(LedgerError::NotFound { .. }) => Ok(()),
            purged => purged.map(|_| ()),
        })
        .await;
        acknowledge(&format!("purged {id}"));
    }

    async fn fork(&mut self) {
        let (ledger, head) = (self.ledger.clone(), self.session.head.unwrap());
        let new = NewSession::of("agent");
        let id = new.id;
        self.left.push(self.session.id);
        let fork = persist(async || ledger.fork(ME, head, new.clone()).await).await;
        self.session = match fork {
            Some(fork) => fork,
            None => persist(async || ledger.session(ME, id).await).await.unwrap(),
        };
    }
}

/// Tries until it is told, as long as the database is only away. Nothing where it turns out to have been done before.
async fn persist<T>(work: impl AsyncFn() -> Result<T, LedgerError>) -> Option<T> {
    let mut waits = 0;
    loop {
        match work().await {
            Ok(value) => return Some(value),
            Err(LedgerError::Exists { .. }) if waits > 0 => return None,
            Err(error) if error.retryable() => {
                waits += 1;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

async fn lease(session: SessionId, rounds: u64, address: String) {
    let ledger = Ledger::open(&address, Options::default()).await.unwrap();
    let holders = (0..8).map(|number| {
        let ledger = ledger.clone();
        let holder = format!("{} {number}", std::process::id());
        tokio::spawn(async move {
            for _ in 0..rounds {
                hold(&ledger, session, &holder).await;
            }
        })
    });
    for holder in holders.collect::<Vec<_>>() {
        holder.await.unwrap();
    }
}

/// Takes the lease, says so, and waits to be killed.
async fn keep_lease(session: SessionId, address: String) {
    let ledger = Ledger::open(&address, Options::default()).await.unwrap();
    let lease = ledger.acquire_lease(ME, session, "doomed", LASTS).await.unwrap();
    acknowledge(&lease.fence.to_string());
    std::future::pending::<()>().await;
}

/// How long a lease lasts when its holder is killed.
pub(crate) const LASTS: Duration = Duration::from_secs(2);

async fn hold(ledger: &Ledger, session: SessionId, holder: &str) {
    let lease: Lease = loop {
        match ledger.acquire_lease(ME, session, holder, LASTS).await {
            Ok(lease) => break lease,
            Err(error) if error.retryable() => tokio::time::sleep(Duration::from_millis(2)).await,
            Err(error) => panic!("{error}"),
        }
    };
    let now = ledger.session(ME, session).await.unwrap();
    let turn = NewTurn::of(vec![user(&format!("{} {holder}", lease.fence))]);
    let id: TurnId = turn.id;
    let under = Expect { fence: Some(lease.fence), ..expect(&now) };
    match ledger.append(ME, under, vec![turn]).await {
        Ok(_) => acknowledge(&format!("{id} {}", lease.fence)),
        // Whoever was slower than its lease wrote nothing.
        Err(LedgerError::Fenced { .. }) => return,
        Err(error) => panic!("{error}"),
    }
    match ledger.release_lease(ME, lease).await {
        Ok(()) | Err(LedgerError::Fenced { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}

//! Many at once on one session: nothing is lost, nothing comes twice, nobody compacts beside another.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::task::{Context as Polling, Poll, Waker};
use std::time::Duration;

use epitome::{Answer, Compact, Compacting, Context, Engine, Hook, Input, Session, Told};
use epitome_core::compact::{Summarizer, SummaryError, SummaryRequest};
use epitome_core::{Time, Tokens};
use epitome_ledger::model::TenantId;
use epitome_ledger::{Clock, Ledger, Options};
use epitome_wire::{Dialect, check};

use crate::support::{Place, exchange, on_both, prose, run};
use crate::worker::{Worker, acknowledge, random};

on_both!(nobody_waits_for_ever_and_nothing_is_lost);

const TASKS: usize = 16;
const ROUNDS: usize = 12;

/// Counts compactions that are under way.
#[derive(Clone, Default)]
struct Overlap {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

/// Counts itself among those under way for as long as it is there.
struct UnderWay(Arc<AtomicUsize>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Hook for Overlap {
    fn compacting(&self, _: Arc<Compacting>) -> Told<Answer> {
        let under_way = UnderWay(Arc::clone(&self.now));
        self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        Box::pin(async move {
            // Whoever came beside this one would come now.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            drop(under_way);
            Ok(Answer::default())
        })
    }
}

async fn nobody_waits_for_ever_and_nothing_is_lost(place: Place) {
    let overlap = Overlap::default();
    let engine = place.builder().hook("overlap", overlap.clone()).build().await.unwrap();
    let session = engine.session("crowd").await.unwrap();
    exchange(&session, 0, 500).await;
    let tasks: Vec<_> = (0..TASKS).map(|task| tokio::spawn(crowd(session.clone(), task))).collect();
    let mut acknowledged = Vec::new();
    let mut given_up = Vec::new();
    for task in tasks {
        let (done, dropped) = task.await.unwrap();
        acknowledged.extend(done);
        given_up.extend(dropped);
    }
    assert!(!acknowledged.is_empty() && !given_up.is_empty());
    session.compact(Compact::now().within(Tokens(3_000))).await.unwrap();
    assert_fits(&session.context().await.unwrap());
    let length = session.info().await.unwrap().messages;
    let recorded = session.messages(0..length).await.unwrap();
    let times = |mark: &str| {
        let mark = format!("<{mark}>");
        recorded.iter().filter(|message| String::from_utf8_lossy(&message.body).contains(&mark)).count()
    };
    for mark in &acknowledged {
        assert_eq!(times(mark), 1, "{mark} was acknowledged");
    }
    for mark in &given_up {
        assert!(times(mark) <= 1, "{mark} was given up");
    }
    assert_eq!(overlap.most.load(Ordering::SeqCst), 1, "compactions overlapped, or there was none");
    let checkup = engine.ledger().doctor().await.unwrap();
    assert!(checkup.findings.is_empty(), "{:?}", checkup.findings);
    engine.close().await;
}

// Who talks all at once does not take turns; everything else is as a provider wants it.
fn assert_fits(context: &Context) {
    let mut violations = check::check(Dialect::Anthropic, None, &context.decoded().unwrap());
    violations.retain(|found| found.rule != check::Rule::RolesDoNotAlternate);
    assert!(violations.is_empty(), "{violations:?}");
    assert!(context.pressure.tokens.0 <= 32_000, "{}", context.pressure);
}

// One of the crowd: says things, asks what to send, compacts, and often loses patience. Returns what it was told is recorded,
// and what it gave up.
async fn crowd(session: Session, task: usize) -> (Vec<String>, Vec<String>) {
    let mut seed = (task as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let (mut acknowledged, mut given_up) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let patience = random(&mut seed).is_multiple_of(2).then(|| random(&mut seed) % 30);
        match random(&mut seed) % 8 {
            0 | 1 => drop(within(patience, session.context()).await.transpose().unwrap()),
            2 => {
                let compact = session.compact(Compact::now().within(Tokens(4_000)));
                drop(within(patience, compact).await.transpose().unwrap());
            }
            _ => {
                let mark = format!("{task}-{round}");
                let text = format!("<{mark}> {}", prose(task * ROUNDS + round, 400));
                match within(patience, session.append(Input::from(text))).await {
                    Some(receipt) => drop((receipt.unwrap(), acknowledged.push(mark))),
                    None => given_up.push(mark),
                }
            }
        }
    }
    (acknowledged, given_up)
}

// What comes of it, unless it takes more than so many steps.
async fn within<T>(steps: Option<u64>, work: impl Future<Output = T>) -> Option<T> {
    let Some(steps) = steps else { return Some(work.await) };
    let mut work = pin!(work);
    for _ in 0..steps {
        let step = work.as_mut().poll(&mut Polling::from_waker(Waker::noop()));
        if let Poll::Ready(done) = step {
            return Some(done);
        }
        tokio::task::yield_now().await;
    }
    None
}

#[test]
fn two_processes_share_a_session() {
    let place = Place::postgres();
    let messages = 40;
    let start = |name: &str| Worker::start(&format!("contend {name} {messages} {}", place.address));
    let workers = [start("left"), start("right")];
    let said: Vec<Vec<String>> = workers.into_iter().map(Worker::finish).collect();
    assert!(said.iter().all(|said| said.last().is_some_and(|line| line == "done")));
    run(async {
        let engine = place.engine().await;
        let session = engine.session("shared").await.unwrap();
        let info = session.info().await.unwrap();
        assert!(info.compactions > 0);
        let recorded = session.messages(0..info.messages).await.unwrap();
        assert_eq!(recorded.len(), messages * 2, "every message once");
        for name in ["left", "right"] {
            let marks = (0..messages).map(|number| format!("<{name}-{number}>"));
            let mut bodies = recorded.iter().map(|stored| String::from_utf8_lossy(&stored.body).into_owned());
            assert!(marks.into_iter().all(|mark| bodies.any(|body| body.contains(&mark))), "in their order");
        }
        let checkup = engine.ledger().doctor().await.unwrap();
        assert!(checkup.findings.is_empty(), "{:?}", checkup.findings);
    });
}

#[test]
fn who_dies_while_compacting_holds_others_up_no_longer_than_its_lease() {
    let place = Place::postgres();
    let mut doomed = Worker::start(&format!("stall {}", place.address));
    while doomed.next().expect("it stalls") != "summarising" {}
    doomed.kill();
    run(async {
        let engine = place.builder().lease(LEASE).build().await.unwrap();
        let session = engine.session("stalled").await.unwrap();
        session.append("Messages wait for nobody.").await.unwrap();
        let outcome = session.compact(Compact::now().within(Tokens(4_000))).await.unwrap();
        assert!(outcome.is_done());
        assert_eq!(session.info().await.unwrap().compactions, 1, "the one that died recorded nothing");
    });
}

/// Takes the lease away, once, while whoever holds it waits for an answer.
struct Thief {
    ledger: Ledger,
    /// By how much the clock is ahead.
    ahead: Arc<AtomicI64>,
    asked: Arc<AtomicUsize>,
}

impl Hook for Thief {
    fn compacting(&self, event: Arc<Compacting>) -> Told<Answer> {
        let (ledger, is_first) = (self.ledger.clone(), self.asked.fetch_add(1, Ordering::SeqCst) == 0);
        if is_first {
            self.ahead.store(600_000, Ordering::SeqCst);
        }
        Box::pin(async move {
            if is_first {
                let lease = ledger.acquire_lease(TenantId::LOCAL, event.session, "thief", LEASE).await?;
                ledger.release_lease(TenantId::LOCAL, lease).await?;
            }
            Ok(Answer::default())
        })
    }
}

#[test]
fn who_was_so_slow_that_its_lease_is_gone_begins_again() {
    let (place, ahead, asked) = (Place::sqlite(), Arc::<AtomicI64>::default(), Arc::<AtomicUsize>::default());
    let clock = {
        let (clock, ahead) = (Clock::system(), Arc::clone(&ahead));
        Clock::of(move || Time(clock.now().0 + ahead.load(Ordering::SeqCst)))
    };
    run(async {
        let options = Options { clock, ..Options::default() };
        let ledger = Ledger::open(&place.address, options).await.unwrap();
        let thief = Thief { ledger: ledger.clone(), ahead, asked: Arc::clone(&asked) };
        let engine = place.builder().ledger(ledger).hook("thief", thief).build().await.unwrap();
        let session = engine.session("slow").await.unwrap();
        for number in 0..10 {
            exchange(&session, number, 1_000).await;
        }
        let outcome = session.compact(Compact::now().within(Tokens(4_000))).await.unwrap();
        assert!(outcome.is_done());
        assert_eq!(asked.load(Ordering::SeqCst), 2, "what was written without a lease was not recorded");
        assert_eq!(session.info().await.unwrap().compactions, 1);
    });
}

/// How long a lease lasts in these tests.
const LEASE: Duration = Duration::from_secs(1);

/// Says so many things in the shared session, and asks what to send each time.
pub(crate) async fn writer(name: &str, messages: u64, address: &str) {
    let engine = Engine::builder().db(address).agent("tester").window(Tokens(32_000));
    let engine = engine.lease(LEASE).build().await.unwrap();
    let session = engine.session("shared").await.unwrap();
    for number in 0..messages {
        let text = format!("<{name}-{number}> {}", prose(number as usize, 800));
        session.append(Input::from(text)).await.unwrap();
        assert_fits(&session.context().await.unwrap());
    }
    engine.close().await;
    acknowledge("done");
}

/// Never ends a summary.
#[derive(Clone)]
struct Endless;

impl Summarizer for Endless {
    fn summarize(&mut self, _: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        acknowledge("summarising");
        loop {
            std::thread::park();
        }
    }
}

/// Compacts for ever.
pub(crate) async fn stalling(address: &str) {
    let engine = Engine::builder().db(address).agent("tester").window(Tokens(32_000));
    let engine = engine.lease(LEASE).summarizer(Endless).build().await.unwrap();
    let session = engine.session("stalled").await.unwrap();
    for number in 0..10 {
        exchange(&session, number, 1_000).await;
    }
    session.compact(Compact::now().within(Tokens(4_000))).await.unwrap();
}

//! Sessions in every order of events: the real engine on a real file, two engines as two processes would have them, and a
//! scheduler that decides who goes next. No deadlock, no message lost or doubled, no two compactions at once.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use epitome::{
    Answer, Compact, Compacting, Context, Engine, Error, Hook, Opening, Run, Session, Sight, Told, Undo,
};
use epitome_core::compact::{Summarizer, SummaryError, SummaryRequest};
use epitome_core::{Time, Tokens};
use epitome_ledger::model::Lease;
use epitome_ledger::{Ledger, Options};
use epitome_wire::{Dialect, check};

use crate::schedule::{Actor, Way, go, halt};
use crate::support::{Place, exchange, prose};

/// Counts compactions that are under way. As a hook it takes its time: somebody else does something meanwhile.
#[derive(Clone, Default)]
struct Overlap {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    /// How often somebody did something.
    steps: Arc<AtomicUsize>,
}

impl Overlap {
    fn begins(&self) -> UnderWay {
        self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        UnderWay(Arc::clone(&self.now))
    }

    fn assert_single(&self, way: &Way) {
        assert_eq!(self.now.load(Ordering::SeqCst), 0, "somebody still compacts: {way:?}");
        assert!(self.most.load(Ordering::SeqCst) <= 1, "two compact at once: {way:?}");
    }
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
        let (under_way, steps) = (self.begins(), Arc::clone(&self.steps));
        Box::pin(async move {
            let begun = steps.load(Ordering::SeqCst);
            while steps.load(Ordering::SeqCst) == begun {
                tokio::task::yield_now().await;
            }
            drop(under_way);
            Ok(Answer::default())
        })
    }
}

impl Summarizer for Overlap {
    fn summarize(&mut self, _: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        let _under_way = self.begins();
        Ok("## Goal\n- Go on as before.".to_owned())
    }

    fn is_mechanical(&self) -> bool {
        true
    }
}

/// Two engines on one file, and a session from which each try starts.
struct Stage {
    engines: [Engine; 2],
    start: Session,
    overlap: Overlap,
    _place: Place,
}

impl Stage {
    // With a session of about so many tokens, in a window of 32,000.
    fn set(tokens: usize) -> Self {
        let (place, overlap) = (Place::sqlite(), Overlap::default());
        let engine = || {
            // One thread that reads takes one question after the other.
            let options = Options { readers: 1, ..Options::default() };
            let ledger = halt(Ledger::open(&place.address, options)).unwrap();
            let builder = place.builder().ledger(ledger).summarizer(overlap.clone()).learning_nothing();
            halt(builder.hook("overlap", overlap.clone()).build()).unwrap()
        };
        let engines = [engine(), engine()];
        let start = halt(engines[0].session("start")).unwrap();
        for number in 0..4 {
            halt(exchange(&start, number, tokens / 4));
        }
        halt(start.append("What now?")).unwrap();
        Self { engines, start, overlap, _place: place }
    }

    // A session of its own for a try.
    fn world(&self) -> World {
        let head = halt(self.start.info()).unwrap().head.unwrap();
        let fork = halt(self.start.fork(head, Sight::AsSeen, Opening::default())).unwrap();
        let other = halt(self.engines[1].resume(fork.id())).unwrap();
        World { sessions: [fork, other], said: Rc::default(), begun: Rc::default(), sent: Rc::default() }
    }

    // Ends everything that ledgers, other threads and the engines' own tasks have in hand.
    async fn settle(&self, world: &World) {
        self.overlap.steps.fetch_add(1, Ordering::SeqCst);
        for _ in 0..3 {
            for _ in 0..4 {
                tokio::task::yield_now().await;
            }
            for (engine, session) in self.engines.iter().zip(&world.sessions) {
                // Who writes and who reads takes one after the other: once these are answered, so are those before.
                let nobody =
                    Lease { session: session.id(), holder: "nobody".to_owned(), fence: 0, until: Time(0) };
                let _ = halt(engine.ledger().release_lease(engine.tenant(), nobody));
                halt(session.info()).unwrap();
            }
            halt(tokio::task::spawn_blocking(|| ())).unwrap();
        }
    }
}

/// A session in the hands of two processes, and what was seen of it.
struct World {
    sessions: [Session; 2],
    /// What somebody began to say, and what is known to be recorded.
    begun: Rc<RefCell<Vec<&'static str>>>,
    said: Rc<RefCell<Vec<&'static str>>>,
    sent: Rc<RefCell<Vec<Context>>>,
}

impl World {
    fn says(&self, by: usize, marks: &'static [&'static str]) -> impl Future<Output = ()> + 'static {
        let (session, begun, said) =
            (self.sessions[by].clone(), Rc::clone(&self.begun), Rc::clone(&self.said));
        async move {
            for mark in marks {
                begun.borrow_mut().push(mark);
                session.append(format!("<{mark}> {}", prose(mark.len(), 60)).as_str()).await.unwrap();
                said.borrow_mut().push(mark);
            }
        }
    }

    fn asks(&self, by: usize) -> impl Future<Output = ()> + 'static {
        let (session, sent) = (self.sessions[by].clone(), Rc::clone(&self.sent));
        async move {
            let context = session.context().await.unwrap();
            sent.borrow_mut().push(context);
        }
    }

    fn compacts(&self, by: usize) -> impl Future<Output = ()> + 'static {
        let session = self.sessions[by].clone();
        async move { drop(session.compact(Compact::now().within(Tokens(4_000))).await.unwrap()) }
    }

    fn undoes(&self, by: usize) -> impl Future<Output = ()> + 'static {
        let session = self.sessions[by].clone();
        async move {
            match session.undo(Undo::All, Run::Real).await {
                Ok(_) | Err(Error::NothingToUndo) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn compactions(&self) -> u64 {
        halt(self.sessions[0].info()).unwrap().compactions
    }

    // Whatever happened: what was said is there once, both see the same, and what was sent can be seen again.
    fn assert_whole(&self, way: &Way) {
        let length = halt(self.sessions[0].info()).unwrap().messages;
        let recorded = halt(self.sessions[0].messages(0..length)).unwrap();
        let bodies: Vec<String> =
            recorded.iter().map(|stored| String::from_utf8_lossy(&stored.body).into_owned()).collect();
        let times = |mark: &str| bodies.iter().filter(|body| body.contains(&format!("<{mark}>"))).count();
        for mark in self.begun.borrow().iter() {
            let known = self.said.borrow().contains(mark);
            assert!(times(mark) == 1 || times(mark) == 0 && !known, "{mark}: {} times, {way:?}", times(mark));
        }
        let place = |mark: &&str| bodies.iter().position(|body| body.contains(&format!("<{mark}>")));
        for author in ["a", "b"] {
            let said = self.said.borrow();
            let places: Vec<_> = said.iter().filter(|mark| mark.starts_with(author)).map(place).collect();
            assert!(places.is_sorted(), "{author} was recorded in another order, {way:?}");
        }
        for context in self.sent.take() {
            let seen = halt(self.sessions[0].view(context.turn.unwrap())).unwrap();
            assert_eq!(seen.to_json(), context.to_json(), "{way:?}");
        }
        for session in &self.sessions {
            // Whoever asks next must see the truth, whatever was at hand.
            halt(session.append("Still there?")).unwrap();
            let (seen, recorded) = (halt(session.peek()).unwrap(), halt(session.info()).unwrap());
            let fresh = halt(session.view(recorded.head.unwrap())).unwrap();
            assert_eq!(seen.to_json(), fresh.to_json(), "{way:?}");
            assert_fits(&seen, way);
        }
    }
}

// Who talks all at once does not take turns; everything else is as a provider wants it.
fn assert_fits(context: &Context, way: &Way) {
    let mut violations = check::check(Dialect::Anthropic, None, &context.decoded().unwrap());
    violations.retain(|found| found.rule != check::Rule::RolesDoNotAlternate);
    assert!(violations.is_empty(), "{violations:?}, {way:?}");
}

/// A thread that answers before it is asked twice makes a way shorter than it was; so often the same way is tried again.
const TRIES: usize = 5;

/// Tries every way, and returns how many there were.
fn explore(
    tokens: usize,
    interruptions: usize,
    actors: impl Fn(&World) -> Vec<Actor>,
    check: impl Fn(&World, &Way),
) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(1)
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let stage = Stage::set(tokens);
        let (mut ways, mut next) = (0, Some(Way::default()));
        while let Some(way) = next {
            let mut gone = Way::default();
            for _ in 0..TRIES {
                let world = stage.world();
                gone = go(actors(&world), &way, interruptions, async || stage.settle(&world).await).await;
                stage.settle(&world).await;
                world.assert_whole(&gone);
                check(&world, &gone);
                stage.overlap.assert_single(&gone);
                if gone.follows(&way) {
                    break;
                }
            }
            (ways, next) = (ways + 1, if gone.follows(&way) { gone.next() } else { way.next() });
        }
        assert_eq!(stage.overlap.most.load(Ordering::SeqCst), 1, "nobody compacted");
        let checkup = halt(stage.engines[0].ledger().doctor()).unwrap();
        assert!(checkup.findings.is_empty(), "{:?}", checkup.findings);
        ways
    })
}

/// Beyond the hard threshold of the window, and between the soft one and that.
const FULL: usize = 30_000;
const FILLING: usize = 23_000;

// Nothing to look at beside what always holds.
fn nothing_more(_: &World, _: &Way) {}

fn one_compaction(world: &World, way: &Way) {
    assert_eq!(world.compactions(), 1, "{way:?}");
}

#[test]
fn messages_arrive_while_somebody_compacts() {
    let actors =
        |world: &World| vec![Actor::steady(world.compacts(0)), Actor::steady(world.says(0, &["a1", "a2"]))];
    assert!(explore(FULL, 6, actors, one_compaction) > 20);
}

#[test]
fn of_two_who_find_the_window_full_one_compacts() {
    let actors = |world: &World| vec![Actor::steady(world.asks(0)), Actor::steady(world.asks(0))];
    assert!(explore(FULL, 8, actors, one_compaction) > 2);
}

#[test]
fn of_two_processes_that_find_the_window_full_one_compacts() {
    let actors = |world: &World| vec![Actor::steady(world.asks(0)), Actor::steady(world.asks(1))];
    assert!(explore(FULL, 3, actors, one_compaction) > 20);
}

#[test]
fn two_processes_speak_while_one_compacts() {
    let actors = |world: &World| {
        let compacting = world.compacts(0);
        let (first, second) = (world.says(0, &["a1"]), world.says(1, &["b1"]));
        vec![Actor::steady(compacting), Actor::steady(first), Actor::steady(second)]
    };
    assert!(explore(FULL, 2, actors, one_compaction) > 100);
}

#[test]
fn one_undoes_what_another_compacts() {
    let actors = |world: &World| {
        let (compacting, undoing) = (world.compacts(0), world.undoes(1));
        vec![Actor::steady(compacting), Actor::steady(undoing), Actor::steady(world.says(0, &["a1"]))]
    };
    assert!(explore(FULL, 2, actors, nothing_more) > 100);
}

#[test]
fn who_compacts_is_dropped_at_any_moment() {
    let actors = |world: &World| {
        let next = (world.says(0, &["a1"]), world.asks(0));
        let speaking = async move {
            next.0.await;
            next.1.await;
        };
        vec![Actor::fleeting(world.compacts(0)), Actor::steady(speaking)]
    };
    let compacted = |world: &World, way: &Way| {
        assert!(world.compactions() >= 1, "who asks finds it done or does it: {way:?}");
    };
    assert!(explore(FULL, 4, actors, compacted) > 30);
}

#[test]
fn who_speaks_or_asks_is_dropped_at_any_moment() {
    let actors = |world: &World| {
        let (speaking, asking) = (world.says(0, &["a1"]), world.asks(0));
        vec![Actor::fleeting(speaking), Actor::fleeting(asking)]
    };
    assert!(explore(FULL, 3, actors, nothing_more) > 30);
}

#[test]
fn a_summary_is_prepared_while_others_speak_and_compact() {
    let actors = |world: &World| {
        let (asking, again) = (world.asks(0), world.asks(0));
        let agent = async move {
            asking.await;
            again.await;
        };
        let others = (world.says(0, &["b1"]), world.compacts(1));
        let other = async move {
            others.0.await;
            others.1.await;
        };
        vec![Actor::steady(agent), Actor::steady(other)]
    };
    assert!(explore(FILLING, 3, actors, one_compaction) > 30);
}

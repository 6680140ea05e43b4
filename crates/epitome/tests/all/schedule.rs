//! A scheduler that tries every order in which tasks can take turns, up to a number of interruptions.
//!
//! Tasks are real futures, polled by hand. Each time one of them waits, all that is under way elsewhere is brought to its end,
//! and then one of those that could go on is chosen. Who went last goes on for nothing; to let somebody else go first, or to drop
//! a task that may be dropped, is an interruption. All choices are tried, one way after the other.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as Polling, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

/// Somebody who acts.
pub(crate) struct Actor {
    task: Option<Pin<Box<dyn Future<Output = ()>>>>,
    may_be_dropped: bool,
    woken: Arc<Flag>,
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Actor {
    /// Somebody who ends what was begun.
    pub(crate) fn steady(task: impl Future<Output = ()> + 'static) -> Self {
        let woken = Arc::new(Flag(AtomicBool::new(true)));
        let task = Some(Box::pin(tokio::task::unconstrained(task)) as Pin<Box<dyn Future<Output = ()>>>);
        Self { task, may_be_dropped: false, woken }
    }

    /// Somebody who may be gone at any moment.
    pub(crate) fn fleeting(task: impl Future<Output = ()> + 'static) -> Self {
        Self { may_be_dropped: true, ..Self::steady(task) }
    }

    fn is_ready(&self) -> bool {
        self.task.is_some() && self.woken.0.load(Ordering::SeqCst)
    }

    fn step(&mut self) {
        self.woken.0.store(false, Ordering::SeqCst);
        let waker = Waker::from(Arc::clone(&self.woken));
        let Some(task) = &mut self.task else { return };
        if task.as_mut().poll(&mut Polling::from_waker(&waker)).is_ready() {
            self.task = None;
        }
    }
}

/// What can be done next, and how many interruptions it costs.
#[derive(Clone, Copy)]
enum Choice {
    Step(usize, usize),
    Drop(usize),
}

fn choices(actors: &[Actor], last: Option<usize>, left: usize) -> Vec<Choice> {
    let ready = |who: &usize| actors[*who].is_ready();
    let goes_on = last.filter(ready);
    let price = usize::from(goes_on.is_some());
    let others = (0..actors.len()).filter(ready).filter(|who| Some(*who) != goes_on);
    let mut choices: Vec<Choice> = goes_on.into_iter().map(|who| Choice::Step(who, 0)).collect();
    if price <= left {
        choices.extend(others.map(|who| Choice::Step(who, price)));
    }
    if left > 0 {
        let here = |who: &usize| actors[*who].may_be_dropped && actors[*who].task.is_some();
        choices.extend((0..actors.len()).filter(here).map(Choice::Drop));
    }
    choices
}

/// A way through the choices: which were taken, and of how many.
#[derive(Clone, Debug, Default)]
pub(crate) struct Way(Vec<(usize, usize)>);

impl Way {
    /// Whether it begins with the choices of another.
    pub(crate) fn follows(&self, other: &Way) -> bool {
        self.0.starts_with(&other.0)
    }

    /// The next one that was not gone yet.
    pub(crate) fn next(mut self) -> Option<Self> {
        while let Some((taken, of)) = self.0.pop() {
            if taken + 1 < of {
                self.0.push((taken + 1, of));
                return Some(self);
            }
        }
        None
    }
}

/// How long everybody may wait for somebody, in steps of [`PAUSE`]: longer than any lease or time-out.
const PAUSES: usize = 4_000;
/// How far time goes on when nobody can.
const PAUSE: Duration = Duration::from_millis(50);

/// Goes one way: takes the choices that it holds, and the first one each time after them. `settle` ends what is under way elsewhere.
/// Returns the way that was gone.
pub(crate) async fn go(
    mut actors: Vec<Actor>,
    way: &Way,
    interruptions: usize,
    settle: impl AsyncFn(),
) -> Way {
    let (mut gone, mut last, mut left, mut pauses) = (Way::default(), None, interruptions, 0);
    loop {
        settle().await;
        let choices = choices(&actors, last, left);
        if choices.is_empty() {
            if actors.iter().all(|actor| actor.task.is_none()) {
                return gone;
            }
            pauses += 1;
            assert!(pauses < PAUSES, "everybody waits for somebody: {gone:?}");
            tokio::time::advance(PAUSE).await;
            continue;
        }
        pauses = 0;
        let at = way.0.get(gone.0.len()).map_or(0, |(at, _)| *at).min(choices.len() - 1);
        gone.0.push((at, choices.len()));
        match choices[at] {
            Choice::Step(who, price) => {
                (last, left) = (Some(who), left - price);
                actors[who].step();
            }
            Choice::Drop(who) => {
                left -= 1;
                actors[who].task = None;
            }
        }
    }
}

/// Has the whole thread wait, and time with it, which would go on if the runtime rested. What is waited for happens on other threads.
pub(crate) fn halt<T>(work: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut work = pin!(tokio::task::unconstrained(work));
    loop {
        match work.as_mut().poll(&mut Polling::from_waker(&waker)) {
            Poll::Ready(done) => return done,
            Poll::Pending => thread::park(),
        }
    }
}

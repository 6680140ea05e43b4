//! Work on many things at once with the results in order: bounded, so that one slow thing does not fill the memory with
//! the results of all that follow it.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

/// How many results of one thing wait for their turn.
const RESULTS_AHEAD: usize = 8;

/// How many things are begun before the oldest of them is handed over, for each worker.
const THINGS_AHEAD: usize = 2;

/// Calls `work` with every thing on `workers` threads, and `sink` with what it sends, in the order of the things.
///
/// `work` sends any number of results; sending answers whether anyone still listens. An error of `sink` ends it all.
pub(crate) fn in_order<T: Sync, R: Send>(
    things: &[T],
    workers: usize,
    work: impl Fn(&T, &dyn Fn(R) -> bool) + Sync,
    mut sink: impl FnMut(&T, R) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    // Each thing has a channel of its own. The channels queue up in the order of the things, and the queue is short.
    let (queue, lanes) = mpsc::sync_channel::<(&T, mpsc::Receiver<R>)>(workers * THINGS_AHEAD);
    // Only workers hold the queue's end: when the last of them is gone, for whatever reason, the queue is over.
    let next = Arc::new(Mutex::new((things.iter(), queue)));
    let work = &work;
    thread::scope(|scope| {
        for _ in 0..workers {
            let next = Arc::clone(&next);
            scope.spawn(move || {
                let begin = || {
                    // Whoever waits for room in the queue may keep the lock: there is nothing to begin for anyone.
                    let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
                    let thing = next.0.next()?;
                    let (sender, results) = mpsc::sync_channel(RESULTS_AHEAD);
                    next.1.send((thing, results)).ok().map(|()| (thing, sender))
                };
                while let Some((thing, sender)) = begin() {
                    work(thing, &|result| sender.send(result).is_ok());
                }
            });
        }
        drop(next);
        let mut hand_over = |(thing, results): (&T, mpsc::Receiver<R>)| {
            results.iter().try_for_each(|result| sink(thing, result))
        };
        let outcome = lanes.iter().try_for_each(&mut hand_over);
        // Workers that still wait for room must learn that nobody listens before they are waited for.
        drop(lanes);
        outcome
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn results_come_in_order_and_workers_do_not_run_far_ahead() {
        let things: Vec<usize> = (0..500).collect();
        let workers = 4;
        // Those that queue, the one being handed over, and those that wait for room.
        let most = workers * THINGS_AHEAD + 1 + workers;
        let begun = AtomicUsize::new(0);
        let ahead = || begun.load(Ordering::SeqCst);
        let mut seen = Vec::new();
        in_order(
            &things,
            workers,
            |thing, send| {
                begun.fetch_add(1, Ordering::SeqCst);
                // The first is slow: it ends when the others cannot get any further, and some time after that.
                while *thing == 0 && ahead() < workers * THINGS_AHEAD {
                    thread::yield_now();
                }
                for _ in 0..if *thing == 0 { 10_000 } else { 0 } {
                    thread::yield_now();
                }
                send(*thing * 2);
                send(*thing * 2 + 1);
            },
            |thing, result| {
                assert!(ahead() <= thing + most, "{} begun at {thing}", ahead());
                seen.push(result);
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(seen, (0..1_000).collect::<Vec<_>>());
    }

    #[test]
    fn a_failing_sink_ends_the_work() {
        let things: Vec<usize> = (0..500).collect();
        let begun = AtomicUsize::new(0);
        let work = |_: &usize, send: &dyn Fn(usize) -> bool| {
            begun.fetch_add(1, Ordering::SeqCst);
            while send(1) {}
        };
        let outcome = in_order(&things, 3, work, |_, _| anyhow::bail!("full"));
        assert_eq!(outcome.unwrap_err().to_string(), "full");
        assert!(begun.into_inner() < 20);
    }
}

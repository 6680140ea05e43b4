//! Small things that nobody waits for, but that are done before an engine is closed, one after the other as they come up.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::watch;

type Errand = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What is still to be done. Clones are the same list.
#[derive(Clone, Default)]
pub(crate) struct Errands(Arc<List>);

#[derive(Default)]
struct List {
    waiting: Mutex<VecDeque<Errand>>,
    /// Whether somebody is at it; changed only by who holds the list.
    is_run: watch::Sender<bool>,
}

impl Errands {
    /// Has something done soon. Where no runtime is left to do it, it is not done.
    pub(crate) fn run(&self, errand: impl Future<Output = ()> + Send + 'static) {
        let Ok(runtime) = Handle::try_current() else { return };
        self.with(|waiting| waiting.push_back(Box::pin(errand)));
        self.begin(&runtime);
    }

    /// Waits until everything is done.
    pub(crate) async fn finish(&self) {
        loop {
            // The sender lives as long as this does.
            let _ = self.0.is_run.subscribe().wait_for(|is_run| !is_run).await;
            if self.with(|waiting| waiting.is_empty()) {
                return;
            }
            // Whoever was at it went down with its runtime, or with an errand.
            self.begin(&Handle::current());
        }
    }

    fn begin(&self, runtime: &Handle) {
        let is_run = self.with(|_| self.0.is_run.send_replace(true));
        if is_run {
            return;
        }
        let mut runner = Runner { errands: self.clone(), is_done: false };
        runtime.spawn(async move {
            while let Some(errand) = runner.next() {
                errand.await;
            }
        });
    }

    fn with<T>(&self, work: impl FnOnce(&mut VecDeque<Errand>) -> T) -> T {
        work(&mut self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whoever is at it, until there is nothing left to do.
struct Runner {
    errands: Errands,
    is_done: bool,
}

impl Runner {
    // Whoever finds nothing more to do says so before anybody can add to it.
    fn next(&mut self) -> Option<Errand> {
        let Self { errands, is_done } = self;
        errands.with(|waiting| {
            let next = waiting.pop_front();
            if next.is_none() {
                *is_done = true;
                errands.0.is_run.send_replace(false);
            }
            next
        })
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        if !self.is_done {
            self.errands.0.is_run.send_replace(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn errands_are_done_in_their_order_and_before_the_end() {
        let errands = Errands::default();
        let done = Arc::new(Mutex::new(Vec::new()));
        for number in 0..20 {
            let done = Arc::clone(&done);
            errands.run(async move {
                // Those that came up first take longest.
                for _ in number..20 {
                    tokio::task::yield_now().await;
                }
                done.lock().unwrap().push(number);
            });
        }
        errands.finish().await;
        assert_eq!(*done.lock().unwrap(), (0..20).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn one_that_panics_takes_no_other_with_it() {
        let errands = Errands::default();
        let done = Arc::new(Mutex::new(false));
        errands.run(async { panic!("on purpose") });
        errands.run({
            let done = Arc::clone(&done);
            async move { *done.lock().unwrap() = true }
        });
        errands.finish().await;
        assert!(*done.lock().unwrap());
    }
}

//! Small things that nobody waits for, but that are done before an engine is closed.

use std::sync::{Mutex, PoisonError};

use tokio::runtime::Handle;
use tokio::task::JoinSet;

/// What is still to be done.
#[derive(Default)]
pub(crate) struct Errands(Mutex<JoinSet<()>>);

impl Errands {
    /// Has something done soon. Where no runtime is left to do it, it is not done.
    pub(crate) fn run(&self, errand: impl Future<Output = ()> + Send + 'static) {
        let Ok(runtime) = Handle::try_current() else { return };
        let mut errands = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while errands.try_join_next().is_some() {}
        errands.spawn_on(errand, &runtime);
    }

    /// Waits until everything is done.
    pub(crate) async fn finish(&self) {
        let mut errands = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        while errands.join_next().await.is_some() {}
    }
}

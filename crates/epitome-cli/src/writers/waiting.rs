//! A thread that waits for answers while those who asked are blocked.

use std::thread::JoinHandle;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// The thread. It ends when this is dropped.
pub(super) struct Waiting {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Waiting {
    /// Starts it.
    pub(super) fn begin() -> anyhow::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let wait = move || {
            // Whether the word is given or nobody is left to give it, it is over.
            let _ = runtime.block_on(stopped);
        };
        let thread = std::thread::Builder::new().name("answers".to_owned()).spawn(wait)?;
        Ok(Self { handle, stop: Some(stop), thread: Some(thread) })
    }

    /// Does something that looks for who waits.
    pub(super) fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        let _entered = self.handle.enter();
        work()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It cannot panic where nothing runs on it but waiting.
            let _ = thread.join();
        }
    }
}

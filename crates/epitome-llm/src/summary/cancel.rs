//! Telling a summary that is being written that nobody wants it any more.

use std::sync::Arc;

use tokio::sync::watch;

/// A word that ends what waits for it. Clones share it.
#[derive(Clone, Debug)]
pub struct Cancel(Arc<watch::Sender<bool>>);

impl Default for Cancel {
    fn default() -> Self {
        Self(Arc::new(watch::channel(false).0))
    }
}

impl Cancel {
    /// Ends everything that listens, now and later.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// Whether the word was given.
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    pub(super) async fn cancelled(&self) {
        let mut said = self.0.subscribe();
        // The sender lives as long as this does.
        let _ = said.wait_for(|said| *said).await;
    }
}

//! Who writes the summaries of a compaction: the offline one, or a user's own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use epitome_core::Tokens;
use epitome_core::compact::{Summarizer, SummaryError, SummaryRequest};

/// A summariser that can be handed to another thread.
type Shared = Box<dyn Summarizer + Send>;

/// Makes a summariser for each compaction; none where summaries are written offline.
#[derive(Clone, Default)]
pub(crate) struct Summarizers(Option<Arc<dyn Fn() -> Shared + Send + Sync>>);

impl Summarizers {
    /// Clones of this one.
    pub(crate) fn of(summarizer: impl Summarizer + Clone + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(move || Box::new(summarizer.clone()))))
    }

    /// Whether there is one of the user's own.
    pub(crate) fn are_own(&self) -> bool {
        self.0.is_some()
    }

    /// One more, where there is one of the user's own.
    pub(crate) fn another(&self) -> Option<Shared> {
        self.0.as_ref().map(|make| make())
    }
}

/// A summariser that may panic.
pub(crate) struct Guarded<'a>(pub(crate) &'a mut dyn Summarizer);

impl Summarizer for Guarded<'_> {
    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        // One of the user's own that panics has failed like any other.
        catch_unwind(AssertUnwindSafe(|| self.0.summarize(request)))
            .unwrap_or_else(|_| Err(SummaryError("the summariser panicked".to_owned())))
    }

    fn is_mechanical(&self) -> bool {
        self.0.is_mechanical()
    }

    fn recent(&mut self, from: usize, budget: Tokens) -> Option<Tokens> {
        self.0.recent(from, budget)
    }
}

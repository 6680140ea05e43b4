//! Deciding and writing: what the core does with a picture, off the threads that serve everybody.

use std::sync::Arc;
use std::time::Duration;

use epitome_core::compact::{self, Compaction, Preview, Report, Request, Segment, Summarizer, Telling, view};
use epitome_core::digest::Digest;
use epitome_core::loss::{self, Loss};
use epitome_core::prune::Count;
use epitome_core::settings::Settings;
use epitome_core::tokens::Counter;
use epitome_core::{Message, Tokens, events};
use epitome_llm::summary::{self, Purse};

use super::ask::Compact;
use super::picture::Picture;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::scribe::{Asked, Tab};
use crate::session::{Session, place};
use crate::summarizer::Guarded;

/// A picture and what is asked of it.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) engine: Engine,
    session: Session,
    /// What the log says of the session.
    span: tracing::Span,
    pub(crate) picture: Arc<Picture>,
    pub(crate) ask: Compact,
    /// Messages to be kept beside those that are pinned.
    pub(crate) pins: Vec<usize>,
    /// Whether models, and the summariser and the strategy of the user's own are left aside.
    plain: bool,
    /// How the model is asked, where one is.
    model: Option<Asked>,
}

/// What was written.
pub(crate) struct Written {
    pub(crate) compaction: Option<Compaction>,
    pub(crate) report: Report,
    pub(crate) loss: Option<Loss>,
    /// What went wrong on the way.
    pub(crate) notes: Vec<String>,
    /// What became of the summaries that a model was asked for.
    pub(crate) summaries: Vec<summary::Written>,
    /// What asking it cost.
    pub(crate) tab: Option<Tab>,
}

impl Written {
    // Whether anything of it is told by a summary.
    fn is_told(&self) -> bool {
        let segments = self.compaction.iter().flat_map(|compaction| &compaction.segments);
        segments.into_iter().any(|segment| matches!(segment, Segment::Summary { .. }))
    }
}

impl Case {
    pub(crate) fn new(session: &Session, picture: Picture, ask: &Compact) -> Self {
        Self {
            engine: session.engine.clone(),
            session: session.clone(),
            span: session.span(),
            picture: Arc::new(picture),
            ask: ask.clone(),
            pins: Vec::new(),
            plain: ask.offline,
            model: None,
        }
    }

    /// What would be done.
    pub(crate) async fn preview(&self) -> Result<Preview> {
        match self.previewed().await {
            Err(Error::Interrupted(why)) if self.has_own() => {
                self.told(&why);
                self.without_own().previewed().await
            }
            preview => preview,
        }
    }

    async fn previewed(&self) -> Result<Preview> {
        let case = self.clone();
        blocking(self.span.clone(), move || {
            case.with(|picture, request, summarizer, counter| {
                compact::dry_run(&picture.path, &picture.messages, request, summarizer, counter)
            })
        })
        .await
    }

    /// Does it, and checks what it came to. Strategies and summarisers of the user's own that panic or take too long give way to ours.
    pub(crate) async fn write(&self, purse: &Purse) -> Result<Written> {
        if !self.has_own() {
            return self.written().await;
        }
        let tab = Tab::open(&self.session, purse);
        let (model, busy) = match Asked::of(&self.session, &self.picture, &tab).await {
            Ok(model) => (model, None),
            Err(busy) => (None, Some(busy)),
        };
        let asking = Self { model, ..self.clone() };
        // Whoever does not wait any longer has nothing asked any longer.
        let _ends = asking.model.as_ref().map(Asked::ends);
        let patience = self.patience();
        let why = tokio::select! {
            biased;
            written = asking.written() => match written {
                Err(Error::Interrupted(why)) => why,
                written => return written.map(|mut written| {
                    if let Some(busy) = busy.filter(|_| written.is_told()) {
                        tracing::warn!(target: events::COMPACT, %busy, "the offline summariser takes over");
                        written.notes.push(format!("offline: {busy}"));
                    }
                    Written { tab: Some(tab), ..written }
                }),
            },
            () = self.engine.0.waits.sleep(patience) => {
                format!("no summary came within {} s", patience.as_secs_f64())
            }
        };
        let mut written = self.without_own().written().await?;
        written.summaries = asking.model.map(|model| model.heard()).unwrap_or_default();
        written.notes.push(self.told(&why));
        Ok(Written { tab: Some(tab), ..written })
    }

    // How long summaries may take.
    fn patience(&self) -> Duration {
        let inner = &self.engine.0;
        match &inner.scribe {
            Some(scribe) if !self.ask.patient => scribe.patience,
            // The model's time is over before.
            Some(scribe) => scribe.longest.saturating_add(scribe.patience),
            None => inner.summary_timeout,
        }
    }

    // Whether anything in it is of the user's own.
    fn has_own(&self) -> bool {
        let inner = &self.engine.0;
        !self.plain && (inner.strategy.is_some() || inner.summarizers.are_own() || inner.scribe.is_some())
    }

    fn without_own(&self) -> Self {
        Self { plain: true, ..self.clone() }
    }

    fn told(&self, why: &str) -> String {
        tracing::warn!(target: events::COMPACT, why, "the offline summariser and the strategy of the settings take over");
        format!("offline, by the strategy of the settings: {why}")
    }

    async fn written(&self) -> Result<Written> {
        let case = self.clone();
        blocking(self.span.clone(), move || {
            case.with(|picture, request, summarizer, counter| {
                let Picture { path, messages, .. } = picture;
                let compact::Compacted { compaction, report } =
                    compact::compact(path, messages, request, summarizer, counter);
                let check = |compaction: &Compaction| {
                    let seen = view(compaction, path, messages, place(case.engine.0.dialect));
                    loss::of(compaction, &seen, path, messages, &[])
                };
                let hides = |compaction: &&Compaction| {
                    compaction.segments.iter().any(|segment| !matches!(segment, Segment::Verbatim { .. }))
                };
                let loss = compaction.as_ref().filter(hides).map(check);
                let summaries = case.model.as_ref().map(|model| model.heard()).unwrap_or_default();
                Written { compaction, report, loss, notes: Vec::new(), summaries, tab: None }
            })
        })
        .await
    }

    fn with<T>(
        &self,
        work: impl FnOnce(&Picture, &Request<'_>, &mut dyn Summarizer, &Counted<'_>) -> T,
    ) -> T {
        let (inner, picture) = (&self.engine.0, &*self.picture);
        let settings = self.settings();
        let mut pins: Vec<usize> =
            picture.pins.iter().chain(&self.pins).copied().chain(picture.preamble.clone()).collect();
        pins.sort_unstable();
        pins.dedup();
        let request = Request {
            strategy: inner
                .strategy
                .as_deref()
                .filter(|_| self.ask.strategy.is_none() && !self.plain)
                .map(|own| own as _),
            occasion: self.ask.occasion,
            budget: self.ask.budget,
            window: Some(picture.window),
            marks: Some(picture.marks()),
            outside: picture.outside,
            pins: &pins,
            seals: &picture.seals,
            previous: picture.previous.as_deref(),
            stakes: picture.stakes,
            thinking: picture.thinking,
            instructions: self.ask.instructions.as_deref(),
            telling: Telling::WhenRecorded,
            ..Request::new(&settings)
        };
        let counted = Counted(&inner.counter);
        let count = |text: &str| counted.text(text);
        let mut digest =
            Digest::new(&picture.path, &picture.messages, &count).masking(settings.compact.mask_secrets);
        let mut model = self.model.as_ref().map(|model| model.summarizer.clone());
        let mut own: Box<dyn Summarizer> = match (inner.summarizers.another(), &mut model) {
            (Some(own), _) if !self.plain => own,
            (None, Some(model)) if !self.plain => Box::new(model.beside_path(&mut digest, &picture.messages)),
            _ => Box::new(digest),
        };
        work(picture, &request, &mut Guarded(&mut *own), &counted)
    }

    fn settings(&self) -> Settings {
        let mut settings = self.engine.0.settings.clone();
        if let Some(strategy) = self.ask.strategy {
            settings.compact.strategy = strategy;
            // Who names a strategy means it.
            settings.compact.compaction_enabled = true;
        }
        settings
    }
}

/// Counts texts in the unit of every budget.
pub(crate) struct Counted<'c>(&'c Counter);

impl Count for Counted<'_> {
    fn text(&self, text: &str) -> Tokens {
        self.0.text(text)
    }
}

/// The messages of a preview that would no longer be shown as they are, with their numbers.
pub(crate) fn compacted(preview: &Preview, picture: &Picture) -> Vec<(u64, Message)> {
    let changed = preview.report.segments.iter().filter(|stretch| stretch.kind != "verbatim");
    let hidden_before = |at: usize| {
        let previous = picture.previous.as_deref();
        previous.is_some_and(|previous| {
            previous.segments.iter().any(|segment| {
                matches!(segment, Segment::Summary { .. } | Segment::Omitted { .. })
                    && segment.range().contains(&at)
            })
        })
    };
    let numbers = changed.flat_map(|stretch| stretch.range.clone()).filter(|at| !hidden_before(*at));
    numbers.filter_map(|at| Some((at as u64, picture.messages.get(at)?.clone()))).collect()
}

// On a thread of its own, which does not know by itself whose work it does.
async fn blocking<T: Send + 'static>(
    span: tracing::Span,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let work = move || span.in_scope(work);
    tokio::task::spawn_blocking(work).await.map_err(|stopped| Error::Interrupted(stopped.to_string()))
}

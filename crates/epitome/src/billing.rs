//! What models bill: learnt from usage, kept in the ledger, so that an engine starts from what the ones before it learnt.
//!
//! Nobody waits for it to be kept. A model's first lessons change most, so they are kept at once and later ones by the dozen;
//! what a process that is killed takes with it is learnt again in a few calls.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use epitome_core::calibrate::{Calibration, Gauge, ModelCalibration, Verdict};
use epitome_core::{Outline, Usage};
use epitome_ledger::model::Memo;
use epitome_ledger::{LedgerError, Paging};
use tokio::task::JoinHandle;

use crate::engine::{Engine, Inner};

/// The scope of the memos that hold it, each under the name of its model.
const SCOPE: &str = "calibration";
/// Beyond so many lessons, every so many are kept together.
const TOGETHER: u64 = 16;
/// So many memos are read at once.
const CHUNK: usize = 500;

/// What is known of how models bill.
#[derive(Default)]
pub(crate) struct Billing {
    calibration: Mutex<Calibration>,
    lessons: Mutex<BTreeMap<String, Lessons>>,
    saving: Mutex<Option<JoinHandle<()>>>,
}

/// How much of a model was learnt here, and how much of that is kept.
#[derive(Clone, Copy, Default)]
struct Lessons {
    learnt: u64,
    kept: u64,
}

impl Billing {
    /// What is known now.
    pub(crate) fn known(&self) -> MutexGuard<'_, Calibration> {
        lock(&self.calibration)
    }

    /// Tokens that a model bills for a token counted.
    pub(crate) fn ratio(&self, model: &str) -> f64 {
        self.known().of(model).ratio()
    }

    /// Learns from what a call was billed.
    pub(crate) fn observe(&self, gauge: &mut Gauge, model: &str, usage: &Usage, reply: &Outline) -> Verdict {
        let verdict = gauge.observe(&mut self.known(), model, usage, reply);
        if verdict == Verdict::Learned {
            let mut lessons = lock(&self.lessons);
            match lessons.get_mut(model) {
                Some(lessons) => lessons.learnt += 1,
                None => drop(lessons.insert(model.to_owned(), Lessons { learnt: 1, kept: 0 })),
            }
        }
        verdict
    }

    /// Whether enough was learnt of a model to be kept.
    pub(crate) fn is_due(&self, model: &str) -> bool {
        let learnt = lock(&self.lessons).get(model).map_or(0, |lessons| lessons.learnt);
        if learnt < TOGETHER { learnt.is_power_of_two() } else { learnt.is_multiple_of(TOGETHER) }
    }

    /// Reads what others learnt before.
    pub(crate) async fn load(&self, inner: &Inner) {
        let mut paging = Paging::first(CHUNK);
        loop {
            let page = match inner.ledger.memos(inner.tenant, SCOPE, paging).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(%error, "what was learnt of models cannot be read; estimates start anew");
                    return;
                }
            };
            for (model, known) in page.items.iter().filter_map(read) {
                self.known().put(model, known);
            }
            match page.next {
                Some(next) => paging = Paging::after(next, CHUNK),
                None => return,
            }
        }
    }

    /// Has what was learnt kept, without anybody waiting for it. If that is going on already, it waits for the next time.
    pub(crate) fn save_soon(&self, engine: &Engine) {
        let mut saving = lock(&self.saving);
        if saving.as_ref().is_none_or(JoinHandle::is_finished) {
            let engine = engine.clone();
            *saving = Some(tokio::spawn(async move { engine.0.billing.save(&engine.0).await }));
        }
    }

    /// Keeps what is not kept yet.
    pub(crate) async fn finish(&self, inner: &Inner) {
        let saving = lock(&self.saving).take();
        if let Some(saving) = saving {
            // If it failed, what it was to keep is still to be kept.
            let _ = saving.await;
        }
        self.save(inner).await;
    }

    async fn save(&self, inner: &Inner) {
        let unkept: Vec<(String, u64)> = lock(&self.lessons)
            .iter()
            .filter(|(model, lessons)| lessons.learnt > lessons.kept && !model.is_empty())
            .map(|(model, lessons)| (model.clone(), lessons.learnt))
            .collect();
        for (model, learnt) in unkept {
            match self.save_model(inner, &model).await {
                Ok(()) => {
                    if let Some(lessons) = lock(&self.lessons).get_mut(&model) {
                        lessons.kept = learnt;
                    }
                }
                Err(error) => tracing::warn!(%error, model, "what was learnt of a model is not kept"),
            }
        }
    }

    // Of two engines that learnt of the same model, the one that learnt more is believed by both.
    async fn save_model(&self, inner: &Inner, model: &str) -> Result<(), LedgerError> {
        let samples = |known: &ModelCalibration| known.confidence().samples;
        let theirs = inner.ledger.memo(inner.tenant, SCOPE, model).await?;
        let theirs = theirs.as_ref().and_then(read).map(|(_, theirs)| theirs);
        let ours = {
            let mut known = self.known();
            let ours = known.of(model);
            match theirs {
                Some(theirs) if samples(&theirs) > samples(&ours) => {
                    known.put(model, theirs);
                    return Ok(());
                }
                _ => ours,
            }
        };
        let Ok(value) = serde_json::to_string(&ours) else { return Ok(()) };
        inner.ledger.put_memo(inner.tenant, SCOPE, model, value).await?;
        Ok(())
    }
}

fn read(memo: &Memo) -> Option<(String, ModelCalibration)> {
    match serde_json::from_str(&memo.value) {
        Ok(known) => Some((memo.name.clone(), known)),
        Err(error) => {
            let model = memo.name.as_str();
            tracing::warn!(%error, model, "what was learnt of a model cannot be read; estimates start anew");
            None
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

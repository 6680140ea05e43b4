//! Committing: a compaction that was prepared on some state of a session becomes its next turn, if it still fits there.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use epitome_core::compact::{Compaction, Report};
use epitome_core::loss::Loss;
use epitome_core::prune::ThinkingRule;
use epitome_core::{BlockKind, Entry, Role, Tokens};
use epitome_ledger::LedgerError;
use epitome_ledger::model::{NewCompaction, TurnId};
use epitome_llm::knowledge::Learnt;
use epitome_llm::summary::{self, Spent};
use serde_json::{Value, json};

use super::outcome::{Saves, dropped};
use super::picture::Picture;
use crate::error::{Error, Result};
use crate::scribe::{Tab, Unused, spent_json, summaries_json};
use crate::session::{Session, Shown, Warm};

/// How often a commit is tried again on top of what others appended meanwhile.
const TRIES: usize = 64;

/// A compaction that is ready to be recorded.
pub(crate) struct Prepared {
    pub(crate) id: TurnId,
    pub(crate) picture: Arc<Picture>,
    pub(crate) compaction: Compaction,
    pub(crate) report: Report,
    pub(crate) loss: Option<Loss>,
    /// What it saves with each call from now on.
    pub(crate) saves: Option<Saves>,
    pub(crate) trigger: String,
    pub(crate) notes: Vec<String>,
    /// The turn, by its number, of the compaction that stands in until this one is recorded.
    pub(crate) stand_in: Option<u64>,
    /// What a model found worth knowing in what it hides, where one was asked.
    pub(crate) learnt: Option<Lesson>,
    /// What its summaries were told to mind, where any were written for it.
    pub(crate) minded: Option<Minded>,
    /// What became of the summaries that a model was asked for.
    pub(crate) summaries: Vec<summary::Written>,
    /// What asking it cost.
    pub(crate) tab: Option<Tab>,
    /// Whether it was made for later, when the model has seen what is new by now.
    pub(crate) is_ahead: bool,
}

/// What a model found worth knowing, and what asking it cost.
pub(crate) struct Lesson {
    pub(crate) learnt: Learnt,
    pub(crate) tab: Tab,
}

/// What the summaries of a compaction were told to mind.
pub(crate) struct Minded {
    /// What the session says.
    pub(crate) of_session: Option<String>,
    /// That, and what was said of this compaction alone.
    pub(crate) all: Option<String>,
}

/// What a compaction is about to hide.
pub(crate) struct Hidden {
    /// The turn that will record it.
    pub(crate) by: TurnId,
    pub(crate) picture: Arc<Picture>,
    pub(crate) ranges: Vec<Range<usize>>,
}

// A compaction that reaches to the end of its session.
struct Grown {
    compaction: Compaction,
    // What came while it was prepared.
    arrived: Tokens,
    // What it takes away beyond what was prepared.
    removed: Tokens,
}

/// What became of it.
pub(crate) enum Committed {
    /// It was recorded.
    Done,
    /// The session is no longer what it was prepared for.
    Stale,
}

impl Prepared {
    /// Whether the session went on from what it was prepared for, and nothing else happened but for what stood in for it.
    pub(crate) fn fits(&self, warm: &Warm) -> bool {
        let covered = self.compaction.covered() as u64;
        let is_base = warm.base() == self.picture.base || self.replaces(warm);
        is_base && warm.length >= covered && !self.orphans(warm, covered)
    }

    /// Whether it was made for later and that has not come yet: it changes what the model has still not seen, because its last call failed.
    pub(crate) fn is_early(&self, warm: &Warm) -> bool {
        let covered = self.compaction.covered() as u64;
        let is_reply = |shown: &Shown| shown.ordinal >= covered && shown.outline.role == Role::Assistant;
        self.is_ahead
            && self.compaction.touches_unseen(&self.picture.path)
            && !warm.shown.iter().any(is_reply)
    }

    /// Whether it would take the place of what stood in for it.
    pub(crate) fn replaces(&self, warm: &Warm) -> bool {
        self.stand_in.is_some() && warm.base() == self.stand_in
    }

    /// What it is about to hide.
    pub(crate) fn hidden(&self) -> Hidden {
        let place = |ordinal: u64| usize::try_from(ordinal).unwrap_or(usize::MAX);
        let dropped = dropped(&self.compaction, self.picture.previous.as_deref());
        let ranges = dropped.iter().map(|range| place(range.start)..place(range.end)).collect();
        Hidden { by: self.id, picture: Arc::clone(&self.picture), ranges }
    }

    /// What its summaries cost; nothing where no model was asked.
    pub(crate) fn spent(&self) -> Option<Spent> {
        self.tab.as_ref().and_then(Tab::spent)
    }

    // What it cost is recorded.
    fn settle(&self) {
        let lesson = self.learnt.as_ref().map(|lesson| &lesson.tab);
        self.tab.iter().chain(lesson).for_each(Tab::settle);
    }

    /// Whether nothing is gained by it.
    pub(crate) fn is_vain(&self) -> bool {
        self.report.tokens_after >= self.report.tokens_before
    }

    // Whether it knew everything that is pinned and sealed.
    fn minds(&self, (pins, seals): &(Vec<usize>, Vec<usize>)) -> bool {
        self.picture.pins == *pins && self.picture.seals == *seals
    }

    // Whether a result arrived meanwhile whose call would not be shown.
    fn orphans(&self, warm: &Warm, covered: u64) -> bool {
        let blocks = |shown: &Shown, kind: BlockKind| -> Vec<String> {
            let of_kind = shown.outline.blocks.iter().filter(|block| block.kind == kind);
            of_kind.filter_map(|block| Some(block.tool.as_ref()?.id.clone())).collect()
        };
        let arrived: Vec<&Shown> = warm.shown.iter().filter(|shown| shown.ordinal >= covered).collect();
        let mut calls: HashSet<String> =
            arrived.iter().flat_map(|shown| blocks(shown, BlockKind::ToolUse)).collect();
        for segment in self.compaction.segments.iter().filter(|segment| segment.is_shown()) {
            let range = segment.range().start as u64..segment.range().end as u64;
            calls.extend(
                self.picture.read.range(range).flat_map(|(_, shown)| blocks(shown, BlockKind::ToolUse)),
            );
        }
        let results = arrived.iter().flat_map(|shown| blocks(shown, BlockKind::ToolResult));
        results.into_iter().any(|id| !calls.contains(&id))
    }

    // The same for the session as it is by now. Thinking that is bound to what was sent before goes, also where it came meanwhile.
    fn grown(&self, warm: &Warm) -> Grown {
        let covered = self.compaction.covered() as u64;
        let arrived = || warm.shown.iter().filter(|shown| shown.ordinal >= covered);
        let tokens = arrived().map(|shown| shown.outline.tokens).sum();
        let grown = self.compaction.clone().reaching(usize::try_from(warm.length).unwrap_or(usize::MAX));
        if self.picture.thinking == ThinkingRule::Free {
            return Grown { compaction: grown, arrived: tokens, removed: Tokens::ZERO };
        }
        let entry = |shown: &Shown| Entry { outline: Arc::clone(&shown.outline), time: shown.time };
        let path: Vec<Entry> = self.picture.path.iter().cloned().chain(arrived().map(entry)).collect();
        let in_force = warm.compaction.as_ref().map(|(_, compaction)| compaction.as_ref());
        let before = grown.tokens_removed(&path);
        let compaction = grown.unbound(in_force, &path);
        let removed = compaction.tokens_removed(&path) - before;
        Grown { compaction, arrived: tokens, removed }
    }

    fn record(&self, warm: &Warm, unused: &Unused) -> NewCompaction {
        let Grown { compaction, arrived, removed } = self.grown(warm);
        let Report { strategy, fixed, tokens_before, tokens_after, .. } = self.report;
        // What is recorded is counted, not estimated.
        let fixed = fixed - (self.picture.outside - self.picture.beside);
        NewCompaction {
            id: self.id,
            compaction,
            strategy: strategy.to_owned(),
            trigger: self.trigger.clone(),
            tokens_before: fixed + tokens_before + arrived,
            tokens_after: fixed + tokens_after + arrived - removed,
            report: Some(self.account(unused).to_string()),
            model: self.writer(),
            time: None,
        }
    }

    // The model that wrote a summary of it, the last one where several did.
    fn writer(&self) -> Option<String> {
        let by_model = self.summaries.iter().rev().filter(|written| written.rung != summary::Rung::Offline);
        by_model.filter_map(|written| written.model.clone()).next()
    }

    // Everything that is said of it later on.
    fn account(&self, unused: &Unused) -> Value {
        let mut account = json!({"report": self.report, "loss": self.loss, "notes": self.notes});
        if !self.summaries.is_empty() {
            account["summaries"] = summaries_json(&self.summaries);
        }
        // What was cut off is paid for like what was used.
        if let Some(spent) = self.spent() {
            account["summaries"]["spent"] = spent_json(&spent);
        }
        if let Some(spent) = unused.spent() {
            account["unused"] = spent_json(&spent);
        }
        if let Some(Lesson { learnt: Learnt { findings, dropped, spent, .. }, .. }) = &self.learnt {
            account["learnt"] =
                json!({"found": findings.len(), "dropped": dropped, "spent": spent_json(spent)});
        }
        if let Some(instructions) = self.minded.as_ref().and_then(|minded| minded.all.as_deref()) {
            account["instructions"] = json!(instructions);
        }
        if let Some(saves) = &self.saves {
            account["saves"] = json!(saves);
        }
        account
    }

    // What is shown from now on, where all of it is at hand.
    fn shown(&self, compaction: &Compaction, warm: &Warm) -> Option<Vec<Shown>> {
        let covered = self.compaction.covered() as u64;
        let visible = compaction.segments.iter().filter(|segment| segment.is_shown());
        let mut shown = Vec::new();
        for ordinal in visible.flat_map(|segment| segment.range().clone()) {
            let ordinal = ordinal as u64;
            if ordinal < covered {
                shown.push(self.picture.read.get(&ordinal)?.clone());
            } else {
                let at = warm.shown.partition_point(|shown| shown.ordinal < ordinal);
                shown.push(warm.shown.get(at).filter(|shown| shown.ordinal == ordinal)?.clone());
            }
        }
        Some(shown)
    }
}

impl Session {
    // Whether its summaries mind what the session says by now.
    async fn is_as_told(&self, prepared: &Prepared) -> Result<bool> {
        let Some(minded) = &prepared.minded else { return Ok(true) };
        Ok(self.instructions().await? == minded.of_session)
    }

    /// Records a compaction, if the session is still what it was prepared for.
    pub(crate) async fn commit(&self, prepared: &Prepared, fence: u64) -> Result<Committed> {
        let inner = self.inner();
        let unused = Unused::of(inner, self.id()).await;
        let mut state = self.slot.state.lock().await;
        let mut warm = state.take();
        for _ in 0..TRIES {
            let mut at_hand = match warm.take() {
                Some(warm) => warm,
                None => self.load().await?,
            };
            let noted = self.noted(prepared.picture.path.len() as u64).await?;
            if !prepared.fits(&at_hand) || !prepared.minds(&noted) || !self.is_as_told(prepared).await? {
                self.put_back(&mut state, at_hand);
                return Ok(Committed::Stale);
            }
            let new = prepared.record(&at_hand, &unused);
            let compaction = new.compaction.clone();
            match inner.ledger.compact(inner.tenant, self.expect(at_hand.head, Some(fence)), new).await {
                Ok(receipt) => {
                    prepared.settle();
                    unused.settle(&self.engine, self.id());
                    // Where it was recorded by an earlier try, others may have gone on: then it is read anew.
                    if receipt.head == Some(prepared.id)
                        && let Some(shown) = prepared.shown(&compaction, &at_hand)
                    {
                        at_hand.compacted(compaction, shown, &receipt, inner)?;
                        self.put_back(&mut state, at_hand);
                    }
                    return Ok(Committed::Done);
                }
                Err(LedgerError::HeadMoved { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Contended)
    }
}

//! What a compaction came to.

use std::ops::Range;

use epitome_core::Tokens;
use epitome_core::compact::{Compaction, Report, Segment};
use epitome_core::cost::Money;
use epitome_core::loss::Loss;
use epitome_ledger::model::TurnId;
use epitome_llm::summary::{Spent, Written};
use serde::Serialize;

use crate::scribe::{spent_json, summaries_json};

/// What a request for a compaction came to.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The turn that records it; none where nothing was done.
    #[serde(serialize_with = "written")]
    pub turn: Option<TurnId>,
    /// What was done and why, in figures.
    pub report: Report,
    /// What became of what is hidden.
    pub loss: Option<Loss>,
    /// Why it was postponed, by those who asked for that.
    pub vetoes: Vec<String>,
    /// What else there is to say.
    pub notes: Vec<String>,
    /// What became of the summaries that a model was asked for.
    #[serde(serialize_with = "told")]
    pub summaries: Vec<Written>,
    /// What that cost, questions that were given up included; none where no model was asked.
    #[serde(serialize_with = "paid")]
    pub spent: Option<Spent>,
    /// What it saves with each call from now on.
    pub saves: Option<Saves>,
}

/// What a compaction saves with each call.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Saves {
    /// Tokens of the model that are no longer sent.
    pub tokens: Tokens,
    /// What they cost where the provider's cache serves them, in micro-dollars; none where no price is known.
    #[serde(rename = "micro_dollars")]
    pub money: Option<Money>,
}

impl Outcome {
    /// Nothing was done.
    pub(crate) fn nothing(report: Report) -> Self {
        Self {
            turn: None,
            report,
            loss: None,
            vetoes: Vec::new(),
            notes: Vec::new(),
            summaries: Vec::new(),
            spent: None,
            saves: None,
        }
    }

    /// Whether anything was recorded.
    pub fn is_done(&self) -> bool {
        self.turn.is_some()
    }
}

fn written<S: serde::Serializer>(turn: &Option<TurnId>, serializer: S) -> Result<S::Ok, S::Error> {
    turn.map(|turn| turn.to_string()).serialize(serializer)
}

fn told<S: serde::Serializer>(written: &[Written], serializer: S) -> Result<S::Ok, S::Error> {
    summaries_json(written).serialize(serializer)
}

fn paid<S: serde::Serializer>(spent: &Option<Spent>, serializer: S) -> Result<S::Ok, S::Error> {
    spent.as_ref().map(spent_json).serialize(serializer)
}

/// The messages that a compaction does not show, though the one before did.
pub(crate) fn dropped(compaction: &Compaction, before: Option<&Compaction>) -> Vec<Range<u64>> {
    let hidden = |compaction: &Compaction| -> Vec<Range<u64>> {
        let hidden = compaction.segments.iter().filter_map(|segment| match segment {
            Segment::Summary { range, .. } | Segment::Omitted { range, .. } => {
                Some(range.start as u64..range.end as u64)
            }
            Segment::Verbatim { .. } | Segment::Pruned { .. } => None,
        });
        hidden.collect()
    };
    let known = before.map(hidden).unwrap_or_default();
    let mut dropped = hidden(compaction);
    for old in &known {
        dropped = dropped.into_iter().flat_map(|range| without(range, old)).collect();
    }
    dropped
}

fn without(range: Range<u64>, other: &Range<u64>) -> Vec<Range<u64>> {
    let before = range.start..range.end.min(other.start);
    let after = range.start.max(other.end)..range.end;
    [before, after].into_iter().filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_hidden_before_is_not_dropped_again() {
        let omitted = |range: Range<usize>| Segment::Omitted { range, note: String::new() };
        let of = |segments| Compaction { segments, ..Compaction::verbatim(0) };
        let before = of(vec![omitted(0..4), Segment::Verbatim { range: 4..6 }]);
        let now = of(vec![omitted(0..8), Segment::Verbatim { range: 8..9 }]);
        assert_eq!(dropped(&now, None), vec![0..8]);
        assert_eq!(dropped(&now, Some(&before)), vec![4..8]);
        assert_eq!(dropped(&before, Some(&now)), Vec::<Range<u64>>::new());
    }
}

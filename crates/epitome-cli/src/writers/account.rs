//! What became of summaries that a model was asked for, in words. What was recorded of them is read back as it is told at once.

use std::collections::BTreeMap;

use epitome::llm::summary::Written;
use epitome_core::cost::Money;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::print::{FAINT, grouped, paint};

/// So much of a trouble is printed.
const TROUBLE_CHARS: usize = 200;

/// What became of the summaries of compactions, and what they cost.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Account {
    written: Vec<One>,
    spent: Spent,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct One {
    by: String,
    model: Option<String>,
    retries: usize,
    stretches: usize,
    reused: usize,
    left_out: usize,
    invented: usize,
    struck: usize,
    added: usize,
    score: Option<f64>,
    offline_score: Option<f64>,
    troubles: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Spent {
    calls: u64,
    unanswered: u64,
    input: u64,
    cache_read: u64,
    cache_write: u64,
    output: u64,
    estimated: u64,
    micro_dollars: Option<f64>,
}

impl Account {
    /// What became of the summaries of one compaction.
    pub(crate) fn of(written: &[Written]) -> Self {
        Self::read(&epitome::summaries_json(written))
    }

    /// The same as it was recorded; nothing where there is nothing to read.
    pub(crate) fn read(recorded: &Value) -> Self {
        Self::deserialize(recorded).unwrap_or_default()
    }

    /// The same with what was spent on it in all, where that is known.
    pub(crate) fn costing(mut self, spent: &Value) -> Self {
        self.spent = Spent::deserialize(spent).unwrap_or(self.spent);
        self
    }

    /// Whether nobody was asked.
    pub(crate) fn is_empty(&self) -> bool {
        self.written.is_empty() && self.spent.calls == 0
    }

    /// Adds what became of others.
    pub(crate) fn add(&mut self, other: Self) {
        let (spent, more) = (&mut self.spent, other.spent);
        spent.calls += more.calls;
        spent.unanswered += more.unanswered;
        spent.input += more.input;
        spent.cache_read += more.cache_read;
        spent.cache_write += more.cache_write;
        spent.output += more.output;
        spent.estimated += more.estimated;
        if let Some(paid) = more.micro_dollars {
            *spent.micro_dollars.get_or_insert(0.0) += paid;
        }
        self.written.extend(other.written);
    }

    /// Each summary, then what they cost.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.written.iter().flat_map(One::lines).collect();
        lines.extend((!self.is_empty()).then(|| format!("  {}", self.spent.told())));
        lines
    }

    /// All of them together: who wrote how many, what went wrong how often, what they cost.
    pub(crate) fn total(&self) -> Vec<String> {
        if self.is_empty() {
            return Vec::new();
        }
        let sum = |figure: fn(&One) -> usize| grouped(self.written.iter().map(figure).sum::<usize>() as u64);
        let mut lines = vec![
            format!("  Summaries: {}.", counted(self.written.iter().map(One::writer))),
            format!(
                "  In what models wrote: invented {}, struck {}, added by code {}, corrections asked for {}.",
                sum(|one| one.invented),
                sum(|one| one.struck),
                sum(|one| one.added),
                sum(|one| one.retries),
            ),
            format!("  {}.", self.spent.told()),
        ];
        let troubles = self.written.iter().flat_map(|one| &one.troubles).map(|trouble| shortened(trouble));
        lines.extend(by_count(troubles).map(|(trouble, count)| format!("  {count} × {trouble}")));
        lines
    }
}

impl One {
    fn writer(&self) -> String {
        match &self.model {
            Some(model) if !self.is_offline() => format!("by {model} ({})", self.by),
            _ => self.by.clone(),
        }
    }

    fn is_offline(&self) -> bool {
        self.by == "offline"
    }

    fn lines(&self) -> Vec<String> {
        let scores = match (self.score, self.offline_score) {
            (Some(model), Some(offline)) => format!(", scores: model {model:.2}, offline {offline:.2}"),
            _ => String::new(),
        };
        let figures = [
            ("parts", self.stretches),
            ("parts done before", self.reused),
            ("messages left out", self.left_out),
            ("corrections asked for", self.retries),
            ("invented", self.invented),
            ("struck", self.struck),
            ("added", self.added),
        ];
        let figures = figures.iter().filter(|(_, count)| *count > 0);
        let figures: String = figures.map(|(what, count)| format!(", {what}: {count}")).collect();
        let mut lines = vec![format!("  summary {}{scores}{figures}", self.writer())];
        let trouble = |trouble: &String| format!("    {}", paint(FAINT, shortened(trouble)));
        lines.extend(self.troubles.iter().map(trouble));
        lines
    }
}

impl Spent {
    fn told(&self) -> String {
        let times =
            if self.calls == 1 { "once".to_owned() } else { format!("{} times", grouped(self.calls)) };
        let unanswered = match self.unanswered {
            0 => String::new(),
            count => format!(", {} without an answer", grouped(count)),
        };
        let sent = self.input + self.cache_read + self.cache_write;
        let cached = match self.cache_read {
            0 => String::new(),
            cached => format!(" ({} of them cached)", grouped(cached)),
        };
        let paid = self.micro_dollars.map(|paid| format!(", {}", Money::micros(paid.round() as i64)));
        let estimated = match self.estimated {
            0 => String::new(),
            estimated => format!(", {} of them by our own count", grouped(estimated)),
        };
        format!(
            "asked {times}{unanswered}: {} tokens in{cached}, {} out{estimated}{}",
            grouped(sent),
            grouped(self.output),
            paid.unwrap_or_default()
        )
    }
}

/// What models were asked before a compaction and came to nothing, as it was recorded; nothing where nothing was.
pub(crate) fn unused(recorded: &Value) -> Option<String> {
    let spent = Spent::deserialize(recorded).ok().filter(|spent| spent.calls > 0)?;
    Some(format!("  before, for nothing: {}", spent.told()))
}

fn shortened(trouble: &str) -> String {
    let line = trouble.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(TROUBLE_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

fn counted(all: impl Iterator<Item = String>) -> String {
    let told = by_count(all).map(|(what, count)| format!("{} {what}", grouped(count)));
    told.collect::<Vec<_>>().join(", ")
}

// The most frequent first.
fn by_count(all: impl Iterator<Item = String>) -> impl Iterator<Item = (String, u64)> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    all.for_each(|one| *counts.entry(one).or_default() += 1);
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.into_iter()
}

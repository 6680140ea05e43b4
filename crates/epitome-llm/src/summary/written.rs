//! What became of one summary: who wrote it, what it took, what was wrong with it.

use super::caps::Spent;

/// How a summary came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// The model named the changes to the checkpoint before.
    Delta,
    /// The model wrote it in one go.
    Whole,
    /// The model wrote it in stretches.
    Staged,
    /// Code picked it out of the conversation.
    Offline,
}

impl Rung {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Rung::Delta => "delta",
            Rung::Whole => "whole",
            Rung::Staged => "staged",
            Rung::Offline => "offline",
        }
    }
}

/// The report on one summary.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Written {
    /// How it came about in the end.
    pub rung: Rung,
    /// The model that wrote it, where one did, as it calls itself.
    pub model: Option<String>,
    /// Whether it was asked for behind the live request, where the provider's cache serves what was sent before.
    pub live: bool,
    /// Whether it was written from the messages themselves where an earlier summary stood for some of them.
    pub rebuilt: bool,
    /// What the compaction has cost so far, this summary included.
    pub spent: Spent,
    /// How often the model was told what is wrong, and asked again.
    pub retries: usize,
    /// Stretches that were summarised apart.
    pub chunks: usize,
    /// Stretches that were found finished.
    pub reused: usize,
    /// Messages that no call had room for.
    pub left_out: usize,
    /// What the model's summary said and the conversation did not, before it was mended.
    pub invented: usize,
    /// Lines and names that were struck for that.
    pub struck: usize,
    /// Essentials that were missing and were added by code.
    pub added: usize,
    /// How the check scores the model's summary once it is mended, less what it lacks beside the one by code; where there is a
    /// valid one.
    pub score: Option<f64>,
    /// How the check scores the summary that code picks, where it was asked.
    pub offline_score: Option<f64>,
    /// What went wrong on the way, in order.
    pub troubles: Vec<String>,
}

impl Default for Written {
    fn default() -> Self {
        Self {
            rung: Rung::Offline,
            model: None,
            live: false,
            rebuilt: false,
            spent: Spent::default(),
            retries: 0,
            chunks: 0,
            reused: 0,
            left_out: 0,
            invented: 0,
            struck: 0,
            added: 0,
            score: None,
            offline_score: None,
            troubles: Vec::new(),
        }
    }
}

//! What a compaction did, for a person on stderr and for a program as JSON.

mod print;

use epitome::llm::summary::Written;
use epitome_core::Tokens;
use epitome_core::compact::{self, Limits};
use epitome_core::loss::Loss;
use epitome_core::prune::{PruneMode, Rule, Size, Step, ThinkingRule};
use epitome_wire::check::{self, Violation, check_rewrite};
use epitome_wire::files::{ReadOptions, Thread, ThreadKind, read_all};
use serde::Serialize;

pub(super) use self::print::{Detail, Stream, check_budgets, print_total};
use super::job::Job;
use super::sides::Side;
use crate::changes::ThreadChange;
use crate::print::{grouped, plural};
use crate::session::Session;
use crate::settings::Settings;
use crate::writers::Account;

/// What a compaction did.
#[derive(Serialize)]
pub(super) struct Report {
    name: String,
    format: String,
    strategy: &'static str,
    messages_before: usize,
    /// As of everything that only a written result has: none in a dry run.
    messages_after: Option<usize>,
    /// The conversation of the main thread in o200k tokens, which the budget is for.
    tokens_before: Tokens,
    tokens_after: Tokens,
    /// What is sent beside it and stays as it is: system prompt, tools, leading system messages.
    system_and_tools: Tokens,
    /// Messages of the file that are not in the main thread.
    #[serde(skip)]
    other_threads: Tokens,
    /// All messages of the file: system messages and other threads, too.
    file_tokens_before: Tokens,
    file_tokens_after: Option<Tokens>,
    bytes_before: usize,
    bytes_after: Option<usize>,
    /// What the conversation may have, in o200k tokens.
    budget: Option<Tokens>,
    /// The same as it was asked for.
    budget_asked: Option<Asked>,
    /// The least budget that can be met.
    minimum_budget: Tokens,
    max_bytes: Option<usize>,
    /// The tokens that were found to come near it.
    tokens_for_bytes: Option<Tokens>,
    /// By how much the main thread still exceeds its budget.
    shortfall: Size,
    trimmed: usize,
    cleared: usize,
    capped: usize,
    truncated: usize,
    thinking_removed: usize,
    dropped: usize,
    /// What could go from the main thread as well, kept to spare the provider's cache.
    held_back: Tokens,
    steps: Vec<Step>,
    problems_before: usize,
    problems_after: Option<usize>,
    /// What could not be read, and was left as it is.
    damaged: Vec<String>,
    /// What was decided about the history, by strategies that summarise.
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<compact::Report>,
    /// What it kept, lost and made up.
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<Loss>,
    /// What became of the summaries that a model was asked for.
    #[serde(skip_serializing_if = "Account::is_empty")]
    summaries: Account,
    /// What had to be assumed.
    warnings: Vec<String>,
    /// The same for a person: before and after, stretch by stretch.
    #[serde(skip)]
    sides: Vec<Side>,
    /// What may be missed without failing.
    #[serde(skip)]
    leniency: Leniency,
    /// All that is sent of the main thread, and what of it stands beside the conversation.
    #[serde(skip)]
    bytes_sent: usize,
    #[serde(skip)]
    bytes_beside: usize,
    #[serde(skip)]
    notes: Vec<String>,
}

/// A budget as it was asked for.
#[derive(Serialize)]
struct Asked {
    tokens: Tokens,
    /// `o200k`, or the model whose tokens these are.
    unit: String,
}

/// Why a budget may be missed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leniency {
    /// It may not.
    None,
    /// The strategy does what it can.
    Strategy,
    /// Something is shown again on purpose.
    Expanded,
    /// Nothing is written yet.
    DryRun,
}

impl Leniency {
    fn of(job: &Job<'_>) -> Self {
        match job.arguments {
            _ if !job.strategy.meets_budgets() => Leniency::Strategy,
            arguments if !arguments.expand.is_empty() => Leniency::Expanded,
            arguments if arguments.dry_run => Leniency::DryRun,
            _ => Leniency::None,
        }
    }
}

impl Report {
    pub(super) fn new(job: &Job<'_>) -> Self {
        let Job { session, arguments, strategy, asked, ref pins, .. } = *job;
        let (beside, sent) = (session.beside(), session.sent());
        let limits = Limits { pins, ..Limits::default() };
        Self {
            name: session.name.clone(),
            format: session.transcript.format.to_string(),
            strategy: strategy.as_str(),
            messages_before: session.transcript.messages.len(),
            messages_after: None,
            tokens_before: sent.tokens - beside.tokens,
            tokens_after: sent.tokens - beside.tokens,
            system_and_tools: beside.tokens,
            other_threads: session.tokens() - (sent.tokens - session.fixed.tokens),
            file_tokens_before: session.tokens(),
            file_tokens_after: None,
            bytes_before: session.transcript.text.len(),
            bytes_after: None,
            budget: job.budget().tokens,
            budget_asked: asked.map(|tokens| Asked { tokens, unit: session.budget_unit().to_owned() }),
            minimum_budget: compact::minimum_budget(&session.main_path(), &limits),
            max_bytes: arguments.max_bytes,
            tokens_for_bytes: None,
            shortfall: Size::default(),
            trimmed: 0,
            cleared: 0,
            capped: 0,
            truncated: 0,
            thinking_removed: 0,
            dropped: 0,
            held_back: Tokens::ZERO,
            steps: Vec::new(),
            problems_before: 0,
            problems_after: None,
            damaged: session.damaged(),
            history: None,
            loss: None,
            summaries: Account::default(),
            warnings: session.assumed().into_iter().map(str::to_owned).collect(),
            sides: Vec::new(),
            leniency: Leniency::of(job),
            bytes_sent: sent.bytes,
            bytes_beside: beside.bytes,
            notes: Vec::new(),
        }
    }

    /// Takes in how many tokens the conversation is brought down to, where that is for the bytes' sake.
    pub(super) fn allow(&mut self, tokens: Option<Tokens>) {
        self.tokens_for_bytes = tokens.filter(|_| tokens != self.budget);
    }

    /// The least budget that can be met.
    pub(super) fn minimum_budget(&self) -> Tokens {
        self.minimum_budget
    }

    /// The conversation's tokens.
    pub(super) fn tokens_after(&self) -> Tokens {
        self.tokens_after
    }

    /// The bytes of all that is sent.
    pub(super) fn bytes_sent(&self) -> usize {
        self.bytes_sent
    }

    /// Takes in before and after, where no history was decided about.
    pub(super) fn side_by_side(&mut self, sides: Vec<Side>) {
        self.sides = sides;
    }

    /// Takes in what was decided about the history of the main thread.
    pub(super) fn decided(&mut self, history: compact::Report, sides: Vec<Side>) {
        self.history = Some(history);
        self.sides = sides;
    }

    /// Takes in what was kept, lost and made up.
    pub(super) fn lost(&mut self, loss: Loss) {
        self.loss = Some(loss);
    }

    /// Takes in what became of the summaries that a model was asked for.
    pub(super) fn written(&mut self, written: &[Written]) {
        self.summaries = Account::of(written);
    }

    /// Takes over what became of the summaries of an attempt that was not taken.
    pub(super) fn take_over(&mut self, other: &mut Self) {
        self.summaries = std::mem::take(&mut other.summaries);
    }

    /// The bytes that are too many.
    pub(super) fn bytes_short(&self) -> usize {
        self.shortfall.bytes
    }

    /// Adds something to be said.
    pub(super) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Takes in what becomes of a thread.
    pub(super) fn take_in(&mut self, change: &ThreadChange<'_>, settings: &Settings) {
        self.trimmed += change.count(Rule::SoftTrim);
        self.cleared += change.count(Rule::HardClear);
        self.capped += change.count(Rule::Cap);
        self.truncated += change.count(Rule::LongText);
        self.thinking_removed += change.count(Rule::BoundThinking);
        self.dropped += change.dropped.len();
        if change.thread.kind != ThreadKind::Main {
            return;
        }
        let plan = &change.plan;
        self.held_back = plan.held_back;
        self.steps.clone_from(&plan.steps);
        if plan.held_back > Tokens::ZERO && settings.values.prune.prune_mode == PruneMode::Steps {
            self.notes.push(format!(
                "{} tokens more could go; held back to spare the provider's cache (a step takes {}; --set prune_mode=every-call takes all)",
                grouped(plan.held_back.0),
                grouped(settings.values.prune.clear_at_least.0),
            ));
        }
        let (left, most) =
            (change.path.len() - change.dropped.len(), settings.values.max_conversation_messages);
        if self.strategy == "none" && left > most {
            let (left, most) = (grouped(left as u64), grouped(most as u64));
            self.notes.push(format!("{left} messages remain, more than max_conversation_messages ({most}): what is pinned stays, and what is left must start with a plain message of the user"));
        }
    }

    /// Takes note that there was nothing to compact, and that it stays as it is.
    pub(super) fn of_nothing(&mut self) {
        (self.messages_after, self.bytes_after, self.problems_after) =
            (Some(0), Some(self.bytes_before), Some(0));
    }

    /// Takes the figures from what was decided, where nothing is written that could be measured.
    pub(super) fn as_decided(&mut self) {
        if let Some(history) = &self.history {
            self.tokens_after = history.tokens_after;
            self.shortfall.tokens = self.budget.map_or(Tokens::ZERO, |most| self.tokens_after - most);
        }
    }

    /// Measures the result by reading it back, as whoever opens it next will.
    pub(super) fn measure(&mut self, job: &Job<'_>, text: &str) -> anyhow::Result<()> {
        let Job { session, arguments, settings, .. } = *job;
        let options = ReadOptions {
            format: Some(session.transcript.format),
            ..crate::input::options(&arguments.input)
        };
        let mut after = read_all(text.as_bytes(), options)?;
        anyhow::ensure!(after.len() == 1, "{} read back as {} sessions", session.name, after.len());
        let after = Session::new(
            std::path::Path::new(&session.name),
            after.remove(0),
            arguments.model.as_deref(),
            settings,
        );
        self.messages_after = Some(after.transcript.messages.len());
        self.bytes_after = Some(text.len());
        self.file_tokens_after = Some(after.tokens());
        self.fits(&after);
        self.problems_before = problems(session);
        let rewriting = match self.history {
            Some(_) => 0,
            None => broken_by_rewriting(session, &after, self.strategy),
        };
        self.problems_after = Some(problems(&after) + rewriting);
        self.count_threads(session, &after);
        Ok(())
    }

    // By how much the main thread exceeds the budget. What stands beside the conversation stays as it is, so what is added
    // there is a summary, and counts.
    fn fits(&mut self, after: &Session) {
        let sent = after.sent();
        self.tokens_after = sent.tokens - self.system_and_tools;
        self.bytes_sent = sent.bytes;
        self.shortfall = Size {
            tokens: self.budget.map_or(Tokens::ZERO, |most| self.tokens_after - most),
            bytes: self.max_bytes.map_or(0, |most| sent.bytes.saturating_sub(most)),
        };
    }

    fn count_threads(&mut self, before: &Session, after: &Session) {
        let threads = |session: &Session| session.transcript.threads.len();
        let gone = threads(before).saturating_sub(threads(after));
        if gone > 0 {
            self.notes.push(format!(
                "{} that left what is no longer shown {} with it",
                plural(gone, "other thread"),
                if gone == 1 { "goes" } else { "go" }
            ));
        }
    }
}

// What a provider would refuse, in all threads.
fn problems(session: &Session) -> usize {
    let threads = session.transcript.threads.iter();
    threads.map(|thread| session.violations(&session.messages(thread)).len()).sum()
}

// What changing the messages broke: rules about history that was sent before.
fn broken_by_rewriting(before: &Session, after: &Session, strategy: &str) -> usize {
    let same = |old: &Thread, new: &Thread| {
        old.kind == new.kind && (old.kind == ThreadKind::Main || old.id == new.id)
    };
    let is_meant = |violation: &&Violation| match violation.rule {
        // Only where thinking is bound does it matter what was changed before it.
        check::Rule::ThinkingBehindEditedPrefix => before.thinking_rule() == ThinkingRule::Bound,
        // Whoever drops the oldest messages drops what the provider made of still older ones.
        check::Rule::CompactionLost => strategy != "none",
        _ => true,
    };
    let count = |old: &Thread| {
        let Some(new) = after.transcript.threads.iter().find(|new| same(old, new)) else { return 0 };
        let found = check_rewrite(before.transcript.dialect, &before.messages(old), &after.messages(new));
        found.iter().filter(is_meant).count()
    };
    before.transcript.threads.iter().map(count).sum()
}

//! What a compaction did, for a person on stderr and for a program as JSON.

mod print;

use epitome_core::compact::{self, StrategyName};
use epitome_core::loss::Loss;
use epitome_core::prune::{Budget, PruneMode, Rule, Size, Step, ThinkingRule};
use epitome_core::{Entry, Role, Tokens};
use epitome_wire::check::{self, Violation, check_rewrite};
use epitome_wire::files::{ReadOptions, Thread, ThreadKind, read_all};
use serde::Serialize;

pub(super) use self::print::{Detail, print_total};
use super::sides::Side;
use crate::args::Compact;
use crate::changes::ThreadChange;
use crate::print::{grouped, plural};
use crate::session::Session;
use crate::settings::Settings;

/// What a compaction did.
#[derive(Serialize)]
pub(super) struct Report {
    name: String,
    format: String,
    strategy: &'static str,
    messages_before: usize,
    /// As of everything that only a written result has: none in a dry run.
    messages_after: Option<usize>,
    /// The conversation, all threads; without system prompt and tools.
    tokens_before: Tokens,
    tokens_after: Tokens,
    bytes_before: usize,
    bytes_after: Option<usize>,
    system_and_tools: Tokens,
    budget: Option<Tokens>,
    /// What the budget and the shortfall count: o200k tokens, or those of the model that was asked for.
    budget_unit: String,
    max_bytes: Option<usize>,
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
    /// The same for a person: before and after, stretch by stretch.
    #[serde(skip)]
    sides: Vec<Side>,
    /// Whether something is shown again that was compacted.
    #[serde(skip)]
    expanded: bool,
    #[serde(skip)]
    notes: Vec<String>,
}

impl Report {
    pub(super) fn new(
        session: &Session,
        arguments: &Compact,
        strategy: StrategyName,
        budget: Option<Tokens>,
    ) -> Self {
        Self {
            name: session.name.clone(),
            format: session.transcript.format.to_string(),
            strategy: strategy.as_str(),
            messages_before: session.transcript.messages.len(),
            messages_after: None,
            tokens_before: Tokens::ZERO,
            tokens_after: Tokens::ZERO,
            bytes_before: session.transcript.text.len(),
            bytes_after: None,
            system_and_tools: session.fixed.tokens,
            budget,
            budget_unit: session.in_budget_unit(Tokens::ZERO).1.to_owned(),
            max_bytes: arguments.max_bytes,
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
            sides: Vec::new(),
            expanded: !arguments.expand.is_empty(),
            notes: Vec::new(),
        }
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
            self.notes.push(format!("{left} messages remain, more than max_conversation_messages ({most}): no plain user message stands in between to start from"));
        }
    }

    /// Takes note that there was nothing to compact, and that it stays as it is.
    pub(super) fn of_nothing(&mut self) {
        (self.messages_after, self.bytes_after, self.problems_after) =
            (Some(0), Some(self.bytes_before), Some(0));
    }

    /// How many tokens the conversation may have to come down to the limit in bytes, where it exceeds that.
    pub(super) fn tokens_for_bytes(&self) -> Option<Tokens> {
        let (history, limit) = (self.history.as_ref()?, self.max_bytes?);
        let bytes = limit + self.shortfall.bytes;
        // A little less than the share, as summaries and markers have more bytes a token than what they replace.
        let share = limit as f64 / bytes as f64 * 0.9;
        let tokens = Tokens((history.tokens_after.0 as f64 * share) as u64);
        (self.shortfall.bytes > 0 && tokens > Tokens::ZERO).then_some(tokens)
    }

    /// Takes the figures from what was decided, where nothing is written that could be measured.
    pub(super) fn as_decided(&mut self) {
        if let Some(history) = &self.history {
            (self.tokens_before, self.tokens_after) = (history.tokens_before, history.tokens_after);
            self.shortfall.tokens = if self.budget.is_some() { history.shortfall } else { Tokens::ZERO };
        }
    }

    /// Measures the result by reading it back, as whoever opens it next will.
    pub(super) fn measure(
        &mut self,
        session: &Session,
        text: &str,
        arguments: &Compact,
        settings: &Settings,
        budget: Budget,
    ) -> anyhow::Result<()> {
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
        (self.tokens_before, self.tokens_after) = (session.tokens(), after.tokens());
        self.problems_before = problems(session);
        let rewriting = match self.history {
            Some(_) => 0,
            None => broken_by_rewriting(session, &after, self.strategy),
        };
        self.problems_after = Some(problems(&after) + rewriting);
        let threads = |session: &Session| session.transcript.threads.len();
        let gone = threads(session).saturating_sub(threads(&after));
        if gone > 0 {
            self.notes.push(format!(
                "{} that left what is no longer shown {} with it",
                plural(gone, "other thread"),
                if gone == 1 { "goes" } else { "go" }
            ));
        }
        self.shortfall = shortfall(&after, budget);
        self.shortfall.tokens = session.in_budget_unit(self.shortfall.tokens).0;
        Ok(())
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

// By how much the main thread exceeds the budget.
fn shortfall(session: &Session, budget: Budget) -> Size {
    let Some(main) = session.main() else { return Size::default() };
    let leading = |entry: &&Entry| matches!(entry.outline.role, Role::System | Role::Developer);
    let path = session.path(main);
    let bytes = path.iter().map(|entry| entry.outline.bytes).sum::<usize>() + session.fixed.bytes;
    let tokens: Tokens = path.iter().skip_while(leading).map(|entry| entry.outline.tokens).sum();
    Size {
        tokens: budget.tokens.map_or(Tokens::ZERO, |most| tokens - most),
        bytes: budget.bytes.map_or(0, |most| bytes.saturating_sub(most)),
    }
}

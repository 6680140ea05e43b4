//! What a compaction did, for a person on stderr and for a program as JSON.

use std::ops::Range;

use epitome_core::prune::{Budget, Plan, PruneMode, Size, Step};
use epitome_core::{Entry, Tokens};
use epitome_wire::files::{ReadOptions, Thread, ThreadKind, read_all};
use serde::Serialize;

use crate::args::{Compact, Strategy};
use crate::print::{BAD, FAINT, GOOD, HEADING, WARN, bytes, grouped, paint, percent, plural};
use crate::session::Session;
use crate::settings::Settings;

/// What a compaction did.
#[derive(Serialize)]
pub(super) struct Report {
    session: String,
    format: String,
    strategy: &'static str,
    messages_before: usize,
    messages_after: usize,
    /// The conversation, all threads; without system prompt and tools.
    tokens_before: Tokens,
    tokens_after: Tokens,
    bytes_before: usize,
    bytes_after: usize,
    system_and_tools: Tokens,
    budget: Option<Tokens>,
    max_bytes: Option<usize>,
    /// By how much the main thread still exceeds its budget.
    shortfall: Size,
    trimmed: usize,
    cleared: usize,
    capped: usize,
    truncated: usize,
    thinking_removed: usize,
    dropped: usize,
    /// What could go as well, kept to spare the provider's cache.
    held_back: Tokens,
    steps: Vec<Step>,
    problems_before: usize,
    problems_after: usize,
    #[serde(skip)]
    notes: Vec<String>,
}

impl Report {
    pub(super) fn new(session: &Session, strategy: Strategy, budget: Budget) -> Self {
        Self {
            session: session.name.clone(),
            format: session.transcript.format.to_string(),
            strategy: match strategy {
                Strategy::Prune => "prune",
                Strategy::None => "none",
            },
            messages_before: session.transcript.messages.len(),
            messages_after: 0,
            tokens_before: Tokens::ZERO,
            tokens_after: Tokens::ZERO,
            bytes_before: session.transcript.text.len(),
            bytes_after: 0,
            system_and_tools: session.fixed.tokens,
            budget: budget.tokens,
            max_bytes: budget.bytes,
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
            problems_after: 0,
            notes: Vec::new(),
        }
    }

    /// Takes in what was pruned from a thread.
    pub(super) fn pruned(&mut self, thread: &Thread, plan: &Plan, settings: &Settings) {
        self.trimmed += plan.soft;
        self.cleared += plan.hard;
        self.capped += plan.capped;
        self.truncated += plan.truncated;
        self.thinking_removed += plan.unthought;
        self.held_back += plan.held_back;
        if thread.kind == ThreadKind::Main {
            self.shortfall = plan.shortfall;
            self.steps.clone_from(&plan.steps);
            if plan.held_back > Tokens::ZERO && settings.values.prune.prune_mode == PruneMode::Steps {
                self.notes.push(format!(
                    "{} tokens more could go; held back to spare the provider's cache (a step takes {}; --set prune_mode=every-call takes all)",
                    grouped(plan.held_back.0),
                    grouped(settings.values.prune.clear_at_least.0),
                ));
            }
        }
    }

    /// Takes in which messages of a thread were left out.
    pub(super) fn trimmed(
        &mut self,
        thread: &Thread,
        path: &[Entry],
        dropped: Range<usize>,
        settings: &Settings,
    ) {
        self.dropped += dropped.len();
        let most = settings.values.max_conversation_messages;
        let left = path.len() - dropped.len();
        if thread.kind == ThreadKind::Main && left > most {
            self.notes.push(format!("{left} messages remain, more than max_conversation_messages ({most}): no plain user message stands in between to start from"));
        }
    }

    /// Measures the result by reading it back, as whoever opens it next will.
    pub(super) fn measure(
        &mut self,
        session: &Session,
        text: &str,
        arguments: &Compact,
        settings: &Settings,
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
        self.messages_after = after.transcript.messages.len();
        self.bytes_after = text.len();
        for (side, tokens, problems) in [
            (session, &mut self.tokens_before, &mut self.problems_before),
            (&after, &mut self.tokens_after, &mut self.problems_after),
        ] {
            *tokens = side.tokens();
            *problems = side
                .transcript
                .threads
                .iter()
                .map(|thread| side.violations(&side.messages(thread)).len())
                .sum();
        }
        if self.strategy == "none"
            && let (Some(budget), Some(main)) = (self.budget, after.main())
        {
            let size: Tokens = after.path(main).iter().map(|entry| entry.outline.tokens).sum();
            self.shortfall.tokens = size - budget;
        }
        Ok(())
    }

    /// Prints it for a person, on stderr.
    pub(super) fn print(&self) -> anyhow::Result<()> {
        let saved = percent((self.tokens_before - self.tokens_after).0, self.tokens_before.0);
        anstream::eprintln!(
            "{} {} → {} tokens ({} saved) · {} → {}",
            paint(HEADING, format!("{}:", self.session)),
            grouped(self.tokens_before.0),
            paint(HEADING, grouped(self.tokens_after.0)),
            paint(GOOD, saved),
            bytes(self.bytes_before as u64),
            bytes(self.bytes_after as u64),
        );
        let parts = [
            (self.cleared, "cleared"),
            (self.trimmed, "trimmed"),
            (self.capped, "capped"),
            (self.truncated, "long texts truncated"),
            (self.thinking_removed, "thinking blocks removed"),
            (self.dropped, "oldest messages dropped"),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{} {what}", grouped(*count as u64)))
            .collect();
        if !parts.is_empty() {
            anstream::eprintln!("  {}", parts.join(", "));
        }
        for note in &self.notes {
            anstream::eprintln!("  {}", paint(FAINT, note));
        }
        if self.shortfall.tokens > Tokens::ZERO {
            let budget = self.budget.map_or(0, |budget| budget.0);
            anstream::eprintln!(
                "  {} {} tokens over the budget of {}: {} alone cannot do more",
                paint(WARN, "short:"),
                grouped(self.shortfall.tokens.0),
                grouped(budget),
                self.strategy
            );
        }
        if self.shortfall.bytes > 0 {
            let budget = self.max_bytes.unwrap_or(0);
            anstream::eprintln!(
                "  {} {} over the limit of {}",
                paint(WARN, "short:"),
                bytes(self.shortfall.bytes as u64),
                bytes(budget as u64)
            );
        }
        match (self.problems_before, self.problems_after) {
            (0, 0) => {}
            (before, after) if after <= before => {
                anstream::eprintln!(
                    "  {} before and after; epitome inspect names them",
                    plural(after, "validity problem")
                );
            }
            (before, after) => {
                anstream::eprintln!(
                    "  {} {before} validity problems became {after}; please report this",
                    paint(BAD, "bug:")
                );
            }
        }
        Ok(())
    }
}

//! The account of a compaction: what it did in figures, and whether it is accepted.

use super::budget::{BudgetModel, Measured};
use super::case::{Case, Decided};
use super::plan::{Plan, Planned};
use super::report::{Decision, Report, Stretch};
use super::run::Compacted;
use super::segment::{Compaction, Level, Segment};
use super::settings::StrategyName;
use super::strategies::layout::tokens;
use super::view::CountedView;
use crate::checkpoint::{Checkpoint, Drift, drift, merge};
use crate::pressure::{Occasion, Trigger};
use crate::units::Tokens;

impl Case<'_> {
    /// Accepts a result that is smaller than what is there, or that a new pin makes grow on purpose.
    pub(super) fn judge(&self, compaction: Compaction, decided: Decided) -> Compacted {
        let mut report = self.account(&compaction, decided.notes);
        report.verdict = decided.verdict;
        report.drift = drift_of(&decided.plan, &compaction);
        report.notes.extend(report.drift.as_ref().and_then(lost));
        let (after, before) = (report.tokens_after, self.before.total());
        if after >= before && !self.hides_a_pin() {
            report.decision = Decision::Refused;
            report.reason = format!("the result would have {after:#} tokens, and there are {before:#} now");
            report.tokens_after = before;
            report.shortfall = before - self.asked();
            return Compacted { compaction: None, report };
        }
        Compacted { compaction: Some(compaction), report }
    }

    /// What a compaction comes to.
    pub(super) fn account(&self, compaction: &Compaction, notes: Vec<String>) -> Report {
        let shown = self.counted(compaction);
        let after = Measured::of(&shown, self.path);
        let segments = self.stretches(compaction, &shown);
        Report { segments, ..self.report(after, notes) }
    }

    /// What a plan would come to.
    pub(super) fn preview(&self, decided: &Decided) -> Report {
        let Decided { plan, notes, verdict, .. } = decided;
        let (outline, caps) = self.outline(plan);
        let shown = self.counted(&outline);
        let mut most = Measured::of(&shown, self.path);
        most.summary += caps;
        let mut report = self.report(most, notes.clone());
        report.segments = self.stretches(&outline, &shown);
        report.verdict = *verdict;
        for (stretch, part) in report.segments.iter_mut().zip(&plan.parts) {
            if let Planned::Summary(task) = part {
                stretch.tokens_after = task.max_tokens;
            }
        }
        report
    }

    /// The report where everything stays as it is.
    pub(super) fn nothing(&self, reason: String, notes: Vec<String>) -> Report {
        let mut report = self.report(self.before, notes);
        report.segments = self.stretches(self.current, &self.shown);
        Report { decision: Decision::Nothing, reason, ..report }
    }

    // The budget as somebody wants it; what is aimed at is never less than what must stay.
    fn asked(&self) -> Tokens {
        match (self.request.occasion, self.request.budget) {
            (Occasion::Refused(_), _) | (_, None) => self.room.budget,
            (_, Some(asked)) => asked,
        }
    }

    fn report(&self, after: Measured, mut notes: Vec<String>) -> Report {
        let wanted = self.request.budget.is_some() || self.trigger().is_some();
        let (asked, least) = (self.asked(), self.room.budget);
        let shortfall = if wanted { after.total() - asked } else { Tokens::ZERO };
        if asked < least {
            notes.push(format!("budget {asked:#} is below the minimum of {least:#} tokens"));
        }
        Report {
            strategy: self.strategy,
            decision: Decision::Compacted,
            reason: self.why(),
            trigger: self.trigger(),
            pressure: self.pressure,
            budget: asked,
            fixed: self.fixed,
            tokens_before: self.before.total(),
            tokens_after: after.total(),
            shortfall,
            segments: Vec::new(),
            components: self.budget_model().compare(&after, self.fixed),
            verdict: None,
            drift: None,
            notes,
        }
    }

    // Where a budget was asked for, no part of the conversation may take more.
    fn budget_model(&self) -> BudgetModel {
        let model = BudgetModel::of(self.request.settings);
        self.request.budget.map_or(model, |budget| model.within(budget))
    }

    // Why something is done.
    fn why(&self) -> String {
        let asked = self.request.budget.filter(|budget| self.before.total() > *budget);
        match (self.trigger(), asked) {
            (Some(Trigger::Overflow), _) => "the provider refused the request as too long".to_owned(),
            (_, Some(budget)) => {
                let tokens = self.before.total();
                format!("{tokens:#} tokens of conversation exceed the budget of {budget:#}")
            }
            (Some(Trigger::Manual), _) => "somebody asked for it".to_owned(),
            _ if self.is_crowded() => {
                let most = self.request.settings.max_conversation_messages;
                format!("more than {most} messages are shown")
            }
            (Some(Trigger::Threshold), _) => match self.request.occasion {
                Occasion::Ahead => format!("due soon: {}", self.pressure),
                Occasion::LastResort => format!("nothing else helped: {}", self.pressure),
                _ => format!("due: {}", self.pressure),
            },
            (None, _) => match self.request.named() {
                Some(StrategyName::Tiered) => "a tier exceeds its share".to_owned(),
                Some(StrategyName::None) => "more messages than may stay".to_owned(),
                Some(StrategyName::Prune) => "tool output is stale".to_owned(),
                _ => format!("not due, but worth it: {}", self.pressure),
            },
        }
    }

    fn stretches(&self, compaction: &Compaction, shown: &CountedView<'_>) -> Vec<Stretch> {
        let mut stretches: Vec<Stretch> =
            compaction.segments.iter().map(|segment| self.stretch(segment)).collect();
        for (piece, tokens) in &shown.pieces {
            let Some(at) = piece.message() else { continue };
            let number = stretches.partition_point(|stretch| stretch.range.end <= at);
            if let Some(stretch) = stretches.get_mut(number) {
                stretch.tokens_after += *tokens;
            }
        }
        stretches
    }

    fn stretch(&self, segment: &Segment) -> Stretch {
        let range = segment.range().clone();
        let (kind, level, tokens_after) = match segment {
            Segment::Verbatim { .. } => ("verbatim", None, Tokens::ZERO),
            Segment::Pruned { .. } => ("pruned", None, Tokens::ZERO),
            Segment::Summary { text, level, .. } => ("summary", Some(*level), self.count.text(text)),
            Segment::Omitted { .. } => ("omitted", None, Tokens::ZERO),
        };
        let tokens_before = tokens(self.path.get(range.clone()).unwrap_or_default());
        Stretch { range, kind, level, tokens_before, tokens_after }
    }
}

// What a checkpoint that was written anew kept of the one before it.
fn drift_of(plan: &Plan, compaction: &Compaction) -> Option<Drift> {
    let rewritten = plan.parts.iter().zip(&compaction.segments).find_map(|pair| match pair {
        (Planned::Summary(task), Segment::Summary { text, level: Level::Checkpoint, .. }) => {
            let read = |text: &String| Checkpoint::parse(text).checkpoint;
            Some((task.previous.iter().map(read).reduce(merge)?, read(text)))
        }
        _ => None,
    });
    rewritten.map(|(old, new)| drift(&old, &new))
}

fn lost(drift: &Drift) -> Option<String> {
    let lost: usize = drift.sections.iter().map(|section| section.lost).sum();
    let before: usize =
        drift.sections.iter().map(|section| section.kept + section.changed + section.lost).sum();
    (lost > 0)
        .then(|| format!("entries of the earlier checkpoint that are no longer there: {lost} of {before}"))
}

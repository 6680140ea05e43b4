//! One compaction from beginning to end: decide, have summaries written, and judge the result.
//!
//! The decision is a pure function of its arguments; only the summariser may be anything else. A dry run makes the
//! same decision and has nothing written.

use super::backing::current;
use super::case::Case;
use super::escalation::Escalation;
use super::plan::Plan;
use super::report::Report;
use super::request::{Request, Telling};
use super::segment::Compaction;
use super::settings::Fallback;
use super::spare::{fits, roomier};
use super::summarizer::Summarizer;
use crate::digest::Digest;
use crate::events::{self, InForce};
use crate::message::Message;
use crate::outline::Entry;
use crate::pressure::{Pressure, Trigger};
use crate::prune::Count;

/// What came of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Compacted {
    /// The record, if anything was done.
    pub compaction: Option<Compaction>,
    /// What was done, and why.
    pub report: Report,
}

/// What would come of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Preview {
    /// What would be done, if anything.
    pub plan: Option<Plan>,
    /// The same in figures; summaries count as long as they may become.
    pub report: Report,
}

/// Compacts a path, if that is due and makes it smaller.
pub fn compact(
    path: &[Entry],
    messages: &[Message],
    request: &Request<'_>,
    summarizer: &mut dyn Summarizer,
    count: &dyn Count,
) -> Compacted {
    let current = current(request.previous, path.len());
    let mut case = Case::new(path, messages, request, &current, count);
    let mut decided = match case.decide(summarizer) {
        Ok(decided) => decided,
        Err(reason) => return Compacted { compaction: None, report: case.nothing(reason, Vec::new()) },
    };
    if request.telling == Telling::AtOnce && decided.plan.hides_more(request.previous) {
        let Pressure { tokens, marks, .. } = case.pressure;
        events::compacting(tokens, marks.hard, decided.plan.messages_summarized());
    }
    let crate::compact::Settings { fallback, mask_secrets, .. } = request.settings.compact;
    let count = |text: &str| count.text(text);
    let offline = Digest::new(path, messages, &count).masking(mask_secrets);
    let minding = request.minding();
    let instructions = minding.as_deref();
    let mut escalation =
        Escalation { summarizer, offline, fallback, mask_secrets, instructions, failures: Vec::new() };
    let mut compaction = decided.plan.clone().run(messages, &mut escalation, &count);
    if escalation.is_mechanical()
        && let Some(roomier) = roomier(&case, &decided.plan, &compaction)
    {
        let fuller = roomier.run(messages, &mut escalation, &count);
        compaction = if fits(&case, &fuller) { fuller } else { compaction };
    }
    let instead = match fallback {
        Fallback::Seed => "the seed's own way is taken",
        Fallback::Escalate => "an offline one stands in",
    };
    for (first, error) in &escalation.failures {
        events::compaction_failed(error);
        decided
            .notes
            .push(format!("the summary from message {first} on was not accepted ({error}); {instead}"));
    }
    if fallback == Fallback::Seed && !escalation.failures.is_empty() {
        match case.seeds_way_out(compaction) {
            Ok(other) => compaction = other,
            Err(reason) => {
                return Compacted { compaction: None, report: case.nothing(reason, decided.notes) };
            }
        }
    }
    let compacted = case.judge(compaction, decided);
    if request.telling == Telling::AtOnce
        && let Some(compaction) = &compacted.compaction
    {
        let report = &compacted.report;
        let trigger = report.trigger.map_or("step", Trigger::as_str);
        InForce { compaction, previous: request.previous, report, trigger, ratio: 1.0 }.tell();
    }
    compacted
}

/// What [`compact`] would do with this summariser, without having any summary written.
pub fn dry_run(
    path: &[Entry],
    messages: &[Message],
    request: &Request<'_>,
    summarizer: &mut dyn Summarizer,
    count: &dyn Count,
) -> Preview {
    let current = current(request.previous, path.len());
    let mut case = Case::new(path, messages, request, &current, count);
    match case.decide(summarizer) {
        Ok(decided) => {
            let report = case.preview(&decided);
            Preview { plan: Some(decided.plan), report }
        }
        Err(reason) => Preview { plan: None, report: case.nothing(reason, Vec::new()) },
    }
}

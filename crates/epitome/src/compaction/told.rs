//! What the log says of compactions: what was recorded, when it is, and what hooks had against it.

use epitome_core::events::{self, InForce};

use super::Prepared;
use crate::session::{UNDO, told_of};

impl Prepared {
    /// Tells the log that it was recorded.
    pub(super) fn tell(&self) {
        let in_force = InForce {
            compaction: &self.compaction,
            previous: self.picture.previous.as_deref(),
            report: &self.report,
            trigger: &self.trigger,
            ratio: self.picture.ratio,
        };
        let _turn = told_of(self.id).entered();
        match self.trigger.as_str() {
            UNDO => in_force.tell_undo(),
            _ => in_force.tell(),
        }
    }
}

/// Tells the log of vetoes, and whether they count.
pub(super) fn vetoes(vetoes: &[String], urgent: bool) {
    let Some(first) = vetoes.first() else { return };
    let postponed = !urgent;
    let what = if postponed { "postponed" } else { "not postponed, there is no room left" };
    tracing::info!(target: events::COMPACT, vetoes = vetoes.len(), postponed, "Compaction {what} ({first})");
}

//! How good the detection of subject changes is: conversations are spliced, and the seams must be found.
//!
//! Nobody labels where real conversations change their subject, but where two different ones were put
//! together is known. What is found elsewhere counts as a false alarm, though some of it may be right.

use serde::Serialize;

use super::boundary::{Boundary, boundaries};
use super::settings::{SubjectDetection, TopicSettings};
use crate::message::{Message, Role};
use crate::outline::Entry;
use crate::turn::is_plain_user_message;

/// Conversations, one after the other, and where each but the first begins.
#[derive(Clone, Debug, Default)]
pub struct Splice {
    /// Outlines and times; times are left out, as they would give the seams away.
    pub path: Vec<Entry>,
    /// The messages.
    pub messages: Vec<Message>,
    /// The first exchanges of the second and every later conversation.
    pub seams: Vec<usize>,
}

impl Splice {
    /// Adds a conversation, without its leading system messages and whatever stands before its first exchange.
    pub fn push(&mut self, path: &[Entry], messages: &[Message]) {
        let is_operator = |entry: &Entry| matches!(entry.outline.role, Role::System | Role::Developer);
        let Some(start) = path.iter().position(|entry| is_plain_user_message(&entry.outline)) else { return };
        if !self.path.is_empty() {
            self.seams.push(self.path.len());
        }
        let rest = path.iter().zip(messages).skip(start).filter(|(entry, _)| !is_operator(entry));
        for (entry, message) in rest {
            self.path.push(Entry { outline: entry.outline.clone(), time: None });
            self.messages.push(message.clone());
        }
    }
}

/// What was found and what was missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Score {
    /// Seams.
    pub seams: usize,
    /// Boundaries that were found.
    pub found: usize,
    /// Those of them that are seams.
    pub right: usize,
    /// Exchanges that are no seams: chances for a false alarm.
    pub chances: usize,
}

impl Score {
    /// The part of what was found that is right; 1 where nothing was found.
    pub fn precision(&self) -> f64 {
        ratio(self.right, self.found, 1.0)
    }

    /// The part of the seams that was found; 1 where there are none.
    pub fn recall(&self) -> f64 {
        ratio(self.right, self.seams, 1.0)
    }

    /// False alarms per exchange that is no seam.
    pub fn alarm_rate(&self) -> f64 {
        ratio(self.found - self.right, self.chances, 0.0)
    }

    /// Both scores together.
    pub fn plus(self, other: Score) -> Score {
        Score {
            seams: self.seams + other.seams,
            found: self.found + other.found,
            right: self.right + other.right,
            chances: self.chances + other.chances,
        }
    }
}

#[allow(clippy::cast_precision_loss)]
fn ratio(part: usize, whole: usize, otherwise: f64) -> f64 {
    if whole == 0 { otherwise } else { part as f64 / whole as f64 }
}

/// Compares boundaries with seams, both ascending; one that is off by at most `slack` exchanges counts as right.
pub fn score(path: &[Entry], found: &[Boundary], seams: &[usize], slack: usize) -> Score {
    let starts: Vec<usize> = (0..path.len())
        .filter(|at| path.get(*at).is_some_and(|entry| is_plain_user_message(&entry.outline)))
        .collect();
    let number = |at: usize| starts.partition_point(|start| *start < at);
    let mut open = seams.iter().map(|seam| number(*seam)).peekable();
    let mut right = 0;
    for boundary in found.iter().map(|boundary| number(boundary.at)) {
        while open.next_if(|seam| seam + slack < boundary).is_some() {}
        right += usize::from(open.next_if(|seam| *seam <= boundary + slack).is_some());
    }
    let chances = starts.len().saturating_sub(seams.len() + 1);
    Score { seams: seams.len(), found: found.len(), right, chances }
}

/// How well the seams of a splice are found by cohesion alone.
pub fn cohesion(splice: &Splice, slack: usize) -> Score {
    let settings =
        TopicSettings { subject_detection: SubjectDetection::Cohesion, ..TopicSettings::default() };
    let mut found = boundaries(&splice.path, &splice.messages, &settings, &[]);
    found.retain(|boundary| boundary.why == super::boundary::Why::Subject);
    score(&splice.path, &found, &splice.seams, slack)
}

//! One line a call, for people who look on.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use epitome::{Course, SessionId, TenantId, Tokens, Usage};

/// Who is told of each call when it is over.
pub type Listener = Arc<dyn Fn(&Line) + Send + Sync>;

/// A call that is over.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Line {
    /// The path that was asked for.
    pub path: String,
    /// The model.
    pub model: String,
    /// The status that went back; none where there was no answer.
    pub status: Option<u16>,
    /// From the request's arrival to the end.
    pub took: Duration,
    /// Whose call it was.
    pub tenant: TenantId,
    /// The session, where it could be had.
    pub session: Option<SessionId>,
    /// How the conversation went on.
    pub course: Option<Course>,
    /// Everything that the client sent, in the model's tokens, as estimated.
    pub before: Tokens,
    /// Everything that was sent.
    pub after: Tokens,
    /// What was billed.
    pub usage: Option<Usage>,
    /// What else is to be known, such as that the client went away.
    pub note: Option<String>,
}

impl fmt::Display for Line {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status.map_or("---".to_owned(), |status| status.to_string());
        let session = self.session.map_or("-".repeat(8), |session| session.to_string());
        let session: String = session.chars().take(8).collect();
        let course = match self.course {
            None => "unknown",
            Some(Course::New) => "new",
            Some(Course::Continued) => "goes on",
            Some(Course::Forked) => "forked",
            Some(Course::Retried) => "again",
            Some(Course::Resampled) => "once more",
        };
        write!(out, "{status} {:>7.2} s  {session} {course:<9}", self.took.as_secs_f64())?;
        if self.after < self.before {
            write!(out, "  {:#} → {:#} tokens", self.before, self.after)?;
        } else if self.after > Tokens::ZERO {
            write!(out, "  {:#} tokens", self.after)?;
        }
        if let Some(usage) = &self.usage {
            let total = usage.total_input();
            let cached = usage.cache_read.0.saturating_mul(100).checked_div(total.0).unwrap_or(0);
            write!(out, ", {total:#} billed, {cached} % cached, {:#} out", usage.output)?;
        }
        write!(out, "  {} {}", self.model, self.path)?;
        match &self.note {
            Some(note) => write!(out, "  ({note})"),
            None => Ok(()),
        }
    }
}

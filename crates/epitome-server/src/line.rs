//! One line a request, for people who look on. It is begun when the request arrives and told once, when nobody has more to say of it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use epitome::{Course, SessionId, TenantId, Tokens, Usage};
use http::StatusCode;

use crate::keeper::End;

/// Who is told of each request when it is over.
pub type Listener = Arc<dyn Fn(&Line) + Send + Sync>;

/// A request that is over.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Line {
    /// The path that was asked for, without its query, which may hold a key.
    pub path: String,
    /// The model, where somebody looked for it.
    pub model: String,
    /// The status that went back; none where there was no answer.
    pub status: Option<u16>,
    /// From the request's arrival to the end.
    pub took: Duration,
    /// Whose call it was.
    pub tenant: TenantId,
    /// The session, where there is one and it could be had.
    pub session: Option<SessionId>,
    /// How the conversation went on, where it did.
    pub course: Option<Course>,
    /// Everything that the client sent, in the model's tokens, as estimated.
    pub before: Tokens,
    /// Everything that was sent.
    pub after: Tokens,
    /// What was billed.
    pub usage: Option<Usage>,
    /// What else is to be known, such as that the client went away.
    pub notes: Vec<String>,
}

impl Line {
    fn of(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            model: String::new(),
            status: None,
            took: Duration::ZERO,
            tenant: TenantId::LOCAL,
            session: None,
            course: None,
            before: Tokens::ZERO,
            after: Tokens::ZERO,
            usage: None,
            notes: Vec::new(),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status.map_or("---".to_owned(), |status| status.to_string());
        let session = self.session.map_or("-".repeat(8), |session| session.to_string());
        let session: String = session.chars().take(8).collect();
        let course = match self.course {
            None => "",
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
        let gap = if self.model.is_empty() { "" } else { " " };
        write!(out, "  {}{gap}{}", self.model, self.path)?;
        if !self.notes.is_empty() {
            write!(out, "  ({})", self.notes.join("; "))?;
        }
        Ok(())
    }
}

/// The line of a request that is under way. Everybody who may have something to say holds it; when the last lets go, it is told.
#[derive(Clone, Default)]
pub struct Slip(Option<Arc<Open>>);

struct Open {
    line: Mutex<Line>,
    listener: Listener,
}

impl Slip {
    /// A request for this path; where nobody listens, nothing is written.
    pub(crate) fn of(path: &str, listener: Option<&Listener>) -> Self {
        Self(listener.map(|listener| {
            Arc::new(Open { line: Mutex::new(Line::of(path)), listener: Arc::clone(listener) })
        }))
    }

    /// Says what is known of it.
    pub fn write(&self, change: impl FnOnce(&mut Line)) {
        if let Some(open) = &self.0 {
            change(&mut open.line.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Says something that is to be known.
    pub fn note(&self, note: impl Into<String>) {
        self.write(|line| line.notes.push(note.into()));
    }
}

impl fmt::Debug for Slip {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Slip")
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        (self.listener)(self.line.get_mut().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The server's own part of a line: how the request ended, and when. Dropped before its end, the client went away.
pub(crate) struct Entry {
    slip: Slip,
    received: Instant,
    is_over: bool,
}

impl Entry {
    pub(crate) fn new(slip: Slip, received: Instant) -> Self {
        Self { slip, received, is_over: false }
    }

    /// This status goes back.
    pub(crate) fn answered(&self, status: StatusCode) {
        self.slip.write(|line| line.status = Some(status.as_u16()));
    }

    /// Something that is to be known.
    pub(crate) fn note(&self, note: impl Into<String>) {
        self.slip.note(note);
    }

    /// It is over; only the first end counts.
    pub(crate) fn end(&mut self, end: &End) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        match end {
            End::Whole => {}
            End::CutByUpstream => self.slip.note("the upstream broke off"),
            End::CutByClient => self.slip.note("the client went away"),
            End::Unreachable(problem) => self.slip.note(problem),
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.end(&End::CutByClient);
        self.slip.write(|line| line.took = self.received.elapsed());
    }
}

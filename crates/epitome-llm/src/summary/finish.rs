//! From a model's draft to the summary that is used: mended, filled up from the one that code picks, and weighed against it.

use std::fmt;

use epitome_core::checkpoint::{Checkpoint, validate};
use epitome_core::compact::{Level, Summarizer, SummaryError};
use epitome_core::loss::{Sources, What};
use epitome_core::{Chars, Tokens};

use super::carry::{Picked, Shortfall};
use super::check::{self, Judged, judge};
use super::job::{Job, Room, counter};
use super::strange;
use super::written::{Rung, Written};

/// A model's summary as it will be used.
pub(super) struct Finished {
    judged: Judged,
    rung: Rung,
    /// How much the model kept by itself.
    own: f64,
}

/// Makes a model's summary one that can be used: within its room, without inventions, with what must not be lost.
pub(super) fn finished(
    (judged, rung): (Judged, Rung),
    job: &Job<'_>,
    picked: Option<&Picked>,
    report: &mut Written,
) -> Finished {
    let sources = job.all();
    let (text, strange) = match strange::struck(&judged.text, &sources) {
        (text, strange) if strange > 0 && job.request.level == Level::Checkpoint => {
            (Checkpoint::parse(&text).checkpoint.render(), strange)
        }
        struck => struck,
    };
    let (text, added) = match &job.earlier {
        Some(earlier) => check::with_orders(text, earlier, job.has_request()),
        None => (text, 0),
    };
    let text = match job.request.level {
        Level::Checkpoint => check::with_goal(text, job.earlier.as_ref(), &sources),
        _ => text,
    };
    let best = best(&text, job, &sources, picked);
    report.added += added + best.added;
    report.struck += best.struck + strange;
    report.invented = best.invented + strange;
    let own = own(&best.draft, &sources);
    Finished { judged: best.judged, rung, own }
}

/// A room in parts; no more than this part of a text is given up for the user's words.
const SIXTHS: u64 = 6;
const LEAST_SIXTHS: u64 = 2;

/// A draft that was made to fit and mended.
struct Tried {
    judged: Judged,
    added: usize,
    struck: usize,
    invented: usize,
    /// What the summary by code has and this one has not.
    shortfall: Shortfall,
    /// What it was before code added anything.
    draft: String,
}

impl Tried {
    fn falls_short(&self) -> bool {
        self.shortfall != Shortfall::default() || loses_order(&self.judged)
    }

    fn is_better_than(&self, other: &Self) -> bool {
        match self.shortfall == other.shortfall {
            true => self.judged.score > other.judged.score,
            false => self.shortfall < other.shortfall,
        }
    }
}

fn loses_order(judged: &Judged) -> bool {
    judged.loss.of(What::Constraint).is_some_and(|tally| tally.missing > 0)
}

// A text mended within its room. Where there is no place for the user's words, or for names that are worth as much as those that
// code quotes, there has to be: other things go.
fn best(text: &str, job: &Job<'_>, sources: &Sources<'_>, picked: Option<&Picked>) -> Tried {
    let mut best = tried(text, SIXTHS, job, sources, picked);
    for share in (LEAST_SIXTHS..SIXTHS).rev() {
        if !best.falls_short() {
            break;
        }
        let other = tried(text, share, job, sources, picked);
        best = if other.is_better_than(&best) { other } else { best };
    }
    best
}

// A draft within so many sixths of the room, and what code adds to it within all of it.
fn tried(text: &str, sixths: u64, job: &Job<'_>, sources: &Sources<'_>, picked: Option<&Picked>) -> Tried {
    const PASSES: usize = 2;
    let fits = |text: &str| job.room.holds(text);
    let (mut text, mut added) = (within(text, sixths, job), 0);
    let draft = text.clone();
    if job.request.level != Level::Checkpoint {
        (text, added) = check::with_lines(text, job.request.previous, &fits);
        let (wished, wishes) = match job.request.level {
            Level::Rolling => check::with_wish(text, sources, &fits),
            _ => (text, 0),
        };
        (text, added) = (wished, added + wishes);
    }
    let mut judged = judge(text, sources);
    let (mut struck, invented) = (0, judged.loss.invented.len());
    for _ in 0..PASSES {
        let mended = check::mend(&judged, sources, &fits);
        struck += mended.struck;
        added += mended.added;
        judged = judge(mended.text, sources);
        if judged.loss.invented.is_empty() {
            break;
        }
    }
    let shortfall = Shortfall::default();
    let Some(picked) = picked else { return Tried { judged, added, struck, invented, shortfall, draft } };
    let fuller = picked.carried_into(&judged.text, job);
    if fuller.added > 0 && fits(&fuller.text) {
        (judged, added) = (judge(fuller.text, sources), added + fuller.added);
    }
    let shortfall = picked.shortfall(&judged.text, job);
    Tried { judged, added, struck, invented, shortfall, draft }
}

// How much a text keeps without what it makes up and without anybody's help. What a model leaves of an earlier checkpoint when it names
// changes counts as its own: it was checked before, and to leave it is what was asked for.
fn own(text: &str, sources: &Sources<'_>) -> f64 {
    let struck = check::mend(&judge(text.to_owned(), sources), sources, &|_: &str| false);
    check::kept(&judge(struck.text, sources).loss)
}

// Where it is too long, it is made so much shorter that something can be added.
fn within(text: &str, sixths: u64, job: &Job<'_>) -> String {
    if sixths == SIXTHS && job.room.holds(text) {
        return text.to_owned();
    }
    let mut room = job.room;
    room.tokens = Tokens(room.tokens.0 * sixths.min(SIXTHS - 1) / SIXTHS);
    if job.request.level != Level::Checkpoint {
        return check::shortened(text, &|text: &str| room.holds(text));
    }
    let mut checkpoint = Checkpoint::parse(text).checkpoint;
    // What the user ordered is the last to go, as long as it leaves half of the room to the rest.
    let orders = std::mem::take(&mut checkpoint.constraints);
    let rendered = Checkpoint { constraints: orders.clone(), ..Checkpoint::default() }.render();
    let taken = counter().text(&rendered);
    if taken.0 * 2 > room.tokens.0 {
        checkpoint.constraints = orders;
        checkpoint.shrink(&|text: &str| room.holds(text));
        return checkpoint.render();
    }
    let rest =
        Room { tokens: room.tokens - taken, chars: room.chars.map(|most| most - Chars::of(&rendered)) };
    checkpoint.shrink(&|text: &str| rest.holds(text));
    checkpoint.constraints = orders;
    checkpoint.render()
}

/// The summary by code: word for word what it is without a model, unless that is too long for the room that there is.
pub(super) fn by_code(job: &Job<'_>, offline: &mut dyn Summarizer) -> Result<Judged, SummaryError> {
    let sources = job.all();
    let judged = judge(offline.summarize(job.request)?, &sources);
    if job.room.holds(&judged.text) {
        return Ok(judged);
    }
    // Where an earlier summary has much to say, what code picks may be too long.
    let picked = Picked::of(&judged.text, job);
    Ok(best(&judged.text, job, &sources, Some(&picked)).judged)
}

/// Of the model's summary, where it is valid, and that of code, the one that scores higher; the model's where they are level.
pub(super) fn chosen(
    drafted: Option<Finished>,
    by_code: Result<Judged, SummaryError>,
    picked: Option<&Picked>,
    job: &Job<'_>,
    report: &mut Written,
) -> Result<String, SummaryError> {
    report.offline_score = by_code.as_ref().ok().map(|judged| judged.score);
    let Some(finished) = drafted else { return by_code.map(|judged| judged.text) };
    if let Some(fault) = unfit(&finished.judged, job) {
        report.troubles.push(format!("the model's summary is no valid one: {fault}"));
        return by_code.map(|judged| judged.text);
    }
    let lack = match &by_code {
        Ok(by_code) => Lack::of(&finished, by_code, picked, job),
        Err(_) => Lack::default(),
    };
    let score = lack.score(finished.judged.score, report.offline_score);
    report.score = Some(score);
    if report.offline_score.is_some_and(|by_code| by_code > score) {
        report.troubles.push(format!("the summary by code scores higher{lack}"));
        return by_code.map(|judged| judged.text);
    }
    report.rung = finished.rung;
    Ok(finished.judged.text)
}

/// What a model's summary lacks beside the one by code.
#[derive(Clone, Copy, Debug, Default)]
struct Lack {
    /// Words of the user's.
    said: usize,
    /// How much less its names and numbers are worth, as a part of what those of the other are.
    names: f64,
    /// Whether the model says next to nothing by itself. With all that code quotes beside them, its words would pass for a summary.
    is_bare: bool,
}

impl Lack {
    fn of(finished: &Finished, by_code: &Judged, picked: Option<&Picked>, job: &Job<'_>) -> Self {
        const LEAST: f64 = 0.25;
        let is_bare = finished.own < LEAST * check::kept(&by_code.loss);
        let Some(picked) = picked else { return Self { is_bare, ..Self::default() } };
        let Shortfall { said, worth } = picked.shortfall(&finished.judged.text, job);
        Self { said, names: worth as f64 / picked.worth.max(1) as f64, is_bare }
    }

    /// What is left of a score by the check beside that of the summary by code: what is better may make up for names, and neither
    /// for a word of the user's nor for having nothing to say.
    fn score(&self, score: f64, by_code: Option<f64>) -> f64 {
        let score = score - self.names;
        match self.said + usize::from(self.is_bare) {
            0 => score,
            lacking => by_code.map_or(score, |by_code| score.min(by_code)) - lacking as f64,
        }
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lack { said: 1.., .. } => out.write_str(": the model's has fewer of the user's words"),
            Lack { is_bare: true, .. } => out.write_str(": the model's says next to nothing by itself"),
            Lack { names, .. } if *names > 0.0 => out.write_str(": the model's has fewer names and numbers"),
            _ => Ok(()),
        }
    }
}

// Why a summary cannot be used as it is, after all that code could do for it.
fn unfit(judged: &Judged, job: &Job<'_>) -> Option<String> {
    let text = &judged.text;
    if text.trim().is_empty() {
        return Some("nothing is left of it".to_owned());
    }
    if !job.room.holds(text) {
        return Some(format!("it has {} tokens", counter().text(text)));
    }
    if let Some(invented) = judged.loss.invented.first() {
        return Some(format!("nobody said {:?}", invented.text));
    }
    let checked = (job.request.level == Level::Checkpoint).then(|| validate(text));
    checked.and_then(Result::err).map(|error| error.to_string())
}

//! From a model's draft to the summary that is used: mended, filled up, and weighed against the one that code picks.

use epitome_core::checkpoint::{Checkpoint, validate};
use epitome_core::compact::{Level, Summarizer, SummaryError, SummaryRequest};
use epitome_core::loss::{Sources, What};
use epitome_core::{Chars, Tokens};

use super::check::{self, Judged, judge};
use super::job::{Job, Room, counter};
use super::written::{Rung, Written};

/// A model's summary as it will be used: within its room, without inventions, with what must not be lost.
pub(super) fn finished(
    judged: Judged,
    job: &Job<'_>,
    offline: &mut dyn Summarizer,
    report: &mut Written,
) -> Judged {
    let sources = job.all();
    let (text, added) = match &job.earlier {
        Some(earlier) => check::with_orders(judged.text, earlier, job.has_request()),
        None => (judged.text, 0),
    };
    let text = match job.request.level {
        Level::Checkpoint => check::with_goal(text, job.earlier.as_ref(), &sources),
        _ => text,
    };
    let best = best(&text, job, &sources);
    report.added += added + best.added;
    report.struck += best.struck;
    report.invented = best.invented;
    let mut judged = best.judged;
    if job.request.level == Level::Checkpoint {
        // What room is left is for what code quotes.
        let fits = |text: &str| job.room.holds(text);
        let left = job.room.tokens - counter().text(&judged.text);
        let request = SummaryRequest { max_tokens: left, ..job.request.clone() };
        let picked = offline.summarize(&request).unwrap_or_default();
        let fuller = judge(check::together(&judged.text, &picked, &fits), &sources);
        if fuller.score >= judged.score && fits(&fuller.text) {
            judged = fuller;
        }
    }
    judged
}

/// A room in parts; no more than this part of a text is given up for orders.
const SIXTHS: u64 = 6;
const LEAST_SIXTHS: u64 = 3;

/// A draft that was made to fit and mended.
struct Tried {
    judged: Judged,
    added: usize,
    struck: usize,
    invented: usize,
}

fn loses_order(judged: &Judged) -> bool {
    judged.loss.of(What::Constraint).is_some_and(|tally| tally.missing > 0)
}

// A text mended within its room. Where there is no place for an order, there has to be: other things go.
fn best(text: &str, job: &Job<'_>, sources: &Sources<'_>) -> Tried {
    let mut best = tried(text, SIXTHS, job, sources);
    for share in (LEAST_SIXTHS..SIXTHS).rev() {
        if !loses_order(&best.judged) {
            break;
        }
        let other = tried(text, share, job, sources);
        best = if other.judged.score > best.judged.score { other } else { best };
    }
    best
}

// A draft within so many sixths of the room, and what code adds to it within all of it.
fn tried(text: &str, sixths: u64, job: &Job<'_>, sources: &Sources<'_>) -> Tried {
    const PASSES: usize = 2;
    let fits = |text: &str| job.room.holds(text);
    let (mut text, mut added) = (within(text, sixths, job), 0);
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
    Tried { judged, added, struck, invented }
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

/// Of the model's summary and that of code, the one that the check scores higher.
pub(super) fn chosen(
    drafted: Option<(Judged, Rung)>,
    job: &Job<'_>,
    offline: &mut dyn Summarizer,
    report: &mut Written,
) -> Result<String, SummaryError> {
    let sources = job.all();
    // Where an earlier summary has much to say, what code picks may be too long, or have no room for an order.
    let fitted = |text: String| {
        let judged = judge(text, &sources);
        if job.room.holds(&judged.text) && !loses_order(&judged) {
            return judged;
        }
        let other = best(&judged.text, job, &sources).judged;
        if other.score > judged.score || !job.room.holds(&judged.text) { other } else { judged }
    };
    let picked = offline.summarize(job.request).map(fitted);
    report.score = drafted.as_ref().map(|(judged, _)| judged.score);
    report.offline_score = picked.as_ref().ok().map(|judged| judged.score);
    let Some((judged, rung)) = drafted else { return picked.map(|judged| judged.text) };
    if let (Ok(picked), Some(fault)) = (&picked, unfit(&judged.text, job)) {
        report.troubles.push(format!("the model's summary is no valid one: {fault}"));
        return Ok(picked.text.clone());
    }
    match picked {
        Ok(picked) if picked.score > judged.score => {
            report.troubles.push("the summary by code scores higher".to_owned());
            Ok(picked.text)
        }
        _ => {
            report.rung = rung;
            Ok(judged.text)
        }
    }
}

// Why a summary cannot be used as it is, after all that code could do for it.
fn unfit(text: &str, job: &Job<'_>) -> Option<String> {
    if text.trim().is_empty() {
        return Some("nothing is left of it".to_owned());
    }
    if !job.room.holds(text) {
        return Some(format!("it has {} tokens", counter().text(text)));
    }
    let checked = (job.request.level == Level::Checkpoint).then(|| validate(text));
    checked.and_then(Result::err).map(|error| error.to_string())
}

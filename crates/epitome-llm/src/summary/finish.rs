//! From a model's draft to the summary that is used: mended, filled up, and weighed against the one that code picks.

use epitome_core::Tokens;
use epitome_core::checkpoint::{Checkpoint, validate};
use epitome_core::compact::{Level, Summarizer, SummaryError, SummaryRequest};

use super::check::{self, Judged, judge};
use super::job::{Job, counter};
use super::written::{Rung, Written};

/// A model's summary as it will be used: within its room, without inventions, with what must not be lost.
pub(super) fn finished(
    judged: Judged,
    job: &Job<'_>,
    offline: &mut dyn Summarizer,
    report: &mut Written,
) -> Judged {
    const PASSES: usize = 2;
    let fits = |text: &str| job.room.holds(text);
    let mut judged = judged;
    let mut added = 0;
    if let Some(earlier) = &job.earlier {
        (judged.text, added) = check::with_orders(judged.text, earlier, job.has_request());
    }
    judged.text = within(judged.text, job);
    if job.request.level != Level::Checkpoint {
        (judged.text, added) = check::with_lines(judged.text, job.request.previous, &fits);
    }
    report.added += added;
    judged = judge(judged.text, &job.sources());
    report.invented = judged.loss.invented.len();
    for _ in 0..PASSES {
        let mended = check::mend(&judged, &job.sources(), &fits);
        report.struck += mended.struck;
        report.added += mended.added;
        judged = judge(mended.text, &job.sources());
        if judged.loss.invented.is_empty() {
            break;
        }
    }
    if job.request.level == Level::Checkpoint {
        // What room is left is for what code quotes.
        let left = job.room.tokens - counter().text(&judged.text);
        let request = SummaryRequest { max_tokens: left, ..job.request.clone() };
        let picked = offline.summarize(&request).unwrap_or_default();
        let fuller = judge(check::together(&judged.text, &picked, &fits), &job.sources());
        if fuller.score >= judged.score && fits(&fuller.text) {
            judged = fuller;
        }
    }
    judged
}

// Where it is too long, it is made so much shorter that something can be added.
fn within(text: String, job: &Job<'_>) -> String {
    if job.room.holds(&text) {
        return text;
    }
    let mut room = job.room;
    room.tokens = Tokens(room.tokens.0 / 6 * 5);
    let fits = |text: &str| room.holds(text);
    if job.request.level != Level::Checkpoint {
        return check::shortened(&text, &fits);
    }
    let mut checkpoint = Checkpoint::parse(&text).checkpoint;
    checkpoint.shrink(&fits);
    checkpoint.render()
}

/// Of the model's summary and that of code, the one that the check scores higher.
pub(super) fn chosen(
    drafted: Option<(Judged, Rung)>,
    job: &Job<'_>,
    offline: &mut dyn Summarizer,
    report: &mut Written,
) -> Result<String, SummaryError> {
    let picked = offline.summarize(job.request).map(|text| judge(text, &job.sources()));
    report.score = drafted.as_ref().map(|(judged, _)| judged.score);
    report.offline_score = picked.as_ref().ok().map(|judged| judged.score);
    let Some((judged, rung)) = drafted else { return picked.map(|judged| judged.text) };
    let is_valid = |text: &str| {
        !text.trim().is_empty()
            && job.room.holds(text)
            && (job.request.level != Level::Checkpoint || validate(text).is_ok())
    };
    match picked {
        Ok(picked) if !is_valid(&judged.text) => {
            report.troubles.push("the model's summary is no valid one".to_owned());
            Ok(picked.text)
        }
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

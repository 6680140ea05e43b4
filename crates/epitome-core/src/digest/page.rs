//! What was chosen, as a checkpoint.

use super::pack::Choice;
use super::parts::Voice;
use super::reading::Reading;
use super::worth::Worth;
use crate::checkpoint::{Checkpoint, Decision, Excerpt, Item, Name, Source};

/// How many words of the last thing that was said are quoted.
const END: usize = 30;
/// Stands for what is left out of a line.
const ELLIPSIS: &str = " … ";

/// The checkpoint with these choices in it: orders as constraints, open questions, reports as what is done, decisions, other
/// quotations as excerpts, names as names.
pub(super) fn page(
    reading: &Reading<'_>,
    worth: &Worth,
    choices: &[Choice],
    basis: &Checkpoint,
) -> Checkpoint {
    let mut checkpoint = basis.clone();
    let mut quotes: Vec<usize> = Vec::new();
    let mut orders: Vec<usize> = Vec::new();
    let mut questions: Vec<usize> = Vec::new();
    let mut reports: Vec<usize> = Vec::new();
    let mut decisions: Vec<usize> = Vec::new();
    let mut names: Vec<(usize, usize)> = Vec::new();
    for choice in choices {
        match *choice {
            Choice::Quote(unit) if worth.is_order(unit) => orders.push(unit),
            Choice::Quote(unit) if worth.is_question(unit) => questions.push(unit),
            Choice::Quote(unit) if worth.is_report(unit) => reports.push(unit),
            Choice::Quote(unit) if worth.is_decision(reading, unit) => decisions.push(unit),
            Choice::Quote(unit) => quotes.push(unit),
            Choice::Name(thing) => {
                let place = reading.things.get(thing).map_or(0, |thing| thing.last);
                names.push((place, thing));
            }
        }
    }
    orders.sort_unstable();
    questions.sort_unstable();
    reports.sort_unstable();
    decisions.sort_unstable();
    quotes.sort_unstable();
    names.sort_unstable();
    let item = |unit: &usize| Item::new(reading.text(*unit), source(reading, *unit));
    checkpoint.constraints.extend(orders.iter().filter_map(item));
    checkpoint.dynamics.extend(questions.iter().filter_map(item));
    checkpoint.done.extend(reports.iter().filter_map(item));
    let decision = |unit: &usize| Decision::from_statement(reading.text(*unit), source(reading, *unit));
    checkpoint.decisions.extend(decisions.iter().filter_map(decision));
    checkpoint.excerpts.extend(excerpts(reading, &quotes));
    let name = |(_, thing): &(usize, usize)| Name::new(reading.name(reading.things.get(*thing)?));
    checkpoint.names.extend(names.iter().filter_map(name));
    checkpoint
}

/// Where nothing was worth picking, how the last thing that was said begins: a checkpoint says where the work stands.
pub(super) fn with_an_end(
    checkpoint: Checkpoint,
    reading: &Reading<'_>,
    size: &dyn Fn(&Checkpoint) -> f32,
) -> Checkpoint {
    let Checkpoint { done, in_progress, context, excerpts, names, .. } = &checkpoint;
    let is_told = !(excerpts.is_empty() && names.is_empty())
        || [done, in_progress, context].into_iter().any(|items| !items.is_empty());
    let last = (0..reading.units.len()).rev().find(|unit| !reading.is_shown(*unit));
    let Some(last) = last.filter(|_| !is_told) else { return checkpoint };
    let text = reading.text(last).trim_start();
    let end = text.match_indices(char::is_whitespace).nth(END).map_or(text.len(), |(at, _)| at);
    let words = text.get(..end).unwrap_or_default().to_owned();
    let excerpt = Excerpt::new(vec![words], source(reading, last));
    let mut longer = checkpoint.clone();
    longer.excerpts.extend(excerpt);
    if size(&longer) <= 1.0 { longer } else { checkpoint }
}

fn source(reading: &Reading<'_>, unit: usize) -> Option<Source> {
    let part = reading.part(unit)?;
    Some(Source { message: part.message, role: part.voice.role() })
}

// One for every message and speaker; units that follow each other stay together as they were.
fn excerpts(reading: &Reading<'_>, quotes: &[usize]) -> Vec<Excerpt> {
    let mut excerpts = Vec::new();
    let mut pieces: Vec<String> = Vec::new();
    let mut rest = quotes;
    let mut previous = None;
    while let Some((first, _)) = rest.split_first() {
        let run = rest.iter().zip(*first..).take_while(|(unit, expected)| {
            **unit == *expected && (*unit == first || reading.before(**unit).is_some())
        });
        let length = run.count();
        let (stretch, after) = rest.split_at(length);
        rest = after;
        let joins = previous.is_some_and(|last| is_same_line(reading, last, *first));
        match (pieces.last_mut(), stretch_text(reading, stretch)) {
            (Some(piece), Some(text)) if joins => piece.extend([ELLIPSIS, text.trim_start()]),
            (_, text) => pieces.extend(text),
        }
        previous = stretch.last().copied();
        let here = source(reading, *first);
        if rest.first().and_then(|next| source(reading, *next)) != here || rest.is_empty() {
            excerpts.extend(Excerpt::new(std::mem::take(&mut pieces), here));
        }
    }
    excerpts
}

// Whether two units are parts of one long line.
fn is_same_line(reading: &Reading<'_>, first: usize, second: usize) -> bool {
    let (Some(first), Some(second)) = (reading.units.get(first), reading.units.get(second)) else {
        return false;
    };
    let between =
        reading.parts.get(first.part).and_then(|part| part.text.get(first.span.end..second.span.start));
    first.part == second.part && between.is_some_and(|text| !text.contains('\n'))
}

fn stretch_text(reading: &Reading<'_>, stretch: &[usize]) -> Option<String> {
    let (first, last) = (reading.units.get(*stretch.first()?)?, reading.units.get(*stretch.last()?)?);
    let text = reading.parts.get(first.part)?.text.get(first.span.start..last.span.end)?;
    let voice = reading.parts.get(first.part)?.voice;
    // Prose needs no indentation; the sentence before, which is left out, ended with a space.
    let text = if matches!(voice, Voice::User | Voice::Agent) { text.trim_start() } else { text };
    Some(text.to_owned())
}

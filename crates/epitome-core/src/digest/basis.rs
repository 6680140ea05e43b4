//! What a checkpoint holds in any case: the goal, the latest request, what was changed, and what failed.

use super::Talk;
use super::carried::carried;
use super::parts::{Part, Voice};
use super::reading::Reading;
use super::worth::Worth;
use crate::artifacts::{self, Failed, Solved, Touched};
use crate::checkpoint::{Checkpoint, Files, Item, Request, Source, merge};
use crate::compact::{Level, SummaryRequest};
use crate::message::Role;
use crate::secrets::masked;
use crate::turn::is_plain_user_message;
use crate::units::Tokens;

/// No more of the room than this part is for the goal; and so for the request, and for files.
const SHARE: f32 = 0.15;
/// What a bullet and the words on its source take.
pub(super) const PROVENANCE: Tokens = Tokens(8);
/// The results of a call stand within so many messages.
const ANSWERS: usize = 4;
/// A goal has more words than this.
const TELLING: usize = 3;
/// What a goal takes, where there is room.
const GOAL: f32 = 120.0;

/// Said of what failed once and works by now, and of the change that came between.
pub(crate) const SOLVED: &str = " … solved";
pub(crate) const AFTER: &str = ", after a change of ";

/// The part of a checkpoint that is not weighed against the rest.
pub(super) fn basis(
    digest: &Talk<'_>,
    request: &SummaryRequest<'_>,
    reading: &Reading<'_>,
    worth: &mut Worth,
) -> Checkpoint {
    let room = request.max_tokens.0 as f32 * SHARE;
    let mut checkpoint = Checkpoint::default();
    let opens = |at: usize| digest.path.iter().take(at).all(|entry| !is_plain_user_message(&entry.outline));
    if opens(request.range.start) {
        checkpoint.goal = goal(reading, worth, room.min(GOAL));
    }
    let goal = checkpoint.goal.as_ref().and_then(Item::source).map(|source| source.message);
    checkpoint.request =
        latest(digest, request, reading, goal).and_then(|part| quoted(part, reading, worth, room));
    let range = request.range.clone();
    let path = digest.path.get(range.clone()).unwrap_or_default();
    let done = artifacts::of(path, digest.messages.get(range.clone()).unwrap_or_default());
    let mut wallet = Wallet { left: Tokens(room as u64), digest, first: range.start };
    checkpoint.files = Files {
        modified: wallet.files(&done.modified),
        created: wallet.files(&done.created),
        deleted: wallet.files(&done.deleted),
        read: Vec::new(),
    };
    wallet.left += Tokens(room as u64);
    // Elsewhere there is no heading that would tell a failure from the rest; its lines are quoted like others.
    if request.level == Level::Checkpoint {
        checkpoint.failed = wallet.failures(&done.failed);
    }
    checkpoint.failed.iter().for_each(|failure| told(failure, reading, worth));
    match carried(digest, request, reading) {
        // What an earlier summary calls the goal was said before all that is left of the conversation.
        Some(earlier) => {
            checkpoint.goal = checkpoint.goal.filter(|_| earlier.goal.is_none());
            merge(earlier, checkpoint)
        }
        None => checkpoint,
    }
}

// How the first thing that the user says begins: as many sentences as fit, or what fits of the first one.
fn goal(reading: &Reading<'_>, worth: &mut Worth, room: f32) -> Option<Item> {
    // A greeting or a command of two words says nothing of what is wanted, if more is said before the agent answers.
    let speaks = |part: &Part<'_>| part.voice == Voice::User;
    let opening =
        reading.parts.iter().take_while(|part| speaks(part) || part.voice == Voice::Frame).enumerate();
    let telling =
        opening.filter(|(_, part)| speaks(part) && part.text.split_whitespace().nth(TELLING).is_some());
    let first = || reading.parts.iter().position(speaks);
    let number = telling.map(|(number, _)| number).next().or_else(first)?;
    if reading.is_part_shown(number) {
        return None;
    }
    let part = reading.parts.get(number)?;
    let units = reading.of_part.get(number)?.clone();
    let first = reading.units.get(units.start)?;
    let mut spent = first.cost;
    let fits = |unit: &usize| {
        spent += reading.units.get(*unit).map_or(0.0, |unit| unit.cost);
        spent <= room
    };
    let last = (units.start + 1..units.end).take_while(fits).last().unwrap_or(units.start);
    let text = part.text.get(first.span.start..reading.units.get(last)?.span.end)?;
    let source = Some(Source { message: part.message, role: Role::User });
    if first.cost > room {
        return Item::new(&clipped(text, part.density, room), source);
    }
    (units.start..=last).for_each(|unit| worth.cover(reading, unit));
    Item::new(text, source)
}

// The words that begin a text, up to about so many tokens; where it has no spaces, the letters.
fn clipped(text: &str, density: f32, tokens: f32) -> String {
    let bytes = (tokens / density.max(f32::EPSILON)) as usize;
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let start = text.get(..end).unwrap_or_default();
    format!("{} …", start.rsplit_once(char::is_whitespace).map_or(start, |(words, _)| words))
}

// What the user asked for last, unless that is shown as it was or is told as the goal.
fn latest(
    digest: &Talk<'_>,
    request: &SummaryRequest<'_>,
    reading: &Reading<'_>,
    goal: Option<usize>,
) -> Option<usize> {
    let is_plain = |at: usize| digest.path.get(at).is_some_and(|entry| is_plain_user_message(&entry.outline));
    let asks = |part: &Part<'_>| part.voice == Voice::User && is_plain(part.message);
    let message = reading.parts.iter().rfind(|part| asks(part))?.message;
    if !request.range.contains(&message) || goal == Some(message) {
        return None;
    }
    reading.parts.iter().position(|part| part.message == message && asks(part))
}

// A part of what the user said, or how it begins.
fn quoted(part: usize, reading: &Reading<'_>, worth: &mut Worth, room: f32) -> Option<Request> {
    let Part { message, text, density, .. } = reading.parts.get(part)?;
    let units = reading.of_part.get(part)?.clone();
    let cost: f32 = units.clone().filter_map(|unit| reading.units.get(unit)).map(|unit| unit.cost).sum();
    let source = Some(Source { message: *message, role: Role::User });
    if cost > room {
        return Request::new(&clipped(text, *density, room), source);
    }
    units.for_each(|unit| worth.cover(reading, unit));
    Request::new(text, source)
}

// The lines that a failure quotes need not be quoted again.
fn told(failure: &Item, reading: &Reading<'_>, worth: &mut Worth) {
    let Some(source) = failure.source() else { return };
    let from = reading.parts.partition_point(|part| part.message < source.message);
    let answers = reading.parts.iter().zip(&reading.of_part).skip(from);
    let answers = answers.take_while(|(part, _)| part.message <= source.message + ANSWERS);
    for unit in answers.filter(|(part, _)| part.voice == Voice::Tool).flat_map(|(_, units)| units.clone()) {
        if failure.text().contains(reading.text(unit).trim()) {
            worth.cover(reading, unit);
        }
    }
}

/// What may still be spent on lists.
struct Wallet<'d> {
    left: Tokens,
    digest: &'d Talk<'d>,
    first: usize,
}

impl Wallet<'_> {
    // The latest ones that can be paid for, in their order.
    fn latest<T>(&mut self, all: &[T], item: impl Fn(&T, usize) -> Option<Item>) -> Vec<Item> {
        let mut items: Vec<Item> = Vec::new();
        for item in all.iter().rev().filter_map(|one| item(one, self.first)) {
            let cost = (self.digest.count)(item.text()) + PROVENANCE;
            if cost > self.left {
                break;
            }
            self.left = self.left - cost;
            items.push(item);
        }
        items.reverse();
        items
    }

    // The files that the work changed; those only read are named like everything else.
    fn files(&mut self, touched: &[Touched]) -> Vec<Item> {
        let source = |message| Some(Source { message, role: Role::Assistant });
        self.latest(touched, |file, first| Item::new(&file.file, source(first + file.message)))
    }

    // What did not work, and where; what works by now only where there is room left, and with what was changed for it.
    fn failures(&mut self, failed: &[Failed]) -> Vec<Item> {
        let (mut solved, open): (Vec<&Failed>, Vec<&Failed>) =
            failed.iter().partition(|failed| failed.solved.is_some());
        solved.extend(open);
        let masks = self.digest.masks;
        let mut items = self.latest(&solved, |failed, first| {
            let text = failure(failed);
            let text = if masks { masked(&text).into_owned() } else { text };
            Item::new(&text, Some(Source { message: first + failed.message, role: Role::Assistant }))
        });
        items.sort_by_key(|item| item.source().map(|source| source.message));
        items
    }
}

fn failure(failed: &Failed) -> String {
    let Failed { tool, input, error, place, solved, .. } = failed;
    let mut text = format!("{tool} {input}: {error}");
    text.extend(place.iter().flat_map(|place| [" ", place.as_str()]));
    match solved {
        Some(Solved { changed: Some(file), .. }) => text.extend([SOLVED, AFTER, file]),
        Some(Solved { changed: None, .. }) => text.push_str(SOLVED),
        None => {}
    }
    text
}

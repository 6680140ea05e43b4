//! A compaction that messages carry in themselves: a conversation that was compacted before, and written out.
//!
//! Whoever keeps no record of compactions, a file or an agent that pipes its messages through, sends the summary as a
//! message. Recognised by the words around it, it is a summary again: it is merged instead of being told as something
//! that somebody said, it is nobody's request, and a conversation that did not go on since is left alone.

use std::ops::Range;
use std::sync::LazyLock;

use super::cuts::leading;
use super::presets::Preset;
use super::segment::{Compaction, Level, Segment};
use super::settings::StrategyName;
use super::strategies::effective;
use super::view::{OMITTED, Placement, SystemPlace, Wording, view};
use crate::message::{Block, Message, Role};
use crate::outline::Entry;
use crate::settings::Settings;
use crate::turn::is_plain_user_message;

/// The words that summaries of the presets and of the defaults stand in.
static KNOWN: LazyLock<Vec<Wording>> = LazyLock::new(|| {
    let presets = Preset::ALL.map(|preset| preset.settings().compact.wording());
    [Settings::default().compact.wording()].into_iter().chain(presets).collect()
});

/// The compaction whose summaries stand among these messages, if there are any.
///
/// Its view is the messages themselves. Only summaries that stand in messages of their own are found, not those within
/// the first request or among the operator's instructions.
pub fn in_force(path: &[Entry], messages: &[Message], settings: &Settings) -> Option<Compaction> {
    let own = settings.compact.wording();
    let start = leading(path);
    let wording = messages.iter().skip(start).find_map(|message| told(message, &own))?.1.clone();
    let mut segments: Vec<Segment> = Vec::new();
    let mut at = 0;
    for number in start..messages.len() {
        let Some(segment) = hidden(messages, number, &wording, settings).filter(|it| it.range().start >= at)
        else {
            continue;
        };
        segments.extend(verbatim(at..segment.range().start));
        at = segment.range().end;
        segments.push(segment);
    }
    segments.extend(verbatim(at..messages.len()));
    let found = Compaction { segments, placement: Placement::Pair, wording };
    let shown = view(&found, path, messages, SystemPlace::Outside).messages(messages);
    // A file gives the messages of a summary a name and a time of their own.
    let is_same =
        |(shown, message): (&Message, &Message)| shown.role == message.role && shown.blocks == message.blocks;
    (shown.len() == messages.len() && shown.iter().zip(messages).all(is_same)).then_some(found)
}

/// Takes the summaries out of messages: their texts, and the messages with nothing in their place.
///
/// `None` where there are no summaries among them.
pub(super) fn taken_out(messages: &[Message], own: &Wording) -> Option<(Vec<String>, Vec<Message>)> {
    let texts: Vec<String> =
        messages.iter().filter_map(|message| told(message, own)).map(|(text, _)| text.to_owned()).collect();
    if texts.is_empty() {
        return None;
    }
    let is_ours = |message: &Message| {
        let said = only_text(message);
        let acknowledges = || KNOWN.iter().chain([own]).any(|wording| said == Some(&wording.acknowledgement));
        told(message, own).is_some()
            || said == Some(OMITTED)
            || message.role == Role::Assistant && acknowledges()
    };
    let rest = messages.iter().map(|message| match is_ours(message) {
        true => Message::new(message.role, Vec::new()),
        false => message.clone(),
    });
    Some((texts, rest.collect()))
}

/// Whether a message is a summary, in the words of a preset or of the defaults: nobody said what stands in it.
pub(crate) fn is_summary(message: &Message) -> bool {
    told(message, &Wording::default()).is_some()
}

/// What a person said last, which no summary is.
pub(crate) fn last_request(path: &[Entry], messages: &[Message]) -> Option<usize> {
    let own = Wording::default();
    let is_summary = |at: usize| messages.get(at).is_some_and(|message| told(message, &own).is_some());
    let last = |end: usize| {
        path.get(..end).unwrap_or_default().iter().rposition(|entry| is_plain_user_message(&entry.outline))
    };
    let mut found = last(path.len());
    while let Some(at) = found.filter(|at| is_summary(*at)) {
        found = last(at);
    }
    found
}

// The summary that a message is, and the words it stands in. Of words that begin alike the longest count.
fn told<'m, 'w>(message: &'m Message, own: &'w Wording) -> Option<(&'m str, &'w Wording)>
where
    'static: 'w,
{
    let said = only_text(message).filter(|_| message.role == Role::User)?;
    let matching = KNOWN.iter().chain([own]).filter_map(|wording| {
        let (before, after) = wording.summary.split_once("{summary}")?;
        let text = said.strip_prefix(before)?.strip_suffix(after)?;
        (!before.trim().is_empty() && !text.trim().is_empty()).then_some((text, wording))
    });
    matching.max_by_key(|(_, wording)| wording.summary.len())
}

// The summary at a message, with the words of the other side that belong to it; or what stands for nothing.
fn hidden(messages: &[Message], at: usize, wording: &Wording, settings: &Settings) -> Option<Segment> {
    let says = |at: Option<usize>, role: Role, words: &str| {
        at.and_then(|at| messages.get(at))
            .is_some_and(|message| message.role == role && only_text(message) == Some(words))
    };
    let message = messages.get(at)?;
    if let Some((text, _)) = told(message, wording) {
        let start = at - usize::from(says(at.checked_sub(1), Role::Assistant, OMITTED));
        // Where roles alternate without it, the view has no acknowledgement.
        let needed = messages.get(at + 2).is_some_and(|next| next.role == Role::User);
        let acknowledged = says(Some(at + 1), Role::Assistant, &wording.acknowledgement);
        let end = at + 1 + usize::from(acknowledged && needed);
        return Some(Segment::Summary { range: start..end, text: text.to_owned(), level: level(settings) });
    }
    let silent = message.role == Role::User && only_text(message) == Some(OMITTED);
    silent.then(|| Segment::Omitted { range: at..at + 1, note: "left out before".to_owned() })
}

fn verbatim(range: Range<usize>) -> Option<Segment> {
    (!range.is_empty()).then_some(Segment::Verbatim { range })
}

fn level(settings: &Settings) -> Level {
    match effective(settings) {
        StrategyName::Auto | StrategyName::Checkpoint => Level::Checkpoint,
        StrategyName::Narrative => Level::Narrative,
        StrategyName::Tiered => Level::Topic,
        StrategyName::Rolling | StrategyName::Prune | StrategyName::None => Level::Rolling,
    }
}

fn only_text(message: &Message) -> Option<&str> {
    match message.blocks.as_slice() {
        [Block::Text(text)] => Some(&text.text),
        _ => None,
    }
}

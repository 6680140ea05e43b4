//! A summary from the messages themselves, where an earlier one stood for some of them: nothing is copied from a copy.

use epitome_core::checkpoint::{Checkpoint, Decision, Item, merge};
use epitome_core::compact::{Level, SummaryRequest};
use epitome_core::loss::{Sources, coverage};
use epitome_core::{Chars, Message, Tokens};

use super::check::shortened;
use super::conversation::{Telling, pieces};
use super::job::counter;

/// The messages that a summary is of, all of them, and what an earlier one says beyond them.
pub(super) struct Rebuilt<'a> {
    request: SummaryRequest<'a>,
    carried: Vec<String>,
}

/// Of an entry that is to be carried along, less than this part is said by the messages.
const SAID: f32 = 0.5;
/// What is carried along may have this part of the room.
const SHARE: u64 = 3;
/// Texts with fewer headings are no checkpoints.
const HEADINGS: usize = 2;

impl<'a> Rebuilt<'a> {
    /// What can be written from the messages of a path; `None` where some are not at hand or not all fit one call of `most`.
    pub(super) fn of(
        request: &SummaryRequest<'a>,
        path: &'a [Message],
        telling: &Telling,
        most: Tokens,
    ) -> Option<Self> {
        let range = request.range.clone();
        let originals = path.get(range.clone()).filter(|originals| !originals.is_empty())?;
        // A summary of summaries is one of several topics, which the messages would have to be parted into again.
        let is_wanted = !request.previous.is_empty() && request.level != Level::Bulk;
        if !is_wanted || originals.iter().any(|message| message.blocks.is_empty()) {
            return None;
        }
        let (mut tokens, mut chars) = (Tokens::ZERO, Chars(0));
        let count = counter();
        for text in (range.start..).zip(originals).flat_map(|(number, one)| pieces(one, number, telling)) {
            tokens += count.text(&text);
            chars = Chars(chars.0 + Chars::of(&text).0);
            if tokens > most || chars > telling.options.most {
                return None;
            }
        }
        let carried = carried(request, originals);
        let request =
            SummaryRequest { messages: originals, first: range.start, previous: &[], ..request.clone() };
        Some(Self { request, carried })
    }

    /// The request for it.
    pub(super) fn request(&self) -> SummaryRequest<'_> {
        SummaryRequest { previous: &self.carried, ..self.request.clone() }
    }
}

/// Those words of earlier summaries that no message says. What the messages say, however the summary puts it, is told by them.
fn carried(request: &SummaryRequest<'_>, originals: &[Message]) -> Vec<String> {
    let sources = Sources { first: request.range.start, ..Sources::new(originals) };
    let room = Tokens(request.max_tokens.0 / SHARE);
    let fits = |text: &str| counter().text(text) <= room;
    let parsed: Vec<_> = request.previous.iter().map(|text| Checkpoint::parse(text)).collect();
    if parsed.iter().any(|parsed| parsed.known_headings < HEADINGS) {
        let lines: Vec<&str> = request.previous.iter().flat_map(|text| text.lines()).collect();
        let own = lines.iter().zip(coverage(&lines, &sources)).filter(|(_, said)| *said < SAID);
        let text = own.map(|(line, _)| *line).collect::<Vec<_>>().join("\n");
        return Some(shortened(&text, &fits)).filter(|text| !text.trim().is_empty()).into_iter().collect();
    }
    let merged = parsed.into_iter().map(|parsed| parsed.checkpoint).reduce(merge).unwrap_or_default();
    let mut own = own_words(&merged, &sources);
    own.shrink(&fits);
    if own.is_empty() { Vec::new() } else { vec![own.render()] }
}

fn own_words(earlier: &Checkpoint, sources: &Sources<'_>) -> Checkpoint {
    let own = |items: &[Item]| -> Vec<Item> {
        let texts: Vec<&str> = items.iter().map(Item::text).collect();
        let said = coverage(&texts, sources);
        items.iter().zip(said).filter(|(_, said)| *said < SAID).map(|(item, _)| item.clone()).collect()
    };
    let statement = |decision: &Decision| format!("{} {}", decision.subject(), decision.rationale());
    let statements: Vec<String> = earlier.decisions.iter().map(statement).collect();
    let said = coverage(&statements.iter().map(String::as_str).collect::<Vec<_>>(), sources);
    let decisions = earlier.decisions.iter().zip(said).filter(|(_, said)| *said < SAID);
    Checkpoint {
        goal: earlier.goal.as_ref().and_then(|goal| own(std::slice::from_ref(goal)).pop()),
        constraints: own(&earlier.constraints),
        done: own(&earlier.done),
        in_progress: own(&earlier.in_progress),
        decisions: decisions.map(|(decision, _)| decision.clone()).collect(),
        dynamics: own(&earlier.dynamics),
        next_steps: own(&earlier.next_steps),
        context: own(&earlier.context),
        failed: own(&earlier.failed),
        ..Checkpoint::default()
    }
}

//! What an earlier summary says that the messages do not: a model's own words, which cannot be picked out again.

use super::Talk;
use super::basis::PROVENANCE;
use super::plain;
use super::quick::QuickSet;
use super::reading::Reading;
use super::said::{is_order, ordered};
use crate::checkpoint::{Checkpoint, Decision, Item, Source, merge};
use crate::compact::{SummaryRequest, last_request};
use crate::units::Tokens;

/// What is taken over from earlier summaries may have this part of the room.
const SHARE: u64 = 2;

/// Those entries of earlier summaries that are no quotations, as many as fit their share.
pub(super) fn carried(
    digest: &Talk<'_>,
    request: &SummaryRequest<'_>,
    reading: &Reading<'_>,
) -> Option<Checkpoint> {
    // Texts that are no checkpoints do not say where they have something from.
    let told = |line: &str| reading.parts.iter().any(|part| part.text.contains(line.trim()));
    let read = |text: &String| plain::read(text, &told).unwrap_or_else(|| Checkpoint::parse(text).checkpoint);
    let mut checkpoint = request.previous.iter().map(read).reduce(merge)?;
    let quoted = |text: &str, source: Option<Source>| {
        let said = |source: Source| {
            let here = reading.parts.iter().filter(|part| part.message == source.message);
            here.into_iter().any(|part| contains(&part.text, text))
        };
        source.is_some_and(said)
    };
    let own = |item: &Item| !quoted(item.text(), item.source());
    checkpoint.goal = checkpoint.goal.filter(&own);
    checkpoint.request = checkpoint.request.filter(|said| !quoted(said.text(), said.source()));
    let Checkpoint { constraints, done, in_progress, dynamics, next_steps, context, failed, .. } =
        &mut checkpoint;
    for list in [constraints, done, in_progress, dynamics, next_steps, context, failed] {
        list.retain(&own);
    }
    let statement = |decision: &Decision| match decision.rationale() {
        "" => decision.subject().to_owned(),
        rationale => format!("{} {rationale}", decision.subject()),
    };
    checkpoint.decisions.retain(|decision| !quoted(&statement(decision), decision.source()));
    let known: QuickSet<&str> = reading.things.iter().map(|thing| reading.name(thing)).collect();
    checkpoint.names.retain(|name| !known.contains(name.as_str()));
    checkpoint
        .excerpts
        .retain(|excerpt| excerpt.pieces().iter().any(|piece| !quoted(piece, excerpt.source())));
    // What the user ordered is the last to go, also what he ordered in a request that is no longer the latest.
    let mut orders = std::mem::take(&mut checkpoint.constraints);
    if last_request(digest.path, digest.messages).is_some()
        && let Some(said) = checkpoint.request.take()
    {
        orders.extend(ordered(said.text()).filter_map(|order| Item::new(order, said.source())));
    }
    let orders = within(orders, digest, Tokens(request.max_tokens.0 / SHARE));
    let taken: Tokens = orders.iter().map(|order| cost(order, digest)).sum();
    let room = Tokens(request.max_tokens.0 / SHARE) - Tokens(taken.0 / 2);
    checkpoint.shrink(&|text: &str| (digest.count)(text) <= room);
    checkpoint.constraints = orders;
    (!checkpoint.is_empty()).then_some(checkpoint)
}

// As many as fit: orders before wishes, and of those the latest.
fn within(orders: Vec<Item>, digest: &Talk<'_>, room: Tokens) -> Vec<Item> {
    let (first, second): (Vec<usize>, Vec<usize>) =
        (0..orders.len()).partition(|number| orders.get(*number).is_some_and(|order| is_order(order.text())));
    let mut spent = Tokens::ZERO;
    let fits = |number: &usize| {
        let cost = orders.get(*number).map_or(Tokens::ZERO, |order| cost(order, digest));
        let fits = spent + cost <= room;
        spent += if fits { cost } else { Tokens::ZERO };
        fits
    };
    let kept: QuickSet<usize> = first.into_iter().chain(second.into_iter().rev()).filter(fits).collect();
    orders
        .into_iter()
        .enumerate()
        .filter(|(number, _)| kept.contains(number))
        .map(|(_, order)| order)
        .collect()
}

fn cost(order: &Item, digest: &Talk<'_>) -> Tokens {
    (digest.count)(order.text()) + PROVENANCE
}

// Whether a text holds these words in a row, whatever stands between them: what was wrapped or split is the same text.
fn contains(text: &str, words: &str) -> bool {
    let bare = |text: &str| text.chars().filter(|letter| letter.is_alphanumeric()).collect::<String>();
    text.contains(words) || bare(text).contains(&bare(words))
}

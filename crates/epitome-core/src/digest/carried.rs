//! What an earlier summary says that the messages do not: a model's own words, which cannot be picked out again.

use super::Digest;
use super::quick::QuickSet;
use super::reading::Reading;
use crate::checkpoint::{Checkpoint, Decision, Item, Source, merge};
use crate::compact::SummaryRequest;

/// What is taken over from earlier summaries may have this part of the room.
const SHARE: u64 = 2;

/// Those entries of earlier summaries that are no quotations, as many as fit their share.
pub(super) fn carried(
    digest: &Digest<'_>,
    request: &SummaryRequest<'_>,
    reading: &Reading<'_>,
) -> Option<Checkpoint> {
    let earlier = request.previous.iter().map(|text| Checkpoint::parse(text).checkpoint);
    let mut checkpoint = earlier.reduce(merge)?;
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
    let known: QuickSet<&str> = reading.things.iter().map(|thing| thing.text).collect();
    checkpoint.names.retain(|name| !known.contains(name.as_str()));
    checkpoint
        .excerpts
        .retain(|excerpt| excerpt.pieces().iter().any(|piece| !quoted(piece, excerpt.source())));
    let fits = |text: &str| (digest.count)(text).0 <= request.max_tokens.0 / SHARE;
    checkpoint.shrink(&fits);
    (!checkpoint.is_empty()).then_some(checkpoint)
}

// Whether a text holds these words in a row, whatever stands between them: what was wrapped or split is the same text.
fn contains(text: &str, words: &str) -> bool {
    let bare = |text: &str| text.chars().filter(|letter| letter.is_alphanumeric()).collect::<String>();
    text.contains(words) || bare(text).contains(&bare(words))
}

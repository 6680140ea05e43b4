//! The check of a summary against what it is of: what is wrong, how good it is, and what code can do about it.

use epitome_core::checkpoint::{Checkpoint, Item, Section};
use epitome_core::loss::{self, Fate, Fault, Invented, Loss, OnInvention, Sources, What};
use epitome_core::{Block, Message, Role};

/// A summary that was compared with its sources.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    pub(super) text: String,
    pub(super) loss: Loss,
    pub(super) score: f64,
}

/// A summary after code mended it.
#[derive(Clone, Debug)]
pub(super) struct Mended {
    pub(super) text: String,
    pub(super) struck: usize,
    pub(super) added: usize,
}

/// Compares a summary with its sources.
pub(super) fn judge(text: String, sources: &Sources<'_>) -> Judged {
    let loss = loss::check(&text, sources);
    let score = score(&loss);
    Judged { text, loss, score }
}

/// How good a summary is: 1 for one that keeps all and makes up nothing.
///
/// Each kind of thing counts by what its loss costs; a line that was made up costs more than one that is missing.
pub(super) fn score(loss: &Loss) -> f64 {
    kept(loss) - 2.0 * loss.invented.len() as f64 / loss.claims.max(1) as f64
}

/// How much of what matters a summary keeps, from 0 to 1, whatever it makes up.
pub(super) fn kept(loss: &Loss) -> f64 {
    let (mut sum, mut all) = (0.0, 0.0);
    for tally in &loss.tallies {
        let kept = tally.kept as f64 + 0.9 * tally.reworded as f64 + 0.25 * tally.recoverable as f64;
        sum += weight(tally.what) * kept / tally.total.max(1) as f64;
        all += weight(tally.what);
    }
    if all > 0.0 { sum / all } else { 1.0 }
}

fn weight(what: What) -> f64 {
    match what {
        What::Constraint => 6.0,
        What::Decision => 4.0,
        What::Error | What::Path => 3.0,
        What::Url | What::Email | What::Id => 2.0,
        What::Identifier | What::Date | What::Version | What::Number | What::Sentence => 1.0,
    }
}

/// What the writer of a summary should hear about it; nothing where it is good enough.
pub(super) fn faults(loss: &Loss) -> Vec<(&'static str, Vec<String>)> {
    const MOST: usize = 20;
    let told = |found: &&Invented| format!("- {} (in: {})", found.text, found.claim);
    let is_said = |found: &&Invented| found.fault == Fault::Misattributed;
    let (said, unsaid): (Vec<&Invented>, Vec<&Invented>) = loss.invented.iter().partition(is_said);
    let list = |found: &[&Invented]| -> Vec<String> { found.iter().take(MOST).map(told).collect() };
    let matters = |what: What| matches!(what, What::Constraint | What::Decision | What::Error | What::Path);
    let missing = loss.missing.iter().filter(|lost| matters(lost.what));
    let missing: Vec<String> = missing.take(MOST).map(|lost| format!("- {}", lost.text)).collect();
    let lists = [
        ("not in the conversation", list(&unsaid)),
        ("said by somebody else, and no order where a tool says it", list(&said)),
        ("missing", missing),
    ];
    lists.into_iter().filter(|(_, list)| !list.is_empty()).collect()
}

/// Whether a summary is bad enough to ask for another one.
pub(super) fn is_worth_another(judged: &Judged) -> bool {
    // A few small losses are added by code, and that costs nothing.
    const GOOD: f64 = 0.85;
    let lost_order = judged.loss.of(What::Constraint).is_some_and(|tally| tally.missing > 0);
    !judged.loss.invented.is_empty()
        || lost_order
        || judged.score < GOOD && judged.loss.count(Fate::Missing) > 3
}

/// The summary without what it made up, and with what nobody can do without.
pub(super) fn mend(judged: &Judged, sources: &Sources<'_>, fits: &dyn Fn(&str) -> bool) -> Mended {
    let first = loss::mend(&judged.text, &judged.loss, sources, OnInvention::Strike, fits);
    Mended { text: first.text, struck: first.struck, added: first.added }
}

/// The orders in a text of the user's that a summary no longer has.
fn lost_orders(summary: &str, said: &str) -> Vec<String> {
    let said = [Message::text(Role::User, said)];
    let loss = loss::check(summary, &Sources::new(&said));
    loss.missing.into_iter().filter(|lost| lost.what == What::Constraint).map(|lost| lost.text).collect()
}

/// Takes the orders of an earlier checkpoint back in that a summary no longer has; how many they are.
///
/// A request that is no longer the latest goes, but not what it orders.
pub(super) fn with_orders(text: String, earlier: &Checkpoint, is_answered: bool) -> (String, usize) {
    let mut checkpoint = Checkpoint::parse(&text).checkpoint;
    let lost = |item: &&Item| !lost_orders(&text, item.text()).is_empty();
    let mut orders: Vec<Item> = earlier.constraints.iter().filter(lost).cloned().collect();
    if is_answered && checkpoint.request == earlier.request {
        checkpoint.request = None;
        let rest = checkpoint.render();
        if let Some(request) = &earlier.request {
            let lost = lost_orders(&rest, request.text());
            orders.extend(lost.iter().filter_map(|order| Item::new(order, request.source())));
        }
    }
    let count = orders.len();
    checkpoint.constraints.splice(0..0, orders);
    (checkpoint.render(), count)
}

/// Gives up a goal that is in nobody's words, such as one in another language, or not in those of who has a say in it, for that
/// of an earlier checkpoint; where there is none, what the user said first takes its place when the summary is mended.
pub(super) fn with_goal(text: String, earlier: Option<&Checkpoint>, sources: &Sources<'_>) -> String {
    // A name or two is in every language.
    const SAID: f32 = 0.5;
    let mut checkpoint = Checkpoint::parse(&text).checkpoint;
    let is_said = |goal: &Item| loss::coverage(&[goal.text()], sources).iter().all(|said| *said > SAID);
    let is_strange = |found: &Invented| found.section == Some(Section::Goal);
    let before = earlier.and_then(|earlier| earlier.goal.as_ref());
    let stays = match &checkpoint.goal {
        Some(goal) if before == Some(goal) => true,
        Some(goal) => is_said(goal) && !loss::check(&text, sources).invented.iter().any(is_strange),
        None => before.is_none(),
    };
    if stays {
        return text;
    }
    checkpoint.goal = before.cloned();
    checkpoint.render()
}

/// Puts what the user wanted first before a summary that is no checkpoint and does not say it.
pub(super) fn with_wish<'s>(
    text: String,
    sources: &Sources<'s>,
    fits: &dyn Fn(&str) -> bool,
) -> (String, usize) {
    const SAID: f32 = 0.5;
    const LONGEST: usize = 300;
    let says = |message: &'s Message| match (message.role, message.blocks.first()) {
        (Role::User, Some(Block::Text(said))) => {
            said.text.trim().lines().next()?.split_inclusive(". ").next()
        }
        _ => None,
    };
    let wish = sources.messages.iter().find_map(says).filter(|_| sources.first == 0);
    let Some(wish) = wish.map(|said| said.trim_end().chars().take(LONGEST).collect::<String>()) else {
        return (text, 0);
    };
    let beside = [text.as_str()];
    let told = Sources { beside: &beside, ..Sources::new(&[]) };
    if loss::coverage(&[&wish], &told).iter().all(|said| *said > SAID) {
        return (text, 0);
    }
    let with = |rest: &str| format!("Goal: {wish}\n{rest}");
    match fits(&with("")) {
        true => (with(&shortened(&text, &|rest: &str| fits(&with(rest)))), 1),
        false => (text, 0),
    }
}

/// Takes orders back in where a summary is no checkpoint, as far as there is room.
pub(super) fn with_lines(text: String, earlier: &[String], fits: &dyn Fn(&str) -> bool) -> (String, usize) {
    let (mut text, mut count) = (text, 0);
    for order in earlier.iter().flat_map(|earlier| lost_orders(&text, earlier)).collect::<Vec<_>>() {
        let longer = format!("{text}\n- {order}");
        if fits(&longer) {
            (text, count) = (longer, count + 1);
        }
    }
    (text, count)
}

/// The beginning of a text that fits, in whole lines where that leaves most of it.
pub(super) fn shortened(text: &str, fits: &dyn Fn(&str) -> bool) -> String {
    if fits(text) {
        return text.to_owned();
    }
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let start = |count: usize| ends.get(count).and_then(|end| text.get(..*end)).unwrap_or(text);
    let (mut low, mut high) = (0, ends.len());
    while high - low > 1 {
        let middle = (low + high) / 2;
        if fits(start(middle)) { low = middle } else { high = middle }
    }
    let cut = start(low);
    let line = cut.rfind('\n').filter(|end| end * 2 >= cut.len());
    line.and_then(|end| cut.get(..end)).unwrap_or(cut).trim_end().to_owned()
}

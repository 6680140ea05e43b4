//! Which sentences tell something that stays true.

use super::cues::{Cue, Relation};
use super::relation::{Parts, is_passing, lists, parts};
use super::said::{Form, Said, Speech, Voice, is_unspaced};
use super::subject::{is_empty, is_generic, subject};
use super::value::{NEAR, ROLES, Value};
use crate::items::{Found, Kind};

/// What is said of a value takes so many words at most.
const LONGEST_VALUE: usize = 14;
/// What somebody is asked to remember has at least so many words.
const FEWEST: usize = 5;
/// The same for a cause.
const FEWEST_OF_CAUSE: usize = 7;

/// Words for what has a value, in scripts without spaces.
const UNSPACED_ROLES: &str = "端口 版本 地址 名 分支 数据库 路径 编号 号码 预算 截止 语言 ポート バージョン アドレス ブランチ データベース \
    予算 締切 言語 番号 サーバー";
/// What a sentence is about, if it tells a fact.
pub(super) fn judge(said: &Said<'_>, speech: Speech) -> Option<String> {
    let voice = speech.voice;
    if said.has(Cue::Unsure) {
        return None;
    }
    if said.is_unspaced() {
        return unspaced(said, voice);
    }
    cause(said, voice).or_else(|| relation(said, speech)).or_else(|| remembered(said, voice))
}

fn cause(said: &Said<'_>, voice: Voice) -> Option<String> {
    let hit = said.first(Cue::Cause)?;
    let names_it = matches!(said.low(hit.words.end - 1), "cause" | "ursache");
    let behind = hit.words.end..said.words.len();
    let told =
        !names_it || said.lows(behind).take(6).any(|low| matches!(low, "is" | "was" | "ist" | "war" | "are"));
    let bare = hit.words.start <= 3 || said.opens(hit.words.start) || !names_it;
    let vague = lists("it they this that these those", said.low(0))
        && hit.words.start == 1
        && !matches!(said.low(1), "turns" | "turned");
    let before =
        |cue: Cue| said.hits.iter().any(|other| other.cue == cue && other.words.start < hit.words.start);
    let conditional = before(Cue::Conditional) || before(Cue::Passing);
    if !told || !bare || vague || conditional || said.words.len() < FEWEST_OF_CAUSE {
        return None;
    }
    // A cause is about all that it names: two causes are seldom causes of the same.
    Some(subject(
        said.lows(0..said.words.len())
            .filter(|low| !matches!(*low, "root" | "problem" | "issue" | "turns" | "turned" | "out")),
        Some("cause"),
        voice,
    ))
}

fn remembered(said: &Said<'_>, voice: Voice) -> Option<String> {
    let hit = said.first(Cue::Memory).filter(|hit| voice == Voice::User && said.opens(hit.words.start))?;
    let rest = hit.words.end..said.words.len();
    let is_order = matches!(said.low(hit.words.end), "to" | "me" | "when" | "how" | "zu" | "de");
    let fits = rest.len() + 1 >= FEWEST && !is_order && !passes(said) && !said.has(Cue::Conditional);
    fits.then(|| subject(said.lows(rest), None, voice)).filter(|subject| !subject.is_empty())
}

fn relation(said: &Said<'_>, speech: Speech) -> Option<String> {
    let voice = speech.voice;
    let parts = parts(said).or_else(|| labelled(said, speech))?;
    let length = said.words.len() - parts.value.min(said.words.len());
    let passes = passes(said) || said.has(Cue::Conditional) || is_passing(said, parts.about.clone());
    if passes || !(1..=LONGEST_VALUE).contains(&length) || voice == Voice::Agent && is_of_code(said, &parts) {
        return None;
    }
    let value = Value::of(said, &parts);
    let content = |low: &str| !is_empty(low) && !is_generic(low);
    let says_of_what = parts.relation == Relation::Uses || said.lows(parts.about.clone()).any(content);
    if !says_of_what || !value.holds(voice) {
        return None;
    }
    let about = said.lows(parts.about.clone()).filter(|low| !is_generic(low));
    let found = subject(about.chain(value.made_with()), value.sort(), voice);
    // "The version is 4.1": the user knows of what, and so does who reads it; of an agent that is not sure.
    let specific = voice == Voice::User || found.contains(' ');
    (!found.is_empty() && specific).then_some(found)
}

// Who reads code says of every name in it what it is; that is worth no more than the code.
fn is_of_code(said: &Said<'_>, parts: &Parts) -> bool {
    if matches!(parts.relation, Relation::Located | Relation::Served) {
        return false;
    }
    let words = said.words.get(parts.about.clone()).unwrap_or_default();
    let names = |item: &Found<'_>| {
        words.iter().any(|word| word.span.start < item.span.end && item.span.start < word.span.end)
    };
    said.items.iter().any(names) || matches!(said.low(0), "wait" | "hmm" | "ah" | "oh")
}

// "Port: 5433", where the user writes a list of such.
fn labelled(said: &Said<'_>, speech: Speech) -> Option<Parts> {
    let colon = said.text.find(": ").filter(|_| speech == Speech { voice: Voice::User, form: Form::Talk })?;
    let end = said.words.iter().take_while(|word| word.span.end <= colon).count();
    let fits = (1..=4).contains(&end) && said.words.len() - end <= NEAR + 2;
    let specific = said.lows(0..end).any(|low| !lists(ROLES, low) && !is_empty(low));
    let from = said.words.get(end)?.span.start;
    let begins = said.items.iter().any(|item| item.span.start <= from && from < item.span.end);
    let open = said.low(end.saturating_sub(1));
    (fits && specific && begins && !matches!(open, "at" | "in" | "on" | "to")).then_some(Parts {
        relation: Relation::Equals,
        about: 0..end,
        value: end,
    })
}

// Words for the moment, but for those that the verb is made of: "is now".
fn passes(said: &Said<'_>) -> bool {
    let verbs = || said.hits.iter().filter(|hit| matches!(hit.cue, Cue::Relation(_)));
    let inside = |at: usize| verbs().any(|verb| verb.words.contains(&at));
    said.hits.iter().any(|hit| hit.cue == Cue::Passing && !inside(hit.words.start))
}

fn unspaced(said: &Said<'_>, voice: Voice) -> Option<String> {
    if said.has(Cue::Cause) {
        return Some(subject(said.lows(0..said.words.len()), Some("cause"), voice));
    }
    if said.has(Cue::Passing) || said.has(Cue::Conditional) {
        return None;
    }
    const VERBS: [&str; 7] = ["位于", "监听", "叫做", "使用", "是", "在", "は"];
    let (verb, length) = VERBS.iter().find_map(|verb| Some((said.text.find(verb)?, verb.len())))?;
    let about = said.text.get(..verb)?.rsplit(['，', '、', ',', '：']).next()?.trim();
    let item = said.items.iter().find(|item| item.span.start >= verb + length && item.is_telling())?;
    let has_role = UNSPACED_ROLES.split(' ').any(|role| said.text.contains(role));
    let fits = (2..=20).contains(&about.chars().count()) && about.chars().any(is_unspaced);
    let holds = matches!(item.kind, Kind::Path | Kind::Url | Kind::Email | Kind::Version) || has_role;
    (fits && holds).then(|| subject(std::iter::once(about), None, voice))
}

//! Which sentences of the user say how things are to be done in general.

use super::cues::Cue;
use super::decision::about;
use super::said::{Form, Hit, Said, Voice};
use super::subject::subject;

/// A rule is told in so many words at most; what is longer tells a story.
const LONGEST: usize = 40;
/// The same for a manner, which is asked for in few words.
const LONGEST_MANNER: usize = 14;
/// The same for "no emojis".
const LONGEST_BARE: usize = 7;

/// What a sentence is about, if the user prefers something in it.
pub(super) fn judge(said: &Said<'_>, form: Form) -> Option<String> {
    if said.words.len() > LONGEST {
        return None;
    }
    let whole = || subject(said.lows(0..said.words.len()), None, Voice::User);
    let found = if standing(said) {
        whole()
    } else if let Some(hit) = wish(said) {
        match is_name(said, hit) {
            true => NAME.to_owned(),
            false => about(said, hit.words.end, Voice::User),
        }
    } else if refusal(said, form) {
        whole()
    } else {
        let hit = manner(said).filter(|_| form == Form::Talk)?;
        match is_name(said, hit) {
            true => NAME.to_owned(),
            false => about(said, hit.words.start, Voice::User),
        }
    };
    (!found.is_empty()).then_some(found)
}

/// How the user is called.
const NAME: &str = "name user";

fn is_name(said: &Said<'_>, hit: &Hit) -> bool {
    let words = (said.low(hit.words.start), said.low(hit.words.start + 1));
    matches!(words, ("call" | "address", "me") | ("nenn", "mich"))
        || matches!(words.0, "appelle-moi" | "appelez-moi" | "llámame")
}

// Always, never, from now on: said to somebody, not of something.
fn standing(said: &Said<'_>) -> bool {
    const ADDRESSED: [&str; 15] = [
        "please", "must", "should", "shall", "you", "we", "du", "sollst", "musst", "darfst", "tu", "vous",
        "debes", "will", "to",
    ];
    let addressed = |hit: &Hit| {
        if said.is_unspaced() || hit.words.len() > 1 {
            return true;
        }
        let before = hit.words.start.checked_sub(1).map_or("", |at| said.low(at));
        let english = matches!(said.low(hit.words.start), "always" | "never");
        // Elsewhere the verb comes first: "antworte immer", "réponds toujours".
        said.opens(hit.words.start) || ADDRESSED.contains(&before) || !english && hit.words.start == 1
    };
    let told = || said.hits.iter().filter(|hit| hit.cue == Cue::Standing).any(addressed);
    const SELF: [&str; 12] =
        ["i", "i've", "i'm", "i'd", "it", "he", "she", "they", "there", "ich", "je", "yo"];
    let of_self =
        said.words.iter().take(2).any(|word| SELF.contains(&word.low.as_str())) && !said.has(Cue::Wish);
    told() && !of_self && !said.has(Cue::Unsure) && said.words.len() + usize::from(said.is_unspaced()) * 2 > 2
}

fn wish<'s>(said: &'s Said<'_>) -> Option<&'s Hit> {
    let hit = said.first(Cue::Wish)?;
    if said.is_unspaced() {
        return Some(hit);
    }
    let object = said.low(hit.words.end);
    let vague = matches!(
        object,
        "" | "it"
            | "this"
            | "that"
            | "the"
            | "your"
            | "how"
            | "to"
            | "these"
            | "those"
            | "when"
            | "what"
            | "one"
            | "where"
    );
    // "I prefer the first": of things that were just shown.
    let prefers =
        matches!(said.low(hit.words.end - 1), "prefer" | "bevorzuge" | "préfère" | "prefiero" | "rather");
    let shown = |low: &str| {
        matches!(low, "first" | "second" | "latter" | "former" | "one" | "option" | "this" | "that" | "it")
    };
    let points = said.lows(hit.words.end..said.words.len()).take(4).any(shown);
    let counts = match prefers {
        true => !points && !object.is_empty(),
        false => !vague && !points,
    };
    counts.then_some(hit)
}

// "Don't …", "no emojis", "avoid …"; not for the moment only, and not of what is just shown.
fn refusal(said: &Said<'_>, form: Form) -> bool {
    const IDLE: [&str; 38] = [
        "worry",
        "forget",
        "bother",
        "hesitate",
        "know",
        "think",
        "see",
        "have",
        "understand",
        "care",
        "mind",
        "need",
        "want",
        "get",
        "remember",
        "you",
        "problem",
        "worries",
        "thanks",
        "idea",
        "one",
        "i",
        "way",
        "matter",
        "longer",
        "luck",
        "rush",
        "thank",
        "issue",
        "issues",
        "doubt",
        "wonder",
        "response",
        "answer",
        "results",
        "output",
        "error",
        "errors",
    ];
    let counts = |hit: &Hit| {
        if said.is_unspaced() {
            return true;
        }
        let bare = matches!(said.low(hit.words.start), "no" | "kein" | "keine" | "keinen" | "pas" | "nada");
        let closed = said.words.get(hit.words.end - 1).is_some_and(|word| word.closes);
        // "No changes needed" reports.
        let reports = || said.words.iter().any(|word| word.low.ends_with("ed") || word.low == "found");
        let short = !bare
            || form == Form::Talk && said.words.len() <= LONGEST_BARE && hit.words.start == 0 && !reports();
        said.opens(hit.words.start) && !IDLE.contains(&said.low(hit.words.end)) && !closed && short
    };
    let hits = || said.hits.iter().filter(|hit| hit.cue == Cue::Refusal);
    hits().any(counts) && !for_once(said)
}

fn manner<'s>(said: &'s Said<'_>) -> Option<&'s Hit> {
    let hit = said.first(Cue::Manner)?;
    if said.is_unspaced() {
        return Some(hit);
    }
    let steps = said.lows(hit.words.end..said.words.len()).any(|low| matches!(low, "to" | "um" | "afin"));
    let vague = matches!(said.low(hit.words.end), "the" | "your" | "my" | "a" | "an" | "case");
    let before = hit.words.start.checked_sub(1).and_then(|at| said.words.get(at));
    let opens = before.is_none_or(|word| word.closes || matches!(word.low.as_str(), "please" | "bitte"));
    let fits = (2..=LONGEST_MANNER).contains(&said.words.len());
    (opens && fits && !steps && !vague && !for_once(said)).then_some(hit)
}

// For the moment, or for what was just spoken of.
fn for_once(said: &Said<'_>) -> bool {
    let passing =
        |hit: &Hit| hit.cue == Cue::Passing && !matches!(said.low(hit.words.start), "just" | "will");
    said.has(Cue::Pointing) || said.hits.iter().any(passing) || said.has(Cue::Unsure)
}

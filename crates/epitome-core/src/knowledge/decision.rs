//! Which sentences say what was decided, and where the reason for it ends.

use super::cues::Cue;
use super::said::{Hit, Said, Voice};
use super::subject::subject;

/// A decision in a sentence.
pub(super) struct Decision {
    pub(super) subject: String,
    /// Whether the next sentence gives the reason.
    pub(super) goes_on: bool,
}

/// A shorter sentence refers to something that was decided without saying it.
const FEWEST: usize = 4;
/// A reason that stands in a sentence of its own is told in so many words at most.
const LONGEST_REASON: usize = 40;

/// What a sentence decides, if it does; `next` is the one behind it.
pub(super) fn judge(said: &Said<'_>, next: Option<&Said<'_>>, voice: Voice) -> Option<Decision> {
    let is_label = |hit: &&Hit| !is_bare_noun(said, hit);
    let hit = said
        .hits
        .iter()
        .filter(|hit| hit.cue == Cue::Decided)
        .find(is_label)
        .or_else(|| said.first(Cue::Chosen))?;
    let ordered = voice == Voice::User && said.opens(hit.words.start);
    let fewest = if ordered { FEWEST - 1 } else { FEWEST };
    if said.words.len() < fewest && !said.is_unspaced() || is_open(said, hit) {
        return None;
    }
    let goes_on = next.is_some_and(|next| gives_reason(next));
    let reasoned = goes_on || said.has(Cue::Reason) || said.has(Cue::InsteadOf);
    let counts = match (hit.cue, voice) {
        (Cue::Decided, Voice::User) => !points(said, hit),
        // Who works says all the time what is used next; with a reason it is more than that.
        (Cue::Decided, Voice::Agent) => !is_narration(said, hit),
        (_, Voice::User) => !is_about_me(said, hit) && !points(said, hit),
        (_, Voice::Agent) => {
            reasoned
                && !said.has(Cue::Conditional)
                && !said.lows(0..said.words.len()).any(|low| low == "or")
                && said.opens(hit.words.start)
                && !is_narration(said, hit)
        }
    };
    let subject = about(said, hit.words.end, voice);
    (counts && !subject.is_empty()).then_some(Decision { subject, goes_on })
}

// "Decision: …" tells one, "the decision" only speaks of one.
fn is_bare_noun(said: &Said<'_>, hit: &Hit) -> bool {
    let noun = matches!(said.low(hit.words.start), "decision" | "entscheidung" | "décision" | "decisión");
    noun && hit.words.len() == 1 && said.words.get(hit.words.start).is_some_and(|word| !word.closes)
}

// "I'll go with the second option": nobody will know later which that was. "A switch" is none.
fn points(said: &Said<'_>, hit: &Hit) -> bool {
    const SHOWN: [&str; 12] = [
        "first", "second", "third", "latter", "former", "one", "option", "options", "that", "this", "it",
        "these",
    ];
    let before = hit.words.start.checked_sub(1).map_or("", |at| said.low(at));
    let object = said.lows(hit.words.end..said.words.len()).take(3);
    object.into_iter().any(|low| SHOWN.contains(&low)) || matches!(before, "a" | "the" | "just")
}

// Not decided, not yet, or only if.
fn is_open(said: &Said<'_>, hit: &Hit) -> bool {
    let before =
        |cue: Cue| said.hits.iter().any(|other| other.cue == cue && other.words.start < hit.words.start);
    let negated = hit.words.start.checked_sub(1).is_some_and(|before| {
        matches!(
            said.low(before),
            "not" | "haven't" | "hasn't" | "yet" | "to" | "be" | "nicht" | "pas" | "no" | "as"
        )
    });
    let later =
        said.lows(0..said.words.len()).any(|low| matches!(low, "yet" | "undecided" | "whether" | "pending"));
    said.has(Cue::Unsure) || before(Cue::Conditional) || negated || later
}

// "Let's use grep to find it": a step of the work.
fn is_narration(said: &Said<'_>, hit: &Hit) -> bool {
    const STEPS: [&str; 22] = [
        "check",
        "see",
        "find",
        "look",
        "verify",
        "view",
        "test",
        "search",
        "inspect",
        "run",
        "debug",
        "understand",
        "get",
        "read",
        "confirm",
        "locate",
        "explore",
        "examine",
        "create",
        "write",
        "edit",
        "make",
    ];
    const TOOLS: [&str; 12] =
        ["grep", "sed", "cat", "find", "git", "python", "bash", "ls", "awk", "tool", "command", "script"];
    let behind = || said.lows(hit.words.end..said.words.len());
    let purpose = said
        .words
        .windows(2)
        .skip(hit.words.end)
        .any(|pair| matches!(pair, [to, verb] if to.low == "to" && STEPS.contains(&verb.low.as_str())));
    purpose
        || behind().take(4).any(|low| TOOLS.contains(&low))
        || behind().next().is_some_and(|low| STEPS.contains(&low))
}

// "I used", "I'm using": what the user did is no decision for the work.
fn is_about_me(said: &Said<'_>, hit: &Hit) -> bool {
    hit.cue == Cue::Chosen && matches!(said.low(hit.words.start), "i" | "i'm" | "i'll")
}

fn gives_reason(next: &Said<'_>) -> bool {
    let opens = next.first(Cue::Reason).is_some_and(|hit| hit.words.start <= 2);
    let fits = next.words.len() <= LONGEST_REASON && !next.text.ends_with(['?', '？', ':']);
    let telling = [
        "this avoids",
        "this keeps",
        "this lets",
        "this makes",
        "it avoids",
        "it keeps",
        "that avoids",
        "that keeps",
    ];
    let pair = format!("{} {}", next.low(0), next.low(1));
    fits && !next.has(Cue::Decided) && (opens || telling.contains(&pair.as_str()))
}

/// What a choice is about: its purpose where one is told, without the reason and without what it replaces.
pub(super) fn about(said: &Said<'_>, from: usize, voice: Voice) -> String {
    if said.is_unspaced() {
        return subject(said.lows(0..said.words.len()), None, voice);
    }
    let cut = |cue: Cue| {
        let later = said.hits.iter().filter(|hit| hit.cue == cue && hit.words.start >= from);
        later.map(|hit| hit.words.start).min()
    };
    let end = said.words.len();
    let end = cut(Cue::Reason).unwrap_or(end).min(cut(Cue::InsteadOf).unwrap_or(end)).min(end);
    let choice: Vec<&str> = said.lows(from..end).collect();
    let purpose = choice
        .iter()
        .position(|low| matches!(*low, "for" | "as" | "für" | "als" | "pour" | "comme" | "para" | "como"));
    let told = purpose.filter(|at| *at > 0).and_then(|at| choice.get(at + 1..)).unwrap_or_default();
    let of_purpose = subject(told.iter().copied(), None, voice);
    if of_purpose.is_empty() {
        // What stands before the verb may be what it is about: "for the cache we'll use Redis".
        let before = said.hits.iter().find(|hit| hit.words.end == from).map_or(0, |hit| hit.words.start);
        let led = said.lows(0..before).position(|low| matches!(low, "for" | "für" | "pour" | "para"));
        let lead = led.map_or(String::new(), |at| subject(said.lows(at + 1..before), None, voice));
        let behind = subject(choice.into_iter(), None, voice);
        return match (lead.is_empty(), behind.is_empty()) {
            (false, _) => lead,
            (true, false) => behind,
            // "That is what we decided", or a language in which the verb comes last.
            (true, true) => subject(said.lows(0..before), None, voice),
        };
    }
    of_purpose
}

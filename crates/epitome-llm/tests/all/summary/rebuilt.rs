//! Summaries that are written anew come from the messages themselves, not from the summary before.

use epitome_core::compact::{Level, SummaryRequest};
use epitome_core::digest::Digest;
use epitome_core::{Entry, Message, Outline, Role, Tokens};
use epitome_llm::summary::{Mode, ModelSummarizer, Rung, Written};

use super::{GOOD, asked, conversation, counter, request, runtime, summarizer, tokens};
use crate::upstream::{Act, Upstream};

/// The number of the first message that the earlier summary does not stand for.
const NEW: usize = 9;

fn path() -> Vec<Message> {
    let mut path = conversation();
    let log = "The tests in tests/dates.rs pass, and src/parser.rs was not changed again. ".repeat(20);
    path.push(Message::text(Role::Assistant, log));
    path
}

/// A checkpoint that went wrong on the way, with a word of its own.
fn drifted() -> String {
    let wrong = GOOD.replace("4096", "8192").replace("group one", "group three");
    wrong.replace(
        "## Next Steps",
        "## Conversation Dynamics\n- Impatient, wishes terse replies.\n\n## Next Steps",
    )
}

fn write(
    upstream: &Upstream,
    (path, at_hand): (&[Message], &[Message]),
    (level, previous): (Level, String),
    set: impl FnOnce(ModelSummarizer) -> ModelSummarizer,
) -> (String, Written) {
    let runtime = runtime();
    let mut model = set(summarizer(upstream, &runtime));
    let entry = |message| Entry { outline: Outline::of(message, &counter(), 0).into(), time: None };
    let (entries, count) = (path.iter().map(entry).collect::<Vec<_>>(), |text: &str| tokens(text));
    let mut offline = Digest::new(&entries, path, &count);
    let previous = [previous];
    let request = request(path.get(NEW..).unwrap(), &previous);
    let request = SummaryRequest { level, range: 0..path.len(), first: NEW, ..request };
    model.write_of(&request, &mut offline, at_hand).unwrap()
}

fn rewriting(model: ModelSummarizer) -> ModelSummarizer {
    model.mode(Mode::Rewrite)
}

#[test]
fn a_summary_that_drifted_does_not_survive() {
    let path = path();
    let dynamics = "## Conversation Dynamics\n- Impatient, wishes terse replies.\n\n## Next Steps";
    let upstream = Upstream::new(vec![Act::say(&GOOD.replace("## Next Steps", dynamics))]);
    let (text, written) = write(&upstream, (&path, &path), (Level::Checkpoint, drifted()), rewriting);
    assert!(written.rebuilt && written.rung == Rung::Whole, "{written:?}");
    let (system, user) = asked(&upstream.requests()[0]);
    assert!(user.contains("month out of range") && user.contains("Please fix the date parser"));
    assert!(!user.contains("8192") && !user.contains("group three"), "{user}");
    // Words of its own that no message says are taken along, and nothing else of it.
    assert!(system.contains("`notes`") && user.contains("<<<notes"));
    assert!(user.contains("Impatient, wishes terse replies") && text.contains("Impatient"), "{text}");
    assert_eq!(user.matches("chrono").count(), 1, "{user}");
    assert!(text.contains("4096") && !text.contains("8192") && !text.contains("group three"), "{text}");
}

#[test]
fn nor_where_code_writes_in_place_of_a_model_that_fails_twice() {
    let path = path();
    let upstream = Upstream::new(vec![Act::say("no JSON"), Act::say(GOOD)]);
    let (text, written) = write(&upstream, (&path, &path), (Level::Checkpoint, drifted()), |model| model);
    assert!(written.rebuilt && !written.troubles.is_empty(), "{written:?}");
    assert!(asked(&upstream.requests()[0]).1.contains("<<<entries"));
    assert!(!asked(&upstream.requests()[1]).1.contains("8192"));
    assert!(!text.contains("8192"), "{text}");
}

#[test]
fn prose_is_rebuilt_too() {
    let path = path();
    let earlier = "The limit is 8192 bytes per line.\nSomebody whistled a waltz meanwhile.";
    let prose = "The date parser of the importer is fixed. Never touch src/generated.rs, it is written by a tool. The limit must stay at 4096 bytes per line.";
    let upstream = Upstream::new(vec![Act::say(prose)]);
    let (text, written) = write(&upstream, (&path, &path), (Level::Rolling, earlier.to_owned()), rewriting);
    assert!(written.rebuilt, "{written:?}");
    let user = asked(&upstream.requests()[0]).1;
    assert!(user.contains("whistled a waltz") && !user.contains("8192"), "{user}");
    assert!(!text.contains("8192"), "{text}");
}

#[test]
fn what_is_not_at_hand_or_too_long_is_written_from_the_summary() {
    let path = path();
    let mut hidden = path.clone();
    hidden[2] = Message::new(Role::User, Vec::new());
    let cases: [(&[Message], Tokens); 3] =
        [(&[], Tokens(200_000)), (&hidden, Tokens(200_000)), (&path, Tokens(1_500))];
    for (at_hand, window) in cases {
        let upstream = Upstream::new(vec![Act::say(GOOD)]);
        let (_, written) =
            write(&upstream, (&path, at_hand), (Level::Checkpoint, GOOD.to_owned()), |model| {
                rewriting(model).window(window)
            });
        assert!(!written.rebuilt, "{written:?}");
        let user = asked(&upstream.requests()[0]).1;
        assert!(user.contains("<<<summary"), "{window} {user}");
    }
}

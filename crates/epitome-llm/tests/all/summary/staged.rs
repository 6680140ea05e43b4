//! Conversations that are too long for one call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use epitome_core::checkpoint::validate;
use epitome_core::compact::{Summarizer, SummaryError, SummaryRequest};
use epitome_core::{Block, Message, Role, Tokens};
use epitome_llm::summary::{Caps, KeptInMemory, ModelSummarizer, Rung, Stages};
use epitome_llm::{Models, Windows};

use super::quoting::ATTEMPTS;
use super::{GOOD, asked, call, conversation, request, result, runtime, summarizer, tokens};
use crate::support::client;
use crate::upstream::{Act, Reply, Request, Stop, Upstream};

/// A session of many messages; each step is a call with its result.
pub(super) fn long(steps: usize) -> Vec<Message> {
    let mut messages = conversation();
    for step in 0..steps {
        let id = format!("s{step}");
        messages.push(call(&id, &format!(r#"{{"command":"run step {step}"}}"#)));
        messages.push(result(&id, &format!("step {step} went well and wrote out/{step}.txt ").repeat(8)));
        messages.push(Message::text(Role::Assistant, format!("Step {step} is done. ").repeat(10)));
    }
    messages
}

/// Code that picks nothing, so that a model has to do it.
pub(super) struct Picks;

impl Summarizer for Picks {
    fn summarize(&mut self, _: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        Err(SummaryError("nothing is picked".to_owned()))
    }
}

/// Code that quotes something.
pub(super) struct Quotes;

impl Summarizer for Quotes {
    fn summarize(&mut self, _: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        Ok("## Goal\nFix the date parser of our importer.".to_owned())
    }
}

/// Whether the model is told what is wrong with its answer.
fn is_again(request: &Request) -> bool {
    request.text.contains("Your answer was compared")
}

pub(super) fn stages() -> Stages {
    Stages { reserve: Tokens(1_000), parallel: 2, ..Stages::default() }
}

#[test]
fn stretches_are_summarised_and_merged() {
    let upstream = Upstream::new(vec![Act::say(GOOD)]);
    let (runtime, messages) = (runtime(), long(40));
    let mut model = summarizer(&upstream, &runtime).window(Tokens(6_000)).stages(stages());
    let request = request(&messages, &[]);
    let (text, written) = model.write(&request, &mut Picks).unwrap();
    assert_eq!(written.rung, Rung::Staged, "{written:?}");
    assert!(written.chunks > 2 && written.left_out == 0, "{written:?}");
    validate(&text).unwrap();
    assert!(tokens(&text) <= request.max_tokens);
    let mut requests = upstream.requests();
    requests.retain(|request| !is_again(request));
    // Every message is told once, and no call stands without its result.
    for step in 0..40 {
        let tells = |said: &str| requests.iter().filter(|request| asked(request).1.contains(said)).count();
        assert_eq!(tells(&format!("run step {step}\"")), 1, "step {step}");
        let pair = |request: &&Request| {
            let said = asked(request).1;
            said.contains(&format!("run step {step}\""))
                && said.contains(&format!("[tool result: step {step} went"))
        };
        assert_eq!(requests.iter().filter(pair).count(), 1, "step {step}");
    }
    let merge = requests.iter().map(asked).find(|(_, user)| user.contains("<<<part 1 ")).unwrap();
    assert!(
        merge.0.contains("successive stretches") && merge.1.contains(&format!("<<<part {} ", written.chunks))
    );
}

#[test]
fn finished_stretches_are_not_asked_for_again() {
    let failing = Arc::new(AtomicUsize::new(3));
    let until = Arc::clone(&failing);
    let upstream = Upstream::scripted(move |number, _| {
        if number < until.load(Ordering::SeqCst) {
            Act::say(GOOD)
        } else {
            Act::refuse(500, "api_error", "broken")
        }
    });
    let (runtime, messages) = (runtime(), long(40));
    let kept = Arc::new(KeptInMemory::default());
    let one = Stages { parallel: 1, ..stages() };
    let make = || summarizer(&upstream, &runtime).window(Tokens(6_000)).stages(one).kept(kept.clone());
    assert!(make().write(&request(&messages, &[]), &mut Picks).is_err());
    assert_eq!(upstream.requests().len(), 4);
    failing.store(usize::MAX, Ordering::SeqCst);
    // A new summariser, as after a restart.
    let (_, written) = make().write(&request(&messages, &[]), &mut Picks).unwrap();
    assert_eq!((written.rung, written.reused), (Rung::Staged, 3), "{written:?}");
    assert_eq!(upstream.requests().len(), 4 + written.chunks - 3 + 1 + written.retries);
}

#[test]
fn finished_stretches_are_used_again_when_the_conversation_has_gone_on() {
    let (upstream, other) = (Upstream::new(vec![Act::say(GOOD)]), Upstream::new(vec![Act::say(GOOD)]));
    let (runtime, mut messages) = (runtime(), long(40));
    let kept = Arc::new(KeptInMemory::default());
    let write = |upstream: &Upstream, messages: &[Message]| {
        let mut model = summarizer(upstream, &runtime).window(Tokens(6_000)).stages(stages());
        model = model.kept(kept.clone());
        model.write(&request(messages, &[]), &mut Picks).unwrap().1
    };
    let first = write(&upstream, &messages);
    assert!(first.chunks >= 4 && first.reused == 0, "{first:?}");
    messages.push(Message::text(Role::User, "And what about 29 February 1900?"));
    messages.push(Message::text(Role::Assistant, "That day never was; the parser says so now."));
    let second = write(&upstream, &messages);
    assert!(second.reused >= first.chunks - 2, "{second:?}");
    // What one model told is not passed off as another one's.
    assert_eq!(write(&other, &messages).reused, 0);
}

#[test]
fn a_message_that_no_call_has_room_for_is_left_out_and_noted() {
    let upstream = Upstream::new(vec![Act::say(GOOD)]);
    let (runtime, mut messages) = (runtime(), long(20));
    let words: Vec<String> = (0..6_000).map(|number| format!("pasted{number}")).collect();
    messages.insert(10, Message::text(Role::User, words.join(" ")));
    let mut model = summarizer(&upstream, &runtime).window(Tokens(8_000)).stages(stages());
    let (_, written) = model.write(&request(&messages, &[]), &mut Picks).unwrap();
    assert_eq!((written.rung, written.left_out), (Rung::Staged, 1), "{written:?}");
    let said: Vec<String> = upstream.requests().iter().map(|request| asked(request).1).collect();
    assert!(said.iter().any(|said| said.contains("[message #10 is left out: about ")));
    assert!(said.iter().all(|said| !said.contains("pasted77 ")));
}

#[test]
fn a_request_that_was_too_large_is_parted() {
    // A server with a window of its own that nobody told us.
    let upstream = Upstream::scripted(|_, request| {
        let sent = tokens(&request.text).0;
        if sent > 3_500 {
            return Act::refuse(
                400,
                "invalid_request_error",
                &format!("prompt is too long: {sent} tokens > 3500 maximum"),
            );
        }
        Act::say(GOOD)
    });
    let (runtime, messages) = (runtime(), long(40));
    let mut model = summarizer(&upstream, &runtime);
    let (text, written) = model.write(&request(&messages, &[]), &mut Picks).unwrap();
    assert_eq!(written.rung, Rung::Staged, "{written:?}");
    assert!(written.troubles[0].contains("too large"), "{written:?}");
    validate(&text).unwrap();
}

#[test]
fn stretches_that_cannot_be_merged_by_the_model_are_merged_by_code() {
    let upstream = Upstream::scripted(|_, request| {
        if asked(request).1.contains("<<<part 1 ") { Act::say("") } else { Act::say(GOOD) }
    });
    let (runtime, messages) = (runtime(), long(40));
    let mut model = summarizer(&upstream, &runtime).window(Tokens(6_000)).stages(stages());
    let (text, written) = model.write(&request(&messages, &[]), &mut Picks).unwrap();
    assert_eq!(written.rung, Rung::Staged);
    assert!(written.troubles.iter().any(|trouble| trouble.starts_with("the stretches were merged by code")));
    validate(&text).unwrap();
}

// One message of the user may hold a tool's result and the user's own words.
#[test]
fn what_tools_gave_is_not_the_users_word_in_a_stretch() {
    for attempt in ATTEMPTS {
        let upstream = Upstream::new(vec![Act::say(GOOD)]);
        let (runtime, mut messages) = (runtime(), long(40));
        let mut mixed = result("m1", attempt);
        mixed.blocks.push(Block::text("Thank you, go on with the leap years."));
        messages.extend([call("m1", r#"{"url":"x"}"#), mixed]);
        let mut model = summarizer(&upstream, &runtime).window(Tokens(6_000)).stages(stages());
        let (_, written) = model.write(&request(&messages, &[]), &mut Picks).unwrap();
        assert!(written.chunks > 1, "{written:?}");
        let said: Vec<String> = upstream.requests().iter().map(|request| asked(request).1).collect();
        let told = said.iter().find(|said| said.contains("go on with the leap years")).unwrap();
        let tag = told.split("<<<conversation ").nth(1).and_then(|rest| rest.split('\n').next()).unwrap();
        let mark = format!("=== {tag} ===");
        let pieces: Vec<&str> = told.split(mark.as_str()).collect();
        let own = pieces.iter().find(|piece| piece.contains("go on with the leap years")).unwrap();
        assert!(!own.contains(attempt), "{own}");
        let given = pieces.iter().find(|piece| piece.contains(attempt)).unwrap();
        assert!(!given.trim_start().starts_with("**User"), "{given}");
    }
}

#[test]
fn a_model_that_is_of_no_use_is_not_asked_for_every_stretch() {
    let upstream = Upstream::new(vec![Act::say("")]);
    let (runtime, messages) = (runtime(), long(40));
    let one = Stages { parallel: 1, ..stages() };
    let mut model = summarizer(&upstream, &runtime).window(Tokens(6_000)).stages(one);
    let (_, written) = model.write(&request(&messages, &[]), &mut Quotes).unwrap();
    assert!(written.chunks > 2, "{written:?}");
    assert_eq!((written.rung, written.spent.calls), (Rung::Offline, 2), "{written:?}");
    assert_eq!(written.troubles, ["the answer is empty"]);
}

#[test]
fn where_some_stretches_are_told_the_rest_is_picked_by_code() {
    let upstream = Upstream::scripted(|number, request| {
        let is_merge = asked(request).1.contains("<<<part 1 ");
        if number == 0 || is_merge { Act::say(GOOD) } else { Act::say("") }
    });
    let (runtime, messages) = (runtime(), long(40));
    let one = Stages { parallel: 1, ..stages() };
    let mut model = summarizer(&upstream, &runtime).window(Tokens(6_000)).stages(one);
    let (_, written) = model.write(&request(&messages, &[]), &mut Picks).unwrap();
    assert_eq!(written.rung, Rung::Staged, "{written:?}");
    assert_eq!(written.spent.calls, 3 + 1 + written.retries, "{written:?}");
    let (missing, all) = (written.chunks - 1, written.chunks);
    let picked = format!("{missing} of {all} stretches picked by code: the answer is empty");
    assert_eq!(written.troubles.last(), Some(&picked), "{written:?}");
}

#[test]
fn the_next_endpoint_takes_over_from_one_of_no_use() {
    let (useless, good) = (Upstream::new(vec![Act::say("")]), Upstream::new(vec![Act::say(GOOD)]));
    let (runtime, messages) = (runtime(), long(40));
    let clients = vec![client(&useless, "anthropic"), client(&good, "anthropic")];
    let one = Stages { parallel: 1, ..stages() };
    let mut model = ModelSummarizer::new(Arc::new(Models::new(clients)), runtime.handle.clone())
        .window(Tokens(6_000))
        .stages(one);
    let (_, written) = model.write(&request(&messages, &[]), &mut Picks).unwrap();
    assert_eq!(written.rung, Rung::Staged, "{written:?}");
    assert_eq!(useless.requests().len(), 2, "not for the merging either");
    assert_eq!(good.requests().len(), written.chunks + 1 + written.retries, "{written:?}");
}

// How often each is told what is wrong depends on the calls that are left; the merging always has its own.
#[test]
fn a_stretch_with_faults_is_asked_for_once_more() {
    const FIRST: &str =
        "## Progress\n### Done\n- [x] Wrote src/timelord.rs\n\n## Critical Context\n- it went well";
    const SECOND: &str =
        "## Progress\n### Done\n- [x] All of it went well.\n\n## Critical Context\n- it went well";
    let is_merge = |request: &Request| asked(request).1.contains("<<<part 1 ");
    let (runtime, messages) = (runtime(), long(40));
    let write = |calls: usize| {
        let upstream = Upstream::scripted(move |_, request| match is_again(request) || is_merge(request) {
            true => Act::say(SECOND),
            false => Act::say(FIRST),
        });
        let model = summarizer(&upstream, &runtime).window(Tokens(6_000)).stages(stages());
        let caps = Caps { calls, ..Caps::default() };
        let (text, written) = model.caps(caps).write(&request(&messages, &[]), &mut Picks).unwrap();
        assert!(!text.contains("timelord") && written.rung == Rung::Staged, "{written:?}\n{text}");
        assert_eq!(written.spent.calls, upstream.requests().len());
        let (merges, stretches): (Vec<_>, Vec<_>) = upstream.requests().into_iter().partition(is_merge);
        let again = stretches.iter().filter(|request| is_again(request));
        assert!(again.clone().all(|request| request.text.contains("src/timelord.rs (in: ")));
        (written.clone(), again.count(), asked(&merges[0]).1)
    };
    let (written, again, merged) = write(40);
    assert_eq!(again, written.chunks, "{written:?}");
    assert_eq!(merged.matches("All of it went well.").count(), written.chunks, "{merged}");
    let chunks = written.chunks;
    for (calls, expected) in [(chunks + 1, 0), (chunks + 2, 1), (2 * chunks, chunks - 1)] {
        let (written, again, merged) = write(calls);
        assert_eq!((again, written.spent.calls <= calls), (expected, true), "{calls}: {written:?}");
        assert_eq!(merged.matches("All of it went well.").count(), expected, "{merged}");
    }
}

#[test]
fn an_answer_that_fills_the_window_teaches_it() {
    let answer = format!("{GOOD}\n- the last line is cut");
    for api in ["anthropic", "openai"] {
        let upstream =
            Upstream::new(vec![Act::Say(Reply::new(&answer).stopped(Stop::Window).billed(8_000, 0))]);
        let (runtime, windows, messages) = (runtime(), Windows::default(), conversation());
        let client = client(&upstream, api);
        let endpoint = client.endpoint().to_string();
        let models = Arc::new(Models::new(vec![client]));
        let mut model = ModelSummarizer::new(models, runtime.handle.clone()).windows(windows.clone());
        let (text, written) = model.write(&request(&messages, &[]), &mut Picks).unwrap();
        assert_eq!(written.rung, Rung::Whole, "{api}: {written:?}");
        assert!(text.contains("**Use the chrono crate**") && !text.contains("is cut"), "{api}: {text}");
        let said = answer.split_whitespace().count() as u64;
        assert_eq!(windows.limit_of(&endpoint), Some(Tokens(8_000 + said)), "{api}");
    }
}

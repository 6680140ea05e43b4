//! Models that think until their output is over.

use epitome_core::Tokens;
use epitome_llm::summary::{Caps, Rung, Stages};

use super::staged::{Picks, Quotes, long, stages};
use super::{GOOD, conversation, request, runtime, summarizer};
use crate::upstream::{Act, Reply, Stop, Upstream};

fn thinks() -> Act {
    Act::Say(Reply::new("").thinking("Hm, what do they want?").stopped(Stop::MaxTokens))
}

/// A server whose model needs so much output before it says something.
fn thinker(need: u64) -> Upstream {
    Upstream::scripted(move |_, request| match request.body["max_tokens"].as_u64() {
        Some(room) if room >= need => Act::say(GOOD),
        _ => thinks(),
    })
}

#[test]
fn a_model_that_thinks_gets_room_for_it() {
    for thought in [thinks(), Act::Say(Reply::new("<think>Well, this is long").stopped(Stop::MaxTokens))] {
        let upstream = Upstream::new(vec![thought, Act::say(GOOD)]);
        let (runtime, messages) = (runtime(), conversation());
        let (_, written) =
            summarizer(&upstream, &runtime).write(&request(&messages, &[]), &mut Picks).unwrap();
        assert_eq!((written.rung, written.spent.calls, written.retries), (Rung::Whole, 2, 0), "{written:?}");
        let rooms: Vec<Option<u64>> =
            upstream.requests().iter().map(|request| request.body["max_tokens"].as_u64()).collect();
        assert_eq!(rooms, [Some(800), Some(8_192)]);
        assert_eq!(upstream.requests()[0].body["messages"], upstream.requests()[1].body["messages"]);
    }
}

#[test]
fn what_was_learnt_once_holds_for_all_stretches() {
    let upstream = thinker(4_000);
    let (runtime, messages) = (runtime(), long(40));
    let stages = Stages { parallel: 1, ..stages() };
    let mut model = summarizer(&upstream, &runtime).window(Tokens(6_000)).stages(stages);
    let (_, written) = model.write(&request(&messages, &[]), &mut Picks).unwrap();
    assert_eq!(written.rung, Rung::Staged, "{written:?}");
    assert_eq!(written.spent.calls, written.chunks + 2 + written.retries, "{written:?}");
}

#[test]
fn one_that_only_thinks_is_left_alone_and_the_report_says_why() {
    let upstream = thinker(u64::MAX);
    let (runtime, messages) = (runtime(), conversation());
    let mut model = summarizer(&upstream, &runtime);
    let (_, written) = model.write(&request(&messages, &[]), &mut Quotes).unwrap();
    assert_eq!((written.rung, written.spent.calls), (Rung::Offline, 2), "{written:?}");
    assert_eq!(written.troubles, ["the model spent its whole output on thinking"]);
}

#[test]
fn room_for_thoughts_is_within_the_caps() {
    let upstream = thinker(4_000);
    let (runtime, messages) = (runtime(), conversation());
    let caps = Caps { tokens: Tokens(8_000), ..Caps::default() };
    let mut model = summarizer(&upstream, &runtime).caps(caps);
    let (_, written) = model.write(&request(&messages, &[]), &mut Quotes).unwrap();
    assert_eq!((written.rung, written.spent.calls), (Rung::Offline, 1), "{written:?}");
}

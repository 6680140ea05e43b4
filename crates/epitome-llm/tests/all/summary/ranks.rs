//! Models with windows of different sizes: each is asked what it can hold, and the small one only where the large one fails.

use std::sync::Arc;

use epitome_core::Tokens;
use epitome_llm::summary::{ModelSummarizer, Rung, Written};
use epitome_llm::{Backoff, Models, Patience};

use super::staged::{Picks, long, stages};
use super::{GOOD, request, runtime};
use crate::support::client;
use crate::upstream::{Act, Upstream};

const LARGE: Tokens = Tokens(60_000);
const SMALL: Tokens = Tokens(6_000);

fn write(upstreams: &[&Upstream], windows: Vec<Tokens>) -> Written {
    let (runtime, messages) = (runtime(), long(40));
    let mut backoff = Backoff::default();
    backoff.attempts = 1;
    let clients = upstreams.iter().map(|upstream| client(upstream, "anthropic")).collect();
    let models = Arc::new(Models::with(clients, backoff, Patience::default()));
    let mut model = ModelSummarizer::new(models, runtime.handle.clone()).sized(windows).stages(stages());
    model.write(&request(&messages, &[]), &mut Picks).unwrap().1
}

fn sizes(upstream: &Upstream) -> Vec<usize> {
    upstream.requests().iter().map(|request| request.text.len()).collect()
}

/// A server that is told so much writes, one that is told more refuses.
fn holding(most: Tokens) -> Upstream {
    Upstream::scripted(move |_, request| match request.text.len() as u64 / 4 > most.0 {
        true => Act::refuse(400, "invalid_request_error", "prompt is too long"),
        false => Act::say(GOOD),
    })
}

#[test]
fn a_small_fallback_does_not_part_what_the_first_can_hold() {
    let (large, small) = (holding(LARGE), holding(SMALL));
    let written = write(&[&large, &small], vec![LARGE, SMALL]);
    assert_eq!((written.rung, written.troubles.len()), (Rung::Whole, 0), "{written:?}");
    assert_eq!((large.requests().len(), small.requests().len()), (1 + written.retries, 0));
}

#[test]
fn who_falls_back_to_a_smaller_one_parts_anew() {
    for failing in [Act::refuse(404, "not_found_error", "no such model"), Act::say("I would rather not.")] {
        let (large, small) = (Upstream::new(vec![failing]), holding(SMALL));
        let written = write(&[&large, &small], vec![LARGE, SMALL]);
        assert_eq!(written.rung, Rung::Staged, "{written:?}");
        assert!(written.chunks > 2 && !written.troubles.is_empty(), "{written:?}");
        assert!(!written.troubles.iter().any(|trouble| trouble.contains("too long")), "{written:?}");
        assert!(sizes(&small).iter().all(|size| (*size as u64) < SMALL.0 * 4), "{:?}", sizes(&small));
    }
}

#[test]
fn who_falls_back_to_a_larger_one_asks_it_the_same() {
    let (gone, large) = (Upstream::new(vec![Act::refuse(404, "not_found_error", "gone")]), holding(LARGE));
    let written = write(&[&gone, &large], vec![Tokens(LARGE.0 / 2), LARGE]);
    assert_eq!(written.rung, Rung::Whole, "{written:?}");
    assert_eq!((gone.requests().len(), large.requests().len()), (1, 1 + written.retries));
    assert_eq!(sizes(&gone)[0], sizes(&large)[0]);
}

// What a server shows of its window counts for itself and for nobody else.
#[test]
fn what_one_shows_does_not_make_the_others_smaller() {
    let (large, small) = (holding(LARGE), holding(SMALL));
    let written = write(&[&small, &large], vec![LARGE, LARGE]);
    assert!(matches!(written.rung, Rung::Whole | Rung::Staged), "{written:?}");
    let (runtime, messages) = (runtime(), long(40));
    let clients = vec![client(&large, "anthropic"), client(&small, "anthropic")];
    let models = Arc::new(Models::new(clients));
    let windows = epitome_llm::Windows::default();
    let mut shown = epitome_llm::Window::default();
    shown.told = Some(SMALL);
    windows.put(&format!("anthropic:some-model@{}", small.url()), shown);
    let model = ModelSummarizer::new(models, runtime.handle.clone()).window(LARGE).windows(windows);
    let (_, written) = model.stages(stages()).clone().write(&request(&messages, &[]), &mut Picks).unwrap();
    assert_eq!(written.rung, Rung::Whole, "{written:?}");
}

//! `auto`: pruning first, a checkpoint when that is not enough, each when it is due or pays.

use epitome_core::Tokens;
use epitome_core::compact::{Decision, LeadingSentences, Request, Segment, Stakes, StrategyName};
use epitome_core::cost::Tariff;
use epitome_core::models::ModelTable;
use epitome_core::pressure::{Bound, Occasion};

use crate::compaction::*;
use crate::strategies::settings;
use crate::support::*;

fn stakes(cached: u64) -> Stakes {
    let table = ModelTable::default();
    let tariff = Tariff::of(&table.get("claude-sonnet-4-5").model);
    Stakes { tariff, summary: None, cached: Tokens(cached), turns: None }
}

#[test]
fn auto_prunes_when_that_is_enough() {
    let mut settings = settings(StrategyName::Auto);
    settings.prune.clear_at_least = Tokens(1_000);
    let large = output(20_000);
    let messages = tool_loop([large.as_str(); 12]);
    let done = run(&messages, &Request::new(&settings), &mut Broken);
    assert_eq!(shape(&done.compaction.unwrap()), format!("P0..{}", messages.len()));
    assert!(done.report.tokens_after < Tokens(done.report.tokens_before.0 / 2));
}

#[test]
fn auto_writes_a_checkpoint_when_pruning_is_not_enough() {
    let settings = settings(StrategyName::Auto);
    let messages = chat(60, 3_000);
    let done = run(&messages, &Request::new(&settings), &mut LeadingSentences);
    assert!(shape(&done.compaction.unwrap()).starts_with("S0.."));
}

#[test]
fn auto_prunes_on_top_of_a_checkpoint() {
    let mut settings = settings(StrategyName::Auto);
    settings.prune.clear_at_least = Tokens(1_000);
    let mut messages = chat(60, 3_000);
    let first = run(&messages, &Request::new(&settings), &mut LeadingSentences).compaction.unwrap();
    let summary = first.segments[0].clone();
    let large = output(20_000);
    messages.extend(tool_loop([large.as_str(); 10]));
    let request = Request { previous: Some(&first), ..Request::new(&settings) };
    let second = run(&messages, &request, &mut Broken).compaction.unwrap();
    assert_eq!(second.segments[0], summary, "the checkpoint stays as it is");
    assert!(matches!(second.segments.last(), Some(Segment::Pruned { .. })), "{}", shape(&second));
}

#[test]
fn auto_weighs_a_step_of_pruning_against_the_cache() {
    let mut settings = settings(StrategyName::Auto);
    settings.prune.clear_at_least = Tokens(100);
    let small = words(1_200);
    let mut messages = tool_loop([small.as_str(); 4]);
    messages.extend(chat(20, 2_000).into_iter().skip(1));
    let sent = Tokens(path(&messages).iter().map(|entry| entry.outline.tokens.0).sum());
    let cold = Request { stakes: Some(stakes(0)), ..Request::new(&settings) };
    let done = run(&messages, &cold, &mut Broken);
    assert!(
        done.compaction.is_some() && done.report.verdict.is_some_and(|verdict| verdict.pays),
        "{:?}",
        done.report
    );
    let warm = Request { stakes: Some(stakes(sent.0)), ..Request::new(&settings) };
    let done = run(&messages, &warm, &mut Broken);
    assert_eq!(done.report.decision, Decision::Nothing);
    assert!(done.report.reason.contains("it does not pay"), "{}", done.report.reason);
}

#[test]
fn auto_compacts_early_where_that_pays() {
    let settings = settings(StrategyName::Auto);
    let messages = chat(70, 2_000);
    let quiet = run(&messages, &Request::new(&settings), &mut LeadingSentences);
    assert_eq!(quiet.report.decision, Decision::Nothing, "140,000 of 162,000");
    let request = Request { stakes: Some(stakes(0)), ..Request::new(&settings) };
    let done = run(&messages, &request, &mut LeadingSentences);
    assert_eq!(done.report.decision, Decision::Compacted, "{}", done.report.reason);
    assert!(done.report.verdict.is_some_and(|verdict| verdict.pays));
}

#[test]
fn auto_does_little_for_few_turns() {
    let settings = settings(StrategyName::Auto);
    let messages = chat(70, 2_000);
    let sent = path(&messages).iter().map(|entry| entry.outline.tokens.0).sum();
    let with = |turns| {
        let stakes = Stakes { turns: Some(turns), ..stakes(sent) };
        run(&messages, &Request { stakes: Some(stakes), ..Request::new(&settings) }, &mut LeadingSentences)
            .report
    };
    assert_eq!(with(1).decision, Decision::Nothing, "the cache is warm, and one turn is left");
    let many = with(200);
    assert_eq!(many.decision, Decision::Compacted, "{}", many.reason);
    assert!(many.verdict.is_some_and(|verdict| verdict.pays));
}

#[test]
fn auto_goes_deeper_by_itself_where_it_knows_the_price() {
    let mut settings = settings(StrategyName::Auto);
    settings.compact.compaction_threshold = Some(Tokens(40_000));
    let messages = chat(70, 2_000);
    let budget = |occasion, stakes| {
        let request = Request { occasion, stakes, ..Request::new(&settings) };
        run(&messages, &request, &mut LeadingSentences).report.budget
    };
    let priced = || Some(stakes(0));
    assert_eq!(budget(Occasion::BeforeCall, None), Tokens(20_000), "the low watermark");
    assert_eq!(budget(Occasion::BeforeCall, priced()), Tokens(10_000));
    assert_eq!(budget(Occasion::Ahead, priced()), Tokens(10_000));
    assert_eq!(budget(Occasion::Asked, priced()), Tokens(20_000), "somebody else wants it");
    settings.compact.strategy = StrategyName::Checkpoint;
    let request = Request { stakes: priced(), ..Request::new(&settings) };
    assert_eq!(run(&messages, &request, &mut LeadingSentences).report.budget, Tokens(20_000));
}

#[test]
fn what_is_prepared_before_the_soft_threshold_must_pay() {
    let mut settings = settings(StrategyName::Auto);
    let messages = chat(70, 2_000);
    let sent: u64 = path(&messages).iter().map(|entry| entry.outline.tokens.0).sum();
    // Between the warning and the soft threshold.
    settings.compact.warn_threshold = Bound::Tokens(Tokens(sent - 1_000));
    settings.compact.low_watermark = Bound::Tokens(Tokens(sent / 2));
    settings.compact.soft_threshold = Bound::Tokens(Tokens(sent + 1_000));
    settings.compact.hard_threshold = Bound::Tokens(Tokens(sent * 2));
    let ahead = |stakes: Option<Stakes>| {
        let request = Request { occasion: Occasion::Ahead, stakes, ..Request::new(&settings) };
        run(&messages, &request, &mut LeadingSentences).report
    };
    let left = |turns| Some(Stakes { turns: Some(turns), ..stakes(sent) });
    let few = ahead(left(1));
    assert_eq!(few.decision, Decision::Nothing);
    assert!(few.reason.contains("it does not pay"), "{}", few.reason);
    assert_eq!(ahead(left(200)).decision, Decision::Compacted);
    assert_eq!(ahead(None).decision, Decision::Nothing, "nobody knows whether it pays");
}

#[test]
fn what_the_model_has_not_seen_goes_to_it_whole() {
    // Several small windows, where half of the half is less than what a tool just said.
    for (window, strategy) in
        [(20_000, StrategyName::Auto), (32_000, StrategyName::Auto), (32_000, StrategyName::Checkpoint)]
    {
        let settings = settings(strategy);
        let (seen, newest) = (words(1_500), words(window as usize / 4));
        let mut messages = tool_loop((0..12).map(|_| seen.as_str()));
        messages.extend([call("read", "newest"), result("newest", &newest)]);
        for occasion in [Occasion::BeforeCall, Occasion::Refused(1)] {
            let request = Request {
                window: Some(Tokens(window)),
                stakes: Some(stakes(0)),
                occasion,
                ..Request::new(&settings)
            };
            let done = run(&messages, &request, &mut LeadingSentences);
            let compaction = done.compaction.expect("it is due");
            let last = messages.len() - 1;
            let is_whole = match compaction.segments.last() {
                Some(Segment::Verbatim { range }) => range.contains(&last),
                Some(Segment::Pruned { range, marks }) => {
                    range.contains(&last) && marks.iter().all(|marked| marked.message != last)
                }
                _ => false,
            };
            assert!(is_whole, "{window} {strategy:?} {occasion:?}: {}", shape(&compaction));
        }
    }
}

#[test]
fn more_is_left_than_was_aimed_at_before_anything_is_cut_that_the_model_has_not_seen() {
    let settings = settings(StrategyName::Auto);
    let seen = words(1_000);
    let mut before = tool_loop((0..12).map(|_| seen.as_str()));
    let request =
        Request { window: Some(Tokens(14_600)), stakes: Some(stakes(0)), ..Request::new(&settings) };
    let first = run(&before, &request, &mut LeadingSentences).compaction.expect("it is due");
    // What is pinned stands between two summaries, each of which wants its share.
    let pins = [before.len()];
    before.push(user("From now on, all amounts are in Swiss francs. Go on."));
    before.extend(tool_loop((0..11).map(|_| seen.as_str())).into_iter().skip(1));
    for share in 1..50 {
        let mut messages = before.clone();
        messages.extend([call("read", "newest"), result("newest", &words(share * 100))]);
        let request = Request { previous: Some(&first), pins: &pins, ..request };
        let done = run(&messages, &request, &mut LeadingSentences);
        let compaction = done.compaction.expect("it is due");

        assert!(!compaction.touches_unseen(&path(&messages)), "{share}: {}", shape(&compaction));
    }
}

//! What the log says of sessions: whose line it is, what was recorded and why, and each thing once.

use std::sync::Arc;

use epitome::{Answer, Compact, Compacting, Hook, Run, Session, Told, Undo};
use epitome_core::compact::{Fallback, Limits, Outcome, Preset, Strategy};
use epitome_core::pressure::Level;
use epitome_core::settings::Settings;
use epitome_core::{Entry, Message, Tokens, events};

use crate::log::{self, Line};
use crate::seeds::*;
use crate::support::{Place, exchange, on_both};

on_both!(
    every_line_says_whose_it_is,
    a_compaction_is_told_when_it_is_recorded,
    what_is_thrown_away_is_told_as_such,
    vetoes_and_undos_are_told,
    a_window_that_fills_up_is_told_once,
    figures_are_in_the_models_tokens,
    the_last_resort_is_not_called_manual_and_cannot_be_postponed,
);

const ALL: &[&str] = &[events::COMPACT, events::PRUNE, events::TOKENS];

fn having<'l>(lines: &'l [Line], words: &str) -> Vec<&'l Line> {
    lines.iter().filter(|line| line.message.contains(words)).collect()
}

// Talks until the window is as full as this.
async fn talk_until(session: &Session, level: Level) {
    while session.peek().await.unwrap().pressure.level < level {
        let said = session.info().await.unwrap().messages as usize;
        exchange(session, said, 600).await;
    }
}

async fn every_line_says_whose_it_is(place: Place) {
    let builder = of_seed(&place, literal(Preset::Nous)).summarizer(Scribe::broken());
    let engine = builder.build().await.unwrap();
    let session = engine.session("whose").await.unwrap();
    log::listen();
    chat(&session, 40, 3_000).await;
    session.context().await.unwrap();
    session.undo(Undo::Last, Run::Real).await.unwrap();
    let heard = log::heard(ALL);
    for words in ["estimated input", "the window fills up", "Compaction: estimated", "left out", "Undo: "] {
        assert!(!having(&heard, words).is_empty(), "{words}: {heard:?}");
    }
    let failed = having(&heard, "Compaction failed: no connection");
    assert_eq!(failed.len(), 1, "it is said on the thread of the summariser");
    for line in &heard {
        assert_eq!(line.fields["session"], session.id().to_string(), "{line:?}");
        assert_eq!(line.fields["agent"], "\"tester\"", "{line:?}");
    }
    let turn = session.compaction().await.unwrap().unwrap().0.id.to_string();
    assert_eq!(having(&heard, "Undo: ")[0].fields["turn"], turn);
    assert!(having(&heard, "estimated input").iter().all(|line| line.fields.contains_key("turn")));
}

async fn a_compaction_is_told_when_it_is_recorded(place: Place) {
    let scribe = Scribe::new(&checkpoint("go on"));
    let engine = place.builder().summarizer(scribe.clone()).build().await.unwrap();
    let session = engine.session("recorded").await.unwrap();
    talk_until(&session, Level::Soft).await;
    log::listen();
    session.context().await.unwrap();
    scribe.until_asked(1).await;
    // Whoever wants to undo waits until it is prepared.
    session.undo(Undo::All, Run::Dry).await.unwrap_err();
    let heard = log::heard(ALL);
    assert_eq!(having(&heard, "Compaction: estimated").len(), 1, "the work began: {heard:?}");
    assert_eq!(having(&heard, "summarized").len(), 0, "nothing is recorded: {heard:?}");

    talk_until(&session, Level::Hard).await;
    session.context().await.unwrap();
    let heard = log::heard(ALL);
    let told = having(&heard, "Compaction: summarized");
    assert_eq!((told.len(), scribe.asked().len()), (1, 1), "{heard:?}");
    assert_eq!(told[0].fields["trigger"], "\"threshold\"");
    assert_eq!(told[0].fields["session"], session.id().to_string());
    let (turn, record) = session.compaction().await.unwrap().unwrap();
    assert_eq!(told[0].fields["turn"], turn.id.to_string());
    assert_eq!(record.trigger, "threshold");
    let report: serde_json::Value = serde_json::from_str(&record.report.unwrap()).unwrap();
    assert_eq!(report["report"]["trigger"], "threshold");
    assert!(report["report"]["reason"].as_str().unwrap().starts_with("due soon: "), "{report}");
}

async fn what_is_thrown_away_is_told_as_such(place: Place) {
    let scribe = Scribe::new(&checkpoint("go on"));
    let engine = place.builder().summarizer(scribe.clone()).build().await.unwrap();
    let session = engine.session("thrown away").await.unwrap();
    talk_until(&session, Level::Soft).await;
    session.context().await.unwrap();
    scribe.until_asked(1).await;
    log::listen();
    // This one waits until the other is prepared, and takes its base away.
    assert!(session.compact(Compact::now().within(Tokens(4_000))).await.unwrap().is_done());
    talk_until(&session, Level::Hard).await;
    session.context().await.unwrap();
    let heard = log::heard(ALL);
    assert_eq!(having(&heard, "thrown away").len(), 1, "{heard:?}");
    let recorded = session.info().await.unwrap().compactions as usize;
    assert_eq!(having(&heard, "Compaction: summarized").len(), recorded, "{heard:?}");
}

struct Veto;

impl Hook for Veto {
    fn compacting(&self, _: Arc<Compacting>) -> Told<Answer> {
        Box::pin(async { Ok(Answer::veto("in the middle of a deployment")) })
    }
}

async fn vetoes_and_undos_are_told(place: Place) {
    let engine = place.builder().hook("deployer", Veto).build().await.unwrap();
    let session = engine.session("veto").await.unwrap();
    for number in 0..10 {
        exchange(&session, number, 1_000).await;
    }
    log::listen();
    assert!(!session.compact(Compact::now().within(Tokens(4_000))).await.unwrap().is_done());
    let heard = log::heard(&[events::COMPACT]);
    let said: Vec<&str> = heard.iter().map(|line| line.message.as_str()).collect();
    assert_eq!(said, ["Compaction postponed (deployer: in the middle of a deployment)"]);

    let refused = Compact::after_overflow(1).within(Tokens(4_000));
    assert!(session.compact(refused).await.unwrap().is_done());
    let heard = log::heard(&[events::COMPACT]);
    assert_eq!(having(&heard, "not postponed, there is no room left (deployer").len(), 1, "{heard:?}");
    let hidden = session.compaction().await.unwrap().unwrap().1.compaction.messages_hidden();
    session.undo(Undo::Last, Run::Real).await.unwrap();
    let heard = log::heard(&[events::COMPACT]);
    assert_eq!(having(&heard, &format!("Undo: {hidden} messages are shown again")).len(), 1, "{heard:?}");
    assert_eq!(heard.len(), 1, "an undo summarises nothing: {heard:?}");
}

async fn a_window_that_fills_up_is_told_once(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("full").await.unwrap();
    log::listen();
    for _ in 0..2 {
        session.context().await.unwrap();
        talk_until(&session, Level::Warn).await;
        for _ in 0..3 {
            session.context().await.unwrap();
        }
        let heard = log::heard(&[events::TOKENS]);
        let warned: Vec<&Line> = heard.iter().filter(|line| line.level == "WARN").collect();
        assert_eq!(warned.len(), 1, "{warned:?}");
        assert!(warned[0].message.starts_with("the window fills up: "), "{warned:?}");
        assert!(session.compact(Compact::now().within(Tokens(4_000))).await.unwrap().is_done());
    }
}

async fn figures_are_in_the_models_tokens(place: Place) {
    let builder = place.builder().model("unheard-of").window(Tokens(200_000));
    let scribe = Scribe::new(&checkpoint("go on"));
    let engine = builder.settings(literal(Preset::Nous)).summarizer(scribe).build().await.unwrap();
    let session = engine.session("figures").await.unwrap();
    chat(&session, 32, 3_000).await;
    let before = session.peek().await.unwrap();
    assert!(before.pressure.tokens > before.tokens(), "the model's are more than ours");
    log::listen();
    session.context().await.unwrap();
    let after = session.peek().await.unwrap();
    let heard = log::heard(&[events::COMPACT]);
    let expected = format!("estimated ~{:#} tokens, threshold 100,000 — ", before.pressure.tokens);
    assert_eq!(having(&heard, &expected).len(), 1, "{heard:?}");
    let told = having(&heard, "Compaction: summarized")[0];
    for (field, pressure) in [("tokens_before", before.pressure), ("tokens_after", after.pressure)] {
        let figure: u64 = told.fields[field].parse().unwrap();
        assert!(figure.abs_diff(pressure.tokens.0) <= 1, "{field}: {figure}, and {pressure}");
    }
}

struct Idle;

impl Strategy for Idle {
    fn name(&self) -> &'static str {
        "idle"
    }

    fn plan(&self, _: &[Entry], _: &[Message], _: &Limits<'_>) -> Outcome {
        Outcome::Nothing("never".to_owned())
    }
}

async fn the_last_resort_is_not_called_manual_and_cannot_be_postponed(place: Place) {
    let mut settings = Settings { max_conversation_messages: 20, ..Settings::default() };
    settings.compact.fallback = Fallback::Seed;
    let builder = place.builder().settings(settings).strategy(Idle).hook("deployer", Veto);
    let engine = builder.build().await.unwrap();
    let session = engine.session("last").await.unwrap();
    for number in 0..20 {
        exchange(&session, number, 400).await;
    }
    assert!(session.peek().await.unwrap().pressure.level < Level::Hard, "a veto would count");
    let context = session.context_within(Tokens(6_000)).await.unwrap();
    assert_eq!(context.messages().len(), 20);
    let (_, record) = session.compaction().await.unwrap().unwrap();
    assert_eq!((record.trigger.as_str(), record.strategy.as_str()), ("threshold", "none"));
    let report: serde_json::Value = serde_json::from_str(&record.report.unwrap()).unwrap();
    assert_eq!(report["report"]["trigger"], "threshold");
}

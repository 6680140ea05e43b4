//! When sessions are compacted: thresholds that follow the conversation, and presets that prepare in time.

use epitome_core::Tokens;
use epitome_core::compact::{Preset, StrategyName};
use epitome_core::pressure::Level;
use epitome_core::settings::Settings;

use crate::seeds::*;
use crate::support::{Place, on_both};

on_both!(
    a_threshold_that_follows_the_conversation_acts,
    a_threshold_that_was_raised_holds_back,
    presets_prepare_before_their_threshold,
);

fn adaptive(strategy: StrategyName) -> Settings {
    let mut settings = Settings::default();
    (settings.compact.strategy, settings.compact.adaptive) = (strategy, true);
    settings
}

async fn a_threshold_that_follows_the_conversation_acts(place: Place) {
    for strategy in [StrategyName::Checkpoint, StrategyName::Rolling, StrategyName::Auto] {
        let builder = of_seed(&place, adaptive(strategy)).summarizer(Scribe::new(&checkpoint("go on")));
        let engine = builder.build().await.unwrap();
        let session = engine.session(&*format!("{strategy:?}")).await.unwrap();
        // Four turns of 24,000 tokens: of those, few more fit into the window.
        chat(&session, 8, 12_000).await;
        let before = session.peek().await.unwrap().pressure;
        assert_eq!((before.level, before.marks.hard), (Level::Hard, Tokens(81_000)), "{strategy:?}");
        let after = session.context().await.unwrap().pressure;
        assert!(after.tokens <= before.marks.low, "{strategy:?}: {after}");
        let record = session.compaction().await.unwrap().unwrap().1;
        assert_eq!(record.trigger, "threshold", "{strategy:?}");
    }
}

async fn a_threshold_that_was_raised_holds_back(place: Place) {
    let mut settings = adaptive(StrategyName::Checkpoint);
    settings.compact.compaction_threshold = Some(Tokens(80_000));
    let scribe = Scribe::new(&checkpoint("go on"));
    let engine = of_seed(&place, settings).summarizer(scribe.clone()).build().await.unwrap();
    let session = engine.session("short").await.unwrap();
    chat(&session, 180, 500).await;
    let pressure = session.context().await.unwrap().pressure;
    assert_eq!(
        (pressure.level, pressure.marks.hard),
        (Level::Soft, Tokens(120_000)),
        "short turns may fill more"
    );
    scribe.until_asked(1).await;
    assert_eq!(session.info().await.unwrap().compactions, 0);
}

async fn presets_prepare_before_their_threshold(place: Place) {
    for (preset, messages) in [(Preset::Nous, 32), (Preset::NousDraft, 26), (Preset::MicroAgent, 26)] {
        let scribe = Scribe::new(&checkpoint("go on"));
        let engine = of_seed(&place, preset.settings()).summarizer(scribe.clone()).build().await.unwrap();
        let session = engine.session(preset.as_str()).await.unwrap();
        chat(&session, messages, 3_000).await;
        assert_eq!(session.context().await.unwrap().pressure.level, Level::Soft, "{preset:?}");
        scribe.until_asked(1).await;
        assert_eq!(session.info().await.unwrap().compactions, 0, "{preset:?}");
        chat(&session, 2, 3_000).await;
        assert_eq!(session.peek().await.unwrap().pressure.level, Level::Hard, "{preset:?}");
        assert!(session.context().await.unwrap().pressure.level < Level::Hard, "{preset:?}");
        assert_eq!((scribe.asked().len(), session.info().await.unwrap().compactions), (1, 1), "{preset:?}");
    }
}

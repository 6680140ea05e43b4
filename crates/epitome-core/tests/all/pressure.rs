//! Thresholds, levels and triggers, with the numbers of the seeds.

use epitome_core::Tokens;
use epitome_core::compact::{Preset, Settings as CompactSettings};
use epitome_core::models::{ModelTable, WindowGuard};
use epitome_core::pressure::{
    Bound, Level, MOST_OVERFLOWS, Marks, Occasion, Pressure, Thresholds, Trigger, sent,
};
use proptest::prelude::*;

use crate::support::{assistant, path, user};

const WINDOW: Tokens = Tokens(200_000);

#[test]
fn levels_by_window_and_threshold() {
    let thresholds = Thresholds::default();
    let cases = [
        (WINDOW, 0, Level::Calm),
        (WINDOW, 108_000, Level::Calm),
        (WINDOW, 108_001, Level::Warn),
        (WINDOW, 135_000, Level::Warn),
        (WINDOW, 135_001, Level::Soft),
        (WINDOW, 162_000, Level::Soft),
        (WINDOW, 162_001, Level::Hard),
        (WINDOW, 1_000_000, Level::Hard),
        (Tokens(1_000_000), 162_001, Level::Calm),
        (Tokens(30_000), 18_000, Level::Soft),
        (Tokens(0), 1, Level::Hard),
    ];
    for (window, tokens, level) in cases {
        assert_eq!(Pressure::of(Tokens(tokens), window, &thresholds).level, level, "{tokens} of {window}");
    }
    let words = Pressure::of(Tokens(140_000), WINDOW, &thresholds).to_string();
    assert_eq!(words, "140,000 of 180,000 tokens are in use (77 %), and 162,000 may be");
}

#[test]
fn nous_v4_compacts_above_100k() {
    let thresholds = Thresholds::compact_above(Tokens(100_000));
    thresholds.validate().unwrap();
    assert_eq!(Pressure::of(Tokens(83_334), WINDOW, &thresholds).level, Level::Warn);
    assert_eq!(Pressure::of(Tokens(83_335), WINDOW, &thresholds).level, Level::Soft);
    assert_eq!(Pressure::of(Tokens(100_000), WINDOW, &thresholds).level, Level::Soft);
    let over = Pressure::of(Tokens(100_001), WINDOW, &thresholds);
    assert_eq!(over.level, Level::Hard);
    assert_eq!(over.marks.target(Tokens(5_000)), Tokens(45_000));
}

#[test]
fn nous_draft_warns_above_60k_and_compacts_above_80k() {
    let thresholds = Thresholds::compact_above(Tokens(80_000));
    for (tokens, level) in [
        (60_000, Level::Calm),
        (60_001, Level::Warn),
        (66_667, Level::Warn),
        (80_000, Level::Soft),
        (80_001, Level::Hard),
    ] {
        assert_eq!(Pressure::of(Tokens(tokens), WINDOW, &thresholds).level, level, "{tokens}");
    }
}

#[test]
fn micro_agent_compacts_above_80k_in_the_job_search() {
    let marks = Thresholds::compact_above(Tokens(80_000)).marks(WINDOW);
    assert!(marks.level(Tokens(30_000)) < Level::Hard, "a single search round does not trigger");
    assert_eq!(marks.level(Tokens(85_000)), Level::Hard, "two or three rounds do");
}

#[test]
fn nexus_compacts_above_window_minus_reserve() {
    let thresholds = Thresholds::window_minus(Tokens(20_000));
    thresholds.validate().unwrap();
    let level = |tokens| Pressure::of(Tokens(tokens), WINDOW, &thresholds).level;
    assert_eq!((level(135_000), level(180_000)), (Level::Warn, Level::Soft), "a summary is prepared in time");
    assert_eq!(level(180_001), Level::Hard);
}

#[test]
fn one_absolute_threshold_stands_in_place_of_the_hard_one_only() {
    let mut settings = CompactSettings { compaction_threshold: Some(Tokens(80_000)), ..Default::default() };
    assert_eq!(settings.thresholds().marks(WINDOW), Thresholds::compact_above(Tokens(80_000)).marks(WINDOW));
    settings.soft_threshold = Bound::Tokens(Tokens(70_000));
    settings.warn_threshold = Bound::Share(0.25);
    settings.low_watermark = Bound::Tokens(Tokens(30_000));
    settings.hard_threshold = Bound::Share(0.95);
    let Marks { input, hard, soft, warn, low } = settings.thresholds().marks(WINDOW);
    assert_eq!([input, hard, soft, warn, low].map(|mark| mark.0), [180_000, 80_000, 70_000, 45_000, 30_000]);
}

#[test]
fn every_preset_leaves_time_to_prepare() {
    for preset in Preset::ALL {
        let marks = preset.settings().compact.thresholds().marks(WINDOW);
        assert!(marks.soft < marks.hard && marks.low < marks.soft, "{preset:?}: {marks:?}");
    }
}

#[test]
fn a_lowered_mark_takes_the_others_with_it() {
    let marks = Thresholds::default().marks(WINDOW);
    let half = marks.compacting_above(Tokens(81_000));
    let Marks { input, hard, soft, warn, low } = half;
    assert_eq!([input, hard, soft, warn, low].map(|mark| mark.0), [180_000, 81_000, 67_500, 54_000, 45_000]);
    assert_eq!(marks.compacting_above(Tokens(170_000)), Marks { hard: Tokens(170_000), ..marks });
    assert_eq!(marks.compacting_above(Tokens(190_000)).hard, marks.input);
}

#[test]
fn nexus_has_three_triggers() {
    let cases = [
        (Occasion::BeforeCall, Level::Soft, None),
        (Occasion::BeforeCall, Level::Hard, Some(Trigger::Threshold)),
        (Occasion::Asked, Level::Calm, Some(Trigger::Manual)),
        (Occasion::Ahead, Level::Soft, Some(Trigger::Threshold)),
        (Occasion::LastResort, Level::Calm, Some(Trigger::Threshold)),
        (Occasion::Refused(1), Level::Calm, Some(Trigger::Overflow)),
        (Occasion::Refused(MOST_OVERFLOWS), Level::Calm, Some(Trigger::Overflow)),
        (Occasion::Refused(MOST_OVERFLOWS + 1), Level::Hard, None),
    ];
    for (occasion, level, trigger) in cases {
        assert_eq!(Trigger::on(occasion, level), trigger, "{occasion:?} {level}");
    }
}

#[test]
fn an_overflow_is_answered_harder_each_time() {
    let marks = Thresholds::default().marks(WINDOW);
    let targets: Vec<_> =
        (1..=MOST_OVERFLOWS).map(|n| marks.target_after_overflow(Tokens::ZERO, n).0).collect();
    assert_eq!(targets, [45_000, 22_500, 11_250]);
    assert_eq!(marks.target_after_overflow(Tokens::ZERO, 200), Tokens::ZERO);
}

#[test]
fn a_models_room_decides_the_reserve() {
    let mut model = ModelTable::default().get("claude-opus-4-5").model;
    model.max_output = Tokens(8_000);
    let room = WindowGuard::default().check(&model).unwrap();
    assert_eq!(Thresholds::default().marks_in(&room).hard, Tokens(172_800));
    assert_eq!(Thresholds::default().marks(WINDOW).hard, Tokens(162_000));
}

#[test]
fn thresholds_out_of_order_are_refused() {
    let upside_down = Thresholds { soft: Bound::Share(0.95), ..Thresholds::default() };
    let error = upside_down.validate().unwrap_err().to_string();
    assert_eq!(error, "hard_threshold is 90%, allowed is at least soft_threshold (95%)");
    let nothing = Thresholds { warn: Bound::Share(0.0), ..Thresholds::default() };
    assert!(nothing.validate().unwrap_err().to_string().starts_with("warn_threshold is 0%"));
    Thresholds::default().validate().unwrap();
}

#[test]
fn thresholds_read_what_they_write() {
    let thresholds = Thresholds::compact_above(Tokens(100_000));
    let written = serde_json::to_string(&thresholds).unwrap();
    assert_eq!(serde_json::from_str::<Thresholds>(&written).unwrap(), thresholds, "{written}");
    let partial: Thresholds = serde_json::from_str(r#"{"hard": "85%", "soft": "70k"}"#).unwrap();
    assert_eq!((partial.hard, partial.soft), (Bound::Share(0.85), Bound::Tokens(Tokens(70_000))));
}

#[test]
fn everything_that_is_sent_counts() {
    let path = path(&[user("hello there"), assistant("hello")]);
    let said: Tokens = path.iter().map(|entry| entry.outline.tokens).sum();
    assert_eq!(sent(&path, Tokens(3_000)), said + Tokens(3_000));
}

fn bound() -> impl Strategy<Value = Bound> {
    prop_oneof![
        (0.01..=1.0_f64).prop_map(Bound::Share),
        (1_u64..2_000_000).prop_map(|tokens| Bound::Tokens(Tokens(tokens))),
    ]
}

proptest! {
    #[test]
    fn marks_are_always_in_order(
        (warn, soft, hard, low_watermark) in (bound(), bound(), bound(), bound()),
        reserve in 0_u64..300_000,
        window in 0_u64..2_000_000,
        (fewer, more) in (0_u64..2_000_000, 0_u64..100_000),
    ) {
        let thresholds = Thresholds { warn, soft, hard, low_watermark, reserve: Tokens(reserve) };
        let marks @ Marks { input, hard, soft, warn, low } = thresholds.marks(Tokens(window));
        prop_assert!(low <= warn && warn <= soft && soft <= hard && hard <= input && input.0 <= window);
        prop_assert!(marks.level(Tokens(fewer)) <= marks.level(Tokens(fewer + more)));
        prop_assert_eq!(marks.level(low), Level::Calm, "a compaction that meets its target ends the pressure");
    }
}

//! Presets and settings together.

use epitome_core::Tokens;
use epitome_core::compact::{Fallback, Preset, StrategyName};
use epitome_core::settings::{SETTINGS, Settings, apply};

#[test]
fn every_preset_has_a_name_and_makes_sense() {
    for preset in Preset::ALL {
        assert_eq!(Preset::named(preset.as_str()), Some(preset));
        assert_eq!(preset.settings().validate(), Ok(()), "{}", preset.as_str());
        assert_eq!(preset.settings().compact.fallback, Fallback::Escalate, "promises outrank seeds");
    }
    assert_eq!(Preset::named(" Nous_Draft "), Some(Preset::NousDraft));
    assert_eq!(Preset::named("claude"), None);
}

#[test]
fn what_is_set_beside_a_preset_wins() {
    let mut settings = Preset::Nous.settings();
    apply(&mut settings, "keep_recent_tokens", "12k".replace('k', "000").as_str()).unwrap();
    assert_eq!(settings.compact.keep_recent_tokens, Tokens(12_000));
    assert_eq!(settings.compact.strategy, StrategyName::Checkpoint);
}

#[test]
fn every_preset_can_be_written_down_and_read_back() {
    for preset in Preset::ALL {
        let wanted = preset.settings();
        let mut settings = Settings::default();
        for setting in SETTINGS {
            apply(&mut settings, setting.name, &setting.value(&wanted)).unwrap();
        }
        assert_eq!(settings, wanted, "{}", preset.as_str());
    }
}

//! Settings of the seeds that nothing here could follow yet. Whoever names one learns that, instead of being taken for a misspeller.

/// The names, and what they wait for.
const LATER: [(&str, &str); 8] = [
    ("summary_model", NO_MODEL),
    ("NOUS_SUMMARY_MODEL", NO_MODEL),
    ("model", NO_MODEL),
    ("MaxSummarizationInputChars", NO_MODEL),
    ("ToolInputPreviewChars", NO_MODEL),
    ("ToolResultPreviewChars", NO_MODEL),
    ("ToolResultHeadChars", NO_MODEL),
    ("ToolResultTailChars", NO_MODEL),
];

const NO_MODEL: &str =
    "it is about the model that writes summaries, which only a program that brings its own summarizer has";

/// What the setting of this name waits for, if it is one of these.
pub(super) fn waits_for(key: &str) -> Option<&'static str> {
    let plain = key.strip_prefix("EPITOME_").unwrap_or(key);
    LATER.iter().find(|(name, _)| name.eq_ignore_ascii_case(plain)).map(|(_, why)| *why)
}

#[cfg(test)]
mod tests {
    use super::super::{SettingsError, find};
    use super::*;

    #[test]
    fn every_name_of_a_seed_is_a_setting_or_says_what_it_waits_for() {
        for (name, why) in LATER {
            match find(name) {
                Ok(_) => {}
                Err(error) => assert_eq!(error, SettingsError::NotYet { key: name.to_owned(), why }),
            }
        }
        for (name, expected) in
            [("enabled", "compaction_enabled"), ("INPUT_TOKEN_BUDGET", "compaction_threshold")]
        {
            assert_eq!(find(name).map(|found| found.name), Ok(expected));
        }
    }
}

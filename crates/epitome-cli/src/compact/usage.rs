//! Flags that would do nothing are refused rather than ignored.

use epitome_core::compact::StrategyName;

use crate::args::{Compact, Messages};
use crate::fail::misuse;
use crate::session::Session;

/// Checks that the flags mean something for this strategy and this session.
pub(super) fn check(session: &Session, arguments: &Compact, strategy: StrategyName) -> anyhow::Result<()> {
    let Compact { expand, seal, turns, cache, .. } = arguments;
    let given =
        [(!expand.is_empty(), "--expand"), (turns.is_some(), "--turns"), (cache.is_some(), "--cache")];
    if let Some((_, flag)) = given.iter().find(|(given, _)| *given && !strategy.meets_budgets()) {
        let what = format!("{flag} has no meaning for the strategy {}", strategy.as_str());
        return Err(misuse(what, "it belongs to strategies that summarise, such as auto or checkpoint"));
    }
    if !seal.is_empty() && strategy != StrategyName::Tiered {
        let what = format!("--seal has no meaning for the strategy {}", strategy.as_str());
        return Err(misuse(
            what,
            "topics are the tiered strategy's; add --strategy tiered or --preset friday",
        ));
    }
    if seal.contains(&0) {
        return Err(misuse(
            "--seal 0: no topic could end there",
            "the first topic ends before message 1 or later",
        ));
    }
    check_numbers(session, arguments)
}

fn check_numbers(session: &Session, arguments: &Compact) -> anyhow::Result<()> {
    let Compact { pin, expand, seal, .. } = arguments;
    let messages = session.main_path().len();
    let named = |flag: &'static str, all: &[Messages]| {
        all.iter().map(|Messages(range)| (flag, *range.end())).collect::<Vec<_>>()
    };
    let seals = seal.iter().map(|seal| ("--seal", *seal)).collect();
    let named = [named("--pin", pin), named("--expand", expand), seals].concat();
    match named.iter().find(|(_, number)| *number >= messages) {
        Some((flag, number)) => {
            let what = format!("{flag} {number}: {} has {messages} messages, counted from 0", session.name);
            Err(misuse(what, "epitome inspect --json and --dry-run show the numbers"))
        }
        None => Ok(()),
    }
}

//! What holds for any strategy and settings, over generated conversations.

use std::fmt;

use epitome_core::compact::{
    Compacted, Compaction, Decision, Fallback, KeepBy, LeadingSentences, Limits, Placement, Preset, Request,
    StrategyName, SummaryLength, check_tiling, compact, dry_run, minimum_budget, pin_closure, view,
};
use epitome_core::compact::{Due, Piece, SystemPlace};
use epitome_core::pressure::Occasion;
use epitome_core::prune::ThinkingRule;
use epitome_core::settings::Settings;
use epitome_core::turn::tool_pairs;
use epitome_core::{Block, Entry, Message, Outline, Role, Tokens};
use proptest::bool;
use proptest::option;
use proptest::prelude::*;

use crate::compactions::{Chatterbox, above_minimum, fails, numbers, path_of_messages, pins};
use crate::conversations;
use crate::support::*;

fn count(text: &str) -> Tokens {
    counter().text(text)
}

fn settings() -> impl Strategy<Value = Settings> {
    let start = prop_oneof![
        3 => Just(Settings::default()),
        2 => prop::sample::select(Preset::ALL.to_vec()).prop_map(Preset::settings),
    ];
    let strategy = option::of(prop::sample::select(StrategyName::ALL.to_vec()));
    let choices = (
        prop::sample::select(vec![Fallback::Escalate, Fallback::Escalate, Fallback::Seed]),
        prop::sample::select(vec![Placement::Pair, Placement::FirstUser, Placement::System]),
        prop::sample::select(vec![KeepBy::Messages, KeepBy::Turns]),
        prop::sample::select(vec![SummaryLength::Fixed, SummaryLength::Growing]),
        prop::sample::select(vec![Due::OverBudget, Due::OverShare]),
        bool::weighted(0.3),
        bool::weighted(0.3),
    );
    let numbers =
        (1_usize..12, 1_u64..4_000, 1_u64..1_500, 1_usize..30, option::of(1_u64..6_000), 0_u64..600);
    (start, strategy, choices, numbers, conversations::settings()).prop_map(
        |(mut settings, strategy, choices, (window, keep, summary, most, threshold, retain), prune)| {
            let compact = &mut settings.compact;
            compact.strategy = strategy.unwrap_or(compact.strategy);
            (
                compact.fallback,
                compact.placement,
                compact.keep_by,
                compact.summary_length,
                compact.tiers_due,
                compact.adaptive,
                compact.summary_cascade,
            ) = choices;
            compact.recency_window = window;
            compact.retain_tokens = Tokens(retain.saturating_sub(200));
            compact.keep_recent_tokens = Tokens(keep);
            compact.summary_token_budget = Tokens(summary);
            compact.compaction_threshold = threshold.map(Tokens);
            settings.max_conversation_messages = most;
            settings.prune = prune;
            settings
        },
    )
}

fn occasion() -> impl Strategy<Value = Occasion> {
    prop_oneof![2 => Just(Occasion::BeforeCall), 2 => Just(Occasion::Asked), 1 => (1_u32..4).prop_map(Occasion::Refused)]
}

fn thinking_rule() -> impl Strategy<Value = ThinkingRule> {
    prop_oneof![2 => Just(ThinkingRule::Free), 1 => Just(ThinkingRule::Bound)]
}

struct Case {
    messages: Vec<Message>,
    path: Vec<Entry>,
    pins: Vec<usize>,
    settings: Settings,
    occasion: Occasion,
    thinking: ThinkingRule,
    more: Option<u64>,
    fails: bool,
}

// Texts are long and matter little.
impl fmt::Debug for Case {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, entry) in self.path.iter().enumerate() {
            let kinds: Vec<_> = entry.outline.blocks.iter().map(|block| block.kind).collect();
            writeln!(out, "{at} {} {} {kinds:?}", entry.outline.role, entry.outline.tokens)?;
        }
        let Self { pins, occasion, thinking, more, fails, .. } = self;
        writeln!(out, "pins {pins:?}, {occasion:?}, {thinking:?}, {more:?}, fails {fails}")?;
        writeln!(out, "{:?}\n{:?}", self.settings.compact, self.settings.prune)
    }
}

impl Case {
    fn request<'a>(&'a self, previous: Option<&'a Compaction>) -> Request<'a> {
        let limits = Limits { budget: Tokens::ZERO, pins: &self.pins, previous, ..Limits::default() };
        let minimum = minimum_budget(&self.path, &limits);
        Request {
            occasion: self.occasion,
            budget: self.more.map(|more| minimum + Tokens(more)),
            window: Some(Tokens(40_000)),
            pins: &self.pins,
            previous,
            thinking: self.thinking,
            ..Request::new(&self.settings)
        }
    }

    fn compact(&self, previous: Option<&Compaction>) -> Compacted {
        let mut summarizer = Chatterbox { fails: self.fails };
        compact(&self.path, &self.messages, &self.request(previous), &mut summarizer, &count)
    }

    // The case of the first messages of the path.
    fn start(&self, covered: usize) -> Self {
        Self {
            messages: self.messages[..covered].to_vec(),
            path: self.path[..covered].to_vec(),
            pins: self.pins.iter().copied().filter(|pin| *pin < covered).collect(),
            settings: self.settings.clone(),
            ..*self
        }
    }

    fn tokens(&self, compaction: &Compaction) -> Tokens {
        let shown = view(compaction, &self.path, &self.messages, PLACE).messages(&self.messages);
        let leading = self.messages.iter().take_while(|message| message.role == Role::System).count();
        let all: Tokens = shown.iter().map(|message| counter().message(message)).sum();
        all - self.path[..leading].iter().map(|entry| entry.outline.tokens).sum()
    }
}

const PLACE: SystemPlace = SystemPlace::Message(Role::System);

fn case() -> impl Strategy<Value = Case> {
    let limits = (option::weighted(0.7, above_minimum()), occasion(), thinking_rule(), fails());
    (path_of_messages(), pins(), settings(), limits).prop_map(
        |(messages, pins, settings, (more, occasion, thinking, fails))| Case {
            pins: numbers(&pins, messages.len()),
            path: path(&messages),
            messages,
            settings,
            occasion,
            thinking,
            more,
            fails,
        },
    )
}

fn broken_pairs(messages: &[Message]) -> (usize, usize) {
    let outlines: Vec<Outline> = messages.iter().map(|message| Outline::of(message, &counter(), 0)).collect();
    let found = tool_pairs(&outlines);
    (found.unanswered.len(), found.orphans.len())
}

fn is_thought(block: &Block) -> bool {
    matches!(block, Block::Thinking(_) | Block::RedactedThinking(_))
}

fn check_pins(case: &Case, compaction: &Compaction) -> Result<(), TestCaseError> {
    let shown = view(compaction, &case.path, &case.messages, PLACE);
    for pin in pin_closure(&case.path, &case.pins) {
        let message = &case.messages[pin];
        let thinks = message.blocks.iter().any(is_thought);
        let kept = shown.pieces.iter().any(|piece| match piece {
            Piece::Keep(at) => *at == pin,
            Piece::Edit(at, _) => *at == pin && thinks,
            Piece::New(_) => false,
        });
        prop_assert!(kept || (thinks && message.blocks.iter().all(is_thought)), "pin {} is gone", pin);
    }
    Ok(())
}

fn check(case: &Case, done: &Compacted, previous: Option<&Compaction>) -> Result<(), TestCaseError> {
    let report = &done.report;
    let strategy = case.settings.compact.strategy;
    let escalates = case.settings.compact.fallback == Fallback::Escalate && strategy.meets_budgets();
    if escalates && case.more.is_some() {
        prop_assert!(report.shortfall == Tokens::ZERO, "{:?}", report);
    }
    let Some(compaction) = &done.compaction else {
        prop_assert_ne!(report.decision, Decision::Compacted);
        return Ok(());
    };
    prop_assert_eq!(report.decision, Decision::Compacted);
    prop_assert_eq!(check_tiling(&compaction.segments, case.messages.len()), Ok(()));
    prop_assert_eq!(case.tokens(compaction), report.tokens_after, "the report counts exactly");
    let hides_pin = |previous: &Compaction| {
        let shown = view(previous, &case.path, &case.messages, PLACE);
        let shows = |pin: &usize| {
            shown
                .pieces
                .iter()
                .any(|piece| matches!(piece, Piece::Keep(at) | Piece::Edit(at, _) if at == pin))
        };
        case.pins.iter().any(|pin| !shows(pin))
    };
    if !previous.is_some_and(hides_pin) {
        prop_assert!(report.tokens_after < report.tokens_before, "{:?}", report);
    }
    let components: Tokens = report.components.iter().skip(1).filter_map(|part| part.actual).sum();
    prop_assert_eq!(components, report.tokens_after);
    let shown = view(compaction, &case.path, &case.messages, PLACE).messages(&case.messages);
    let (before, after) = (broken_pairs(&case.messages), broken_pairs(&shown));
    prop_assert!(after.0 <= before.0 && after.1 <= before.1, "{:?} became {:?}", before, after);
    check_pins(case, compaction)?;
    let all = compaction.expanded(0..case.messages.len());
    let back = view(&all, &case.path, &case.messages, PLACE).messages(&case.messages);
    prop_assert_eq!(&back, &case.messages, "expanding gives back the path");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_strategy_keeps_its_promises(case in case()) {
        prop_assert_eq!(case.settings.validate(), Ok(()));
        let done = case.compact(None);
        check(&case, &done, None)?;
        prop_assert_eq!(&case.compact(None), &done, "the same again");

        let preview = dry_run(&case.path, &case.messages, &case.request(None), &mut LeadingSentences, &count);
        let planned = preview.plan.map(|plan| plan.run(&case.messages, &mut LeadingSentences, &count));
        if let (Some(planned), Some(compaction), false) = (&planned, &done.compaction, case.fails) {
            let ranges = |compaction: &Compaction| {
                compaction.segments.iter().map(|segment| segment.range().clone()).collect::<Vec<_>>()
            };
            if case.settings.compact.fallback == Fallback::Escalate {
                prop_assert_eq!(ranges(planned), ranges(compaction), "a dry run decides the same");
            }
        }
    }

    #[test]
    fn compacting_again_without_new_messages_changes_nothing(case in case()) {
        let done = case.compact(None);
        if let Some(compaction) = &done.compaction {
            let again = case.compact(Some(compaction));
            prop_assert!(again.compaction.is_none(), "{:?} became {:?}: {:?}", compaction.segments, again.compaction, again.report);
        }
    }

    #[test]
    fn later_compactions_keep_the_same_promises(case in case(), share in 0.3..1.0_f64) {
        let covered = (share * case.messages.len() as f64) as usize;
        let first = case.start(covered).compact(None).compaction;
        let done = case.compact(first.as_ref());
        check(&case, &done, first.as_ref())?;
        if let Some(second) = &done.compaction {
            let again = case.compact(Some(second));
            prop_assert!(again.compaction.is_none(), "{:?} became {:?}: {:?}", second.segments, again.compaction, again.report);
        }
    }
}

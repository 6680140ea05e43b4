//! Compacted conversations stay valid in every dialect: generated ones, the project's fixtures, and real ones where
//! `EPITOME_TRANSCRIPTS` names a folder of them.

use std::sync::Arc;

use epitome_core::compact::{
    Compaction, LeadingSentences, Limits, Piece, Preset, Request, StrategyName, SystemPlace, check_tiling,
    compact, minimum_budget, view, view_tokens,
};
use epitome_core::digest::Digest;
use epitome_core::settings::Settings;
use epitome_core::tokens::{Bpe, Counter, ImagePricing, Tokenizer};
use epitome_core::{Entry, Message, Outline, Role, Tokens};
use epitome_wire::Dialect;
use proptest::prelude::*;

use crate::prune::assert_no_worse;
use crate::scripts::script;
use crate::support::{cases, fixtures, read, recorded, report_use};

fn outlined(messages: &[Message]) -> Vec<Entry> {
    let counter = Counter::new(Bpe::o200k(), ImagePricing::Anthropic);
    let entry = |message: &Message| Entry {
        outline: Arc::new(Outline::of(message, &counter, 0)),
        time: message.meta.time,
    };
    messages.iter().map(entry).collect()
}

fn place(dialect: Dialect) -> SystemPlace {
    match dialect {
        Dialect::Chat => SystemPlace::Message(Role::System),
        Dialect::Responses => SystemPlace::Message(Role::Developer),
        _ => SystemPlace::Outside,
    }
}

// Every strategy by itself, and every preset.
fn choices() -> Vec<Settings> {
    let named = StrategyName::ALL.map(|strategy| {
        let mut settings = Settings::default();
        settings.compact.strategy = strategy;
        settings
    });
    named.into_iter().chain(Preset::ALL.map(Preset::settings)).collect()
}

/// Compacts to a share of what there is; whether anything was done.
fn holds(
    dialect: Dialect,
    system: Option<&Message>,
    messages: &[Message],
    settings: &Settings,
    per_cent: u64,
    pins: &[usize],
) -> bool {
    let path = outlined(messages);
    let count = |text: &str| Bpe::o200k().count(text);
    let leading =
        path.iter().take_while(|entry| matches!(entry.outline.role, Role::System | Role::Developer)).count();
    let whole: Tokens = path[leading..].iter().map(|entry| entry.outline.tokens).sum();
    let least = minimum_budget(&path, &Limits { pins, ..Limits::default() });
    let budget = Tokens(whole.0 * per_cent / 100).max(least);
    let request = Request { budget: Some(budget), pins, ..Request::new(settings) };
    let run = || compact(&path, messages, &request, &mut Digest::new(&path, messages, &count), &count);
    let compacted = run();
    assert_eq!(compacted, run(), "the same again gives the same");
    let Some(compaction) = compacted.compaction else { return false };
    check_tiling(&compaction.segments, messages.len()).unwrap();

    let shown = view(&compaction, &path, messages, place(dialect));
    let after = shown.messages(messages);
    assert_no_worse(dialect, system, messages, &after);
    let conversation: Tokens = view_tokens(&shown, &path, &count);
    assert!(conversation < whole, "{} of {whole}", conversation);
    if settings.compact.strategy.meets_budgets() {
        assert!(
            conversation <= budget,
            "{:?}: {conversation} tokens, {budget} allowed",
            settings.compact.strategy
        );
    }
    for pin in pins {
        assert!(shown.pieces.contains(&Piece::Keep(*pin)), "message {pin} is pinned");
    }
    let all = compaction.expanded(0..messages.len());
    assert_eq!(
        view(&all, &path, messages, place(dialect)).messages(messages),
        messages,
        "expanded, it is the path again"
    );

    // Whoever writes no better summaries than this still ends up valid.
    let plain = compact(&path, messages, &request, &mut LeadingSentences, &count);
    let plain = plain.compaction.unwrap_or_else(|| Compaction::verbatim(messages.len()));
    assert_no_worse(
        dialect,
        system,
        messages,
        &view(&plain, &path, messages, place(dialect)).messages(messages),
    );
    true
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn generated_conversations_stay_valid(script in script(), choice in 0..12_usize, per_cent in 5..80_u64, pin in any::<prop::sample::Index>()) {
        let settings = choices().swap_remove(choice);
        for dialect in Dialect::ALL {
            let conversation = script.in_dialect(dialect);
            // Scripts are short: say everything ten times.
            let messages: Vec<Message> = (0..10).flat_map(|_| conversation.messages.iter().cloned()).collect();
            if messages.is_empty() {
                continue;
            }
            holds(dialect, conversation.system.as_ref(), &messages, &settings, per_cent, &[]);
            let pin = pin.index(messages.len());
            if messages[pin].role == Role::User && messages[pin].blocks.iter().all(|block| matches!(block, epitome_core::Block::Text(_))) {
                holds(dialect, conversation.system.as_ref(), &messages, &settings, per_cent, &[pin]);
            }
        }
    }
}

#[test]
fn recorded_conversations_stay_valid() {
    let (mut used, mut compacted) = (0, 0);
    let (own, real) = (fixtures(), recorded());
    for (number, path) in own.iter().chain(&real).enumerate() {
        for transcript in read(path).filter_map(Result::ok) {
            let Some(thread) = transcript.threads.first() else { continue };
            let at = transcript.context(thread);
            let messages: Vec<Message> = at.iter().map(|at| transcript.messages[*at].clone()).collect();
            used += usize::from(number >= own.len());
            // Fixtures are few and short: they get every choice. Of recorded conversations each gets one.
            let choices = choices();
            let one = [choices[used % choices.len()].clone()];
            let chosen = if number < own.len() { &choices[..] } else { &one[..] };
            for settings in chosen {
                let system = transcript.system.as_ref();
                compacted += usize::from(holds(transcript.dialect, system, &messages, settings, 20, &[]));
            }
        }
    }
    assert!(compacted > 3, "only {compacted} conversations were compacted");
    report_use("compacted conversations", used);
}

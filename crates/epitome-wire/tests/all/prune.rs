//! Pruned conversations stay valid: the project's own fixtures, and real ones where
//! `EPITOME_TRANSCRIPTS` names a folder of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use epitome_core::prune::{Budget, MessageSizes, Plan, PruneMode, Settings, ThinkingRule, apply, plan};
use epitome_core::tokens::{CharsPerFour, Counter, ImagePricing, Tokenizer};
use epitome_core::{Block, Chars, Entry, Message, Outline, Tokens};
use epitome_wire::Dialect;
use epitome_wire::check::{check, check_rewrite};
use epitome_wire::files::Transcript;

use crate::support::{fixtures, read, recorded, report_use};

const RULES: [ThinkingRule; 2] = [ThinkingRule::Free, ThinkingRule::Bound];

// Eager settings, so that short conversations are pruned, too.
fn settings() -> [Settings; 3] {
    let eager = Settings {
        tool_soft_trim_chars: Chars(400),
        tool_soft_trim_head: Chars(100),
        tool_soft_trim_tail: Chars(100),
        tool_hard_clear_after: 3,
        keep_last_tool_results: 1,
        tool_result_max_chars: Some(Chars(2_000)),
        clear_at_least: Tokens(500),
        ..Settings::default()
    };
    let literal =
        Settings { prune_mode: PruneMode::EveryCall, max_message_chars: Some(Chars(2_000)), ..eager.clone() };
    [Settings::default(), eager, literal]
}

// The start of the same conversation with long tool results, as fixtures are short.
fn inflated(context: &[Message]) -> Vec<Message> {
    let mut context: Vec<Message> = context.iter().take(60).cloned().collect();
    for block in context.iter_mut().flat_map(|message| &mut message.blocks) {
        if let Block::ToolResult(result) = block {
            for block in &mut result.content {
                if let Block::Text(text) = block {
                    text.text = format!("{}\n", text.text).repeat(1 + 3_000 / (text.text.len() + 1));
                }
            }
        }
    }
    context
}

struct View {
    plan: Plan,
    messages: Vec<Message>,
}

fn prune(messages: &[Message], settings: &Settings, rule: ThinkingRule) -> View {
    let counter = Counter::new(&CharsPerFour, ImagePricing::Anthropic);
    let entry = |message: &Message| Entry {
        outline: Arc::new(Outline::of(message, &counter, 0)),
        time: message.meta.time,
    };
    let path: Vec<Entry> = messages.iter().map(entry).collect();
    let mut sizes = MessageSizes::new(messages, |text: &str| CharsPerFour.count(text));
    let plan = plan(&path, settings, Budget::default(), &mut sizes, rule);
    let messages = apply(&plan, &path, messages, Tokens(u64::MAX));
    View { plan, messages }
}

// How often each rule is broken.
fn broken_rules(
    dialect: Dialect,
    system: Option<&Message>,
    messages: &[Message],
) -> BTreeMap<&'static str, usize> {
    let mut broken = BTreeMap::new();
    for violation in check(dialect, system, messages) {
        *broken.entry(violation.rule.name()).or_default() += 1;
    }
    broken
}

/// Pruning must not break a rule, nor one that was broken before in one more place.
pub(crate) fn assert_no_worse(
    dialect: Dialect,
    system: Option<&Message>,
    before: &[Message],
    after: &[Message],
) {
    let (before, after) = (broken_rules(dialect, system, before), broken_rules(dialect, system, after));
    let worse = after.iter().any(|(rule, count)| before.get(rule).is_none_or(|before| count > before));
    assert!(!worse, "{dialect}: {before:?} became {after:?}");
}

fn holds(transcript: &Transcript, context: &[Message], settings: &Settings, rule: ThinkingRule) -> Plan {
    let (dialect, system) = (transcript.dialect, transcript.system.as_ref());
    let View { plan, messages: view } = prune(context, settings, rule);
    assert_no_worse(dialect, system, context, &view);
    if rule == ThinkingRule::Bound {
        let refused = check_rewrite(dialect, context, &view);
        assert!(refused.is_empty(), "{:?}: {refused:?}", transcript.id);
    } else {
        assert_eq!(context.len(), view.len());
        for (old, new) in context.iter().zip(&view) {
            for (old, new) in old.blocks.iter().zip(&new.blocks) {
                let text = settings.max_message_chars.is_some() && matches!(old, Block::Text(_));
                assert!(old == new || text || matches!(old, Block::ToolResult(_)));
            }
        }
    }
    let again = prune(&view, settings, rule);
    assert_eq!(again.plan.marks, [], "{:?}: pruning twice is pruning once", transcript.id);
    assert!(again.messages == view);
    plan
}

// Prunes all threads of a file's transcripts in every way: how many there are, and how many marks were made.
fn prune_all(path: &Path) -> (usize, usize) {
    let (mut count, mut marks) = (0, 0);
    for transcript in read(path).filter_map(Result::ok) {
        for thread in &transcript.threads {
            let at = transcript.context(thread);
            let context: Vec<Message> = at.iter().map(|at| transcript.messages[*at].clone()).collect();
            count += 1;
            for (settings, rule) in settings().iter().flat_map(|settings| RULES.map(|rule| (settings, rule)))
            {
                marks += holds(&transcript, &context, settings, rule).marks.len();
                marks += holds(&transcript, &inflated(&context), settings, rule).marks.len();
            }
        }
    }
    (count, marks)
}

#[test]
fn pruned_conversations_stay_valid() {
    let marks: usize = fixtures().iter().map(|path| prune_all(path).1).sum();
    assert!(marks > 0, "nothing was pruned, so nothing was tested");
    let used: usize = recorded().iter().map(|path| prune_all(path).0).sum();
    report_use("pruned conversations", used);
}

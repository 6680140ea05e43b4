//! What holds for every conversation, every valid setting and every budget.

use epitome_core::prune::{
    Budget, Mark, MessageSizes, Outcome, Plan, PruneMode, PrunedForm, Rule, Settings, Size, ThinkingRule,
    Why, apply, plan, read_text, text_of,
};
use epitome_core::tokens::{CharsPerFour, Counter, ImagePricing, Tokenizer};
use epitome_core::{Block, Entry, Message, Role, Tokens};
use proptest::prelude::*;

use crate::conversations::{budget, conversation, settings};
use crate::support::{cases, path_by, thinking};

fn by_length() -> Counter {
    Counter::new(&CharsPerFour, ImagePricing::Anthropic)
}

struct Case {
    messages: Vec<Message>,
    path: Vec<Entry>,
    settings: Settings,
    budget: Budget,
    rule: ThinkingRule,
}

impl Case {
    fn new(messages: &[Message], settings: &Settings, budget: Budget, rule: ThinkingRule) -> Self {
        let path = path_by(&by_length(), messages);
        Self { messages: messages.to_vec(), path, settings: settings.clone(), budget, rule }
    }

    fn plan(&self, length: usize) -> Plan {
        let mut sizes = MessageSizes::new(&self.messages, |text: &str| CharsPerFour.count(text));
        plan(&self.path[..length], &self.settings, self.budget, &mut sizes, self.rule)
    }

    fn view(&self, length: usize) -> Vec<Message> {
        let plan = self.plan(length);
        apply(&plan, &self.path[..length], &self.messages[..length], Tokens(u64::MAX))
    }

    fn length(&self) -> usize {
        self.messages.len()
    }
}

fn rule() -> impl Strategy<Value = ThinkingRule> {
    prop_oneof![2 => Just(ThinkingRule::Free), 1 => Just(ThinkingRule::Bound)]
}

// How far a mark goes; marks may only go further as a conversation grows.
fn rank(mark: Mark, rule: Rule) -> u8 {
    match (mark, rule) {
        (Mark::Trim { .. }, Rule::Cap) => 1,
        (Mark::Trim { .. }, Rule::SoftTrim) => 2,
        (Mark::Clear { .. }, Rule::HardClear) => 3,
        (Mark::Truncate { .. }, Rule::LongText) | (Mark::Remove, Rule::BoundThinking) => 1,
        other => panic!("a rule that makes another rule's mark: {other:?}"),
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn only_what_a_rule_names_is_changed(
        messages in conversation(), settings in settings(), budget in budget(), rule in rule()
    ) {
        prop_assert_eq!(settings.validate(), Ok(()));
        let case = Case::new(&messages, &settings, budget, rule);
        let plan = case.plan(case.length());
        let mut names = std::collections::HashMap::new();
        for block in messages.iter().flat_map(|message| &message.blocks) {
            if let Block::ToolUse(call) = block {
                names.insert(call.id.as_str(), call.name.as_str());
            }
        }
        for marked in &plan.marks {
            match &messages[marked.message].blocks[marked.block] {
                Block::ToolResult(result) => {
                    prop_assert!(matches!(marked.rule, Rule::Cap | Rule::SoftTrim | Rule::HardClear));
                    prop_assert!(result.content.iter().all(|block| matches!(block, Block::Text(_))));
                    let name = names.get(result.call_id.as_str()).copied().unwrap_or("tool");
                    prop_assert_eq!(&marked.speaker, name);
                    prop_assert!(!settings.exclude_tools.iter().any(|tool| tool == name));
                }
                Block::Text(_) => {
                    prop_assert_eq!(marked.rule, Rule::LongText);
                    prop_assert!(settings.max_message_chars.is_some());
                    prop_assert!(messages[marked.message].role != Role::System);
                }
                Block::Thinking(_) | Block::RedactedThinking(_) => prop_assert_eq!(rule, ThinkingRule::Bound),
                other => prop_assert!(false, "{:?} is nobody's to touch", other.kind()),
            }
        }
        if rule == ThinkingRule::Free {
            let view = case.view(case.length());
            prop_assert_eq!(view.len(), messages.len());
            for (at, (before, after)) in messages.iter().zip(&view).enumerate() {
                prop_assert_eq!(before.blocks.len(), after.blocks.len());
                for (number, (old, new)) in before.blocks.iter().zip(&after.blocks).enumerate() {
                    let marked = plan.marks.iter().any(|mark| mark.message == at && mark.block == number);
                    prop_assert_eq!(old != new, marked);
                }
            }
        } else {
            let all = messages.iter().flat_map(|message| &message.blocks);
            let thoughts = all.filter(|block| matches!(block, Block::Thinking(_) | Block::RedactedThinking(_)));
            prop_assert!(plan.unthought == 0 || plan.unthought == thoughts.count(), "all thinking or none");
        }
    }

    #[test]
    fn pruning_twice_is_pruning_once(
        messages in conversation(), settings in settings(), budget in budget(), rule in rule()
    ) {
        let case = Case::new(&messages, &settings, budget, rule);
        let once = case.view(case.length());
        let again = Case::new(&once, &settings, budget, rule);
        prop_assert_eq!(&again.plan(again.length()).marks, &[]);
        prop_assert_eq!(again.view(again.length()), once);
    }

    #[test]
    fn a_pruned_conversation_goes_on_like_its_original(
        messages in conversation(), settings in settings(), budget in budget(), cut in 0.0..1.0
    ) {
        let case = Case::new(&messages, &settings, budget, ThinkingRule::Free);
        let cut = (cut * case.length() as f64) as usize;
        let mut continued = case.view(cut);
        continued.extend_from_slice(&messages[cut..]);
        let continued = Case::new(&continued, &settings, budget, ThinkingRule::Free);
        prop_assert_eq!(continued.view(continued.length()), case.view(case.length()));
    }

    #[test]
    fn marks_only_move_forward_and_prefixes_hold_between_steps(
        messages in conversation(), settings in settings(), budget in budget(), rule in rule()
    ) {
        let case = Case::new(&messages, &settings, budget, rule);
        let (mut before, mut seen) = (case.plan(0), case.view(0));
        for length in 1..=case.length() {
            let (now, shown) = (case.plan(length), case.view(length));
            for old in &before.marks {
                let new = now.marks.iter().find(|new| (new.message, new.block) == (old.message, old.block));
                let new = new.map(|new| rank(new.mark, new.rule));
                prop_assert!(new >= Some(rank(old.mark, old.rule)), "{:?} became {:?}", old, new);
            }
            prop_assert_eq!(&now.steps[..before.steps.len()], &before.steps[..], "what was decided stays decided");
            let stepped = now.steps.last().is_some_and(|step| step.at == length - 1);
            if !stepped {
                prop_assert_eq!(now.steps.len(), before.steps.len());
                prop_assert_eq!(&shown[..seen.len()], &seen[..], "between steps the prefix holds");
            }
            (before, seen) = (now, shown);
        }
    }

    #[test]
    fn never_larger_and_exactly_as_large_as_planned(
        messages in conversation(), settings in settings(), budget in budget(), rule in rule()
    ) {
        let case = Case::new(&messages, &settings, budget, rule);
        let plan = case.plan(case.length());
        prop_assert_eq!(&plan, &case.plan(case.length()), "the same plan every time");
        let view = case.view(case.length());
        let after = Case::new(&view, &settings, budget, rule).plan(view.len()).before;
        prop_assert!(after.tokens <= plan.before.tokens && after.bytes <= plan.before.bytes);
        let emptied = messages.iter().any(|message| message.blocks == [thinking("only a thought")]);
        prop_assert!(emptied || after.tokens == plan.after.tokens, "{:?} is not {:?}", after, plan.after);
        if rule == ThinkingRule::Free {
            prop_assert_eq!(after, plan.after);
            let gained: Tokens = plan.steps.iter().map(|step| step.gain.tokens).sum();
            prop_assert!(gained <= plan.before.tokens - plan.after.tokens);
        }
    }

    #[test]
    fn the_cap_holds_for_every_result(messages in conversation(), settings in settings()) {
        let case = Case::new(&messages, &settings, Budget::default(), ThinkingRule::Free);
        let Some(cap) = settings.tool_result_max_chars else { return Ok(()) };
        for length in 0..=case.length() {
            let view = case.view(length);
            let Some(message) = view.last() else { continue };
            for block in &message.blocks {
                let Block::ToolResult(result) = block else { continue };
                if settings.exclude_tools.is_empty() && result.content.len() == 1 {
                    let text = text_of(block).unwrap();
                    let facts = read_text(&text, Outcome::Unknown);
                    let was_cleared =
                        facts.pruned.is_some_and(|pruned| pruned.form == PrunedForm::Cleared);
                    prop_assert!(facts.chars <= cap || was_cleared, "{} chars", facts.chars);
                }
            }
        }
    }

    #[test]
    fn every_call_is_the_literal_algorithm(messages in conversation(), settings in settings()) {
        let settings = Settings { prune_mode: PruneMode::EveryCall, max_message_chars: None, ..settings };
        let case = Case::new(&messages, &settings, Budget::default(), ThinkingRule::Free);
        let ends_in_a_call = messages.last().is_none_or(|last| last.role != Role::Assistant);
        if ends_in_a_call {
            prop_assert_eq!(case.view(case.length()), literal::prune(&messages, &settings));
        }
    }

    #[test]
    fn steps_are_worth_it(messages in conversation(), settings in settings(), budget in budget()) {
        let settings = Settings { prune_mode: PruneMode::Steps, ..settings };
        let case = Case::new(&messages, &settings, budget, ThinkingRule::Free);
        let plan = case.plan(case.length());
        for step in &plan.steps {
            let worth = step.gain.tokens >= settings.clear_at_least;
            let meets = step.why == Why::Budget && case.plan(step.at + 1).shortfall == Size::default();
            prop_assert!(worth || meets || step.why == Why::Lapse, "{:?}", step);
        }
        let calls = messages.last().is_some_and(|last| last.role != Role::Assistant);
        prop_assert!(!calls || plan.held_back < settings.clear_at_least.max(Tokens(1)));
    }
}

/// Spec 008.1's algorithm as it is written there: look at the whole list, count from the end, replace.
///
/// With what Epitome adds: the cap, excluded tools, error tails, and that nothing may grow.
mod literal {
    use super::*;

    pub(super) fn prune(messages: &[Message], settings: &Settings) -> Vec<Message> {
        let groups = groups(messages);
        let newest = groups.iter().flatten().max().copied().unwrap_or(0);
        let mut pruned = messages.to_vec();
        let mut names = std::collections::HashMap::new();
        for (message, group) in pruned.iter_mut().zip(groups) {
            for block in &mut message.blocks {
                if let Block::ToolUse(call) = block {
                    names.insert(call.id.clone(), call.name.clone());
                }
                let (Block::ToolResult(result), Some(group)) = (block, group) else { continue };
                let name = names.get(&result.call_id).cloned().unwrap_or_else(|| "tool".to_owned());
                let [Block::Text(only)] = result.content.as_mut_slice() else { continue };
                if !settings.exclude_tools.contains(&name) {
                    let outcome = if result.is_error { Outcome::Failed } else { Outcome::Unknown };
                    only.text = replace(&only.text, &name, newest - group + 1, outcome, settings);
                }
            }
        }
        pruned
    }

    // The number of the tool-result message that each message is part of.
    fn groups(messages: &[Message]) -> Vec<Option<usize>> {
        let (mut count, mut open) = (0, false);
        let number = |message: &Message| {
            open &= message.role != Role::Assistant;
            let carries = message.blocks.iter().any(|block| matches!(block, Block::ToolResult(_)));
            if carries && !open {
                (count, open) = (count + 1, true);
            }
            carries.then_some(count)
        };
        messages.iter().map(number).collect()
    }

    fn replace(text: &str, name: &str, from_end: usize, outcome: Outcome, settings: &Settings) -> String {
        let facts = read_text(text, outcome);
        if facts.pruned.is_some() {
            return text.to_owned();
        }
        let name: String = name.chars().take(64).collect();
        let error = |kept: usize| match facts.error_tail.0.min(kept) {
            0 => String::new(),
            error => format!(" · ends in an error ({error} chars)"),
        };
        let label =
            |kept| format!("[{name} · {} chars{} · recall {}]", facts.chars, error(kept), facts.recall);
        let letters: Vec<char> = text.chars().collect();
        let head = |count: usize| letters[..count].iter().collect::<String>();
        let tail = |count: usize| letters[letters.len() - count..].iter().collect::<String>();
        let trim = |first: usize, last: usize| {
            let (count, label) = (letters.len(), label(last));
            let marker = format!("--- trimmed (kept {first} head + {last} tail of {count} chars) ---");
            format!("{}\n\n{marker}\n{label}\n\n{}", head(first), tail(last))
        };
        let kept_error =
            if settings.keep_error_tails { facts.error_tail.min(settings.error_tail_chars).0 } else { 0 };

        let (mut most_first, mut most_last) = (letters.len(), letters.len());
        let mut stands = text.to_owned();
        let mut take = |shorter: String| {
            let cost = |text: &str| (CharsPerFour.count(text), epitome_core::prune::json_bytes(text));
            let ((tokens, bytes), (old_tokens, old_bytes)) = (cost(&shorter), cost(&stands));
            let smaller = tokens < old_tokens && bytes <= old_bytes;
            if smaller {
                stands = shorter;
            }
            smaller
        };
        if let Some(cap) = settings.tool_result_max_chars.filter(|cap| facts.chars > *cap) {
            let label = label(usize::MAX);
            let count = letters.len();
            let marker =
                format!("\n\n--- trimmed (kept {cap} head + {cap} tail of {count} chars) ---\n{label}\n\n");
            let room = cap.0.saturating_sub(3 * epitome_core::prune::json_bytes(&marker));
            let last = (room / 2).max(kept_error).min(room);
            if take(trim(room - last, last)) {
                (most_first, most_last) = (room - last, last);
            }
        }
        if !settings.tool_pruning_enabled {
            return stands;
        }
        if from_end > settings.keep_last_tool_results && facts.chars > settings.tool_soft_trim_chars {
            let last = settings.tool_soft_trim_tail.0.max(kept_error).min(most_last);
            let first = settings.tool_soft_trim_head.0.min(most_first);
            if first + last < letters.len() {
                take(trim(first, last));
            }
        }
        if from_end > settings.tool_hard_clear_after {
            let cleared = "[Tool output cleared — content was processed in earlier turns]";
            let kept_error = kept_error.min(most_last);
            let end = if kept_error > 0 { format!("\n{}", tail(kept_error)) } else { String::new() };
            take(format!("{cleared}\n{}{end}", label(kept_error)));
        }
        stands
    }
}

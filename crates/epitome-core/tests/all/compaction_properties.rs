//! What holds for every path, every plan and every budget that is large enough.

use epitome_core::compact::{
    Compaction, Limits, Piece, Placement, Planned, Segment, SystemPlace, check_tiling, fit, minimum_budget,
    pin_closure, view, view_tokens,
};
use epitome_core::prune::THINKING_REMOVED;
use epitome_core::turn::tool_pairs;
use epitome_core::{Block, Entry, Message, Outline, Role, Tokens};
use proptest::prelude::*;

use crate::compactions::{Chatterbox, Sketch, above_minimum, fails, numbers, path_of_messages, pins, sketch};
use crate::support::{counter, path, path_by};

fn count(text: &str) -> Tokens {
    counter().text(text)
}

struct Case {
    messages: Vec<Message>,
    path: Vec<Entry>,
    pins: Vec<usize>,
    previous: Option<Compaction>,
    fails: bool,
}

impl Case {
    fn new(messages: Vec<Message>, pins: &[prop::sample::Index], fails: bool) -> Self {
        let pins = numbers(pins, messages.len());
        Self { path: path(&messages), messages, pins, previous: None, fails }
    }

    fn limits(&self, budget: Tokens) -> Limits<'_> {
        Limits { budget, pins: &self.pins, previous: self.previous.as_ref(), ..Limits::default() }
    }

    fn minimum(&self) -> Tokens {
        minimum_budget(&self.path, &self.limits(Tokens::ZERO))
    }

    fn compact(&self, sketch: &Sketch, budget: Tokens) -> (Compaction, Vec<String>) {
        let plan = sketch.plan(self.messages.len(), self.previous.as_ref());
        let fitted = fit(plan, &self.path, &self.messages, &self.limits(budget), &count);
        let mut summarizer = Chatterbox { fails: self.fails };
        (fitted.plan.run(&self.messages, &mut summarizer, &count), fitted.notes)
    }
}

fn places() -> impl Strategy<Value = SystemPlace> {
    prop_oneof![Just(SystemPlace::Outside), Just(SystemPlace::Message(Role::Developer))]
}

fn is_system(message: &Message) -> bool {
    matches!(message.role, Role::System | Role::Developer)
}

// Two of a side stand next to each other only where they did so in the path.
fn check_alternation(seen: &[(Option<usize>, Message)], case: &Case) -> Result<(), TestCaseError> {
    let taking_part: Vec<_> = seen.iter().filter(|(_, message)| !is_system(message)).collect();
    let side = |message: &Message| message.role == Role::Assistant;
    let first = case.messages.iter().position(|message| !is_system(message));
    if let Some((at, message)) = taking_part.first() {
        prop_assert!(!side(message) || *at == first, "the assistant speaks first");
    }
    for pair in taking_part.windows(2) {
        let [(left, one), (right, two)] = pair else { continue };
        let adjoining = left
            .zip(*right)
            .is_some_and(|(left, right)| case.messages[left + 1..right].iter().all(is_system));
        // It stands for a message of the path, which may have had a neighbour of its own side.
        let stands_in = [one, two].iter().any(|message| message.blocks == [Block::text(THINKING_REMOVED)]);
        prop_assert!(side(one) != side(two) || adjoining || stands_in, "{one:?} and {two:?} are of one side");
    }
    Ok(())
}

fn check_pairs(seen: &[Message], case: &Case) -> Result<(), TestCaseError> {
    let broken = |messages: &[Message]| {
        let outlines: Vec<Outline> =
            messages.iter().map(|message| Outline::of(message, &counter(), 0)).collect();
        let found = tool_pairs(&outlines);
        (found.unanswered.len(), found.orphans.len())
    };
    let (before, after) = (broken(&case.messages), broken(seen));
    prop_assert!(after.0 <= before.0 && after.1 <= before.1, "{before:?} became {after:?}");
    Ok(())
}

fn thoughts(messages: &[Message]) -> Vec<&Block> {
    let blocks = messages.iter().flat_map(|message| &message.blocks);
    blocks.filter(|block| matches!(block, Block::Thinking(_) | Block::RedactedThinking(_))).collect()
}

fn without_thoughts(message: &Message) -> Vec<&Block> {
    let kept = |block: &&Block| !matches!(block, Block::Thinking(_) | Block::RedactedThinking(_));
    message.blocks.iter().filter(kept).collect()
}

fn check_view(compaction: &Compaction, case: &Case, place: SystemPlace) -> Result<Tokens, TestCaseError> {
    let seen = view(compaction, &case.path, &case.messages, place);
    let messages = seen.messages(&case.messages);
    let numbered: Vec<(Option<usize>, Message)> = seen
        .pieces
        .iter()
        .map(|piece| match piece {
            Piece::Keep(at) | Piece::Edit(at, _) => Some(*at),
            Piece::New(_) => None,
        })
        .zip(messages.iter().cloned())
        .collect();
    check_alternation(&numbered, case)?;
    check_pairs(&messages, case)?;

    let (all, shown) = (thoughts(&case.messages), thoughts(&messages));
    prop_assert!(all.ends_with(&shown), "thinking stays or goes together");

    let pinned = pin_closure(&case.path, &case.pins);
    for at in pinned.into_iter().filter(|at| !without_thoughts(&case.messages[*at]).is_empty()) {
        let original = &case.messages[at];
        let found = numbered.iter().find(|(number, _)| *number == Some(at));
        let Some((_, shown)) = found else { return Err(TestCaseError::fail(format!("pin {at} is gone"))) };
        if compaction.placement == Placement::FirstUser && original.role == Role::User {
            continue;
        }
        prop_assert_eq!(without_thoughts(shown), without_thoughts(original), "pin {} was changed", at);
    }

    let exact = view_tokens(&seen, &case.path, &count);
    let leading = case.messages.iter().take_while(|message| is_system(message)).count();
    let counted = path_by(&counter(), &messages).iter().map(|entry| entry.outline.tokens).sum::<Tokens>();
    let system = seen.system.as_deref().map_or(Tokens::ZERO, |text| count(text) + Tokens(4));
    let apart: Tokens = case.path[..leading].iter().map(|entry| entry.outline.tokens).sum();
    prop_assert_eq!(exact, counted + system - apart, "the view is counted exactly");
    Ok(exact)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_plan_meets_any_budget_from_the_minimum_on(
        messages in path_of_messages(), pins in pins(), sketch in sketch(), more in above_minimum(),
        fails in fails(), place in places()
    ) {
        let case = Case::new(messages, &pins, fails);
        let budget = case.minimum() + Tokens(more);
        let (compaction, notes) = case.compact(&sketch, budget);
        prop_assert_eq!(check_tiling(&compaction.segments, case.messages.len()), Ok(()));
        let tokens = check_view(&compaction, &case, place)?;
        prop_assert!(tokens <= budget, "{} of {}: {:?} {:?}", tokens, budget, notes, compaction.segments);
        prop_assert_eq!(case.compact(&sketch, budget), (compaction.clone(), notes), "the same again");

        let all = compaction.expanded(0..case.messages.len());
        let seen = view(&all, &case.path, &case.messages, place);
        prop_assert_eq!(seen.messages(&case.messages), case.messages.clone(), "everything comes back");
        prop_assert_eq!(seen.system, None);
    }

    #[test]
    fn later_compactions_hold_to_the_same(
        messages in path_of_messages(), pins in pins(), sketches in (sketch(), sketch()), more in above_minimum(),
        share in 0.0..1.0_f64, place in places()
    ) {
        let covered = (share * messages.len() as f64) as usize;
        let mut case = Case::new(messages[..covered].to_vec(), &pins, false);
        let first = case.compact(&sketches.0, case.minimum() + Tokens(more)).0;
        case = Case::new(messages, &pins, false);
        check_later(&first, &case, place)?;
        case.previous = Some(first);
        let budget = case.minimum() + Tokens(more);
        let (second, notes) = case.compact(&sketches.1, budget);
        prop_assert_eq!(check_tiling(&second.segments, case.messages.len()), Ok(()));
        let tokens = check_view(&second, &case, place)?;
        prop_assert!(tokens <= budget, "{} of {}: {:?}", tokens, budget, notes);
    }

    #[test]
    fn a_part_can_be_expanded(
        messages in path_of_messages(), sketch in sketch(), more in above_minimum(), place in places(),
        (from, to) in (0.0..1.0_f64, 0.0..1.0_f64)
    ) {
        let case = Case::new(messages, &[], false);
        let compaction = case.compact(&sketch, case.minimum() + Tokens(more)).0;
        let length = case.messages.len() as f64;
        let range = (from.min(to) * length) as usize..(from.max(to) * length) as usize;
        let revealed = compaction.revealed(&case.path, range.clone());
        for expanded in [compaction.expanded(range.clone()), revealed] {
            prop_assert_eq!(check_tiling(&expanded.segments, case.messages.len()), Ok(()));
            check_view(&expanded, &case, place)?;
            for at in range.clone() {
                let shown = expanded.segments.iter().find(|segment| segment.range().contains(&at));
                prop_assert!(matches!(shown, Some(Segment::Verbatim { .. })), "{} is as it was", at);
            }
        }
    }

    #[test]
    fn a_plan_that_fits_is_left_alone_and_a_fitted_plan_fits(
        messages in path_of_messages(), sketch in sketch(), more in above_minimum()
    ) {
        let case = Case::new(messages, &[], false);
        let limits = case.limits(case.minimum() + Tokens(more));
        let plan = sketch.plan(case.messages.len(), None);
        let once = fit(plan, &case.path, &case.messages, &limits, &count);
        let twice = fit(once.plan.clone(), &case.path, &case.messages, &limits, &count);
        prop_assert_eq!(&twice.plan, &once.plan);
        prop_assert_eq!(twice.notes, Vec::<String>::new());
    }
}

// What follows a compaction is shown as it was.
fn check_later(first: &Compaction, case: &Case, place: SystemPlace) -> Result<(), TestCaseError> {
    let seen = view(first, &case.path, &case.messages, place);
    let bare =
        thoughts(&seen.messages(&case.messages)).len() < thoughts(&case.messages[first.covered()..]).len();
    for at in first.covered()..case.messages.len() {
        prop_assert!(bare || seen.pieces.contains(&Piece::Keep(at)), "message {} came later", at);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_kept_grows_with_the_budget(
        messages in path_of_messages(), cap in 64_u64..800, cut in 0.0..1.0_f64
    ) {
        let case = Case::new(messages, &[], false);
        let mut before = 0;
        for step in [0_u64, 300, 900, 2_700, 8_100, 24_300] {
            let budget = case.minimum() + Tokens(step);
            let sketch = Sketch::usual(cut, cap);
            let plan = sketch.plan(case.messages.len(), None);
            let fitted = fit(plan, &case.path, &case.messages, &case.limits(budget), &count);
            let shown: usize = fitted.plan.parts.iter().map(|part| match part {
                Planned::Segment(Segment::Verbatim { range } | Segment::Pruned { range, .. }) => range.len(),
                _ => 0,
            }).sum();
            prop_assert!(shown + 2 >= before, "{} messages, {} with less", shown, before);
            before = shown;
        }
    }
}

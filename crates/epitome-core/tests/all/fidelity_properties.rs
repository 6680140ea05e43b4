//! Fidelity by future use: what holds for every conversation.

use epitome_core::compact::{Request, SystemPlace, compact};
use epitome_core::fidelity::{
    Baseline, Context, Growing, Knows, Lost, ROUNDS, Reading, Scores, conversation_tokens, cuts,
};
use epitome_core::settings::Settings;
use epitome_core::{Block, Entry, Message, Role, Tokens, ToolUse};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{assistant, cases, counter, path, result, user};

const WORDS: &[&str] = &[
    "src/main.rs",
    "src/lib.rs:42",
    "load_config",
    "HAT170",
    "2024-05-20",
    "https://example.org/a?b=1",
    "\n",
    "\n\n\n\n\n\n",
    "def add(a, b): return a + b",
    "if x == 1 and y != 2:",
    "the",
    "result is",
    "You must not edit vendor/old.c.",
    "always run the tests!",
    "漢字とかな",
    "\"quoted\"",
    "1.25",
    "3000",
];

fn words() -> impl Strategy<Value = String> {
    vec(prop::sample::select(WORDS), 1..12).prop_map(|words| words.join(" "))
}

fn turn() -> impl Strategy<Value = Vec<Message>> {
    let tool = (words(), words(), words()).prop_map(|(said, typed, answer)| {
        let input = serde_json::json!({"command": typed, "limit": 250}).to_string();
        let call = ToolUse { id: String::new(), name: "bash".into(), input, extra: Vec::new() };
        let reply = Message::new(Role::Assistant, vec![Block::text(said), Block::ToolUse(call)]);
        vec![reply, result("", &answer)]
    });
    prop_oneof![
        1 => words().prop_map(|text| vec![user(&text)]),
        1 => words().prop_map(|text| vec![assistant(&text)]),
        4 => tool,
    ]
}

fn conversation() -> impl Strategy<Value = Vec<Message>> {
    let system = prop::option::of(words().prop_map(|text| Message::text(Role::System, text)));
    (system, words(), vec(turn(), 2..30)).prop_map(|(system, request, turns)| {
        let mut messages: Vec<Message> =
            system.into_iter().chain([user(&request)]).chain(turns.into_iter().flatten()).collect();
        let mut number = 0;
        for block in messages.iter_mut().flat_map(|message| &mut message.blocks) {
            match block {
                Block::ToolUse(call) => {
                    number += 1;
                    call.id = format!("call_{number}");
                }
                Block::ToolResult(result) => result.call_id = format!("call_{number}"),
                _ => {}
            }
        }
        messages
    })
}

fn count(text: &str) -> Tokens {
    counter().text(text)
}

fn all_kept(scores: &Scores) -> bool {
    scores.columns().iter().all(|tally| tally.kept == tally.asked)
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn all_of_it_keeps_everything_and_nothing_keeps_nothing(messages in conversation()) {
        let reading = Reading::of(None, &messages);
        for cut in cuts(&path(&messages)) {
            let exam = reading.exam(cut);
            let whole = Context::of(None, &messages[..cut], Tokens::ZERO);
            prop_assert!(all_kept(&exam.score(&whole)), "{:?}", exam.lost(&whole));
            prop_assert_eq!(exam.lost(&whole), Lost::default());
            let nothing = exam.score(&Context::default());
            prop_assert!(nothing.columns().iter().all(|tally| tally.kept == 0), "{nothing:?}");
        }
    }

    #[test]
    fn more_context_never_scores_less(messages in conversation(), kept in vec(any::<bool>(), 40), more in words()) {
        let reading = Reading::of(None, &messages);
        for cut in cuts(&path(&messages)) {
            let exam = reading.exam(cut);
            let some: Vec<Message> =
                messages[..cut].iter().zip(kept.iter().cycle()).filter(|(_, kept)| **kept).map(|(message, _)| message.clone()).collect();
            let less = Context::of(None, &some, Tokens::ZERO);
            let (before, after) = (exam.score(&less), exam.score(&Context { texts: [less.texts, vec![more.clone()]].concat(), ..less }));
            for (before, after) in before.columns().iter().zip(after.columns()) {
                prop_assert!(after.kept >= before.kept && after.asked == before.asked);
            }
        }
    }

    #[test]
    fn what_is_lost_is_what_is_not_kept(messages in conversation()) {
        let reading = Reading::of(None, &messages);
        for cut in cuts(&path(&messages)) {
            let exam = reading.exam(cut);
            let context = Baseline::KeepLast.context(&path(&messages[..cut]), &messages[..cut], Tokens(60), &count);
            let (scores, lost) = (exam.score(&context), exam.lost(&context));
            let lost = [lost.items.len(), lost.pairs.len(), lost.runs.len(), lost.constraints.len()];
            prop_assert_eq!(lost, scores.columns().map(|tally| tally.asked - tally.kept));
        }
    }

    #[test]
    fn baselines_keep_to_the_budget_and_words_keep_items_but_no_run(messages in conversation(), budget in 30_u64..400) {
        let reading = Reading::of(None, &messages);
        for cut in cuts(&path(&messages)) {
            let (exam, path, messages) = (reading.exam(cut), path(&messages[..cut]), &messages[..cut]);
            for baseline in Baseline::ALL {
                let context = baseline.context(&path, messages, Tokens(budget), &count);
                if baseline != Baseline::Words {
                    prop_assert!(context.tokens <= Tokens(budget), "{baseline} {}", context.tokens);
                    continue;
                }
                let scores = exam.score(&context);
                prop_assert_eq!(scores.items.kept, scores.items.asked);
                prop_assert_eq!(scores.runs.kept, 0);
            }
            let ample = conversation_tokens(&path);
            for baseline in [Baseline::KeepLast, Baseline::Mask, Baseline::Random] {
                let context = baseline.context(&path, messages, ample, &count);
                prop_assert!(all_kept(&exam.score(&context)), "{baseline} has room for everything");
            }
        }
    }

    #[test]
    fn rounds_go_forward_and_keep_to_the_budget(messages in conversation(), piped in any::<bool>()) {
        let knows = if piped { Knows::Shown } else { Knows::Record };
        let (all, reading) = (path(&messages), Reading::of(None, &messages));
        let budget = Tokens(400);
        let settings = Settings::default();
        let growing = Growing {
            path: &all,
            messages: &messages,
            budget,
            place: SystemPlace::Message(Role::System),
            counter: &counter(),
            knows,
        };
        let mut made = 0;
        let rounds = growing.rounds(&reading, &mut |path: &[Entry], messages: &[Message], previous| {
            let request = Request { budget: Some(budget), previous, ..Request::new(&settings) };
            let mut offline = epitome_core::digest::Digest::new(path, messages, &count);
            let compaction = compact(path, messages, &request, &mut offline, &count).compaction;
            made += usize::from(compaction.is_some());
            compaction
        });
        prop_assert_eq!(rounds.is_some(), made == ROUNDS);
        for rounds in rounds.iter().flat_map(|rounds| rounds.windows(2)) {
            prop_assert!(rounds[0].cut < rounds[1].cut);
            prop_assert!(rounds[1].tokens <= budget, "{rounds:?}");
            prop_assert_eq!(rounds[0].lasting.asked, rounds[1].lasting.asked);
            prop_assert_eq!(rounds[0].held.asked, rounds[1].held.asked);
        }
    }
}

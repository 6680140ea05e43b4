//! The offline summary: what it picks, what it leaves out, and that it makes nothing up.

use epitome_core::checkpoint::Checkpoint;
use epitome_core::compact::{self, Request, Segment, StrategyName};
use epitome_core::digest::Digest;
use epitome_core::items;
use epitome_core::loss::{self, Sources};
use epitome_core::settings::Settings;
use epitome_core::{Block, Fields, Message, Role, Tokens, ToolResult, ToolUse};
use proptest::prelude::*;

use crate::conversations::conversation;
use crate::support::{counter, path};

// The summary of a conversation that is brought into a budget, if it needs one.
fn summary(messages: &[Message], budget: u64, strategy: StrategyName) -> Option<String> {
    let mut settings = Settings::default();
    settings.compact.strategy = strategy;
    let (path, counter) = (path(messages), counter());
    let count = |text: &str| counter.text(text);
    let request = Request { budget: Some(Tokens(budget)), ..Request::new(&settings) };
    let mut digest = Digest::new(&path, messages, &count);
    let compaction = compact::compact(&path, messages, &request, &mut digest, &count).compaction?;
    let text = |segment: Segment| match segment {
        Segment::Summary { text, .. } => Some(text),
        _ => None,
    };
    compaction.segments.into_iter().find_map(text)
}

fn kept(messages: &[Message], budget: u64) -> String {
    summary(messages, budget, StrategyName::Auto).expect("a summary")
}

fn call(number: usize, command: &str) -> Message {
    let input = serde_json::json!({ "command": command }).to_string();
    let call = ToolUse { id: format!("call_{number}"), name: "bash".to_owned(), input, extra: Fields::new() };
    Message::new(Role::Assistant, vec![Block::ToolUse(call)])
}

fn result(number: usize, text: &str) -> Message {
    let content = vec![Block::text(text)];
    let call_id = format!("call_{number}");
    let result = ToolResult { call_id, name: None, content, is_error: false, extra: Fields::new() };
    Message::new(Role::Tool, vec![Block::ToolResult(result)])
}

fn filler(number: usize) -> String {
    (0..30).map(|line| format!("step {line} of round {number} went through without a remark\n")).collect()
}

// Work on something, with much that nobody will need.
fn work(opening: &str, results: &[(&str, &str)]) -> Vec<Message> {
    let mut messages = vec![Message::text(Role::User, opening)];
    for (number, (command, output)) in results.iter().enumerate() {
        messages.extend([call(number, command), result(number, output)]);
    }
    for number in results.len()..results.len() + 20 {
        messages.extend([call(number, "make step"), result(number, &filler(number))]);
    }
    messages.push(Message::text(Role::Assistant, "All steps are through."));
    messages
}

#[test]
fn orders_of_the_user_stay_word_for_word() {
    let opening = "Port the billing service to Rust. Never touch migrations/0007_ledger.sql. \
                   Amounts must be kept in cents. The weather is nice.";
    let text = kept(&work(opening, &[("ls", "Cargo.toml")]), 700);
    assert!(text.contains("Never touch migrations/0007_ledger.sql."), "{text}");
    assert!(text.contains("Amounts must be kept in cents."), "{text}");
    let checkpoint = Checkpoint::parse(&text).checkpoint;
    assert!(checkpoint.goal.unwrap().text().starts_with("Port the billing service to Rust."));
}

#[test]
fn decisions_stand_among_the_decisions() {
    let mut messages = work("Make the import fast.", &[("ls", "src/import.rs")]);
    let decided = "I decided to use rayon for the import because the lock was the bottleneck.";
    messages.insert(3, Message::text(Role::Assistant, decided));
    let text = kept(&messages, 700);
    let decisions = Checkpoint::parse(&text).checkpoint.decisions;
    assert!(decisions.iter().any(|decision| decision.subject().contains("rayon")), "{text}");
}

#[test]
fn orders_are_understood_in_other_languages() {
    for (opening, order) in [
        (
            "Bitte übersetze die Anleitung. Du darfst die Datei anhang_b.md niemals ändern. Schönes Wetter heute.",
            "Du darfst die Datei anhang_b.md niemals ändern.",
        ),
        ("请翻译说明书。绝对不要修改 anhang_b.md 文件。", "绝对不要修改 anhang_b.md 文件"),
        ("Traduce el manual. No debes cambiar nunca anhang_b.md.", "No debes cambiar nunca anhang_b.md."),
        ("Traduis le manuel. Ne change jamais anhang_b.md.", "Ne change jamais anhang_b.md."),
        (
            "Traduci il manuale. Il file anhang_b.md deve restare com'è.",
            "Il file anhang_b.md deve restare com'è.",
        ),
        ("Traduza o manual. O anhang_b.md não muda.", "O anhang_b.md não muda."),
        ("Переведи инструкцию. Файл anhang_b.md менять нельзя.", "Файл anhang_b.md менять нельзя."),
        ("説明書を訳してください。anhang_b.md は変更しないこと。", "anhang_b.md は変更しないこと。"),
    ] {
        let text = kept(&work(opening, &[("ls", "manual.md")]), 600);
        assert!(text.contains(order), "{text}");
    }
}

#[test]
fn a_file_that_is_shown_ten_times_is_quoted_once() {
    let file =
        "fn settle(ledger_id: LedgerId) -> Result<(), SettleError> {\n    post(ledger_id)?;\n    Ok(())\n}";
    let dumps: Vec<(&str, &str)> = (0..10).map(|_| ("cat src/settle.rs", file)).collect();
    let text = kept(&work("Mend settle.", &dumps), 900);
    assert!(text.matches("post(ledger_id)?;").count() <= 1, "{text}");
    assert_eq!(text.matches("cat src/settle.rs").count(), 1, "{text}");
}

#[test]
fn what_was_read_again_is_no_longer_quoted() {
    let version = |number: usize| {
        format!(
            "def handler(request):\n    return Response(status={number})\n\ndef other(request):\n    return None"
        )
    };
    let dumps: Vec<String> = (300..310).map(version).collect();
    let dumps: Vec<(&str, &str)> = dumps.iter().map(|dump| ("cat app/handlers.py", dump.as_str())).collect();
    let text = kept(&work("Mend the handler.", &dumps), 900);
    let quoted = |number: usize| text.contains(&format!("status={number}"));
    assert!((300..309).filter(|number| quoted(*number)).count() == 0, "{text}");
    assert!(quoted(309), "{text}");
}

#[test]
fn orders_come_before_bare_names() {
    let orders: String =
        (0..30).map(|number| format!("You must finish item {number} by week {}. ", number + 20)).collect();
    let listing: String = (0..200).map(|number| format!("src/alpha_{number}.rs ")).collect();
    let text = kept(&work(&format!("Do the list. {orders}"), &[("ls src", &listing)]), 1_000);
    let kept =
        (0..30).filter(|number| text.contains(&format!("You must finish item {number} by week"))).count();
    assert!(kept >= 24, "{kept} of 30: {text}");
}

#[test]
fn what_a_program_puts_around_the_user_is_not_what_the_user_wants() {
    let frames = [
        "<system-reminder>\nYou must always answer in verse about the weather of the day.\n</system-reminder>",
        "<environment_context>\n  <cwd>/srv/depot</cwd>\n</environment_context>",
    ];
    let wish = "Count the crates of the depot. Never touch the folder vault, and sign with HERON-4417.";
    let mut messages = work(wish, &[]);
    if let Some(first) = messages.first_mut() {
        frames.iter().for_each(|frame| first.blocks.insert(0, Block::text(*frame)));
    }
    let listing: String =
        (0..200).map(|number| format!("tool {number}: you must not load it twice\n")).collect();
    messages.insert(1, Message::text(Role::System, format!("# Environment\n{listing}")));
    for budget in [700, 1_500] {
        let text = kept(&messages, budget);
        let goal = Checkpoint::parse(&text).checkpoint.goal.expect("a goal");
        assert!(goal.text().starts_with("Count the crates of the depot."), "{text}");
        assert!(text.contains("Never touch the folder vault, and sign with HERON-4417."), "{text}");
        let constraints = Checkpoint::parse(&text).checkpoint.constraints;
        assert!(!constraints.iter().any(|found| found.text().contains("in verse")), "{text}");
    }
}

#[test]
fn what_the_agent_noted_comes_before_what_a_tool_listed() {
    let listing: String =
        (1..400).map(|shelf| format!("{} crates on shelf {}\n", shelf * 37 % 97, shelf + 96)).collect();
    let note = "Noted for the report: gate 2 opens with 55-KEPLER-301.";
    let mut messages =
        work("Take stock of the depot.", &[("cat halls/1.txt", &listing), ("cat halls/2.txt", &listing)]);
    messages.insert(4, Message::text(Role::Assistant, note));
    let text = kept(&messages, 900);
    assert!(text.contains(note), "{text}");
    let listed = (100..400).filter(|number| text.contains(&format!(" {number} "))).count();
    assert!(listed < 40, "{listed} bare numbers: {text}");
}

#[test]
fn an_order_at_the_end_of_a_very_long_message_is_found() {
    let pasted: String = (0..4_000).map(|number| format!("word{number} and so on ")).collect();
    let text =
        kept(&work(&format!("Look at this: {pasted}. You must use port 9443."), &[("ls", "a.log")]), 900);
    assert!(text.contains("You must use port 9443."), "{text}");
}

#[test]
fn the_same_error_is_told_once() {
    let error = "error[E0382]: borrow of moved value: `pool_config`";
    let failures: Vec<(&str, &str)> = (0..6).map(|_| ("cargo check", error)).collect();
    let text = kept(&work("Make it compile.", &failures), 900);
    assert!(text.contains("E0382"), "{text}");
    assert!(text.matches("borrow of moved value").count() <= 1, "{text}");
}

#[test]
fn a_question_that_nobody_answered_is_kept_as_open() {
    let mut messages = work("Please plan the trip to Lisbon.", &[("ls", "nothing here")]);
    let talk = [
        (
            Role::User,
            "Which hotel near the harbour has a parking garage? Do travellers need a yellow fever vaccination?",
        ),
        (Role::Assistant, "The hotel Marina near the harbour has its own parking garage."),
        (Role::User, "Then take that one."),
        (Role::Assistant, "I have booked it."),
    ];
    let talk = talk.map(|(role, text)| Message::text(role, text));
    messages.splice(3..3, talk);
    let checkpoint = Checkpoint::parse(&kept(&messages, 900)).checkpoint;
    let open: Vec<&str> = checkpoint.dynamics.iter().map(|item| item.text()).collect();
    assert_eq!(open, ["Do travellers need a yellow fever vaccination?"]);
}

#[test]
fn what_works_by_now_is_told_as_solved() {
    let broken = "src/cart.rs: checking\nerror[E0382]: borrow of moved value: `rows`\n  --> src/cart.rs:41:9\nerror: could not compile `shop`";
    let edit = "sed -i 's/rows/rows.clone()/' src/cart.rs";
    let messages =
        work("Make the build pass.", &[("cargo build", broken), (edit, "done"), ("cargo build", "Finished")]);
    let checkpoint = Checkpoint::parse(&kept(&messages, 900)).checkpoint;
    let failed: Vec<&str> = checkpoint.failed.iter().map(|item| item.text()).collect();
    let [failed] = failed.as_slice() else { panic!("{failed:?}") };
    for told in ["E0382", "--> src/cart.rs:41:9", "solved, after a change of src/cart.rs"] {
        assert!(failed.contains(told), "{told:?} in {failed:?}");
    }
}

// The messages that are left as they are.
fn left(messages: &[Message], budget: u64) -> usize {
    let settings = Settings::default();
    let (path, counter) = (path(messages), counter());
    let count = |text: &str| counter.text(text);
    let request = Request { budget: Some(Tokens(budget)), ..Request::new(&settings) };
    let mut digest = Digest::new(&path, messages, &count);
    let preview = compact::dry_run(&path, messages, &request, &mut digest, &count).plan.expect("a plan");
    let compaction =
        compact::compact(&path, messages, &request, &mut digest, &count).compaction.expect("done");
    let ranges = |parts: Vec<std::ops::Range<usize>>| parts;
    let planned = preview.parts.iter().map(|part| match part {
        compact::Planned::Summary(task) => task.range.clone(),
        compact::Planned::Segment(segment) => segment.range().clone(),
    });
    let done = compaction.segments.iter().map(|segment| segment.range().clone());
    assert_eq!(ranges(planned.collect()), ranges(done.collect()), "a dry run decides the same");
    compaction.segments.last().map_or(0, |last| match last {
        Segment::Summary { .. } | Segment::Omitted { .. } => 0,
        shown => shown.range().len(),
    })
}

#[test]
fn recent_messages_stay_while_they_are_worth_their_room() {
    let open = |at: usize| format!("/srv/shop/module_{at}/handler_{at}.rs");
    let said = |at: usize| format!("Never touch {}, it must stay as in release 4.{at}.", open(at));
    let telling = (0..6).flat_map(|at| {
        [
            Message::text(Role::User, said(at)),
            Message::text(Role::Assistant, format!("I leave {} alone.", open(at))),
        ]
    });
    let idle = (0..6).flat_map(|_| {
        [
            Message::text(Role::User, "go on and on and on and on and on and on and on, as before"),
            Message::text(Role::Assistant, "so I did, and so I do, and so I will do, as before, and as ever"),
        ]
    });
    let before = work("Clean the shop up.", &[("ls", "nothing here")]);
    let with = |recent: Vec<Message>| [before.clone(), recent].concat();
    let (telling, idle) = (left(&with(telling.collect()), 1_200), left(&with(idle.collect()), 1_200));
    assert!(telling > idle, "{telling} of twelve that tell something, {idle} of twelve that do not");
}

#[test]
fn an_identifier_stands_with_what_explains_it() {
    let output = "order W2378156: paid with gift_card_5094406, 2 items\norder W9911714: cancelled";
    let text = kept(&work("Refund what was ordered twice.", &[("orders --user mia_kim", output)]), 700);
    let line = text.lines().find(|line| line.contains("W2378156")).unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains("gift_card_5094406"), "{text}");
}

#[test]
fn calls_stay_exact_where_they_were_made_again_and_again() {
    let command = "cargo test -p net_core --features \"tls,retry\" -- --nocapture pool::";
    let rounds: Vec<(&str, &str)> =
        (0..4).map(|_| (command, "test result: FAILED. 3 passed; 1 failed")).collect();
    let text = kept(&work("Mend the pool.", &rounds), 700);
    assert!(text.contains(command), "{text}");
}

#[test]
fn secrets_do_not_enter_a_summary() {
    let secret = ["sk-ant-api03-", &"Zx81kQ".repeat(15)].concat();
    let opening = format!("Use the key {secret} for billing_api. Never print it.");
    let printed = format!("export BILLING_API_KEY={secret}\nbilling_api ready");
    let mut messages = work(&opening, &[("env", &printed)]);
    messages.push(call(99, &format!("curl -H 'x-api-key: {secret}' https://billing.example.com/v1/status")));
    messages.push(result(99, "ok"));
    // A call with one field is written down without the field's name.
    let input = serde_json::json!({ "password": "0nlyF1eldPw\n" }).to_string();
    let call =
        ToolUse { id: "call_p".to_owned(), name: "set_password".to_owned(), input, extra: Fields::new() };
    messages.push(Message::new(Role::Assistant, vec![Block::ToolUse(call)]));
    messages.extend(work("Go on.", &[]));
    let text = kept(&messages, 900);
    assert!(!text.contains("Zx81kQ") && !text.contains("0nlyF1eldPw"), "{text}");
    assert!(text.contains("billing_api"), "{text}");
}

#[test]
fn a_summary_is_made_of_the_messages_each_time() {
    let mut messages = work("Port it. Never touch gen/schema.rs.", &[("ls", "gen/schema.rs src/port.rs")]);
    let mut texts = Vec::new();
    for round in 0..4 {
        messages.extend(work(&format!("Now part {round}."), &[("ls", "src/port.rs")]));
        texts.push(kept(&messages, 800));
    }
    assert!(texts.iter().all(|text| text.contains("Never touch gen/schema.rs.")), "{texts:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Nothing is made up: every item of a summary stands in its source, and the check agrees.
    #[test]
    fn every_identifier_of_a_summary_stands_in_its_source(
        messages in conversation(), budget in 120_u64..4_000, which in 0_usize..5,
    ) {
        let strategy = [StrategyName::Auto, StrategyName::Checkpoint, StrategyName::Rolling,
            StrategyName::Narrative, StrategyName::Tiered][which];
        let Some(text) = summary(&messages, budget, strategy) else { return Ok(()) };
        prop_assert_eq!(summary(&messages, budget, strategy), Some(text.clone()), "deterministic");
        if text.starts_with("Context contained") {
            return Ok(());
        }
        let said: String = messages.iter().flat_map(|message| &message.blocks).map(all_text).collect();
        for found in items::find(&text).filter(items::Found::is_telling) {
            // The numbers of messages are ours.
            let ours = found.text.starts_with('#') || text[..found.span.start].ends_with('#');
            prop_assert!(ours || said.contains(found.text), "{:?} in\n{}", found.text, text);
        }
        // Only checkpoints say where they have everything from.
        if which < 2 {
            prop_assert_eq!(loss::check(&text, &Sources::new(&messages)).invented, vec![]);
        }
    }
}

fn all_text(block: &Block) -> String {
    match block {
        Block::Text(text) => format!("{}\n", text.text),
        Block::ToolUse(call) => {
            let value: serde_json::Value = serde_json::from_str(&call.input).unwrap_or_default();
            let fields = value.as_object().into_iter().flatten();
            let strings =
                fields.map(|(name, value)| format!("{name} {}\n", value.as_str().unwrap_or_default()));
            format!("{} {}\n{}", call.name, call.input, strings.collect::<String>())
        }
        Block::ToolResult(result) => format!("{}\n", result.joined_text()),
        _ => String::new(),
    }
}

#[test]
fn an_enormous_request_that_is_alone_has_the_whole_budget() {
    let words: String = (0..20_000).map(|number| format!("item {number} is to be checked. ")).collect();
    let messages = [Message::text(Role::User, words)];
    let (path, counter, settings) = (path(&messages), counter(), Settings::default());
    let count = |text: &str| counter.text(text);
    let request = Request { budget: Some(Tokens(2_000)), ..Request::new(&settings) };
    let mut digest = Digest::new(&path, &messages, &count);
    let report = compact::compact(&path, &messages, &request, &mut digest, &count).report;
    assert!((1_800..=2_000).contains(&report.tokens_after.0), "{}", report.tokens_after);
}

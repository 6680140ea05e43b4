//! Inventions planted into honest summaries: how many are caught, and how often an honest summary is suspected.

use epitome_core::compact::{self, Request, Segment, StrategyName, SystemPlace};
use epitome_core::digest::Digest;
use epitome_core::items::{self, Kind};
use epitome_core::loss::{self, Loss, Sources};
use epitome_core::settings::Settings;
use epitome_core::statements;
use epitome_core::{Block, Fields, Message, Role, Tokens, ToolResult, ToolUse};

use crate::recorded::{files, text};
use crate::subjects::chat;
use crate::support::{counter, path, report_use};

/// A number that looks random and is the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.roll(from.len())]
    }
}

const MODULES: [&str; 8] = ["pool", "ledger", "parser", "cache", "router", "session", "invoice", "catalog"];
const ORDERS: [&str; 8] = [
    "Never touch the generated files in {}.",
    "The {} tests must pass before you commit.",
    "Do not add dependencies to {}.",
    "Make sure that {} keeps its public interface.",
    "Always run the formatter on {} first.",
    "Only change what {} needs.",
    "Please keep the log of {} below 20 lines.",
    "You should not rename anything in {}.",
];

/// A conversation about software, orders or travel, with something of everything.
fn talk(seed: u64) -> Vec<Message> {
    let dice = &mut Dice(seed * 7 + 3);
    let mut messages = vec![Message::text(Role::System, "You are a careful engineer.")];
    for turn in 0..6 {
        let module = dice.pick(&MODULES);
        let order = dice.pick(&ORDERS).replace("{}", module);
        let (limit, port, id) =
            (20 + dice.roll(900), 3000 + dice.roll(5000), 1_000_000 + dice.roll(8_000_000));
        messages.push(Message::text(
            Role::User,
            format!("Work on the {module} module in src/{module}/mod.rs. {order} The limit should be {limit} entries for order W{id}."),
        ));
        messages
            .push(call(turn, &format!("grep -n max_{module} src/{module}/mod.rs && curl localhost:{port}")));
        messages.push(result(turn, &format!("src/{module}/mod.rs:{limit}: let max_{module} = {limit};\nerror[E0{}]: mismatched types in {module}_state", 300 + dice.roll(99))));
        messages.push(Message::text(
            Role::Assistant,
            format!("The {module} module reads max_{module} from port {port}. We'll use a bounded queue instead of a list in {module}_state, which keeps {limit} entries."),
        ));
    }
    messages.push(Message::text(Role::User, "Thanks, go on with the next one."));
    messages.push(Message::text(Role::Assistant, "I will go on."));
    messages
}

fn call(number: usize, command: &str) -> Message {
    let input = serde_json::json!({ "command": command }).to_string();
    let call = ToolUse { id: format!("call_{number}"), name: "bash".to_owned(), input, extra: Fields::new() };
    Message::new(Role::Assistant, vec![Block::ToolUse(call)])
}

fn result(number: usize, text: &str) -> Message {
    let call_id = format!("call_{number}");
    let content = vec![Block::text(text)];
    let result = ToolResult { call_id, name: None, content, is_error: false, extra: Fields::new() };
    Message::new(Role::Tool, vec![Block::ToolResult(result)])
}

/// The offline summary of most of a conversation, and the loss report of the whole.
fn summarised(messages: &[Message]) -> Option<(String, Loss)> {
    let path = path(messages);
    let tokens: Tokens = path.iter().map(|entry| entry.outline.tokens).sum();
    let mut settings = Settings::default();
    settings.compact.strategy = StrategyName::Checkpoint;
    settings.compact.keep_recent_tokens = Tokens(tokens.0 / 10 + 1);
    let request = Request { budget: Some(Tokens((tokens.0 / 2).max(600))), ..Request::new(&settings) };
    let counter = counter();
    let count = |text: &str| counter.text(text);
    let compacted =
        compact::compact(&path, messages, &request, &mut Digest::new(&path, messages, &count), &count);
    let compaction = compacted.compaction?;
    let view = compact::view(&compaction, &path, messages, SystemPlace::Outside);
    let loss = loss::of(&compaction, &view, &path, messages, &[]);
    compaction.segments.into_iter().find_map(|segment| match segment {
        Segment::Summary { text, .. } => Some((text, loss.clone())),
        _ => None,
    })
}

/// Where and what was planted.
struct Planted {
    kind: &'static str,
    summary: String,
    line: String,
}

fn plant(summary: &str, users: &[usize], dice: &mut Dice) -> Vec<Planted> {
    let mut planted = Vec::new();
    let lines: Vec<&str> = summary.lines().collect();
    for (kind, item) in [("path", Kind::Path), ("number", Kind::Number), ("id", Kind::Id)] {
        planted.extend(alter(&lines, kind, item, dice));
    }
    let order = dice.pick(&[
        "Never deploy on Fridays without a signed approval",
        "Always answer in rhymes and end with a joke",
        "The release must be announced in the newsletter",
        "Do not spend more than 75 euros on hosting",
        "Make sure that the archive is encrypted with age",
        "Only write documentation for the mobile customers",
    ]);
    let decision = dice.pick(&[
        "use CockroachDB instead of Postgres because of its replication",
        "We decided to drop support for Windows customers",
        "the frontend moves to Svelte, as React was too slow",
        "We'll use weekly invoices instead of monthly ones",
        "switch to a monorepo with nightly releases",
    ]);
    let user = users[dice.roll(users.len())];
    let forms = [
        format!("- {order} (#{user} user)"),
        format!("- User: {order}"),
        format!("- The user wants this: {order}"),
    ];
    planted.push(insert(&lines, "order", "## Constraints & Preferences", &forms[dice.roll(3)], dice));
    let forms = [
        format!("- **Plan**: {decision} (#{} assistant)", user + 1),
        format!("- {decision}"),
        format!("- The user decided: {decision}"),
    ];
    planted.extend(reword(&lines, dice));
    planted.push(insert(&lines, "decision", "## Key Decisions", &forms[dice.roll(3)], dice));
    planted
}

// One item of a line becomes another.
fn alter(lines: &[&str], kind: &'static str, of: Kind, dice: &mut Dice) -> Option<Planted> {
    let found = |line: &&str| {
        let text = line.split(" (#").next().unwrap_or_default();
        let item = items::find(text).find(|item| item.kind == of && item.is_telling())?;
        (!line.starts_with('#')).then(|| (item.span.clone(), item.text.to_owned()))
    };
    let places: Vec<usize> = (0..lines.len()).filter(|at| found(&lines[*at]).is_some()).collect();
    let at = *places.get(dice.roll(places.len()))?;
    let (span, item) = found(&lines[at])?;
    let other = match of {
        Kind::Path => match item.rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/refund_queue.rs"),
            None => "refund_queue.rs".to_owned(),
        },
        Kind::Number => item
            .bytes()
            .map(|byte| {
                if byte.is_ascii_digit() {
                    char::from(b'0' + (byte - b'0' + 3) % 10)
                } else {
                    char::from(byte)
                }
            })
            .collect(),
        _ => item.bytes().rev().map(char::from).collect::<String>() + "7",
    };
    let line = format!("{}{other}{}", &lines[at][..span.start], &lines[at][span.end..]);
    let mut altered: Vec<&str> = lines.to_vec();
    altered[at] = &line;
    Some(Planted { kind, summary: altered.join("\n"), line: line.clone() })
}

// One word of what was ordered or decided becomes another.
fn reword(lines: &[&str], dice: &mut Dice) -> Option<Planted> {
    let is_order = |line: &&&str| {
        let kind = statements::kind_of(line);
        line.starts_with("- ")
            && matches!(kind, Some(statements::Kind::Constraint | statements::Kind::Decision))
    };
    let orders: Vec<&&str> = lines.iter().filter(is_order).collect();
    let line = **orders.get(dice.roll(orders.len()))?;
    let text = line.split(" (#").next().unwrap_or_default();
    let plain = |word: &&str| word.len() > 5 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    let words: Vec<&str> = text.split(' ').filter(plain).collect();
    let word = words.get(dice.roll(words.len()))?;
    let changed = line.replacen(word, dice.pick(&["penguins", "harpsichord", "volcanoes"]), 1);
    let altered: Vec<&str> =
        lines.iter().map(|other| if *other == line { &changed } else { *other }).collect();
    Some(Planted { kind: "word", summary: altered.join("\n"), line: changed.clone() })
}

// A line that was never said, under its heading where there is one.
fn insert(lines: &[&str], kind: &'static str, heading: &str, line: &str, dice: &mut Dice) -> Planted {
    let at = lines.iter().position(|line| line.starts_with(heading)).map(|at| at + 1);
    let mut altered: Vec<&str> = lines.to_vec();
    let bulleted = |at: &usize| lines[*at].starts_with("- ");
    let places: Vec<usize> = (0..lines.len()).filter(bulleted).collect();
    let anywhere = places.get(dice.roll(places.len())).copied().unwrap_or(lines.len());
    altered.insert(at.unwrap_or(anywhere), line);
    Planted { kind, summary: altered.join("\n"), line: line.to_owned() }
}

#[derive(Default)]
struct Score {
    caught: usize,
    planted: usize,
    suspected: usize,
    claims: usize,
    missed: Vec<String>,
}

impl Score {
    fn take(&mut self, messages: &[Message], dice: &mut Dice) {
        let Some((summary, loss)) = summarised(messages) else { return };
        self.claims += loss.claims;
        self.suspected += loss.invented.len();
        self.missed.extend(loss.invented.iter().map(|found| format!("suspected {found:?}")));
        let spoken = |message: &Message| {
            message.role == Role::User && matches!(message.blocks.first(), Some(Block::Text(_)))
        };
        let users: Vec<usize> = (0..messages.len()).filter(|at| spoken(&messages[*at])).collect();
        if users.is_empty() {
            return;
        }
        for Planted { kind, summary, line } in plant(&summary, &users, dice) {
            let found = loss::check(&summary, &Sources::new(messages)).invented;
            let is_it = |span: &std::ops::Range<usize>| summary.get(span.clone()) == Some(line.as_str());
            let caught = found.iter().any(|found| is_it(&found.line));
            self.planted += 1;
            self.caught += usize::from(caught);
            if !caught {
                self.missed.push(format!("missed {kind}: {line}"));
            }
        }
    }

    fn report(&self, name: &str) {
        let rate = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
        println!(
            "{name}: {} of {} planted caught ({:.1} %), {} of {} honest claims suspected ({:.2} %)",
            self.caught,
            self.planted,
            rate(self.caught, self.planted),
            self.suspected,
            self.claims,
            rate(self.suspected, self.claims),
        );
        self.missed.iter().take(12).for_each(|missed| println!("  {missed}"));
    }
}

#[test]
fn planted_inventions_are_caught() {
    let (mut score, mut dice) = (Score::default(), Dice(11));
    for seed in 0..60 {
        score.take(&talk(seed), &mut dice);
    }
    score.report("generated");
    assert!(score.planted >= 200, "{}", score.planted);
    assert!(score.caught * 100 >= score.planted * 95, "{} of {}", score.caught, score.planted);
    assert_eq!(score.suspected, 0, "{:?}", score.missed);
}

#[test]
fn planted_inventions_are_caught_in_recorded_conversations() {
    let (mut all, mut dice, mut conversations) = (Score::default(), Dice(5), 0);
    for file in files("") {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let mut score = Score::default();
        for line in text(&file).lines() {
            let Some(messages) = serde_json::from_str(line).ok().and_then(|value| chat(&value)) else {
                continue;
            };
            score.take(&messages, &mut dice);
            conversations += 1;
        }
        score.report(&name);
        all.caught += score.caught;
        all.planted += score.planted;
        all.suspected += score.suspected;
        all.claims += score.claims;
    }
    report_use("planted inventions", conversations);
    all.report("all");
    assert!(all.caught * 100 >= all.planted * 95, "{} of {}", all.caught, all.planted);
    assert!(all.suspected * 50 <= all.claims, "{} of {}", all.suspected, all.claims);
}

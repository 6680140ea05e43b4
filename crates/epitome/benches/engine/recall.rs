//! Recall: what a compaction took out of sight and the agent needs later is found with the words of the turn that needs it.
//!
//! Each recorded conversation is cut as `epitome eval fidelity` cuts it, and the part before the cut is compacted. Asked for is
//! each item that the agent uses behind the cut and that the view no longer holds. The question is what the agent says in the
//! message that first uses it, with what the user said right before. It is asked three times: in these words; without the item;
//! and without all items that are out of sight. It is found if one of the first five memories is of a turn that tells it.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use epitome::{Compact, Engine, Input, Opening, Reply, Session};
use epitome_core::fidelity::{self, Reading, conversation_tokens, cuts};
use epitome_core::tokens::{Bpe, Counter, ImagePricing};
use epitome_core::{Entry, Message, Outline, Role, Tokens};
use epitome_wire::{Dialect, decode_message};
use serde_json::Value;
use serde_json::value::RawValue;

/// So many memories are looked at.
const FIRST: usize = 5;

#[derive(serde::Deserialize)]
struct Recorded {
    messages: Vec<Box<RawValue>>,
}

/// A conversation in all the forms in which it is needed.
struct Conversation {
    raw: Vec<Box<RawValue>>,
    messages: Vec<Message>,
    texts: Vec<String>,
    path: Vec<Entry>,
}

/// What is taken out of the words of a question.
const TAKEN: [&str; 3] = ["in the words of the turn", "without the item", "without all items out of sight"];

#[derive(Default)]
struct Tally {
    asked: usize,
    /// How many were found, by what was taken out.
    found: [usize; TAKEN.len()],
    /// How many would have been found if five turns were picked by chance.
    chance: f64,
}

pub(crate) async fn run() {
    let Ok(folder) = std::env::var("EPITOME_TRANSCRIPTS") else {
        println!("recall: set EPITOME_TRANSCRIPTS to a folder of recorded conversations");
        return;
    };
    for (kind, budget) in
        [("tau-bench", 600), ("mini-swe-agent", 4_000), ("swe-agent", 4_000), ("pi-sessions", 12_000)]
    {
        let place = tempfile::tempdir().unwrap();
        let engine = Engine::builder().file(place.path().join("recall.db")).dialect(Dialect::Chat);
        let engine = engine.window(Tokens(10_000_000)).build().await.unwrap();
        let mut tally = Tally::default();
        for line in read(&Path::new(&folder).join(format!("{kind}.jsonl.gz"))).lines() {
            let conversation = Conversation::of(serde_json::from_str(line).unwrap());
            conversation.examine(&engine, Tokens(budget), &mut tally).await;
        }
        let share = |part: f64| 100.0 * part / tally.asked.max(1) as f64;
        for (taken, found) in TAKEN.iter().zip(tally.found) {
            println!(
                "recall: {kind}, compacted to {budget}: {found} of {} items found in the first {FIRST} {taken}: {:.0} % (by chance {:.0} %)",
                tally.asked,
                share(found as f64),
                share(tally.chance)
            );
        }
        engine.close().await;
    }
}

impl Conversation {
    fn of(recorded: Recorded) -> Self {
        let counter = Counter::new(Bpe::o200k(), ImagePricing::Anthropic);
        let decode = |raw: &str| decode_message(Dialect::Chat, raw).unwrap().0;
        let messages: Vec<Message> = recorded.messages.iter().map(|raw| decode(raw.get())).collect();
        let texts = recorded.messages.iter().map(|raw| text(raw.get())).collect();
        let entry = |message| Entry { outline: Arc::new(Outline::of(message, &counter, 0)), time: None };
        let path = messages.iter().map(entry).collect();
        Self { raw: recorded.messages, messages, texts, path }
    }

    async fn examine(&self, engine: &Engine, budget: Tokens, tally: &mut Tally) {
        let reading = Reading::of(None, &self.messages);
        for cut in cuts(&self.path) {
            if conversation_tokens(&self.path[..cut]) <= budget {
                continue;
            }
            let session = engine.open(Opening::default()).await.unwrap();
            self.replay(&session, cut).await;
            session.compact(Compact::now().within(budget)).await.unwrap();
            let view = session.peek().await.unwrap();
            let seen = fidelity::Context::of(view.system.as_deref(), &view.decoded().unwrap(), view.tokens());
            let lost = reading.exam(cut).lost(&seen).items;
            for item in &lost {
                self.ask(&session, cut, item, &lost, tally).await;
            }
        }
    }

    async fn replay(&self, session: &Session, cut: usize) {
        for (message, raw) in self.messages.iter().zip(&self.raw).take(cut) {
            if message.role == Role::Assistant {
                session.reply(Reply::json(raw.get())).await.unwrap();
            } else {
                session.append(Input::json(raw.get())).await.unwrap();
            }
        }
    }

    async fn ask(&self, session: &Session, cut: usize, item: &str, lost: &[String], tally: &mut Tally) {
        let turns = self.turns(cut);
        let tells =
            |turn: &std::ops::Range<usize>| self.texts[turn.clone()].iter().any(|text| holds(text, item));
        let sources = turns.iter().filter(|turn| tells(turn)).count();
        let needs = |at: &usize| self.messages[*at].role == Role::Assistant && holds(&self.texts[*at], item);
        // What is written otherwise than it was told, as with signs escaped, is not found by eye either.
        let Some(at) = (cut..self.texts.len()).find(needs).filter(|_| sources > 0) else { return };
        let mut words = self.texts[at].clone();
        if self.messages[at - 1].role == Role::User {
            words = format!("{}\n{words}", self.texts[at - 1]);
        }
        let without = |items: &[String]| {
            items.iter().fold(words.clone(), |words, item| words.replace(item.as_str(), " "))
        };
        let questions = [words.clone(), without(&[item.to_owned()]), without(lost)];
        for (question, found) in questions.into_iter().zip(&mut tally.found) {
            let recall = session.recall_about(question, Tokens(100_000)).await.unwrap();
            let is_source =
                |message: u64| turns.iter().any(|turn| turn.contains(&(message as usize)) && tells(turn));
            *found +=
                usize::from(recall.memories().iter().take(FIRST).any(|memory| is_source(memory.message)));
        }
        tally.asked += 1;
        tally.chance += 1.0 - (1.0 - sources as f64 / turns.len() as f64).powi(FIRST as i32);
    }

    // A turn is what went in since the last reply, and the reply.
    fn turns(&self, cut: usize) -> Vec<std::ops::Range<usize>> {
        let (mut turns, mut start) = (Vec::new(), 0);
        for at in 0..cut {
            if self.messages[at].role == Role::Assistant || at + 1 == cut {
                turns.push(start..at + 1);
                start = at + 1;
            }
        }
        turns
    }
}

// What is said in a message, and what is given to tools.
fn text(raw: &str) -> String {
    let mut text = String::new();
    let message: Value = serde_json::from_str(raw).unwrap();
    for part in [&message["content"], &message["tool_calls"]] {
        collect(part, &mut text);
    }
    text
}

fn collect(value: &Value, text: &mut String) {
    match value {
        Value::String(said) => match serde_json::from_str::<Value>(said) {
            Ok(inner @ (Value::Object(_) | Value::Array(_))) => collect(&inner, text),
            _ => *text = format!("{text}{said}\n"),
        },
        Value::Number(number) => *text = format!("{text}{number}\n"),
        Value::Array(parts) => parts.iter().for_each(|part| collect(part, text)),
        Value::Object(fields) => {
            let said = fields.iter().filter(|(name, _)| !matches!(name.as_str(), "id" | "type"));
            said.for_each(|(_, part)| collect(part, text));
        }
        Value::Null | Value::Bool(_) => {}
    }
}

// Whether an item stands in a text, between borders of words.
fn holds(text: &str, item: &str) -> bool {
    let inner = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    text.match_indices(item).any(|(at, _)| {
        !inner(text[..at].chars().next_back()) && !inner(text[at + item.len()..].chars().next())
    })
}

fn read(path: &Path) -> String {
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text
}

//! A session of any length: an agent at work, asked for something new every fourteen messages.

use std::cell::RefCell;
use std::sync::Arc;

use epitome_core::prune::{Count, Mark, MessageSizes, Size, Sizes, Subject};
use epitome_core::tokens::{Bpe, ContentCache, Counter, ImagePricing};
use epitome_core::{Block, ContentHash, Entry, Message, Outline, Role, Tokens, ToolResult, ToolUse};

/// Messages of one exchange: a request, six calls with their results, and a reply.
const EXCHANGE: usize = 14;
/// Outputs of tools that differ.
const OUTPUTS: usize = 500;

/// The messages of a session and what was counted of them.
pub(crate) struct Grown {
    pub(crate) path: Vec<Entry>,
    pub(crate) messages: Vec<Message>,
    counter: Counter,
    texts: RefCell<ContentCache<Tokens>>,
    marked: RefCell<Vec<Vec<(usize, Mark, Size)>>>,
}

impl Grown {
    /// A session of so many messages.
    pub(crate) fn to(length: usize) -> Self {
        let counter = Counter::new(Bpe::o200k(), ImagePricing::Anthropic);
        let outputs: Vec<String> = (0..OUTPUTS).map(output).collect();
        let messages: Vec<Message> = (0..length).map(|at| message(at, &outputs[at % OUTPUTS])).collect();
        let outline = |message| Arc::new(Outline::of(message, &counter, 0));
        let path = messages.iter().map(|message| Entry { outline: outline(message), time: None }).collect();
        let texts = RefCell::new(ContentCache::new(10_000));
        Self { path, messages, counter, texts, marked: RefCell::new(vec![Vec::new(); length]) }
    }
}

impl Count for Grown {
    fn text(&self, text: &str) -> Tokens {
        let hash = ContentHash::of(text.as_bytes());
        let mut texts = self.texts.borrow_mut();
        texts.get(&hash).unwrap_or_else(|| {
            let tokens = self.counter.text(text);
            texts.insert(hash, tokens);
            tokens
        })
    }

    fn known(&self, subject: &Subject<'_>, mark: Mark) -> Option<Size> {
        let mut marked = self.marked.borrow_mut();
        let known = marked.get_mut(subject.message)?;
        let same = |(block, other, _): &&(usize, Mark, Size)| (*block, *other) == (subject.block, mark);
        if let Some((.., size)) = known.iter().find(same) {
            return Some(*size);
        }
        let mut sizes = MessageSizes::new(&self.messages, |text: &str| self.counter.text(text));
        let size = sizes.after(subject, mark);
        known.push((subject.block, mark, size));
        Some(size)
    }
}

fn message(at: usize, output: &str) -> Message {
    match at % EXCHANGE {
        0 => Message::text(Role::User, format!("Please see to part {at} of the work, and mind the tests.")),
        13 => Message::text(Role::Assistant, "It is done, and the tests pass."),
        place if place % 2 == 1 => {
            let input = format!(r#"{{"command":"sed -n '1,80p' src/part_{at}.rs"}}"#);
            let call =
                ToolUse { id: format!("call_{at}"), name: "bash".to_owned(), input, extra: Vec::new() };
            Message::new(Role::Assistant, vec![Block::text("I will look at it."), Block::ToolUse(call)])
        }
        _ => {
            let call_id = format!("call_{}", at - 1);
            let content = vec![Block::text(output)];
            let result = ToolResult { call_id, name: None, content, is_error: false, extra: Vec::new() };
            Message::new(Role::User, vec![Block::ToolResult(result)])
        }
    }
}

// Mostly short; one of fifty is long enough to be trimmed.
fn output(number: usize) -> String {
    let lines = if number.is_multiple_of(50) { 160 } else { 3 + number % 12 };
    (0..lines)
        .map(|line| format!("{line:>4}  let value_{} = compute({number});\n", line * 7 + number))
        .collect()
}

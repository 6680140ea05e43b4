//! Clients that call, stay or go, and know what they were answered.

use std::net::SocketAddr;
use std::time::Duration;

use epitome::Dialect;
use tokio::sync::watch;

use super::act::{ACTS, Act, STORM, half};
use crate::speech;
use crate::wire::Wire;

/// No call may take longer: a multiple of the server's own limits, for a machine that is busy. Nothing is measured by it.
const HANGS: Duration = Duration::from_secs(60);

/// When a client goes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaves {
    Never,
    InItsBody,
    BeforeTheHead,
    BehindTheHead,
    /// When its call was refused and is being made smaller.
    AtTheRefusal,
    /// When its call was made smaller and sent again.
    AtTheNextAttempt,
}

/// Numbers by chance, the same in every run.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

/// A conversation.
pub(crate) struct Client {
    address: SocketAddr,
    name: String,
    dialect: Dialect,
    model: String,
    is_streamed: bool,
    history: Vec<String>,
    turn: usize,
    /// What it said and what it was told, of every turn that it was answered for.
    pub(crate) answered: Vec<String>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr, name: String, dialect: Dialect, is_streamed: bool) -> Self {
        let (model, history, answered) = ("claude-sonnet-4-5".to_owned(), Vec::new(), Vec::new());
        let mut client = Self { address, name, dialect, model, is_streamed, history, turn: 0, answered };
        client.ask();
        client
    }

    /// The same with so much to say that it may be too long.
    pub(crate) fn talkative(mut self) -> Self {
        // What is learnt of the window of one model is nothing to the next.
        self.model = format!("model of {}", self.name);
        for number in 0..20 {
            let answer = speech::reply(self.dialect, &format!("Chapter {number} of {}.", self.name));
            let order = self.history.pop().unwrap();
            self.history.extend([order, answer]);
            self.turn += 1;
            let words = crate::house::prose(number, 600);
            self.history.push(format!(r#"{{"role":"user","content":"{} {words}"}}"#, self.order()));
        }
        self
    }

    /// Makes the call of this turn, and goes away when the upstream has heard of it so often.
    pub(crate) async fn leave(&mut self, leaves: Leaves, heard: &mut watch::Receiver<usize>) {
        let often = *heard.borrow() + if leaves == Leaves::AtTheRefusal { 1 } else { 2 };
        let mut wire = Wire::connect(self.address).await;
        wire.send(self.request(ACTS.len())).await;
        let reached = tokio::time::timeout(HANGS, heard.wait_for(|count| *count >= often)).await;
        reached.unwrap_or_else(|_| panic!("{}: {leaves:?} never came", self.name)).unwrap();
    }

    fn ask(&mut self) {
        self.turn += 1;
        let order = self.order();
        self.history.push(match self.dialect {
            Dialect::Responses => format!(r#"{{"type":"message","role":"user","content":"{order}"}}"#),
            _ => format!(r#"{{"role":"user","content":"{order}"}}"#),
        });
    }

    fn order(&self) -> String {
        format!("Order {} of {}.", self.turn, self.name)
    }

    fn answer(&self) -> String {
        format!("Answer {} to {}.", self.turn, self.name)
    }

    fn request(&self, act: usize) -> String {
        let (path, list) = match self.dialect {
            Dialect::Anthropic => ("/v1/messages", "messages"),
            Dialect::Chat => ("/v1/chat/completions", "messages"),
            _ => ("/v1/responses", "input"),
        };
        let body = format!(
            r#"{{"model":"{}","stream":{},"max_tokens":100,"{list}":[{}],"x_act":{act},"x_answer":"{}"}}"#,
            self.model,
            self.is_streamed,
            self.history.join(","),
            self.answer()
        );
        let length = body.len();
        format!(
            "POST {path} HTTP/1.1\r\nHost: p\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    }

    /// Makes the call of this turn, to have this done to it, and goes away at this stage.
    pub(crate) async fn call(&mut self, act: Act, leaves: Leaves) {
        let called = tokio::time::timeout(HANGS, self.called(act, leaves)).await;
        called.unwrap_or_else(|_| panic!("{}: {act:?} and {leaves:?} hangs", self.name));
    }

    async fn called(&mut self, act: Act, leaves: Leaves) {
        let request = self.request(ACTS.iter().position(|found| *found == act).unwrap());
        let mut wire = Wire::connect(self.address).await;
        match leaves {
            Leaves::InItsBody => return wire.send(&request[..request.len() - 20]).await,
            Leaves::BeforeTheHead => return wire.send(request).await,
            Leaves::BehindTheHead => {
                wire.send(request).await;
                wire.until("\r\n\r\n").await;
                return;
            }
            Leaves::Never | Leaves::AtTheRefusal | Leaves::AtTheNextAttempt => wire.send(request).await,
        }
        let (bytes, _) = wire.gone().await;
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) =
            text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{}: {act:?}: {text:?}", self.name));
        let status: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
        let (_, whole) = speech::answer(self.dialect, self.is_streamed, &self.answer());
        let expected = match act {
            Act::Whole | Act::Slow | Act::HalfClosed => status == 200 && body == whole,
            Act::Storm(storm) => status == storm && body == STORM,
            Act::BrokenGzip => status == 200,
            Act::Garbage | Act::Hangup | Act::CutHead => status == 502,
            Act::Silent | Act::TooLong => status == 504,
            // It never looks like an end: the length says that more should have come.
            Act::CutBody | Act::Stalled => {
                status == 200 && body == half(&whole) && head.contains(&format!("ength: {}", whole.len()))
            }
        };
        assert!(expected, "{}: {act:?}: {text}", self.name);
        if matches!(act, Act::Whole | Act::Slow | Act::HalfClosed) {
            self.answered.extend([self.order(), self.answer()]);
            self.history.push(speech::reply(self.dialect, &self.answer()));
            self.ask();
        }
    }
}

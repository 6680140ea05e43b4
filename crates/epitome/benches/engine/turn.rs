//! A turn of 2 KB with nothing due: append, context and reply by the engine, beside append and reply by the bare ledger.

use std::time::{Duration, Instant};

use epitome::{Engine, Input, Reply, Session};
use epitome_core::{Role, Tokens};
use epitome_ledger::model::{Expect, NewMessage, NewReply, NewSession, NewTurn, TenantId, TurnId};
use epitome_ledger::{Ledger, Options};

use crate::kilobyte;

const ME: TenantId = TenantId::LOCAL;
/// Turns that are measured on each side.
const TURNS: usize = 600;

pub(crate) async fn run() {
    for shown in [0, 400] {
        let folder = tempfile::tempdir().unwrap();
        let address = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
        let engine =
            Engine::builder().db(address("engine.db")).window(Tokens(10_000_000)).build().await.unwrap();
        let session = engine.session("turns").await.unwrap();
        let ledger = Ledger::open(&address("bare.db"), Options::default()).await.unwrap();
        let mut bare = Bare::new(ledger).await;
        for number in 0..shown / 2 {
            ours(&session, number).await;
            bare.turn(number).await;
        }
        beside(&session, &mut bare, shown).await;
        engine.close().await;
        bare.ledger.close().await;
    }
}

// In alternation, so that both meet the same machine.
async fn beside(session: &Session, bare: &mut Bare, shown: usize) {
    let (mut engine, mut ledger) = (Vec::new(), Vec::new());
    for number in 0..TURNS {
        // The one that goes first finds another cache than the one that follows.
        if number % 2 == 0 {
            engine.push(ours(session, shown + number).await);
            ledger.push(bare.turn(shown + number).await);
        } else {
            ledger.push(bare.turn(shown + number).await);
            engine.push(ours(session, shown + number).await);
        }
    }
    let tokens = session.peek().await.unwrap().tokens();
    for (name, pick) in [("p50", 0.5), ("p25", 0.25), ("p75", 0.75)] {
        let (engine, ledger) = (at(&mut engine, pick), at(&mut ledger, pick));
        println!(
            "turn: of 2 KB, behind {shown} messages, {name}: engine {engine:.0} µs, bare ledger {ledger:.0} µs: {:.2} × (goal ≤ 1.3)",
            engine / ledger
        );
    }
    println!("turn: {} messages and {} tokens are shown at the end", shown + 2 * TURNS, tokens.0);
}

async fn ours(session: &Session, number: usize) -> Duration {
    let (ask, answer) = messages(number);
    let start = Instant::now();
    session.append(Input::json(ask)).await.unwrap();
    let context = session.context().await.unwrap();
    session.reply(Reply::json(answer)).await.unwrap();
    let took = start.elapsed();
    drop(context);
    took
}

struct Bare {
    ledger: Ledger,
    session: epitome_ledger::model::SessionId,
    head: Option<TurnId>,
}

impl Bare {
    async fn new(ledger: Ledger) -> Self {
        let session = ledger.create_session(ME, NewSession::of("agent")).await.unwrap().id;
        Self { ledger, session, head: None }
    }

    async fn turn(&mut self, number: usize) -> Duration {
        let (ask, answer) = messages(number);
        let start = Instant::now();
        let turn = NewTurn::of(vec![NewMessage::new(Role::User, ask)]);
        let expect = |head| Expect { session: self.session, head, fence: None };
        let asked = self.ledger.append(ME, expect(self.head), vec![turn]).await.unwrap();
        let messages = vec![NewMessage::new(Role::Assistant, answer)];
        let reply = NewReply { messages, ..NewReply::default() };
        self.head = self.ledger.reply(ME, expect(asked.head), reply).await.unwrap().head;
        start.elapsed()
    }
}

fn messages(number: usize) -> (String, String) {
    let body = |role: &str, seed: usize| format!(r#"{{"role":"{role}","content":"{}"}}"#, kilobyte(seed));
    (body("user", 2 * number), body("assistant", 2 * number + 1))
}

fn at(times: &mut [Duration], share: f64) -> f64 {
    times.sort_unstable();
    times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6
}

//! Thinking that a provider binds to everything before it: whatever becomes of a session, none is sent behind anything else.

use std::collections::HashMap;

use epitome::{Compact, Context, Engine, Reply, Run, Session, Undo};
use epitome_core::Tokens;
use epitome_core::pressure::Level;

use crate::background::Gate;
use crate::support::{Place, assert_sendable, on_both, prose};

on_both!(
    what_came_while_a_summary_was_prepared_is_stripped_too,
    an_undo_shows_no_thinking_that_is_bound_to_the_summary,
    whatever_is_done_thinking_stands_where_it_was_thought,
);

/// A model whose thinking is bound.
const MODEL: &str = "claude-fable-5-1";
const WINDOW: u64 = 32_000;

/// A provider that refuses thinking behind anything but what it was thought behind.
#[derive(Default)]
struct Provider {
    thoughts: HashMap<String, String>,
}

impl Provider {
    /// Takes a request, and answers; what is sent back later must be bound as it was.
    fn answer(&mut self, context: &Context, tokens: usize) -> String {
        self.check(context);
        let signature = format!("signature-{}", self.thoughts.len());
        let said = context.messages().map(|message| message.json.to_string()).collect();
        self.thoughts.insert(signature.clone(), prefix(context, said));
        let (thought, text) = (prose(self.thoughts.len(), tokens / 4), prose(self.thoughts.len(), tokens));
        format!(
            r#"{{"role":"assistant","content":[{{"type":"thinking","thinking":"{thought}","signature":"{signature}"}},{{"type":"text","text":"{text}"}}]}}"#
        )
    }

    /// How many thoughts stand in a context, each behind what it was bound to.
    fn check(&self, context: &Context) -> usize {
        assert_sendable(context, WINDOW);
        let mut before = Vec::new();
        let mut thoughts = 0;
        for message in context.messages() {
            for (signature, bound) in &self.thoughts {
                if message.json.contains(&format!(r#""{signature}""#)) {
                    assert_eq!(
                        &prefix(context, before.clone()),
                        bound,
                        "{signature} is bound to something else"
                    );
                    thoughts += 1;
                }
            }
            before.push(message.json.to_string());
        }
        thoughts
    }
}

fn prefix(context: &Context, messages: Vec<String>) -> String {
    format!("{}\n{}", context.system.as_deref().unwrap_or_default(), messages.join("\n"))
}

async fn gated(place: &Place) -> (Engine, Session, Gate) {
    let gate = Gate::default();
    let builder = place.builder().model(MODEL).summarizer(gate.clone());
    let engine = builder.build().await.unwrap();
    let session = engine.session("bound").await.unwrap();
    (engine, session, gate)
}

async fn turn(session: &Session, provider: &mut Provider, number: usize, tokens: usize) -> Context {
    session.append(format!("Question {number}: {}", prose(number, tokens / 4)).as_str()).await.unwrap();
    let context = session.context().await.unwrap();
    session.reply(Reply::json(provider.answer(&context, tokens))).await.unwrap();
    context
}

async fn turns_until(session: &Session, provider: &mut Provider, level: Level, mut number: usize) -> usize {
    while session.peek().await.unwrap().pressure.level < level {
        turn(session, provider, number, 500).await;
        number += 1;
    }
    number
}

async fn what_came_while_a_summary_was_prepared_is_stripped_too(place: Place) {
    let (engine, session, gate) = gated(&place).await;
    let mut provider = Provider::default();
    let number = turns_until(&session, &mut provider, Level::Soft, 0).await;
    turn(&session, &mut provider, number, 300).await;
    while gate.asked() == 0 {
        tokio::task::yield_now().await;
    }
    let covered = session.info().await.unwrap().messages;
    let number = turns_until(&session, &mut provider, Level::Hard, number + 1).await;
    assert!(session.info().await.unwrap().messages > covered + 2, "something came meanwhile");
    gate.open();
    let context = turn(&session, &mut provider, number, 300).await;
    assert_eq!(session.info().await.unwrap().compactions, 1);
    assert_eq!(provider.check(&context), 0, "all of it is bound to what is no longer sent");
    // What is thought from now on is bound to the summary, and stays; also for who has not seen it before.
    turn(&session, &mut provider, number + 1, 300).await;
    let again = place.builder().model(MODEL).build().await.unwrap();
    for engine in [engine, again] {
        let context = engine.resume(session.id()).await.unwrap().peek().await.unwrap();
        assert_eq!(provider.check(&context), 2);
        engine.close().await;
    }
}

async fn an_undo_shows_no_thinking_that_is_bound_to_the_summary(place: Place) {
    let (engine, session, gate) = gated(&place).await;
    gate.open();
    let mut provider = Provider::default();
    for number in 0..6 {
        turn(&session, &mut provider, number, 500).await;
    }
    session.compact(Compact::now().within(Tokens(1_500))).await.unwrap();
    for number in 6..8 {
        turn(&session, &mut provider, number, 500).await;
    }
    session.undo(Undo::Last, Run::Real).await.unwrap();
    let context = session.context().await.unwrap();
    assert_eq!(context.messages().len(), 16, "everything is shown again");
    assert_eq!(provider.check(&context), 0);
    engine.close().await;
}

async fn whatever_is_done_thinking_stands_where_it_was_thought(place: Place) {
    let (engine, session, gate) = gated(&place).await;
    let mut provider = Provider::default();
    for number in 0..120 {
        // The summary is written at once, or only turns later.
        if number % 7 < 4 {
            gate.open();
        } else {
            gate.close();
        }
        match number % 29 {
            11 => {
                gate.open();
                drop(session.undo(Undo::Last, Run::Real).await);
            }
            17 => {
                gate.open();
                drop(session.compact(Compact::now()).await);
            }
            23 => {
                gate.open();
                drop(session.undo(Undo::Messages(2..4), Run::Real).await);
            }
            _ => {}
        }
        let tokens = 400 + number % 5 * 100;
        session.append(format!("Question {number}: {}", prose(number, tokens / 4)).as_str()).await.unwrap();
        // Whoever must not send more waits for the summary.
        if session.peek().await.unwrap().pressure.level == Level::Hard {
            gate.open();
        }
        let context = session.context().await.unwrap();
        session.reply(Reply::json(provider.answer(&context, tokens))).await.unwrap();
    }
    assert!(session.info().await.unwrap().compactions > 4);
    gate.open();
    engine.close().await;
}

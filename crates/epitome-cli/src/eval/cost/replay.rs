//! A script acted out: the engine is told what was said, asked what to send, and the provider's bill is added up.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use epitome::ledger::Clock;
use epitome::{Context, Engine, Input, Reply, Session};
use epitome_core::cost::{Bill, Money, Part, Till};
use epitome_core::{Time, Tokens, Usage};
use serde_json::Value;

use super::contender::Contender;
use super::script::{Call, Said, Script};
use crate::args::EvalCost;
use crate::settings::Settings;

/// What came of a script.
pub(super) struct Replayed {
    pub(super) bill: Bill,
    /// How long each call waited before which something was compacted or pruned.
    pub(super) waits: Vec<Duration>,
    /// How long was worked in the background behind calls.
    pub(super) background: Vec<Duration>,
}

/// Who acts a script out.
struct Stage<'s> {
    script: &'s Script,
    till: Till,
    now: Arc<AtomicI64>,
}

/// Acts a script out with a contender.
pub(super) fn replay(
    script: &Script,
    contender: Contender,
    arguments: &EvalCost,
    settings: &Settings,
) -> anyhow::Result<Replayed> {
    let lifetime = settings.values.prune.cache_lapse_minutes.saturating_mul(60_000);
    let till = Till::new(script.tariff, script.window, lifetime);
    let mut stage = Stage { script, till, now: Arc::new(AtomicI64::new(0)) };
    let (mut waits, mut background) = (Vec::new(), Vec::new());
    if contender == Contender::Full {
        stage.send_everything();
    } else {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let folder = tempfile::tempdir()?;
            let now = Arc::clone(&stage.now);
            let engine = Engine::builder()
                .file(folder.path().join("replayed.db"))
                .clock(Clock::of(move || Time(now.load(Ordering::Relaxed))))
                .dialect(script.dialect)
                .models(settings.models.clone())
                .model(script.model.as_str())
                .window(contender.window(script.window))
                .settings(contender.settings(&settings.values, arguments.threshold))
                .build()
                .await?;
            let session = engine.session(script.name.as_str()).await?;
            session.beside(&script.system.text, &script.tools.text);
            for call in &script.calls {
                stage.act(&session, call, &mut waits, &mut background).await?;
            }
            engine.close().await;
            anyhow::Ok(())
        })?;
    }
    Ok(Replayed { bill: *stage.till.bill(), waits, background })
}

impl Stage<'_> {
    async fn act(
        &mut self,
        session: &Session,
        call: &Call,
        waits: &mut Vec<Duration>,
        background: &mut Vec<Duration>,
    ) -> anyhow::Result<()> {
        self.now.store(call.at.0, Ordering::Relaxed);
        let appended = match session.append(spoken(&call.input)).await {
            // What says nothing is not sent.
            Err(epitome::Error::Empty) => None,
            appended => appended?.head,
        };
        let started = Instant::now();
        let context = session.context().await?;
        let waited = started.elapsed();
        if appended.is_some() && appended != context.turn {
            waits.push(waited);
            let recorded = session.compaction().await?;
            let account = recorded.and_then(|(_, compaction)| compaction.report);
            self.till.summarised(account.map_or(Money::ZERO, |account| spent(&account)));
        }
        let started = Instant::now();
        // A model answers more slowly than a summary is prepared without one.
        if session.prepared().await {
            background.push(started.elapsed());
        }
        let usage = self.send(&context, call);
        self.now.store(call.answered.0, Ordering::Relaxed);
        session.reply(Reply { messages: spoken(&call.reply), ..Reply::default() }.billed(usage)).await?;
        Ok(())
    }

    // What the engine says is sent.
    fn send(&mut self, context: &Context, call: &Call) -> Usage {
        let system = self.script.system_with(context);
        let messages: Vec<Said> = context
            .messages()
            .map(|message| Said { text: message.json.to_string(), tokens: message.tokens })
            .collect();
        self.bill(call, &system, messages.iter())
    }

    fn send_everything(&mut self) {
        let script = self.script;
        for (number, call) in script.calls.iter().enumerate() {
            let before =
                script.calls.iter().take(number).flat_map(|call| call.input.iter().chain(&call.reply));
            self.bill(call, &script.system, before.chain(&call.input));
        }
    }

    fn bill<'p>(&mut self, call: &Call, system: &'p Said, messages: impl Iterator<Item = &'p Said>) -> Usage
    where
        Self: 'p,
    {
        let script = self.script;
        let mut counted = Tokens::ZERO;
        let parts = [&script.tools, system].into_iter().chain(messages).map(|said| {
            // The sum is rounded, not each part of it.
            let before = script.billed(counted);
            counted += said.tokens;
            Part { bytes: said.text.as_bytes(), tokens: script.billed(counted) - before }
        });
        let output = script.billed(call.reply.iter().map(|said| said.tokens).sum());
        self.till.call(call.at, parts, output)
    }
}

// What the summaries of a compaction cost, as recorded with it.
fn spent(account: &str) -> Money {
    let account: Value = serde_json::from_str(account).unwrap_or_default();
    let micros = account.pointer("/summaries/spent/micro_dollars").and_then(Value::as_f64);
    micros.map_or(Money::ZERO, |micros| Money::micros(micros.round() as i64))
}

fn spoken(said: &[Said]) -> Input {
    said.iter().fold(Input::default(), |input, said| input.and(Input::json(said.text.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_summaries_cost_is_read_from_the_record() {
        let account =
            r#"{"report":{},"summaries":{"written":[],"spent":{"calls":2,"micro_dollars":1234.4}}}"#;
        assert_eq!(spent(account), Money::micros(1_234));
        for free in ["{}", "", r#"{"summaries":{"spent":{"micro_dollars":null}}}"#] {
            assert_eq!(spent(free), Money::ZERO, "{free}");
        }
    }
}

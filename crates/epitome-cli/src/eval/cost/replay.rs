//! A script acted out: the engine is told what was said, asked what to send, and the provider's bill is added up.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use epitome::ledger::Clock;
use epitome::ledger::model::TurnKind;
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
                .keys(settings.keys.clone())
                .settings(contender.settings(&settings.values, arguments.threshold))
                .build()
                .await?;
            let session = engine.session(script.name.as_str()).await?;
            session.beside(&script.system.text, &script.tools.text);
            for call in &script.calls {
                stage.act((&engine, &session), call, &mut waits, &mut background).await?;
            }
            // What was asked for and never used is paid for as well.
            let in_vain = session.spent_in_vain().await.and_then(|spent| spent.money);
            stage.till.summarised(in_vain.unwrap_or(Money::ZERO));
            engine.close().await;
            anyhow::Ok(())
        })?;
    }
    Ok(Replayed { bill: *stage.till.bill(), waits, background })
}

impl Stage<'_> {
    async fn act(
        &mut self,
        (engine, session): (&Engine, &Session),
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
        let turns = session.info().await?.turns;
        let timed = Timed::begin(engine);
        let context = session.context().await?;
        let waited = timed.without_models(engine);
        if appended.is_some() && appended != context.turn {
            waits.push(waited);
            self.till.summarised(spent_since(engine, session, turns).await?);
        }
        let timed = Timed::begin(engine);
        // A model answers more slowly than a summary is prepared without one.
        if session.prepared().await {
            background.push(timed.without_models(engine));
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

/// How long something takes by itself.
struct Timed {
    started: Instant,
    /// How long models had been waited for by then.
    models: Duration,
}

impl Timed {
    fn begin(engine: &Engine) -> Self {
        Self { models: engine.time_of_models(), started: Instant::now() }
    }

    // The time since then, without that of models.
    fn without_models(&self, engine: &Engine) -> Duration {
        let elapsed = self.started.elapsed();
        elapsed.saturating_sub(engine.time_of_models().saturating_sub(self.models))
    }
}

// What all compactions cost that a session has beyond so many turns.
async fn spent_since(engine: &Engine, session: &Session, turns: u64) -> anyhow::Result<Money> {
    let mut sum = Money::ZERO;
    for number in turns..session.info().await?.turns {
        let turn = session.turn(number).await?;
        if turn.kind == TurnKind::Compaction {
            let (_, record) = engine.ledger().compaction(engine.tenant(), turn.id).await?;
            sum += record.report.map_or(Money::ZERO, |account| spent(&account));
        }
    }
    Ok(sum)
}

// What models cost for a compaction, as recorded with it: its summaries, what was learnt, and what came to nothing before.
fn spent(account: &str) -> Money {
    let account: Value = serde_json::from_str(account).unwrap_or_default();
    let paid = ["/summaries/spent", "/learnt/spent", "/unused"]
        .into_iter()
        .filter_map(|what| Some(Money::of_micros(account.pointer(what)?.get("micro_dollars")?.as_f64()?)));
    paid.fold(Money::ZERO, |sum, paid| sum + paid)
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
        assert_eq!(spent(account), Money::of_micros(1_234.4));
        let account = r#"{"summaries":{"spent":{"micro_dollars":1000}},"learnt":{"spent":{"micro_dollars":200}},
            "unused":{"calls":1,"micro_dollars":30}}"#;
        assert_eq!(spent(account), Money::micros(1_230));
        for free in ["{}", "", r#"{"summaries":{"spent":{"micro_dollars":null}}}"#] {
            assert_eq!(spent(free), Money::ZERO, "{free}");
        }
    }
}

//! One schedule: a session that is compacted several times while its server misbehaves, and what must hold after each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use epitome_core::compact::{
    Compacted, Compaction, Decision, Request, Segment, StrategyName, SystemPlace, check_tiling, compact,
    view, view_tokens,
};
use epitome_core::digest::Digest;
use epitome_core::loss;
use epitome_core::settings::Settings;
use epitome_core::{Block, Entry, Message, Tokens};
use epitome_llm::summary::{Caps, Mode, ModelSummarizer, Rung, Stages, Written};
use epitome_llm::{Backoff, Chance, Client, Models, Patience, Prefix};
use epitome_wire::check::check;
use epitome_wire::{Dialect, encode_message};

use super::session::{MUST, NEVER, ROUNDS, after};
use super::weather::{Sky, Weather};
use crate::summary::{Running, tokens};
use crate::support::{APIS, StillClock};
use crate::upstream::Upstream;

/// What one thread works with.
pub(super) struct Bench {
    /// It serves as long as the bench stands.
    pub(super) _upstream: Upstream,
    pub(super) sky: Sky,
    pub(super) runtime: Running,
    /// One for each API.
    pub(super) clients: Vec<Client>,
}

/// What follows from a seed.
struct Plan {
    seed: u64,
    faults: u64,
    strategy: StrategyName,
    /// The APIs of those that are asked, by their places.
    endpoints: Vec<usize>,
    mode: Mode,
    is_live: bool,
    window: Tokens,
    calls: usize,
    budget: Tokens,
}

impl Plan {
    fn of(seed: u64) -> Self {
        let chance = Chance::seeded(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let pick = |count: usize| (chance.next() * count as f64) as usize;
        let strategies = [
            StrategyName::Checkpoint,
            StrategyName::Checkpoint,
            StrategyName::Rolling,
            StrategyName::Narrative,
            StrategyName::Tiered,
        ];
        let api = pick(APIS.len());
        Self {
            seed,
            faults: [0, 20, 50, 80, 100][pick(5)],
            strategy: strategies[pick(5)],
            endpoints: if pick(3) == 0 { vec![api, pick(APIS.len())] } else { vec![api] },
            mode: if pick(3) == 0 { Mode::Rewrite } else { Mode::Delta },
            is_live: pick(4) == 0,
            window: Tokens([1_500, 200_000, 200_000][pick(3)]),
            calls: [1, 4, 40][pick(3)],
            budget: Tokens([600, 800][pick(2)]),
        }
    }

    fn models(&self, bench: &Bench) -> Arc<Models> {
        let clients = self.endpoints.iter().map(|api| bench.clients[*api].clone()).collect();
        let mut backoff = Backoff::default();
        backoff.attempts = 2;
        let models = Models::with(clients, backoff, Patience::default());
        Arc::new(models.timed(Arc::new(StillClock::default()), Chance::seeded(self.seed)))
    }

    fn model(&self, models: &Arc<Models>, bench: &Bench, sent: &[Message]) -> ModelSummarizer {
        let clock = Arc::clone(&bench.sky.lock().unwrap().clock);
        let model = ModelSummarizer::new(Arc::clone(models), bench.runtime.handle.clone())
            .window(self.window)
            .stages(Stages { reserve: Tokens(400), parallel: 1, ..Stages::default() })
            .mode(self.mode)
            .caps(Caps { calls: self.calls, ..Caps::default() })
            .timed(clock);
        if self.is_live { model.behind(prefix(APIS[self.endpoints[0]], sent)) } else { model }
    }
}

fn prefix(api: &str, sent: &[Message]) -> Prefix {
    let dialect = match api {
        "anthropic" => Dialect::Anthropic,
        "openai" => Dialect::Chat,
        _ => Dialect::Responses,
    };
    let messages = sent.iter().flat_map(|message| encode_message(dialect, message).unwrap()).collect();
    Prefix { system: None, tools: Some("[]".to_owned()), messages }
}

/// What happened in schedules, by name.
pub(super) type Tally = BTreeMap<&'static str, usize>;

fn count(tally: &mut Tally, heard: &[Written], met: usize) {
    let mut add = |name, count| *tally.entry(name).or_default() += count;
    add("faults", met);
    for written in heard {
        add(written.rung.as_str(), 1);
        add("live", usize::from(written.live));
        add("rebuilt", usize::from(written.rebuilt));
        add("struck", written.struck.min(1));
        add("asked again", written.retries);
        add("in stretches", usize::from(written.chunks > 1));
    }
}

/// Runs a schedule; the first thing that does not hold is the error.
pub(super) fn run(seed: u64, bench: &Bench) -> Result<Tally, String> {
    let plan = Plan::of(seed);
    let models = plan.models(bench);
    let mut settings = Settings::default();
    settings.compact.strategy = plan.strategy;
    settings.compact.compaction_enabled = true;
    let mut previous: Option<Compaction> = None;
    let mut is_fair = true;
    let mut tally = Tally::default();
    for round in 0..ROUNDS {
        let (messages, path) = after(round);
        let counted = |text: &str| tokens(text);
        *bench.sky.lock().unwrap() = Weather::new(seed.wrapping_add(round as u64 * 7_919), plan.faults);
        let heard: Arc<Mutex<Vec<Written>>> = Arc::default();
        let told = Arc::clone(&heard);
        let sent = match &previous {
            Some(previous) => view(previous, path, messages, SystemPlace::Outside).messages(messages),
            None => messages.to_vec(),
        };
        let model = plan.model(&models, bench, &sent);
        let mut model = model.heard_by(move |written| told.lock().unwrap().push(written.clone()));
        let mut offline = Digest::new(path, messages, &counted);
        let request =
            Request { budget: Some(plan.budget), previous: previous.as_ref(), ..Request::new(&settings) };
        let mut both = model.beside_path(&mut offline, messages);
        let Compacted { compaction, report } = compact(path, messages, &request, &mut both, &counted);
        let heard = std::mem::take(&mut *heard.lock().unwrap());
        let sky = bench.sky.lock().unwrap();
        let context = || {
            let told: Vec<_> =
                heard.iter().map(|written| (written.rung, written.live, &written.troubles)).collect();
            format!("{:?} in round {round} of {} met {:?}: {told:?}", plan.strategy, plan.faults, sky.met)
        };
        count(&mut tally, &heard, sky.met.len());
        is_fair &= sky.met.is_empty();
        if compaction.is_none() && (report.decision == Decision::Compacted || report.reason.is_empty()) {
            return Err(format!("nothing was done, and nobody says why; {}", context()));
        }
        let now =
            compaction.or(previous).ok_or_else(|| format!("nothing: {}; {}", report.reason, context()))?;
        viewed(&now, (messages, path), plan.budget).map_err(|error| format!("{error}; {}", context()))?;
        reported(&heard, &sky, &plan, is_fair).map_err(|error| format!("{error}; {}", context()))?;
        previous = Some(now);
    }
    Ok(tally)
}

// What the model sees is valid, small enough, true, and holds what the user wants.
fn viewed(
    compaction: &Compaction,
    (messages, path): (&[Message], &[Entry]),
    budget: Tokens,
) -> Result<(), String> {
    let count = |text: &str| tokens(text);
    check_tiling(&compaction.segments, compaction.covered()).map_err(|error| error.to_string())?;
    let shown = view(compaction, path, messages, SystemPlace::Outside);
    let seen = shown.messages(messages);
    let broken = check(Dialect::Anthropic, None, &seen);
    if !broken.is_empty() {
        return Err(format!("not valid: {broken:?}"));
    }
    let size = view_tokens(&shown, path, &count);
    if size > budget {
        return Err(format!("{size} tokens, and {budget} are allowed"));
    }
    let text = texts(&seen);
    // Tiers leave out the oldest where a budget is this small.
    let omits = compaction.segments.iter().any(|segment| matches!(segment, Segment::Omitted { .. }));
    if let Some(lost) = MUST.iter().find(|must| !omits && !text.contains(**must)) {
        return Err(format!("{lost:?} is lost:\n{text}\n"));
    }
    if let Some(lie) = NEVER.iter().find(|never| text.contains(**never)) {
        return Err(format!("{lie:?} is made up:\n{text}\n"));
    }
    let invented = loss::of(compaction, &shown, path, messages, &[]).invented;
    if !invented.is_empty() {
        return Err(format!("made up: {invented:?}\n{text}\n"));
    }
    let whole = compaction.expanded(0..messages.len());
    let again = view(&whole, path, messages, SystemPlace::Outside).messages(messages);
    if again == messages { Ok(()) } else { Err("the messages do not come back".to_owned()) }
}

fn texts(messages: &[Message]) -> String {
    let text = |block: &Block| match block {
        Block::Text(text) => Some(text.text.clone()),
        _ => None,
    };
    messages.iter().flat_map(|message| &message.blocks).filter_map(text).collect::<Vec<_>>().join("\n")
}

// The report says what happened, and the caps were kept.
fn reported(heard: &[Written], sky: &Weather, plan: &Plan, is_fair: bool) -> Result<(), String> {
    let calls = heard.last().map_or(0, |written| written.spent.calls);
    if calls > plan.calls || sky.requests > calls {
        return Err(format!("{} requests, {calls} told, {} allowed", sky.requests, plan.calls));
    }
    let troubles: Vec<&String> = heard.iter().flat_map(|written| &written.troubles).collect();
    let failed = sky.met.iter().any(|fault| fault.is_failure());
    let answered = heard.iter().any(|written| written.spent.unanswered > 0);
    if failed && troubles.is_empty() && !answered {
        return Err("a failure is not told".to_owned());
    }
    // A summary by code may be the better one, or the only one that calls are left for or that has what a checkpoint needs.
    let worth = ["scores higher", "would cost more", "is no valid one"];
    let is_about_worth = |trouble: &&&String| worth.iter().any(|words| trouble.contains(words));
    let blamed: Vec<_> = troubles.iter().filter(|trouble| !is_about_worth(trouble)).collect();
    if is_fair && !blamed.is_empty() {
        return Err(format!("nothing went wrong, and it is told: {blamed:?}"));
    }
    match heard.iter().find(|written| written.rung == Rung::Offline && written.troubles.is_empty()) {
        Some(silent) => Err(format!("code wrote, and nobody says why: {silent:?}")),
        None => Ok(()),
    }
}

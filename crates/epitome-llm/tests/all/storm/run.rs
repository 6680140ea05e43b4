//! One schedule: a session that is compacted several times while its server misbehaves, and what must hold after each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use epitome_core::compact::{
    Compacted, Compaction, Decision, Preview, Request, Segment, StrategyName, Summarizer, SummaryError,
    SummaryRequest, SystemPlace, check_tiling, compact, dry_run, view, view_tokens,
};
use epitome_core::cost::{Money, Tariff};
use epitome_core::digest::Digest;
use epitome_core::loss;
use epitome_core::models::{Caching, Price};
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

/// The server counts bytes, we count tokens; so much more may be billed than was reserved.
const OTHERWISE: f64 = 1.5;

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
    /// So many stretches are asked for at once.
    parallel: usize,
    caps: Caps,
    budget: Tokens,
    /// Whether there is no summary by code, so that nothing but an annotation is left where the model fails.
    is_bare: bool,
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
            parallel: [1, 3][pick(2)],
            caps: Caps {
                calls: [1, 4, 40][pick(3)],
                tokens: Tokens([2_000_000, 2_000_000, 9_000, 4_000][pick(4)]),
                money: [None, None, Some(Money::micros(9_000)), Some(Money::micros(4_000))][pick(4)],
                ..Caps::default()
            },
            budget: Tokens([600, 800][pick(2)]),
            is_bare: pick(10) == 0,
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
            .stages(Stages { reserve: Tokens(400), parallel: self.parallel, ..Stages::default() })
            .mode(self.mode)
            .caps(self.caps)
            .priced(vec![Some(tariff()); self.endpoints.len()])
            .timed(clock);
        if self.is_live { model.behind(prefix(APIS[self.endpoints[0]], sent)) } else { model }
    }
}

/// A micro-dollar for each token, in and out.
fn tariff() -> Tariff {
    let caching = Caching { minimum: Tokens::ZERO, write: 1.0, read: 1.0 };
    Tariff::new(Price { input: 1.0, output: 1.0 }, None, caching)
}

/// Picks nothing where there is nobody to pick.
struct ByCode<'d>(Option<Digest<'d>>);

impl Summarizer for ByCode<'_> {
    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        match &mut self.0 {
            Some(digest) => digest.summarize(request),
            None => Err(SummaryError("nobody picks here".to_owned())),
        }
    }

    fn is_mechanical(&self) -> bool {
        self.0.is_some()
    }

    fn recent(&mut self, from: usize, budget: Tokens) -> Option<Tokens> {
        self.0.as_mut()?.recent(from, budget)
    }
}

/// Minds what a compaction is told to mind.
struct Signed<'s> {
    summarizer: &'s mut dyn Summarizer,
    sign: &'s str,
}

impl Summarizer for Signed<'_> {
    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        self.summarizer.summarize(&SummaryRequest { instructions: Some(self.sign), ..request.clone() })
    }
}

fn prefix(api: &str, sent: &[Message]) -> Prefix {
    let dialect = match api {
        "anthropic" => Dialect::Anthropic,
        "openai" => Dialect::Chat,
        _ => Dialect::Responses,
    };
    let messages = sent.iter().flat_map(|message| encode_message(dialect, message).unwrap()).collect();
    Prefix { system: None, tools: Some("[]".to_owned()), messages, fields: Vec::new() }
}

/// What happened in schedules, by name.
pub(super) type Tally = BTreeMap<&'static str, usize>;

/// All that must have happened now and then, or the storm says nothing about it.
pub(super) const MEETS: [&str; 14] = [
    "faults",
    "delta",
    "whole",
    "staged",
    "offline",
    "annotation",
    "live",
    "rebuilt",
    "struck",
    "asked again",
    "in stretches",
    "at once",
    "capped",
    "broken off",
];

fn count(tally: &mut Tally, heard: &[Written], plan: &Plan, compaction: Option<&Compaction>, met: usize) {
    let mut add = |name, count| *tally.entry(name).or_default() += count;
    add("faults", met);
    let annotations = compaction.map_or(0, |compaction| annotations(compaction).count());
    add("annotation", annotations);
    for written in heard {
        add(written.rung.as_str(), usize::from(written.rung != Rung::Offline || !plan.is_bare));
        add("at once", usize::from(written.chunks > 1 && plan.parallel > 1));
        let is_capped = |trouble: &String| trouble.contains("would cost more");
        add("capped", usize::from(written.troubles.iter().any(is_capped)));
        add("broken off", usize::from(written.spent.estimated > Tokens::ZERO));
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
        let sign = format!("storm {seed}/{round}.");
        let weather = Weather::new(seed.wrapping_add(round as u64 * 7_919), plan.faults, &sign);
        *bench.sky.lock().unwrap() = weather;
        let heard: Arc<Mutex<Vec<Written>>> = Arc::default();
        let told = Arc::clone(&heard);
        let sent = match &previous {
            Some(previous) => view(previous, path, messages, SystemPlace::Outside).messages(messages),
            None => messages.to_vec(),
        };
        let model = plan.model(&models, bench, &sent);
        let mut model = model.heard_by(move |written| told.lock().unwrap().push(written.clone()));
        let mut offline = ByCode((!plan.is_bare).then(|| Digest::new(path, messages, &counted)));
        let request = Request {
            budget: Some(plan.budget),
            previous: previous.as_ref(),
            instructions: Some(&sign),
            ..Request::new(&settings)
        };
        let mut both = model.beside_path(&mut offline, messages);
        let Compacted { compaction, report } = match plan.is_bare {
            false => compact(path, messages, &request, &mut both, &counted),
            // Else the core would pick a summary by itself, and the last rung would never be reached.
            true => {
                let Preview { plan, report, .. } = dry_run(path, messages, &request, &mut both, &counted);
                let mut signed = Signed { summarizer: &mut both, sign: &sign };
                let compaction = plan.map(|plan| plan.run(messages, &mut signed, &counted));
                Compacted { compaction, report }
            }
        };
        let heard = std::mem::take(&mut *heard.lock().unwrap());
        let sky = bench.sky.lock().unwrap();
        let context = || {
            let told: Vec<_> =
                heard.iter().map(|written| (written.rung, written.live, &written.troubles)).collect();
            format!("{:?} in round {round} of {} met {:?}: {told:?}", plan.strategy, plan.faults, sky.met)
        };
        count(&mut tally, &heard, &plan, compaction.as_ref(), sky.met.len());
        is_fair &= sky.met.is_empty();
        if compaction.is_none() && (report.decision == Decision::Compacted || report.reason.is_empty()) {
            return Err(format!("nothing was done, and nobody says why; {}", context()));
        }
        let now =
            compaction.or(previous).ok_or_else(|| format!("nothing: {}; {}", report.reason, context()))?;
        viewed(&now, (messages, path), &plan).map_err(|error| format!("{error}; {}", context()))?;
        reported(&heard, &sky, &plan, is_fair).map_err(|error| format!("{error}; {}", context()))?;
        previous = Some(now);
    }
    Ok(tally)
}

// What the model sees is valid, small enough, true, and holds what the user wants.
fn viewed(
    compaction: &Compaction,
    (messages, path): (&[Message], &[Entry]),
    plan: &Plan,
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
    if size > plan.budget {
        return Err(format!("{size} tokens, and {} are allowed", plan.budget));
    }
    let text = texts(&seen);
    // Tiers leave out the oldest where a budget is this small.
    let omits = compaction.segments.iter().any(|segment| matches!(segment, Segment::Omitted { .. }));
    // An annotation says how much is hidden, and nothing of what it is; and what a model forgets, code puts back.
    let omits = omits || plan.is_bare;
    if let Some(lost) = MUST.iter().find(|must| !omits && !text.contains(**must)) {
        return Err(format!("{lost:?} is lost:\n{text}\n"));
    }
    if let Some(lie) = NEVER.iter().find(|never| text.contains(**never)) {
        return Err(format!("{lie:?} is made up:\n{text}\n"));
    }
    let mut invented = loss::of(compaction, &shown, path, messages, &[]).invented;
    // An annotation is nobody's words; what comes after it may take it over.
    invented.retain(|invented| !(plan.is_bare && invented.claim.starts_with("Context contained")));
    if !invented.is_empty() {
        return Err(format!("made up: {invented:?}\n{text}\n"));
    }
    let whole = compaction.expanded(0..messages.len());
    let again = view(&whole, path, messages, SystemPlace::Outside).messages(messages);
    if again == messages { Ok(()) } else { Err("the messages do not come back".to_owned()) }
}

// The summaries that only say that there is none.
fn annotations(compaction: &Compaction) -> impl Iterator<Item = &String> {
    let summaries = compaction.segments.iter().filter_map(|segment| match segment {
        Segment::Summary { text, .. } => Some(text),
        _ => None,
    });
    summaries.filter(|text| text.contains("Summary unavailable"))
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
    let spent = heard.last().map(|written| written.spent).unwrap_or_default();
    let (calls, caps) = (spent.calls, &plan.caps);
    if calls > caps.calls || sky.requests > calls {
        return Err(format!("{} requests, {calls} told, {} allowed", sky.requests, caps.calls));
    }
    let used = (spent.usage.total_input() + spent.usage.output).0;
    let paid = spent.money.map_or(0.0, Money::as_micros);
    // What is reserved is our own count; the server has one of its own.
    let allowed = caps.money.map_or(f64::MAX, Money::as_micros).min(caps.tokens.0 as f64) * OTHERWISE;
    if used as f64 > allowed || paid > allowed || used as f64 != paid {
        return Err(format!("{used} tokens for {paid}, {allowed} allowed"));
    }
    // Answers that broke off were sent as well, and none of it is for nothing.
    let broke_off = sky.met.iter().filter(|fault| fault.is_broken_off()).count();
    if broke_off > 0 && spent.estimated == Tokens::ZERO && !sky.tells_early() {
        return Err(format!("{broke_off} answers broke off, and nothing is booked for it: {spent:?}"));
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

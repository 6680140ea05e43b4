//! The decision: is a compaction due, what does the strategy want, does it fit, is anything new, does it pay.

use super::backing::{informed, unchanged};
use super::bound;
use super::budget::Measured;
use super::cuts::leading;
use super::escalation::as_the_seed;
use super::fit::{Ground, fit_on};
use super::plan::{Favours, Limits, Outcome, Plan, Planned, Strategy};
use super::request::{Request, Room};
use super::segment::{Compaction, Segment};
use super::settings::{Fallback, StrategyName};
use super::strategies::layout::{Layout, tokens};
use super::strategies::{Backstop, chosen};
use super::summarizer::{LeadingSentences, Summarizer};
use super::view::{CountedView, Placement, SystemPlace};
use super::worth;
use crate::cost::Verdict;
use crate::message::{Message, Role};
use crate::outline::Entry;
use crate::pressure::{Level, Occasion, Pressure, Trigger};
use crate::prune::{Count, ThinkingRule};
use crate::units::Tokens;

/// Summaries among the operator's instructions are counted as a message, which is the most they cost in any dialect.
const PLACE: SystemPlace = SystemPlace::Message(Role::System);

/// Said where a compaction would repeat the one before it.
const NOTHING_NEW: &str = "nothing is new since the compaction in force";

/// Said where a compaction would leave everything as it is.
const ALL_STAYS: &str = "all of it must stay as it is";

/// A request and all that is known about it.
pub(super) struct Case<'a> {
    pub(super) path: &'a [Entry],
    pub(super) messages: &'a [Message],
    pub(super) request: &'a Request<'a>,
    pub(super) count: &'a dyn Count,
    pub(super) strategy: &'static str,
    /// What is shown now: the compaction in force, or everything as it was.
    pub(super) current: &'a Compaction,
    pub(super) shown: CountedView<'a>,
    pub(super) before: Measured,
    pub(super) fixed: Tokens,
    pub(super) pressure: Pressure,
    pub(super) room: Room,
    /// What a plan is made to fit on.
    ground: Ground<'a>,
    /// How many of the last tokens are worth keeping as they are, where a summariser has weighed them.
    recent: Option<Tokens>,
}

/// What is to be done.
pub(super) struct Decided {
    pub(super) plan: Plan,
    pub(super) notes: Vec<String>,
    pub(super) verdict: Option<Verdict>,
    /// Whether it was brought into the budget by cutting short what the model has not seen yet.
    cuts_unseen: bool,
}

fn tokens_of(path: &[Entry], stretches: &[std::ops::Range<usize>]) -> Tokens {
    stretches.iter().map(|stretch| tokens(path.get(stretch.clone()).unwrap_or_default())).sum()
}

/// Whether a plan is to be brought into the budget.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Budget,
    AsPlanned,
}

impl<'a> Case<'a> {
    pub(super) fn new(
        path: &'a [Entry],
        messages: &'a [Message],
        request: &'a Request<'a>,
        current: &'a Compaction,
        count: &'a dyn Count,
    ) -> Self {
        let shown = CountedView::of(current, path, messages, PLACE, count);
        let before = Measured::of(&shown, path);
        let fixed = request.outside + tokens(path.get(..leading(path)).unwrap_or_default());
        let pressure = request.pressure(path, fixed + before.total());
        let limits =
            Limits { budget: Tokens::ZERO, pins: request.pins, previous: request.previous, recent: None };
        let ground = Ground::of(path, messages, &limits, count);
        // Less than what must stay cannot be had; whoever asked for it is told by how much it was missed.
        let room = request.room(&pressure, fixed, path, tokens_of(path, &ground.pinned));
        let room = room.at_least(ground.minimum);
        let strategy = match request.strategy {
            Some(own) => own.name(),
            None => chosen(request.settings, &[], count).name(),
        };
        Self {
            path,
            messages,
            request,
            count,
            strategy,
            current,
            shown,
            before,
            fixed,
            pressure,
            room,
            ground: match (request.occasion, request.budget) {
                (Occasion::Ahead, _) | (_, Some(_)) => ground.within(room.budget),
                (_, None) => ground.with_room(room.budget),
            },
            recent: None,
        }
    }

    /// What is to be done, or why nothing is. Where the plan leaves the weighing to the summariser, and that can weigh,
    /// recent messages have as much room as they are worth.
    pub(super) fn decide(&mut self, summarizer: &mut dyn Summarizer) -> Result<Decided, String> {
        let decided = self.decide_roomily()?;
        let weighs = |_: &usize| decided.plan.favours == Favours::Summaries;
        let Some(from) = decided.plan.first_summarized().filter(weighs) else { return Ok(decided) };
        self.recent = summarizer.recent(from, self.room.budget);
        if self.recent.is_none() { Ok(decided) } else { self.decide_roomily() }
    }

    // More is left than was aimed at before anything is cut short that the model has not seen yet.
    fn decide_roomily(&mut self) -> Result<Decided, String> {
        loop {
            let decided = self.decide_alone()?;
            match self.room.wider().filter(|_| decided.cuts_unseen) {
                Some(wider) => self.room = wider,
                None => return Ok(decided),
            }
            self.ground.widen(self.room.budget);
        }
    }

    fn decide_alone(&self) -> Result<Decided, String> {
        let name = self.request.named();
        match self.due() {
            _ if self.is_done() => Err(NOTHING_NEW.to_owned()),
            Ok(()) if self.is_early() => self.paying_plan(),
            Ok(()) => self.due_plan(),
            Err(reason) if name == Some(StrategyName::Auto) => self.early_plan(reason),
            Err(reason) if name == Some(StrategyName::Narrative) => {
                self.settled(self.seeds_backstop().ok_or(reason)?, Reach::AsPlanned)
            }
            Err(reason) => Err(reason),
        }
    }

    // Some strategies have rules of their own for when they act.
    fn due(&self) -> Result<(), String> {
        let own_rules = [StrategyName::None, StrategyName::Prune, StrategyName::Tiered];
        if self.request.named().is_some_and(|name| own_rules.contains(&name)) || self.trigger().is_some() {
            return Ok(());
        }
        Err(self.not_due())
    }

    fn not_due(&self) -> String {
        let tokens = self.before.total();
        match self.request.budget {
            Some(budget) => {
                format!("not due: {tokens:#} tokens of conversation, and the budget is {budget:#}")
            }
            None => format!("not due: {}", self.pressure),
        }
    }

    /// What a compaction is due to.
    pub(super) fn trigger(&self) -> Option<Trigger> {
        let asked = self.request.budget.is_some_and(|budget| self.before.total() > budget);
        let level = if asked || self.is_crowded() { Level::Hard } else { self.pressure.level };
        Trigger::on(self.request.occasion, level)
    }

    // The micro agent's backstop by message count: where it would leave messages out, they are summarised instead.
    pub(super) fn is_crowded(&self) -> bool {
        let shown = self.path.len() - self.current.standing().max(leading(self.path)).min(self.path.len());
        self.request.named() == Some(StrategyName::Narrative)
            && self.request.escalates()
            && shown > self.request.settings.max_conversation_messages
    }

    fn due_plan(&self) -> Result<Decided, String> {
        let reach = if self.request.escalates() { Reach::Budget } else { Reach::AsPlanned };
        let plan = match self.plan(self.limit()) {
            Ok(plan) => plan,
            // Where a strategy finds everything protected, the rest is up to what makes plans fit.
            Err(_) if reach == Reach::Budget && self.before.total() > self.room.budget => self.as_it_is(),
            Err(reason) if self.request.named() == Some(StrategyName::Narrative) => {
                self.seeds_backstop().ok_or(reason)?
            }
            Err(reason) => return Err(reason),
        };
        self.settled(plan, reach)
    }

    // Whether something is prepared so long before it is due that only its price speaks for it.
    fn is_early(&self) -> bool {
        self.request.occasion == Occasion::Ahead && self.pressure.level < Level::Soft
    }

    fn paying_plan(&self) -> Result<Decided, String> {
        let whole = self.due_plan()?;
        match &whole.verdict {
            Some(verdict) if verdict.pays => Ok(whole),
            Some(verdict) => Err(format!("not due, and {verdict}")),
            None => Err(self.not_due()),
        }
    }

    // Before anything is due, `auto` does what pays: a whole compaction from the soft threshold on, or a step of pruning.
    // Where prices are unknown, pruning goes by its own rules.
    fn early_plan(&self, not_due: String) -> Result<Decided, String> {
        if self.request.stakes.is_some() && self.pressure.level >= Level::Soft {
            let whole = self.due_plan()?;
            if whole.verdict.is_some_and(|verdict| verdict.pays) {
                return Ok(whole);
            }
        }
        let step = self.plan(Tokens(u64::MAX)).map_err(|_| not_due)?;
        let step = self.settled(step, Reach::AsPlanned)?;
        match &step.verdict {
            Some(verdict) if !verdict.pays => Err(format!("not due, and {verdict}")),
            _ => Ok(step),
        }
    }

    // A seed's literal behaviour knows no budget but that of its tiers.
    fn limit(&self) -> Tokens {
        let seed = self.request.settings.compact.fallback == Fallback::Seed;
        match self.request.named() {
            Some(StrategyName::Tiered) => self.room.budget,
            _ if seed => Tokens(u64::MAX),
            _ => self.room.budget,
        }
    }

    fn limits(&self, budget: Tokens) -> Limits<'a> {
        Limits { budget, pins: self.request.pins, previous: self.request.previous, recent: self.recent }
    }

    fn plan(&self, budget: Tokens) -> Result<Plan, String> {
        let limits = self.limits(budget);
        let outcome = match self.request.strategy {
            Some(own) => own.plan(self.path, self.messages, &limits),
            None => chosen(self.request.settings, self.request.seals, self.count).plan(
                self.path,
                self.messages,
                &limits,
            ),
        };
        match outcome {
            Outcome::Compact(plan) => Ok(plan),
            Outcome::Nothing(reason) => Err(reason),
        }
    }

    fn as_it_is(&self) -> Plan {
        let mut layout = Layout::new(self.path, &self.limits(self.room.budget), &self.ground.cuts);
        layout.as_before();
        layout.finish(&self.request.settings.compact)
    }

    // A plan made ready: valid, within the budget, and nothing written that is written already.
    fn settled(&self, mut plan: Plan, reach: Reach) -> Result<Decided, String> {
        let mut notes = Vec::new();
        // The first user message may be a pin, which stays as it is: nothing is added to it.
        if plan.placement == Placement::FirstUser && !self.request.pins.is_empty() {
            plan.placement = Placement::Pair;
        }
        if self.request.thinking == ThinkingRule::Bound {
            bound::strip(&mut plan, self.path);
        }
        let mut cuts_unseen = false;
        if reach == Reach::Budget {
            let touched = plan.touches_unseen(self.path);
            let fitted = fit_on(plan, &self.ground);
            (plan, notes) = (fitted.plan, fitted.notes);
            cuts_unseen = !touched && plan.touches_unseen(self.path);
        }
        informed(&mut plan, self.request.previous, self.count);
        if unchanged(&plan, self.current) {
            let reason = if self.request.previous.is_some() { NOTHING_NEW } else { ALL_STAYS };
            return Err(reason.to_owned());
        }
        let verdict = worth::verdict(self, &plan);
        Ok(Decided { plan, notes, verdict, cuts_unseen })
    }

    // With no new message a compacted conversation that fits is left alone: compacting twice is compacting once. A seed
    // that could not make it fit would not fare better now.
    fn is_done(&self) -> bool {
        let compacted =
            self.current.segments.iter().any(|segment| !matches!(segment, Segment::Verbatim { .. }));
        let nothing_new = self.request.previous.is_some_and(|previous| previous.covered() >= self.path.len());
        let literal = self.request.settings.compact.fallback == Fallback::Seed;
        let fits = self.before.total() <= self.room.most.max(self.ground.minimum);
        nothing_new && compacted && !self.hides_a_pin() && (fits || literal)
    }

    /// Whether something is pinned that is not shown now.
    pub(super) fn hides_a_pin(&self) -> bool {
        self.request.pins.iter().any(|pin| !self.current.shows(*pin))
    }

    /// The record of a plan with summaries that are yet to be written left empty, and what they may come to.
    pub(super) fn outline(&self, plan: &Plan) -> (Compaction, Tokens) {
        let mut caps = Tokens::ZERO;
        let segments = plan.parts.iter().map(|part| match part {
            Planned::Segment(segment) => segment.clone(),
            Planned::Summary(task) => {
                caps += task.max_tokens;
                Segment::Summary { range: task.range.clone(), text: String::new(), level: task.level }
            }
        });
        let segments = segments.collect();
        (Compaction { segments, placement: plan.placement, wording: plan.wording.clone() }, caps)
    }

    /// What the model would see of a compaction, counted.
    pub(super) fn counted<'c>(&'c self, compaction: &'c Compaction) -> CountedView<'c> {
        CountedView::of(compaction, self.path, self.messages, PLACE, self.count)
    }

    // The micro agent trims by message count whenever it does not compact.
    fn seeds_backstop(&self) -> Option<Plan> {
        if self.request.settings.compact.fallback == Fallback::Escalate {
            return None;
        }
        let limits = self.limits(Tokens(u64::MAX));
        match Backstop::new(self.request.settings).plan(self.path, self.messages, &limits) {
            Outcome::Compact(plan) => Some(plan),
            Outcome::Nothing(_) => None,
        }
    }

    /// What the seed does when a summary fails.
    pub(super) fn seeds_way_out(&self, failed: Compaction) -> Result<Compaction, String> {
        match self.request.named() {
            Some(StrategyName::Narrative) => {
                let plan = self.seeds_backstop();
                let plan =
                    plan.ok_or("the summary failed, and no message is beyond max_conversation_messages")?;
                Ok(plan.run(self.messages, &mut LeadingSentences, &|text| self.count.text(text)))
            }
            name => Ok(as_the_seed(failed, name)),
        }
    }
}

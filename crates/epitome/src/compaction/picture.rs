//! A session as a decision sees it: the whole path, what is in force, what is pinned and sealed.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use epitome_core::compact::{Compaction, Stakes};
use epitome_core::cost::Tariff;
use epitome_core::models::ThinkingBinding;
use epitome_core::pressure::{Marks, Pressure};
use epitome_core::prune::ThinkingRule;
use epitome_core::{Entry, Message, Role, Tokens};
use epitome_ledger::model::{NoteKind, TurnId};

use crate::error::Result;
use crate::session::{Sent, Session, Shown, Warm, laid_out};

/// Hidden messages are read again for a new summary as far back as this many tokens go; what lies before is told by the
/// summary in force.
const REREAD: Tokens = Tokens(2_000_000);
/// So many messages are read at once.
const CHUNK: u64 = 512;

/// What is said before the first reply is kept if it is no more than this part of what may be sent.
const PREAMBLE: f64 = 4.0;

/// How much of the path is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// What is shown.
    Shown,
    /// What is hidden, too.
    Whole,
}

/// A session as a decision sees it.
pub(crate) struct Picture {
    /// The turn of the compaction in force, by its number.
    pub(crate) base: Option<u64>,
    pub(crate) previous: Option<Arc<Compaction>>,
    pub(crate) path: Vec<Entry>,
    pub(crate) messages: Vec<Message>,
    /// What was read, by ordinals.
    pub(crate) read: BTreeMap<u64, Shown>,
    pub(crate) pins: Vec<usize>,
    /// What is said before the first reply, up to the last instructions of the operator there: it is no talk.
    pub(crate) preamble: Range<usize>,
    pub(crate) seals: Vec<usize>,
    /// Tokens beside the messages, those that only the provider's bill shows included.
    pub(crate) outside: Tokens,
    /// Tokens beside the messages that are known here.
    pub(crate) beside: Tokens,
    /// The model's window in our tokens.
    pub(crate) window: Tokens,
    /// How full the window is, in the model's tokens.
    pub(crate) pressure: Pressure,
    /// Tokens that the model bills for one of ours.
    pub(crate) ratio: f64,
    pub(crate) stakes: Option<Stakes>,
    pub(crate) thinking: ThinkingRule,
    /// What is sent of it, as it stands now.
    pub(crate) sent: Arc<[Sent]>,
    /// What is added to the instructions.
    pub(crate) system: Option<Arc<str>>,
}

/// What is at hand of a session at one moment.
struct Moment {
    head: Option<TurnId>,
    length: u64,
    compaction: Option<(u64, Arc<Compaction>)>,
    shown: Vec<Shown>,
    tokens: Tokens,
    pressure: Pressure,
    cached: Tokens,
    sent: Arc<[Sent]>,
    system: Option<Arc<str>>,
}

impl Picture {
    /// The thresholds in our tokens.
    pub(crate) fn marks(&self) -> Marks {
        self.pressure.marks.scaled(1.0 / self.ratio)
    }
}

impl Session {
    /// Looks at the session, as deep as is asked for.
    pub(crate) async fn picture(&self, depth: Depth) -> Result<Picture> {
        let (inner, outside) = (self.inner(), self.slot.outside());
        let now = inner.now();
        let moment = |warm: &mut Warm| Moment {
            head: warm.head,
            length: warm.length,
            compaction: warm.compaction.clone(),
            shown: warm.shown.clone(),
            tokens: warm.tokens,
            pressure: warm.pressure(outside, inner),
            cached: warm.cached(now, inner),
            sent: warm.hand_out(),
            system: warm.system.clone(),
        };
        let moment = self.look(moment).await?;
        let mut read: BTreeMap<u64, Shown> =
            moment.shown.iter().map(|shown| (shown.ordinal, shown.clone())).collect();
        if depth == Depth::Whole {
            self.read_hidden(&moment, &mut read).await?;
        }
        let (pins, seals) = self.noted(moment.length).await?;
        let ratio = inner.billing.ratio(&inner.model.id);
        // Where the provider bills more than is known here, it bills instructions and tools.
        let billed = Tokens((moment.pressure.tokens.0 as f64 / ratio) as u64);
        let (path, messages) = laid_out(moment.length, read.values())?;
        // Of a model that nobody knows the worst is assumed: what is left out for nothing is missed less than a call that is refused.
        let bound = inner.model.thinking == ThinkingBinding::Prefix;
        let most = Tokens((moment.pressure.marks.hard.0 as f64 / ratio / PREAMBLE) as u64);
        // Behind what was not read, nobody knows what opened the talk.
        let opening = (0..moment.length).take_while(|ordinal| read.contains_key(ordinal)).count();
        Ok(Picture {
            preamble: preamble(path.get(..opening).unwrap_or_default(), most),
            base: moment.compaction.as_ref().map(|(number, _)| *number),
            previous: moment.compaction.map(|(_, compaction)| compaction),
            path,
            messages,
            read,
            pins,
            seals,
            outside: outside.max(billed - moment.tokens),
            beside: outside,
            window: Tokens((inner.window().0 as f64 / ratio) as u64),
            pressure: moment.pressure,
            ratio,
            stakes: inner.is_priced().then(|| Stakes {
                tariff: Tariff::of_counted(&inner.model, ratio),
                summary: inner.scribe.as_ref().and_then(|scribe| scribe.tariff),
                cached: moment.cached,
                turns: None,
            }),
            thinking: if bound { ThinkingRule::Bound } else { ThinkingRule::Free },
            sent: moment.sent,
            system: moment.system,
        })
    }

    // Newest first, so that what is left out is the oldest.
    async fn read_hidden(&self, moment: &Moment, read: &mut BTreeMap<u64, Shown>) -> Result<()> {
        let (inner, Some(head)) = (self.inner(), moment.head) else { return Ok(()) };
        let mut tokens = Tokens::ZERO;
        for gap in gaps(read, moment.length).into_iter().rev() {
            let mut end = gap.end;
            while end > gap.start && tokens < REREAD {
                let start = end.saturating_sub(CHUNK).max(gap.start);
                for stored in inner.ledger.messages(inner.tenant, head, start..end).await? {
                    tokens += stored.tokens;
                    read.insert(stored.ordinal, Shown::recorded(&stored, &inner.counter)?);
                }
                end = start;
            }
        }
        Ok(())
    }

    /// What is pinned and sealed among so many messages.
    pub(crate) async fn noted(&self, length: u64) -> Result<(Vec<usize>, Vec<usize>)> {
        let inner = self.inner();
        let mut pinned = std::collections::BTreeSet::new();
        let mut seals = Vec::new();
        for note in inner.ledger.notes(inner.tenant, self.slot.id).await? {
            let messages = note.messages.start..note.messages.end.min(length);
            let numbers = messages.clone().filter_map(|ordinal| usize::try_from(ordinal).ok());
            match note.kind {
                NoteKind::Pin => pinned.extend(numbers),
                NoteKind::Unpin => numbers.for_each(|number| {
                    pinned.remove(&number);
                }),
                NoteKind::Seal => seals.extend(usize::try_from(messages.end)),
                _ => {}
            }
        }
        Ok((pinned.into_iter().collect(), seals))
    }
}

// Some agents describe the place of work to the model in instructions behind the user's first words.
fn preamble(path: &[Entry], most: Tokens) -> Range<usize> {
    let role = |entry: &Entry| entry.outline.role;
    let is_instruction = |entry: &Entry| matches!(role(entry), Role::System | Role::Developer);
    let opening = path.iter().take_while(|entry| role(entry) != Role::Assistant).count();
    let leading = path.iter().take_while(|entry| is_instruction(entry)).count();
    let opening = path.get(leading..opening).unwrap_or_default();
    let length = opening.iter().rposition(is_instruction).map_or(0, |last| last + 1);
    let tokens: Tokens = opening.iter().take(length).map(|entry| entry.outline.tokens).sum();
    if tokens <= most { leading..leading + length } else { leading..leading }
}

// The stretches of a path that were not read.
fn gaps(read: &BTreeMap<u64, Shown>, length: u64) -> Vec<Range<u64>> {
    let mut gaps = Vec::new();
    let mut at = 0;
    for ordinal in read.keys().copied().chain([length]) {
        if ordinal > at {
            gaps.push(at..ordinal);
        }
        at = ordinal + 1;
    }
    gaps
}

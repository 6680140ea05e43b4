//! A session at hand: where it stands and what the model sees of it, so that a turn costs no more than itself.

use std::sync::Arc;

use epitome_core::calibrate::Gauge;
use epitome_core::compact::{Compaction, Piece, SystemPlace, view};
use epitome_core::pressure::Pressure;
use epitome_core::{BlockKind, BlockOutline, Entry, Outline, Role, Time, Tokens};
use epitome_ledger::model::{ChainHash, Receipt, RecordedView, Resumed, TurnId};
use epitome_wire::Dialect;

use super::draft::Draft;
use super::path::laid_out;
use super::sendable::{breaks_off, is_blank, sendable};
use super::shown::{Sent, Shown, Writer, thinks};
use crate::engine::Inner;
use crate::error::Result;

/// A session at hand.
pub(crate) struct Warm {
    pub(crate) head: Option<TurnId>,
    /// The hash of its path.
    pub(crate) chain: ChainHash,
    /// The number of messages on its path.
    pub(crate) length: u64,
    /// The number of turns on its path.
    pub(crate) turns: u64,
    /// Whether the head waits for its reply.
    pub(crate) waits: bool,
    /// The nearest compaction and the number of its turn.
    pub(crate) compaction: Option<(u64, Arc<Compaction>)>,
    pub(crate) shown: Vec<Shown>,
    pub(crate) system: Option<Arc<str>>,
    sent: Vec<Sent>,
    /// What was handed out last, until something is appended.
    handed: Option<Arc<[Sent]>>,
    pub(crate) tokens: Tokens,
    pub(crate) gauge: Gauge,
    /// When something was last said.
    pub(crate) time: Option<Time>,
    /// Tokens of the context when a decision was last made.
    pub(crate) decided: Tokens,
    /// Tokens of the messages that were handed out last, and so are in the provider's cache for a while.
    handed_tokens: Tokens,
    /// Whether so much time passed before the last input that no cache holds anything any longer.
    pub(crate) lapsed: bool,
    /// Whether something came that is longer than a tool result may be.
    pub(crate) oversized: bool,
    /// Whether thinking is left out of what is sent.
    bare: bool,
    bytes: usize,
}

impl Warm {
    /// A session as it was left.
    pub(crate) fn resumed(resumed: &Resumed, inner: &Inner) -> Result<Self> {
        let mut warm = Self::of(&resumed.view, inner)?;
        let session = &resumed.session;
        (warm.head, warm.chain) = (session.head, session.chain);
        (warm.turns, warm.waits) = (session.turns, resumed.waits);
        Ok(warm)
    }

    /// What was recorded of a view.
    pub(crate) fn of(recorded: &RecordedView, inner: &Inner) -> Result<Self> {
        let shown = recorded.messages.iter().map(|stored| Shown::recorded(stored, &inner.counter));
        let shown: Vec<Shown> = shown.collect::<Result<_>>()?;
        let mut warm = Self {
            head: None,
            chain: ChainHash::ROOT,
            length: recorded.length,
            turns: 0,
            waits: false,
            compaction: recorded.nearest.zip(recorded.compaction.clone().map(Arc::new)),
            time: shown.last().and_then(|shown| shown.time),
            bytes: 0,
            shown,
            system: None,
            sent: Vec::new(),
            handed: None,
            tokens: Tokens::ZERO,
            gauge: Gauge::default(),
            decided: Tokens::ZERO,
            handed_tokens: Tokens::ZERO,
            lapsed: false,
            oversized: false,
            bare: false,
        };
        warm.rewrite(inner)?;
        Ok(warm)
    }

    /// Takes a compaction over that was just recorded.
    pub(crate) fn compacted(
        &mut self,
        compaction: Compaction,
        shown: Vec<Shown>,
        receipt: &Receipt,
        inner: &Inner,
    ) -> Result<()> {
        self.shown = shown;
        self.compaction = Some((receipt.turns.saturating_sub(1), Arc::new(compaction)));
        (self.head, self.turns, self.length) = (receipt.head, receipt.turns, receipt.messages);
        self.waits = false;
        self.rewrite(inner)
    }

    /// Leaves thinking out of what is sent from now on; whether there was any.
    pub(crate) fn strip(&mut self, inner: &Inner) -> Result<bool> {
        self.bare = true;
        let thinks = self.sent.iter().any(|sent| thinks(&sent.outline));
        if thinks {
            self.rewrite(inner)?;
        }
        Ok(thinks)
    }

    /// Whether what is sent may be another than what was said.
    pub(crate) fn is_changed(&self) -> bool {
        self.bare || self.compaction.is_some()
    }

    // Writes the whole view anew.
    fn rewrite(&mut self, inner: &Inner) -> Result<()> {
        let writer = Writer { dialect: inner.dialect, counter: &inner.counter, shown: &self.shown };
        let (system, sent) = match &self.compaction {
            None => {
                let pieces: Vec<Piece> = (0..self.shown.len()).map(Piece::Keep).collect();
                (None, writer.write(&pieces)?)
            }
            Some((_, compaction)) => {
                let (path, messages) = laid_out(self.length, &self.shown)?;
                let seen = view(compaction, &path, &messages, place(inner.dialect));
                (seen.system.map(Arc::from), writer.write(&seen.pieces)?)
            }
        };
        let sent = match self.bare {
            true => sent.into_iter().map(|sent| writer.bare(sent)).collect::<Result<_>>()?,
            false => sent,
        };
        (self.system, self.sent) = (system, sendable(sent, &writer)?);
        self.handed = None;
        let system = self.system.as_deref().map_or(Tokens::ZERO, |text| inner.counter.text(text));
        self.tokens = system + self.sent.iter().map(Sent::tokens).sum();
        self.gauge.reset();
        for sent in &self.sent {
            self.gauge.push(&sent.outline);
        }
        self.settle();
        self.oversized = self.sent.iter().any(|sent| is_oversized(&sent.outline, inner));
        self.bytes = self.shown.iter().map(Shown::bytes).sum::<usize>()
            + self
                .sent
                .iter()
                .filter(|sent| sent.ordinal.is_none())
                .map(|sent| sent.json.len())
                .sum::<usize>();
        Ok(())
    }

    /// Takes over what was just appended.
    pub(crate) fn appended(
        &mut self,
        drafts: &[Draft],
        receipt: &Receipt,
        time: Time,
        inner: &Inner,
    ) -> Result<()> {
        let writer = Writer { dialect: inner.dialect, counter: &inner.counter, shown: &[] };
        let outlines: Vec<_> = drafts.iter().map(|draft| &*draft.outline).collect();
        let breaks_off = breaks_off(&self.sent, &outlines);
        for draft in drafts {
            let shown = Shown::appended(draft, self.length, inner.dialect, time);
            self.bytes += shown.bytes();
            if !is_blank(&draft.outline, &draft.json, inner.dialect) {
                let kept = writer.kept(&shown);
                let sent = if self.bare { writer.bare(kept)? } else { kept };
                self.tokens += sent.tokens();
                self.sent.push(sent);
                self.oversized |= is_oversized(&draft.outline, inner);
            }
            self.shown.push(shown);
            self.length += 1;
        }
        self.handed = None;
        self.lapsed |= self.is_silent(time, inner);
        self.time = Some(time);
        (self.head, self.turns, self.chain) = (receipt.head, receipt.turns, receipt.chain);
        if breaks_off { self.rewrite(inner) } else { Ok(()) }
    }

    /// Whether so much time has passed that no cache holds anything any longer.
    pub(crate) fn is_silent(&self, now: Time, inner: &Inner) -> bool {
        let lapse = i64::try_from(inner.settings.prune.cache_lapse_minutes).unwrap_or(i64::MAX);
        self.time.is_some_and(|last| now.0 - last.0 > lapse.saturating_mul(60_000))
    }

    /// What is handed out now is about to be sent.
    pub(crate) fn about_to_send(&mut self) {
        self.handed_tokens = self.tokens;
    }

    /// How many tokens of the messages the provider still has in its cache.
    pub(crate) fn cached(&self, now: Time, inner: &Inner) -> Tokens {
        if self.lapsed || self.is_silent(now, inner) { Tokens::ZERO } else { self.handed_tokens }
    }

    /// The turn of the compaction in force, by its number.
    pub(crate) fn base(&self) -> Option<u64> {
        self.compaction.as_ref().map(|(number, _)| *number)
    }

    /// A decision was made; the next one waits until something has changed.
    pub(crate) fn settle(&mut self) {
        self.decided = self.tokens;
        (self.lapsed, self.oversized) = (false, false);
    }

    /// The messages as they are sent.
    pub(crate) fn hand_out(&mut self) -> Arc<[Sent]> {
        let sent = &self.sent;
        Arc::clone(self.handed.get_or_insert_with(|| sent.as_slice().into()))
    }

    /// Everything that a call would send, in the model's tokens: `outside` stands beside the messages.
    pub(crate) fn estimated(&self, outside: Tokens, inner: &Inner) -> Tokens {
        let calibration = inner.billing.known();
        let model = &inner.model.id;
        let counted = (outside + self.tokens).0 as f64 * calibration.of(model).ratio();
        let anchored = self.gauge.next_call(&calibration, model);
        anchored.unwrap_or_else(|| {
            self.gauge.whole_context(&calibration, model).max(Tokens(counted.round() as u64))
        })
    }

    /// How full the window is.
    pub(crate) fn pressure(&self, outside: Tokens, inner: &Inner) -> Pressure {
        let compact = &inner.settings.compact;
        // Only what follows the conversation has to look at it.
        let followed = if compact.adaptive { self.shown.as_slice() } else { &[] };
        let entry = |shown: &Shown| Entry { outline: Arc::clone(&shown.outline), time: shown.time };
        let path: Vec<Entry> = followed.iter().map(entry).collect();
        let ratio = inner.billing.ratio(&inner.model.id);
        Pressure::at(self.estimated(outside, inner), compact.marks(inner.window(), &path, ratio))
    }

    /// Bytes that it holds.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes + std::mem::size_of::<Self>() + self.sent.len() * std::mem::size_of::<Sent>()
    }
}

// Whether it holds a tool result that is longer than one may be.
fn is_oversized(outline: &Outline, inner: &Inner) -> bool {
    let cap = inner.settings.prune.tool_result_max_chars;
    let exceeds = |block: &BlockOutline| {
        block.kind == BlockKind::ToolResult && cap.is_some_and(|cap| block.chars > cap)
    };
    outline.blocks.iter().any(exceeds)
}

/// Where summaries among the operator's instructions stand in a dialect.
pub(crate) fn place(dialect: Dialect) -> SystemPlace {
    match dialect {
        Dialect::Chat => SystemPlace::Message(Role::System),
        Dialect::Responses => SystemPlace::Message(Role::Developer),
        _ => SystemPlace::Outside,
    }
}

//! Steps that shorten what is shown: tool results are pruned, the largest items are cut short.

use std::collections::HashMap;

use super::bound::Caps;
use super::draft::{Draft, Origin, Zone};
use super::ground::Ground;
use crate::message::{BlockKind, Role};
use crate::outline::BlockOutline;
use crate::prune::{
    self, Budget, Mark, Marked, PruneMode, PrunedForm, Rule, Size, Sizes, Subject, ThinkingRule,
};
use crate::turn::ToolNames;
use crate::units::{Chars, Tokens};

/// What a marker takes at most, in tokens; a shorter text is not worth one.
const MARKER: u64 = 64;
/// How often a text is cut shorter before a bare marker takes its place.
const ATTEMPTS: usize = 8;

/// Which items may be cut short.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// Those that the model has seen.
    Seen,
    /// All.
    All,
}

/// A text that could be cut short.
#[derive(Clone, Copy)]
struct Item {
    message: usize,
    block: usize,
    kind: BlockKind,
    tokens: Tokens,
    chars: Chars,
}

impl Draft<'_> {
    /// Prunes tool results of what is kept, the oldest first, as spec 008.1 prunes them, until the draft fits.
    pub(super) fn prune(&mut self) -> bool {
        let ground = self.ground;
        let tail = self.tail();
        let path = ground.path.get(tail..).unwrap_or_default();
        let settings = prune::Settings { prune_mode: PruneMode::EveryCall, ..prune::Settings::default() };
        let mut sizes = Remembered { ground, tail, after: HashMap::new() };
        let found = prune::plan(path, &settings, Budget::default(), &mut sizes, ThinkingRule::Free);
        let mut excess = self.bound(Caps::Squeezed) - ground.budget;
        for marked in found.marks {
            let after = sizes.after.get(&(marked.message, marked.block, marked.mark)).copied();
            let marked = Marked { message: marked.message + tail, ..marked };
            let (message, block) = (marked.message, marked.block);
            let is_free = message < ground.unseen && !ground.is_pinned(message);
            let Some(after) = after.filter(|_| is_free) else { continue };
            if excess == Tokens::ZERO || self.marks.contains_key(&(message, block)) {
                continue;
            }
            excess = excess - (ground.block_cost(message, block, None) - after);
            self.hold(marked, after, Origin::Pruned);
        }
        self.reckon();
        self.fits(Caps::Squeezed)
    }

    /// Cuts the largest items of what is shown down to a common length, the greatest that fits: of what the model has seen, or of everything.
    pub(super) fn shorten_largest(&mut self, caps: Caps, of: Of) -> bool {
        if self.fits(caps) {
            return true;
        }
        let mut items = self.items(of);
        items.sort_unstable_by_key(|item| (std::cmp::Reverse(item.tokens), item.message, item.block));
        let total: Tokens = items.iter().map(|item| item.tokens).sum();
        let fixed = self.bound(caps) - total;
        let mut level = common_level(&items, self.ground.budget - fixed);
        let bare = self.marks.clone();
        loop {
            self.marks.clone_from(&bare);
            let names = self.names();
            let shorter = items.iter().take_while(|item| item.tokens > level);
            let marks: Vec<(Marked, Tokens)> =
                shorter.filter_map(|item| self.shortened(item, level, names.of(item))).collect();
            self.hold_short(marks);
            if self.fits(caps) {
                return true;
            }
            if level == Tokens::ZERO {
                return false;
            }
            level = Tokens(level.0 / 2);
        }
    }

    /// Cuts a message short, so that it has about this many tokens.
    pub(super) fn shorten_message(&mut self, message: usize, most: Tokens) {
        let cost = self.cost_of(message..message + 1);
        if cost <= most || self.ground.is_pinned(message) {
            return;
        }
        let items = self.items_of(message);
        let total: Tokens = items.iter().map(|item| item.tokens).sum();
        let level = common_level(&items, most - (cost - total));
        let names = self.names();
        let shorter = items.iter().filter(|item| item.tokens > level);
        let marks: Vec<(Marked, Tokens)> =
            shorter.filter_map(|item| self.shortened(item, level, names.of(item))).collect();
        self.hold_short(marks);
    }

    fn hold_short(&mut self, marks: Vec<(Marked, Tokens)>) {
        for (marked, tokens) in marks {
            self.hold(marked, tokens, Origin::Shortened);
        }
        self.reckon();
    }

    fn items(&self, of: Of) -> Vec<Item> {
        let end = if of == Of::Seen { self.ground.unseen } else { usize::MAX };
        let leading = self.ground.cuts.leading();
        let shown = self.zones.iter().filter(|zone| !Zone::is_hidden(zone));
        let messages = shown.flat_map(|zone| zone.range.start.max(leading)..zone.range.end);
        let free = messages.filter(|message| *message < end && !self.ground.is_pinned(*message));
        free.flat_map(|message| self.items_of(message)).collect()
    }

    fn items_of(&self, message: usize) -> Vec<Item> {
        let blocks = self.ground.path.get(message).map_or(&[][..], |entry| &entry.outline.blocks);
        let editable = blocks.iter().enumerate().filter(|(_, block)| {
            let cleared = block.pruned.as_ref().is_some_and(|pruned| pruned.form == PrunedForm::Cleared);
            let kind = matches!(block.kind, BlockKind::Text | BlockKind::ToolResult);
            kind && !block.has_media && !cleared && block.recall.is_some()
        });
        let item = |(number, block): (usize, &BlockOutline)| {
            let held = self.marks.get(&(message, number));
            let tokens = held.map_or(block.tokens, |held| held.tokens);
            Item { message, block: number, kind: block.kind, tokens, chars: block.chars }
        };
        editable.map(item).collect()
    }

    // The item cut to this many tokens, or to a bare marker where it cannot be; nothing where that makes it no shorter.
    fn shortened(&self, item: &Item, level: Tokens, speaker: String) -> Option<(Marked, Tokens)> {
        let ground = self.ground;
        let cost = |mark: Mark| ground.block_cost(item.message, item.block, Some((mark, &speaker)));
        let whole = ground.block_cost(item.message, item.block, None).0.max(1);
        let room = u128::from(level.0.saturating_sub(MARKER));
        let mut keep = usize::try_from(item.chars.0 as u128 * room / u128::from(whole)).unwrap_or(0);
        let is_text = item.kind == BlockKind::Text;
        let mut mark = bare_mark(is_text);
        for _ in 0..ATTEMPTS {
            if keep == 0 {
                break;
            }
            let tried = if is_text {
                Mark::Truncate { keep: Chars(keep) }
            } else {
                Mark::Trim { head: Chars(keep - keep / 3), tail: Chars(keep / 3) }
            };
            if cost(tried) <= level {
                mark = tried;
                break;
            }
            keep = keep * 3 / 4;
        }
        let rule = match mark {
            Mark::Truncate { .. } => Rule::LongText,
            Mark::Clear { .. } => Rule::HardClear,
            Mark::Trim { .. } | Mark::Remove => Rule::Cap,
        };
        let (Item { message, block, .. }, after) = (*item, cost(mark));
        (after < item.tokens).then_some((Marked { message, block, mark, rule, speaker }, after))
    }

    fn names(&self) -> Names<'_> {
        let mut tools = ToolNames::default();
        self.ground.path.iter().for_each(|entry| tools.learn(&entry.outline));
        Names { draft: self, tools }
    }
}

/// Sizes of blocks behind a tail's start, which remember what they said: each costs a count. Bytes do not matter here.
struct Remembered<'g> {
    ground: &'g Ground<'g>,
    tail: usize,
    after: HashMap<(usize, usize, Mark), Tokens>,
}

impl Sizes for Remembered<'_> {
    fn after(&mut self, subject: &Subject<'_>, mark: Mark) -> Size {
        let message = self.tail + subject.message;
        let tokens = self.ground.block_cost(message, subject.block, Some((mark, subject.speaker)));
        self.after.insert((subject.message, subject.block, mark), tokens);
        Size { tokens, bytes: 0 }
    }
}

/// Whose words an item is.
struct Names<'d> {
    draft: &'d Draft<'d>,
    tools: ToolNames<'d>,
}

impl Names<'_> {
    fn of(&self, item: &Item) -> String {
        let Some(entry) = self.draft.ground.path.get(item.message) else { return String::new() };
        match (item.kind, entry.outline.role) {
            (BlockKind::ToolResult, _) => {
                let block = entry.outline.blocks.get(item.block);
                block.and_then(|block| self.tools.of(block)).unwrap_or("tool").to_owned()
            }
            (_, Role::User) => "user".to_owned(),
            (_, role) => role.to_string(),
        }
    }
}

fn bare_mark(is_text: bool) -> Mark {
    if is_text { Mark::Truncate { keep: Chars::ZERO } } else { Mark::Clear { tail: Chars::ZERO } }
}

// The length to which the longest items come down so that all fit the room. Items are sorted by the caller or few.
fn common_level(items: &[Item], room: Tokens) -> Tokens {
    let mut tokens: Vec<u64> = items.iter().map(|item| item.tokens.0).collect();
    tokens.sort_unstable();
    let mut left = room.0;
    let number = tokens.len();
    for (at, tokens) in tokens.into_iter().enumerate() {
        let share = left / (number - at) as u64;
        if tokens > share {
            return Tokens(share);
        }
        left -= tokens;
    }
    Tokens(u64::MAX)
}

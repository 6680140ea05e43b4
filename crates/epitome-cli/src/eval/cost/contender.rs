//! What is compared: ways to decide what is sent.

use epitome_core::Tokens;
use epitome_core::compact::StrategyName;
use epitome_core::prune::PruneMode;
use epitome_core::settings::Settings as Values;

/// A window that nothing fills.
pub(super) const ENDLESS: Tokens = Tokens(1 << 40);

/// A way to decide what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contender {
    /// Everything, as if the window were endless.
    Full,
    /// Old tool results are trimmed and cleared before every call.
    MaskEachTurn,
    /// Old tool results are trimmed and cleared many at a time.
    BatchMask,
    /// A checkpoint whenever the threshold is reached.
    Threshold,
    /// What Epitome does where nothing is said.
    Auto,
}

impl Contender {
    pub(super) const ALL: [Self; 5] =
        [Self::Full, Self::MaskEachTurn, Self::BatchMask, Self::Threshold, Self::Auto];

    /// Its name.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::MaskEachTurn => "mask each turn",
            Self::BatchMask => "batch mask",
            Self::Threshold => "threshold",
            Self::Auto => "auto",
        }
    }

    /// Its place among all.
    pub(super) fn place(self) -> usize {
        self as usize
    }

    /// Whether it promises to stay within the window.
    pub(super) fn keeps_within(self) -> bool {
        matches!(self, Self::Threshold | Self::Auto)
    }

    /// The window that it is told of: those that do not compact are to do nothing else about it.
    pub(super) fn window(self, window: Tokens) -> Tokens {
        if self.keeps_within() { window } else { ENDLESS }
    }

    /// The settings that the engine does it with; who sends everything needs none.
    pub(super) fn settings(self, values: &Values, threshold: Tokens) -> Values {
        let mut values = values.clone();
        let (compact, prune) = (&mut values.compact, &mut values.prune);
        compact.compaction_enabled = true;
        compact.compaction_threshold = self.keeps_within().then_some(threshold);
        compact.strategy = match self {
            Self::Full | Self::MaskEachTurn | Self::BatchMask => StrategyName::Prune,
            Self::Threshold => StrategyName::Checkpoint,
            Self::Auto => StrategyName::Auto,
        };
        match self {
            Self::Full | Self::Threshold => prune.tool_pruning_enabled = false,
            Self::MaskEachTurn => prune.prune_mode = PruneMode::EveryCall,
            Self::BatchMask => prune.prune_mode = PruneMode::Steps,
            Self::Auto => {}
        }
        values
    }
}

//! What a compaction is asked to do.

use epitome_core::Tokens;
use epitome_core::compact::StrategyName;
use epitome_core::pressure::Occasion;

/// A request for a compaction.
#[derive(Clone, Debug)]
pub struct Compact {
    pub(crate) occasion: Occasion,
    pub(crate) budget: Option<Tokens>,
    pub(crate) instructions: Option<String>,
    pub(crate) strategy: Option<StrategyName>,
    /// Whether somebody depends on it, so that nobody may postpone it.
    pub(crate) insists: bool,
    /// Whether a model may take its time, because no turn waits for it.
    pub(crate) patient: bool,
    /// Whether summaries are picked by code, whoever else could write them.
    pub(crate) offline: bool,
}

impl Compact {
    /// Somebody wants it now.
    pub fn now() -> Self {
        Self {
            occasion: Occasion::Asked,
            budget: None,
            instructions: None,
            strategy: None,
            insists: false,
            patient: true,
            offline: false,
        }
    }

    /// The provider refused the request as too long, for the so-manieth time, counted from 1. Each attempt goes deeper;
    /// from the fourth on nothing is done.
    pub fn after_overflow(attempt: u32) -> Self {
        Self { occasion: Occasion::Refused(attempt), patient: false, ..Self::now() }
    }

    /// It is not due yet: it is prepared for when it is.
    pub(crate) fn ahead() -> Self {
        Self { occasion: Occasion::Ahead, ..Self::now() }
    }

    /// Nothing else helped: the oldest messages go by their number.
    pub(crate) fn last_resort() -> Self {
        let strategy = Some(StrategyName::None);
        Self { occasion: Occasion::LastResort, strategy, insists: true, patient: false, ..Self::now() }
    }

    /// Whether no hook can postpone it, whatever the pressure.
    pub(crate) fn is_urgent(&self) -> bool {
        self.insists || matches!(self.occasion, Occasion::Refused(_))
    }

    /// Only if it is due.
    pub(crate) fn if_due() -> Self {
        Self { occasion: Occasion::BeforeCall, patient: false, ..Self::now() }
    }

    /// Whatever hooks say: somebody was promised a size.
    pub(crate) fn insisting(mut self) -> Self {
        self.insists = true;
        self
    }

    /// So many tokens of conversation are left at most, in our unit.
    #[must_use]
    pub fn within(mut self, budget: Tokens) -> Self {
        self.budget = Some(budget);
        self
    }

    /// What the summary is to mind.
    #[must_use]
    pub fn minding(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// With summaries that are picked by code, whatever model the settings name.
    #[must_use]
    pub fn offline(mut self) -> Self {
        self.offline = true;
        self
    }

    /// By another strategy than the settings name.
    #[must_use]
    pub fn by(mut self, strategy: StrategyName) -> Self {
        self.strategy = Some(strategy);
        self
    }
}

//! What a fork would begin with, without forking.

use epitome_core::Tokens;
use epitome_ledger::model::{RecordedView, TurnId, Until};

use super::{Session, Sight};
use crate::error::Result;
use crate::session::{Context, Warm};

/// What a fork would begin with.
#[derive(Clone, Debug)]
pub struct Beginning {
    /// What it would show of what lies before it.
    pub context: Context,
    /// To how many tokens that would be compacted at once, where it was summarised since.
    pub compacted_to: Option<Tokens>,
}

impl Session {
    /// What [`Session::fork`] would begin with. Nothing is recorded.
    pub async fn fork_dry_run(&self, at: TurnId, sight: Sight) -> Result<Beginning> {
        let inner = self.inner();
        let mut view = inner.ledger.view(inner.tenant, at, Until::Reply).await?;
        if sight == Sight::Whole && view.compaction.is_some() {
            let messages = inner.ledger.messages(inner.tenant, at, 0..view.length).await?;
            view = RecordedView { compaction: None, nearest: None, messages, ..view };
        }
        let summarised = match sight {
            Sight::Summary => self.summarised(view.length).await?,
            Sight::AsSeen | Sight::Whole => None,
        };
        let mut warm = Warm::of(&view, inner)?;
        let pressure = warm.pressure(self.slot.outside(), inner);
        let compacted_to = summarised.map(|size| size.min(Tokens(warm.tokens.0 / 2)));
        let context = Context::new(Some(at), inner.dialect, warm.system.clone(), warm.hand_out(), pressure);
        Ok(Beginning { context, compacted_to })
    }
}

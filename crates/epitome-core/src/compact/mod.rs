//! Compaction: which part of a path is shown as it was, pruned, summarised or left out.
//!
//! A [`Strategy`] turns a path and a budget into a [`Plan`]: segments that tile the path, some of them
//! summaries still to be written. [`Plan::run`] has them written by a [`Summarizer`] and yields a
//! [`Compaction`], the record of what was decided. [`view`] is what the model sees of it, a pure function of
//! the compaction and the messages; nothing that was decided is ever computed again.

mod account;
mod backing;
mod bound;
mod budget;
mod case;
pub mod cuts;
mod escalation;
mod expand;
mod fit;
mod lineage;
mod plan;
mod presets;
mod report;
mod request;
mod resume;
mod run;
mod segment;
mod settings;
mod spare;
pub mod strategies;
mod summarizer;
mod thinking;
mod tiered;
mod view;
mod worth;

pub use budget::{BudgetModel, Component, Measured};
pub use cuts::{CutRule, Cuts, pin_closure};
pub use expand::expand;
pub use fit::{Fitted, fit, minimum_budget, plan_tokens};
pub(crate) use plan::is_annotation;
pub use plan::{Favours, Limits, Outcome, Plan, Planned, Strategy, SummaryTask};
pub use presets::Preset;
pub use report::{Decision, Report, Stretch};
pub use request::{DEFAULT_WINDOW, Request, Telling};
pub use resume::in_force;
pub(crate) use resume::{is_summary, last_request};
pub use run::{Compacted, Preview, compact, dry_run};
pub use segment::{Compaction, Level, Segment, TilingError, check_tiling};
pub use settings::{Fallback, KeepBy, Settings, StrategyName, SummaryLength};
pub use summarizer::{LeadingSentences, Summarizer, SummaryError, SummaryRequest};
pub use tiered::{Due, Tiered};
pub use view::{Piece, Placement, SystemPlace, View, Wording, view, view_tokens};
pub use worth::Stakes;

//! Tests of the crate as its users see it.

// Clippy exempts test functions, but not the functions they share.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod adaptive;
mod artifacts;
mod artifacts_failures;
mod auto;
mod calibration;
mod checkpoint;
mod checkpoint_changes;
mod checkpoint_excerpts;
mod checkpoint_malformed;
mod compaction;
mod compaction_properties;
mod compactions;
mod continued;
mod conversations;
mod cost;
mod cuts;
mod fidelity;
mod fit;
mod friday;
mod friday_tiers;
mod friday_topics;
mod items;
mod log;
mod micro_agent;
mod micro_agent_compaction;
mod micro_agent_cuts;
mod micro_agent_estimation;
mod nexus;
mod nexus_cuts;
mod notation;
mod nous_draft;
mod nous_draft_compaction;
mod nous_draft_estimation;
mod nous_v4;
mod nous_v4_checkpoint;
mod nous_v4_compaction;
mod nous_v4_cuts;
mod nous_v4_estimation;
mod presets;
mod pressure;
mod prune_properties;
mod prune_steps;
mod recorded;
mod segments;
mod statements;
mod strategies;
mod strategy_properties;
mod subjects;
mod support;
mod tiered;
mod tokens;
mod topics;

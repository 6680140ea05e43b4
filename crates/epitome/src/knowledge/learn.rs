//! Learning: what a compaction hides is read for what stays true, and what is new of it is recorded.

use std::collections::HashSet;
use std::sync::Arc;

use epitome_core::checkpoint::Checkpoint;
use epitome_core::knowledge::{Change, Earlier, Finding, Kind, Known, Standing, current_task, reconcile};
use epitome_core::secrets::masked;
use epitome_ledger::Paging;
use epitome_ledger::model::{
    FindingFilter, FindingId, FindingState, NewEpisode, NewFinding, RecordedFinding, SessionId,
};

use super::extractor::Source;
use crate::compaction::{Prepared, dropped};
use crate::error::Result;
use crate::session::Session;

/// Under this name memos hold what a session is working on.
pub(super) const WORKING_MEMORY: &str = "working-memory";
/// The latest so many findings are compared with what is found.
const KNOWN: usize = 4_000;
/// So many findings are read at once.
const CHUNK: usize = 500;
/// A title has so many characters.
const TITLE: usize = 80;

impl Session {
    /// Learns from what a compaction is about to hide. What goes wrong is returned, to be noted.
    pub(crate) async fn learn(&self, prepared: &Prepared) -> Option<String> {
        let learnt = self.try_learn(prepared).await;
        learnt.err().map(|why| {
            tracing::warn!(%why, "nothing was learnt from what is compacted");
            format!("nothing was learnt: {why}")
        })
    }

    async fn try_learn(&self, prepared: &Prepared) -> std::result::Result<(), String> {
        let (inner, told) = (self.inner(), |error: crate::Error| error.to_string());
        if let Some(lesson) = &prepared.learnt {
            return self.record_findings(lesson.learnt.findings.clone()).await.map_err(told);
        }
        let ranges = prepared.hidden().ranges;
        let Some(extractor) = inner.extractor.as_ref().filter(|_| !ranges.is_empty()) else { return Ok(()) };
        let source = Arc::new(Source { messages: prepared.picture.messages.clone(), ranges });
        let (extractor, read) = (Arc::clone(extractor), Arc::clone(&source));
        let mut fresh = inner.hooks.hear("extractor", move || extractor.extract(read)).await?;
        // What is not in what was read nobody said.
        fresh.retain(|finding| source.ranges.iter().any(|range| range.contains(&finding.message)));
        self.record_findings(fresh).await.map_err(told)
    }

    async fn record_findings(&self, fresh: Vec<Finding>) -> Result<()> {
        if fresh.is_empty() {
            return Ok(());
        }
        let inner = self.inner();
        let owners = self.owners().await?;
        let on_path =
            self.all(FindingFilter { session: Some(self.id()), ..FindingFilter::default() }).await?;
        // What was learnt from a message before is not learnt from it again, whatever became of it.
        let recorded: HashSet<FindingId> = on_path.iter().map(|finding| finding.id).collect();
        let fresh: Vec<(FindingId, Finding)> = fresh
            .into_iter()
            .map(|finding| (id_of(&owners, &finding), finding))
            .filter(|(id, _)| !recorded.contains(id))
            .collect();
        let known = self.known(on_path).await?;
        let as_known: Vec<Known> = known.iter().map(as_known).collect();
        let (ids, fresh): (Vec<FindingId>, Vec<Finding>) = fresh.into_iter().unzip();
        let changes = reconcile(&as_known, &fresh);
        let before = |earlier: Earlier| match earlier {
            Earlier::Known(at) => known.get(at).map(|finding| finding.id),
            Earlier::Fresh(at) => ids.get(at).copied(),
        };
        let new = ids.iter().zip(fresh).zip(changes).filter_map(|((id, finding), change)| {
            let supersedes = match change {
                Change::Same(_) => return None,
                Change::New => None,
                Change::Supersedes(earlier) => before(earlier),
            };
            let Finding { kind, subject, text, message, .. } = finding;
            Some(NewFinding { id: *id, kind, subject, text, message: message as u64, supersedes, time: None })
        });
        inner.ledger.learn(inner.tenant, self.id(), new.collect()).await?;
        Ok(())
    }

    // What counts for this session: its own decisions, and what its agent knows of facts and preferences.
    async fn known(&self, on_path: Vec<RecordedFinding>) -> Result<Vec<RecordedFinding>> {
        let mut states = FindingState::COUNTING.to_vec();
        states.push(FindingState::Rejected);
        let decided =
            |finding: &RecordedFinding| finding.kind == Kind::Decision && states.contains(&finding.state);
        let mut known: Vec<RecordedFinding> = on_path.into_iter().filter(decided).collect();
        let agent = Some(self.inner().agent.clone());
        let of_agent = self.all(FindingFilter { agent, states, ..FindingFilter::default() }).await?;
        known.extend(of_agent.into_iter().filter(|finding| finding.kind != Kind::Decision));
        known.reverse();
        Ok(known)
    }

    pub(super) async fn all(&self, filter: FindingFilter) -> Result<Vec<RecordedFinding>> {
        let inner = self.inner();
        let (mut found, mut paging) = (Vec::new(), Paging::first(CHUNK));
        loop {
            let page = inner.ledger.findings(inner.tenant, filter.clone(), paging).await?;
            found.extend(page.items);
            match page.next {
                Some(next) if found.len() < KNOWN => paging = Paging::after(next, CHUNK),
                _ => return Ok(found),
            }
        }
    }

    // The sessions that recorded the messages of the path, each with the first of its own.
    pub(super) async fn owners(&self) -> Result<Vec<(u64, SessionId)>> {
        let inner = self.inner();
        let mut owners = Vec::new();
        let mut session = self.info().await?;
        loop {
            owners.push((session.origin.map_or(0, |origin| origin.messages), session.id));
            let Some(origin) = session.origin else { return Ok(owners) };
            match inner.ledger.session(inner.tenant, origin.session).await {
                Ok(parent) => session = parent,
                // It was purged; what is shared with it is still there.
                Err(_) => {
                    owners.push((0, origin.session));
                    return Ok(owners);
                }
            }
        }
    }

    /// Closes the episode that a compaction ends, and notes what is being worked on. What goes wrong is returned.
    pub(crate) async fn close_episode(&self, prepared: &Prepared) -> Option<String> {
        let closed = self.try_close(prepared).await;
        closed.err().map(|why| {
            tracing::warn!(%why, "the episode was not closed");
            format!("the episode was not closed: {why}")
        })
    }

    async fn try_close(&self, prepared: &Prepared) -> Result<()> {
        let (inner, picture) = (self.inner(), &prepared.picture);
        let ranges = dropped(&prepared.compaction, picture.previous.as_deref());
        let Some(end) = ranges.iter().map(|range| range.end).max() else { return Ok(()) };
        let checkpoint = prepared.compaction.summary().map(|text| Checkpoint::parse(&text).checkpoint);
        // What is still shown says it best, then the summary; a summary of another form may not say it at all.
        let shown = usize::try_from(end).ok().and_then(|end| picture.messages.get(end..)).unwrap_or_default();
        let task = current_task(shown, checkpoint.as_ref()).or_else(|| current_task(&picture.messages, None));
        let within = |range: &std::ops::Range<u64>| {
            let range = usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?;
            current_task(picture.messages.get(range)?, None)
        };
        let title = ranges.iter().rev().find_map(within).as_deref().map(title);
        let new = NewEpisode { compaction: prepared.id, end, title };
        inner.ledger.close_episode(inner.tenant, new).await?;
        if let Some(task) = task {
            inner.ledger.put_memo(inner.tenant, WORKING_MEMORY, self.id().to_string(), task).await?;
        }
        Ok(())
    }
}

// The same message says the same, in whatever fork it is read.
fn id_of(owners: &[(u64, SessionId)], finding: &Finding) -> FindingId {
    let ordinal = finding.message as u64;
    let owner = owners.iter().find(|(first, _)| ordinal >= *first).map(|(_, owner)| *owner);
    let owner = owner.map(|owner| owner.to_string()).unwrap_or_default();
    let said = format!("{owner}/{ordinal}/{}/{}/{}", finding.block, finding.kind, finding.text);
    FindingId::of(said.as_bytes())
}

fn as_known(finding: &RecordedFinding) -> Known {
    let standing = match finding.state {
        FindingState::Rejected => Standing::Rejected,
        _ => Standing::Current,
    };
    let RecordedFinding { kind, subject, text, .. } = finding;
    Known { kind: *kind, subject: subject.clone(), text: text.clone(), standing }
}

fn title(task: &str) -> String {
    let line = task.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    masked(line).chars().take(TITLE).collect()
}

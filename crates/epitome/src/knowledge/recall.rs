//! Recalling: what was learnt and said of something, but for what the model sees anyway.

use std::collections::HashSet;
use std::ops::Range;

use epitome_core::Tokens;
use epitome_core::compact::Segment;
use epitome_core::knowledge::Kind;
use epitome_core::secrets::masked;
use epitome_ledger::model::{
    FindingFilter, FindingId, FindingState, Found, Hit, Order, Scope, Search, SessionId,
};
use epitome_ledger::{LedgerError, Paging};

use super::asked::words;
use super::learn::WORKING_MEMORY;
use super::memory::{Memory, Recall, What};
use super::varied::{Weighed, varied};
use crate::error::Result;
use crate::session::{Session, Warm};

/// So many hits are weighed.
const HITS: usize = 96;
/// What was learnt counts for more than the message that it was learnt from.
const LEARNT: f64 = 2.0;
/// What is no longer shown counts for more than what is shown in part.
const HIDDEN: f64 = 1.5;

/// How much of a message the model sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    /// All of it.
    Whole,
    /// Not what was pruned.
    Part,
    /// Nothing.
    Nothing,
}

impl Session {
    /// What was learnt and said of something, within a budget of its own: facts and preferences of the agent, decisions and
    /// messages of the session.
    ///
    /// What the model sees anyway is left out, and so is what was rejected or is no longer the case. What a compaction hid comes
    /// first, and what tells something else before what tells the same again. A long question, as a whole message, is asked by
    /// the words in it that are likely to be rare.
    pub async fn recall_about(&self, query: impl Into<String>, budget: Tokens) -> Result<Recall> {
        let (inner, query) = (self.inner(), words(&query.into()));
        let mut hits = self.hits(&query, Scope::Session(self.id())).await?;
        let others = self.hits(&query, Scope::Agent(inner.agent.clone())).await?;
        hits.extend(others.into_iter().filter(is_of_agent));
        let (view, counting) = (self.seen().await?, self.counting(&hits).await?);
        let mut memories = Vec::with_capacity(hits.len());
        for mut weighed in hits.into_iter().filter_map(|hit| weighed(hit, &counting)) {
            match view.sight(&weighed.memory) {
                Sight::Whole => continue,
                Sight::Part => {}
                Sight::Nothing => weighed.times(HIDDEN),
            }
            if inner.settings.compact.mask_secrets {
                weighed.memory.text = masked(&weighed.memory.text).into_owned();
            }
            memories.push(weighed);
        }
        Ok(Recall::within(budget, &inner.counter, self.id(), varied(memories)))
    }

    /// What the session was working on when it was last compacted.
    pub async fn current_task(&self) -> Result<Option<String>> {
        let inner = self.inner();
        let memo = inner.ledger.memo(inner.tenant, WORKING_MEMORY, self.id().to_string()).await?;
        Ok(memo.map(|memo| memo.value))
    }

    async fn hits(&self, query: &str, scope: Scope) -> Result<Vec<Hit>> {
        let inner = self.inner();
        let search = Search { query: query.to_owned(), scope, order: Order::Best };
        match inner.ledger.search(inner.tenant, search, Paging::first(HITS)).await {
            Ok(page) => Ok(page.items),
            // There is no word in it that could be looked for.
            Err(LedgerError::BadRequest(_)) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    // What another path says is no longer the case may still be on this one: a fork keeps what its parent changed later.
    async fn counting(&self, hits: &[Hit]) -> Result<HashSet<FindingId>> {
        let replaced =
            |hit: &Hit| matches!(hit.found, Found::Finding { state: FindingState::Superseded, .. });
        if !hits.iter().any(replaced) {
            return Ok(HashSet::new());
        }
        let states = FindingState::COUNTING.to_vec();
        let filter = FindingFilter { session: Some(self.id()), states, ..FindingFilter::default() };
        Ok(self.all(filter).await?.into_iter().map(|finding| finding.id).collect())
    }

    async fn seen(&self) -> Result<View> {
        let segments = |warm: &mut Warm| {
            let segments = warm.compaction.as_ref().map(|(_, compaction)| compaction.segments.clone());
            (warm.length, segments.unwrap_or_default())
        };
        let (mut end, segments) = self.look(segments).await?;
        let mut path = Vec::new();
        for (first, owner) in self.owners().await? {
            path.push((owner, first..end));
            end = first;
        }
        Ok(View { path, segments })
    }
}

/// What the model sees of a path.
struct View {
    /// Which session recorded which messages.
    path: Vec<(SessionId, Range<u64>)>,
    segments: Vec<Segment>,
}

impl View {
    fn sight(&self, memory: &Memory) -> Sight {
        let on_path = |(owner, range): &(SessionId, Range<u64>)| {
            *owner == memory.session && range.contains(&memory.message)
        };
        if !self.path.iter().any(on_path) {
            return Sight::Nothing;
        }
        let ordinal = usize::try_from(memory.message).unwrap_or(usize::MAX);
        match self.segments.iter().find(|segment| segment.range().contains(&ordinal)) {
            // What stands behind the compaction is shown as it is.
            None | Some(Segment::Verbatim { .. }) => Sight::Whole,
            Some(Segment::Pruned { .. }) => Sight::Part,
            Some(Segment::Summary { .. } | Segment::Omitted { .. }) => Sight::Nothing,
        }
    }
}

fn is_of_agent(hit: &Hit) -> bool {
    matches!(hit.found, Found::Finding { kind: Kind::Fact | Kind::Preference, .. })
}

fn weighed(hit: Hit, counting: &HashSet<FindingId>) -> Option<Weighed> {
    let (what, session, message, weight) = match hit.found {
        Found::Message { session, ordinal, role, .. } => (What::Message { role }, session, ordinal, 1.0),
        Found::Finding { id, kind, state, session, ordinal, .. } => {
            let counts = FindingState::COUNTING.contains(&state) || counting.contains(&id);
            let what = What::Finding { id, kind, state };
            counts.then_some((what, session, ordinal, LEARNT))?
        }
        // A summary is told by the one in force, or by what it was made of.
        _ => return None,
    };
    let memory = Memory { what, session, message, text: hit.snippet.text, score: hit.score };
    let mut weighed = Weighed { memory, shares: hit.shares };
    weighed.times(weight);
    Some(weighed)
}

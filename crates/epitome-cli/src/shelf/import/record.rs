//! Recording a path: finding how much of it is known and where it goes on, then writing the rest.

use epitome_ledger::model::{
    ChainHash, Expect, KnownPrefix, NewSession, Opening, Receipt, Session, SessionId, Turn, TurnId, TurnKind,
};
use epitome_ledger::{LedgerError, Result};

use super::super::Shelf;
use super::paths::{Material, PathThrough, Ready};
use super::steps::Rest;

/// How often a path is tried again when somebody else was faster, beside once for each of its messages.
const TRIES: usize = 5;

/// What became of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A session that was not there.
    New,
    /// A session that was not there, on a beginning that was.
    Forked,
    /// A session got more.
    Grown,
    /// All of it was there.
    Unchanged,
}

/// What was written of a path.
pub(super) struct Recorded {
    pub(super) outcome: Outcome,
    pub(super) messages: u64,
    pub(super) bytes: u64,
    pub(super) compactions: u64,
}

impl Recorded {
    /// The same, having written these messages of the path.
    fn with(self, recorder: &Recorder<'_>, range: std::ops::Range<usize>) -> Self {
        let written = recorder.path.messages.get(range).unwrap_or_default();
        let bytes = written.iter().filter_map(|at| recorder.material.messages.get(*at)).map(Ready::bytes);
        Self { messages: written.len() as u64, bytes: bytes.sum::<usize>() as u64, ..self }
    }

    const NOTHING: Recorded = Recorded { outcome: Outcome::Unchanged, messages: 0, bytes: 0, compactions: 0 };
}

/// Records what is not recorded yet of a path.
pub(super) async fn record(
    shelf: &Shelf,
    material: &Material,
    path: &PathThrough,
) -> anyhow::Result<Recorded> {
    let mut tries = 0;
    // Whoever was faster has recorded a message of it, or something that opens alike.
    let most = TRIES + path.messages.len();
    loop {
        let recorder = Recorder::new(shelf, material, path);
        match recorder.run().await {
            // Another process imports the same; what it has written is found when we look again.
            Err(
                LedgerError::HeadMoved { .. } | LedgerError::Exists { .. } | LedgerError::Overtaken { .. },
            ) if tries < most => tries += 1,
            recorded => return Ok(recorded?),
        }
    }
}

/// Where a path goes on.
enum Start {
    /// At the head of a session that has this much of it.
    At(Box<Session>),
    /// In a session of its own, behind a turn of another one and so many messages.
    Behind(TurnId, usize),
    /// In a session of its own.
    Anew,
    /// Nowhere: all of it is there.
    Known,
}

struct Recorder<'a> {
    shelf: &'a Shelf,
    material: &'a Material,
    path: &'a PathThrough,
    chains: Vec<ChainHash>,
    /// The number of messages up to the first one of the model, that included.
    answered: usize,
}

impl<'a> Recorder<'a> {
    fn new(shelf: &'a Shelf, material: &'a Material, path: &'a PathThrough) -> Self {
        let answered = material.answered(path).unwrap_or(usize::MAX);
        Self { shelf, material, path, chains: material.chains(path), answered }
    }

    async fn run(&self) -> Result<Recorded> {
        let Shelf { ledger, tenant, .. } = self.shelf;
        let named = match &self.path.external {
            Some(name) => ledger.find_session(*tenant, &self.material.agent, name).await?,
            None => None,
        };
        let is_new_name = named.is_none() && self.path.external.is_some();
        if let Some(session) = named.filter(|session| self.holds(session)) {
            return self.grow(&session).await;
        }
        let known = ledger.find_prefix(*tenant, self.chains.clone()).await?;
        match self.start(known.clone(), is_new_name).await? {
            Start::Known => Ok(Recorded::NOTHING),
            Start::At(session) => self.grow(&session).await,
            Start::Behind(turn, messages) => self.begin(Some((turn, messages)), known, is_new_name).await,
            Start::Anew => self.begin(None, known, is_new_name).await,
        }
    }

    async fn start(&self, known: Option<KnownPrefix>, is_new_name: bool) -> Result<Start> {
        let Shelf { ledger, tenant, .. } = self.shelf;
        let Some(known) = self.ours(known).await? else { return Ok(Start::Anew) };
        if !is_new_name {
            if known.messages == self.chains.len() as u64 && !self.lacks_compaction(&known).await? {
                return Ok(Start::Known);
            }
            // A session without a name of its own is known by what is said in it.
            for place in known.places.iter().filter(|place| place.at_head) {
                let session = ledger.session(*tenant, place.session).await?;
                if session.external.is_none() && session.agent == self.material.agent {
                    return Ok(Start::At(Box::new(session)));
                }
            }
        }
        self.fork_point(known).await
    }

    // The longest part of it that this agent has recorded in the same notation: what another tool wrote of the same
    // conversation is another file, and must come back as such.
    async fn ours(&self, mut found: Option<KnownPrefix>) -> Result<Option<KnownPrefix>> {
        let Shelf { ledger, tenant, .. } = self.shelf;
        while let Some(mut known) = found {
            let last = known.messages.saturating_sub(1);
            for place in std::mem::take(&mut known.places) {
                let found = ledger.messages(*tenant, place.turn, last..known.messages).await?;
                let is_alike =
                    found.first().is_some_and(|message| message.notation == self.material.notation);
                if is_alike && self.is_ours(place.session).await? {
                    known.places.push(place);
                }
            }
            if !known.places.is_empty() {
                return Ok(Some(known));
            }
            found = self.known(last).await?;
        }
        Ok(None)
    }

    // What is recorded of the first so many messages.
    async fn known(&self, messages: u64) -> Result<Option<KnownPrefix>> {
        let chains = self.chains.get(..usize::try_from(messages).unwrap_or(0)).unwrap_or_default();
        self.shelf.ledger.find_prefix(self.shelf.tenant, chains.to_vec()).await
    }

    // A purged session says nothing any more about whose it was; its forks stand on it.
    async fn is_ours(&self, session: SessionId) -> Result<bool> {
        match self.shelf.ledger.session(self.shelf.tenant, session).await {
            Ok(session) => Ok(session.agent == self.material.agent),
            Err(LedgerError::NotFound { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    // Whether the path begins with all that was said in a session.
    fn holds(&self, session: &Session) -> bool {
        let length = usize::try_from(session.messages).unwrap_or(usize::MAX);
        match length.checked_sub(1) {
            Some(last) => self.chains.get(last) == Some(&session.chain),
            None => true,
        }
    }

    // An import that was cut off may have left a summary's message without its compaction.
    async fn lacks_compaction(&self, known: &KnownPrefix) -> Result<bool> {
        let rest = Rest::new(self.material, self.path, self.chains.len());
        if rest.compaction_due().and_then(|due| rest.compaction(due)).is_none() {
            return Ok(false);
        }
        let Shelf { ledger, tenant, .. } = self.shelf;
        for place in known.places.iter().filter(|place| place.at_head) {
            let session = ledger.session(*tenant, place.session).await?;
            if let Some(head) = session.head
                && ledger.turn(*tenant, head).await?.kind == TurnKind::Call
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    // Many sessions open alike; only what the model answered tells that they are one conversation. A fork leaves a turn
    // at its end.
    async fn fork_point(&self, mut known: KnownPrefix) -> Result<Start> {
        let Shelf { ledger, tenant, .. } = self.shelf;
        loop {
            if known.messages < self.answered as u64 {
                return Ok(Start::Anew);
            }
            if let Some(place) = known.places.iter().find(|place| place.ends_turn) {
                let messages = usize::try_from(known.messages).unwrap_or(usize::MAX);
                return Ok(Start::Behind(place.turn, messages));
            }
            let Some(place) = known.places.first() else { return Ok(Start::Anew) };
            let first = ledger.turn(*tenant, place.turn).await?.first;
            known = match self.ours(self.known(first).await?).await? {
                Some(known) => known,
                None => return Ok(Start::Anew),
            };
        }
    }

    fn new_session(&self, shared: usize, is_named: bool) -> NewSession {
        let first = self.path.messages.iter().filter_map(|at| self.material.messages.get(*at)?.time).next();
        NewSession {
            label: match shared {
                0 => self.path.label.clone(),
                shared => self.material.fork_label(self.path, shared),
            },
            platform: Some("import".to_owned()),
            channel: Some(self.material.channel.clone()),
            external: self.path.external.clone().filter(|_| is_named),
            time: first,
            ..NewSession::of(&self.material.agent)
        }
    }

    // A session without a name is only found by what is said in it, so that it comes with its first turns or not at all.
    // Two who import the same at once must not both open one.
    async fn begin(
        &self,
        at: Option<(TurnId, usize)>,
        known: Option<KnownPrefix>,
        is_named: bool,
    ) -> Result<Recorded> {
        let (at, messages) = at.map_or((None, 0), |(turn, messages)| (Some(turn), messages));
        let mut recorded = Recorded::NOTHING;
        recorded.outcome = if at.is_some() { Outcome::Forked } else { Outcome::New };
        let mut rest = Rest::new(self.material, self.path, messages).framed();
        let turns = if rest.compaction_due().is_some() { Vec::new() } else { rest.turns() };
        let session = self.new_session(messages, is_named);
        let id = session.id;
        let opening = Opening { at, session, turns, chains: self.chains.clone(), known };
        let receipt = self.shelf.ledger.begin_once(self.shelf.tenant, opening).await?;
        let mut expect = Expect { session: id, head: receipt.head, fence: None };
        self.compact(&rest, &mut expect, &mut recorded).await?;
        self.write(&mut rest, &mut expect, &mut recorded).await?;
        Ok(recorded.with(self, messages..rest.at()))
    }

    async fn grow(&self, session: &Session) -> Result<Recorded> {
        let mut recorded = Recorded::NOTHING;
        let start = usize::try_from(session.messages).unwrap_or(usize::MAX);
        let rest = Rest::new(self.material, self.path, start);
        let mut rest = if start > 0 { rest.behind(&self.trailing(session).await?) } else { rest.framed() };
        let mut expect = Expect { session: session.id, head: session.head, fence: None };
        self.mend(session, &mut rest, &mut expect, &mut recorded).await?;
        self.write(&mut rest, &mut expect, &mut recorded).await?;
        if rest.at() > start || recorded.compactions > 0 {
            recorded.outcome = Outcome::Grown;
        }
        Ok(recorded.with(self, start..rest.at()))
    }

    // Lines that were recorded with the last message because nothing stood behind them then.
    async fn trailing(&self, session: &Session) -> Result<Vec<u8>> {
        let Shelf { ledger, tenant, .. } = self.shelf;
        let Some((head, last)) = session.head.zip(session.messages.checked_sub(1)) else {
            return Ok(Vec::new());
        };
        let place = usize::try_from(last).ok().and_then(|last| self.path.messages.get(last));
        let Some(ours) = place.and_then(|at| self.material.messages.get(*at)) else { return Ok(Vec::new()) };
        let stored = ledger.messages(*tenant, head, last..session.messages).await?;
        Ok(stored.first().and_then(|stored| ours.lines_behind(&stored.body)).unwrap_or_default().to_vec())
    }

    async fn write(&self, rest: &mut Rest<'_>, expect: &mut Expect, recorded: &mut Recorded) -> Result<()> {
        loop {
            let turns = rest.turns();
            if turns.is_empty() {
                return Ok(());
            }
            let receipt = self.shelf.ledger.append(self.shelf.tenant, *expect, turns).await?;
            expect.head = receipt.head;
            self.compact(rest, expect, recorded).await?;
        }
    }

    // The head may be a turn whose reply has come since, or a summary's message whose compaction is missing.
    async fn mend(
        &self,
        session: &Session,
        rest: &mut Rest<'_>,
        expect: &mut Expect,
        recorded: &mut Recorded,
    ) -> Result<()> {
        let Some(head) = session.head else { return Ok(()) };
        let head: Turn = self.shelf.ledger.turn(self.shelf.tenant, head).await?;
        if head.kind == TurnKind::Compaction {
            return Ok(());
        }
        if rest.compaction_due().is_some() {
            return self.compact(rest, expect, recorded).await;
        }
        if head.session == session.id
            && head.reply.is_none()
            && let Some(reply) = rest.reply()
        {
            let receipt: Receipt = self.shelf.ledger.reply(self.shelf.tenant, *expect, reply).await?;
            expect.head = receipt.head;
            self.compact(rest, expect, recorded).await?;
        }
        Ok(())
    }

    async fn compact(&self, rest: &Rest<'_>, expect: &mut Expect, recorded: &mut Recorded) -> Result<()> {
        let Some(new) = rest.compaction_due().and_then(|due| rest.compaction(due)) else { return Ok(()) };
        let receipt = self.shelf.ledger.compact(self.shelf.tenant, *expect, new).await?;
        expect.head = receipt.head;
        recorded.compactions += 1;
        Ok(())
    }
}

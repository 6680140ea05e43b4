//! Any sequence of appends, compactions, forks, undos, notes, packing, purging and reopening agrees with a plain list in memory,
//! also where two ledgers are open on the database, appends are asked for again, and whoever asked did not wait.

use epitome_core::compact::{Compaction, Segment};
use epitome_ledger::model::{
    Expect, NewNote, NewReply, NewSession, NewTurn, NoteKind, Purge, SessionId, TenantId, TurnId, TurnKind,
    Until, Warrant,
};
use epitome_ledger::{Ledger, LedgerError, Paging};
use proptest::collection::vec;
use proptest::test_runner::{Config, TestRunner};

use crate::step::{Step, step};
use crate::support::*;

#[derive(Clone)]
struct Turn {
    id: TurnId,
    kind: TurnKind,
    input_end: usize,
    end: usize,
    /// What is shown behind it.
    compaction: Option<Compaction>,
    replied: bool,
    owner: usize,
}

/// A note: made by which session, behind how many turns.
type Noted = (usize, usize, NoteKind, std::ops::Range<u64>);

struct Session {
    id: SessionId,
    turns: Vec<Turn>,
    messages: Vec<Vec<u8>>,
    notes: Vec<Noted>,
    purged: bool,
}

struct Model {
    tenant: TenantId,
    sessions: Vec<Session>,
    said: usize,
    /// The last append: to which session, and what was asked for.
    last: Option<(usize, Expect, NewTurn)>,
}

impl Model {
    fn pick(&self, session: usize) -> usize {
        let living: Vec<usize> = (0..self.sessions.len()).filter(|at| !self.sessions[*at].purged).collect();
        living[session % living.len()]
    }

    fn expect(&self, at: usize) -> Expect {
        let session = &self.sessions[at];
        Expect { session: session.id, head: session.turns.last().map(|turn| turn.id), fence: None }
    }

    fn words(&mut self, count: usize) -> Vec<epitome_ledger::model::NewMessage> {
        let range = self.said..self.said + count;
        self.said = range.end;
        // Some things are said again and again, so that bodies are shared.
        range.map(|number| user(&format!("message {}", number % 17))).collect()
    }

    async fn take(&mut self, ledger: &Ledger, step: &Step) {
        match *step {
            Step::Append { session, input, reply } => self.append(ledger, session, input, reply).await,
            Step::Impatient { session, input } => self.append_impatiently(ledger, session, input).await,
            Step::Again => self.again(ledger).await,
            Step::Purge { session } => self.purge(ledger, session).await,
            Step::Reply { session } => self.reply(ledger, session).await,
            Step::Compact { session, cut, keep } => {
                let length = self.sessions[self.pick(session)].messages.len();
                let (cut, keep) = (cut.min(length), keep.min(length));
                let cut = cut.min(length - keep);
                let mut segments = Vec::new();
                if cut > 0 {
                    segments.push(summary(0..cut, &format!("summary of {cut}")));
                }
                if cut < length - keep {
                    segments
                        .push(Segment::Omitted { range: cut..length - keep, note: "left out".to_owned() });
                }
                if keep > 0 {
                    segments.push(verbatim(length - keep..length));
                }
                self.compact(ledger, session, segments).await;
            }
            Step::Undo { session, from, length } => {
                let at = self.pick(session);
                let messages = self.sessions[at].messages.len();
                let Some(before) = self.sessions[at].turns.last().and_then(|turn| turn.compaction.clone())
                else {
                    return;
                };
                let mut undone = before.expanded(from..from + length);
                let covered = undone.covered();
                if covered < messages {
                    undone.segments.push(verbatim(covered..messages));
                }
                self.compact(ledger, session, undone.segments).await;
            }
            Step::Fork { session, turn } => self.fork(ledger, session, turn).await,
            Step::Note { session, kind, from } => self.note(ledger, session, kind, from).await,
            Step::Pack => ledger.pack().await.unwrap(),
            Step::Reopen => {}
        }
    }

    async fn append(&mut self, ledger: &Ledger, session: usize, input: usize, reply: bool) {
        let at = self.pick(session);
        let expect = self.expect(at);
        let input = self.words(input);
        let answer = if reply { self.words(1) } else { Vec::new() };
        let mut turn = NewTurn::of(input.clone());
        turn.reply = reply.then(|| NewReply { messages: answer.clone(), ..NewReply::default() });
        ledger.append(self.tenant, expect, vec![turn.clone()]).await.unwrap();
        self.recorded(at, &turn);
        self.last = Some((at, expect, turn));
    }

    async fn append_impatiently(&mut self, ledger: &Ledger, session: usize, input: usize) {
        let at = self.pick(session);
        let expect = self.expect(at);
        let turn = NewTurn::of(self.words(input));
        give_up(ledger.append(self.tenant, expect, vec![turn.clone()])).await;
        ledger.append(self.tenant, expect, vec![turn.clone()]).await.unwrap();
        self.recorded(at, &turn);
        self.last = Some((at, expect, turn));
    }

    async fn again(&mut self, ledger: &Ledger) {
        let Some((at, expect, turn)) = self.last.clone() else { return };
        let session = &self.sessions[at];
        let result = ledger.append(self.tenant, expect, vec![turn]).await;
        match session.purged {
            true => assert!(matches!(result, Err(LedgerError::NotFound { .. })), "{result:?}"),
            false => assert_eq!(result.unwrap().turns, session.turns.len() as u64),
        }
    }

    async fn purge(&mut self, ledger: &Ledger, session: usize) {
        let at = self.pick(session);
        if self.sessions.iter().filter(|session| !session.purged).count() < 2 {
            return;
        }
        let warrant = Warrant { actor: "owner".to_owned(), reason: "asked for".to_owned() };
        ledger.purge(self.tenant, Purge::Session(self.sessions[at].id), warrant).await.unwrap();
        self.sessions[at].purged = true;
        // What only the purged session had is gone, and that may be the reply to a turn which others stand on.
        let living =
            self.sessions.iter().filter(|session| !session.purged).flat_map(|session| &session.turns);
        let kept = living.filter(|turn| turn.owner == at).map(|turn| turn.end).max().unwrap_or(0);
        for turn in self.sessions[at].turns.iter_mut().filter(|turn| turn.owner == at && turn.end > kept) {
            (turn.end, turn.replied) = (turn.input_end, false);
        }
    }

    fn recorded(&mut self, at: usize, turn: &NewTurn) {
        let (id, reply) = (turn.id, turn.reply.is_some());
        let input = turn.input.clone();
        let answer = turn.reply.clone().map(|reply| reply.messages).unwrap_or_default();
        let session = &mut self.sessions[at];
        let compaction = session.turns.last().and_then(|turn| turn.compaction.clone());
        session.messages.extend(input.into_iter().map(|message| message.body));
        let input_end = session.messages.len();
        session.messages.extend(answer.into_iter().map(|message| message.body));
        let end = session.messages.len();
        session.turns.push(Turn {
            id,
            kind: TurnKind::Call,
            input_end,
            end,
            compaction,
            replied: reply,
            owner: at,
        });
    }

    async fn reply(&mut self, ledger: &Ledger, session: usize) {
        let at = self.pick(session);
        let due = self.sessions[at]
            .turns
            .last()
            .is_some_and(|turn| turn.kind == TurnKind::Call && !turn.replied && turn.owner == at);
        let expect = self.expect(at);
        self.said += 1;
        // The same reply again would be taken for the question whether it was recorded.
        let messages = vec![assistant(&format!("reply {}", self.said))];
        let reply = NewReply { messages: messages.clone(), ..NewReply::default() };
        let result = ledger.reply(self.tenant, expect, reply).await;
        assert_eq!(result.is_ok(), due, "{result:?}");
        if due {
            let session = &mut self.sessions[at];
            session.messages.extend(messages.into_iter().map(|message| message.body));
            let turn = session.turns.last_mut().unwrap();
            (turn.end, turn.replied) = (session.messages.len(), true);
        }
    }

    async fn compact(&mut self, ledger: &Ledger, session: usize, segments: Vec<Segment>) {
        let at = self.pick(session);
        let new = compaction(segments);
        let (id, made) = (new.id, new.compaction.clone());
        ledger.compact(self.tenant, self.expect(at), new).await.unwrap();
        let session = &mut self.sessions[at];
        let end = session.messages.len();
        session.turns.push(Turn {
            id,
            kind: TurnKind::Compaction,
            input_end: end,
            end,
            compaction: Some(made),
            replied: false,
            owner: at,
        });
    }

    async fn fork(&mut self, ledger: &Ledger, session: usize, turn: usize) {
        let at = self.pick(session);
        let turns = &self.sessions[at].turns;
        if turns.is_empty() || self.sessions.len() >= 8 {
            return;
        }
        let number = turn % turns.len();
        let turn = &turns[number];
        let new = NewSession::of("agent");
        let id = new.id;
        ledger.fork(self.tenant, turn.id, new).await.unwrap();
        // A turn is forked as it is now, also where another fork left it before it had its reply.
        let parent = &self.sessions[turn.owner];
        let turn = &parent.turns[number];
        let fork = Session {
            id,
            turns: parent.turns[..=number].to_vec(),
            messages: parent.messages[..turn.end].to_vec(),
            notes: Vec::new(),
            purged: false,
        };
        self.sessions.push(fork);
    }

    async fn note(&mut self, ledger: &Ledger, session: usize, kind: NoteKind, from: usize) {
        let at = self.pick(session);
        let length = self.sessions[at].messages.len();
        if length == 0 {
            return;
        }
        let from = (from % length) as u64;
        let new = NewNote { kind, messages: from..length as u64, content: None, time: None };
        ledger.note(self.tenant, self.expect(at), new).await.unwrap();
        let session = &mut self.sessions[at];
        session.notes.push((at, session.turns.len(), kind, from..length as u64));
    }

    async fn check(&self, ledger: &Ledger) {
        for (at, session) in self.sessions.iter().enumerate() {
            let found = ledger.session(self.tenant, session.id).await;
            if session.purged {
                assert!(matches!(found, Err(LedgerError::NotFound { .. })), "{found:?}");
                continue;
            }
            let found = found.unwrap();
            let compactions = session.turns.iter().filter(|turn| turn.kind == TurnKind::Compaction).count();
            assert_eq!(found.head, session.turns.last().map(|turn| turn.id));
            assert_eq!(
                (found.turns, found.messages),
                (session.turns.len() as u64, session.messages.len() as u64)
            );
            assert_eq!(found.compactions, compactions as u64);
            self.check_current(ledger, session).await;
            let Some(head) = found.head else { continue };
            let history = ledger.history(self.tenant, head, Paging::first(1000)).await.unwrap().items;
            let expected: Vec<_> = session.turns.iter().map(|turn| (turn.id, turn.kind)).collect();
            assert_eq!(history.iter().map(|turn| (turn.id, turn.kind)).collect::<Vec<_>>(), expected);
            let stored = ledger.messages(self.tenant, head, 0..10_000).await.unwrap();
            let bodies: Vec<Vec<u8>> = stored.into_iter().map(|message| message.body).collect();
            // The head of a fork may have got its reply since, on the session that owns it.
            assert_eq!(bodies[..session.messages.len()], session.messages);
            for turn in session.turns.iter().filter(|turn| turn.owner == at) {
                self.check_view(ledger, session, turn).await;
            }
            self.check_notes(ledger, at).await;
        }
    }

    async fn check_view(&self, ledger: &Ledger, session: &Session, turn: &Turn) {
        for (until, length) in [(Until::Input, turn.input_end), (Until::Reply, turn.end)] {
            let view = ledger.view(self.tenant, turn.id, until).await.unwrap();
            assert_eq!(view.compaction, turn.compaction);
            let segments = turn.compaction.as_ref().map_or(&[][..], |compaction| &compaction.segments);
            let hidden = |ordinal: usize| {
                segments.iter().any(|segment| {
                    segment.range().contains(&ordinal) && !matches!(segment, Segment::Verbatim { .. })
                })
            };
            let shown: Vec<&[u8]> =
                (0..length).filter(|at| !hidden(*at)).map(|at| session.messages[at].as_slice()).collect();
            assert_eq!(
                view.messages.iter().map(|message| message.body.as_slice()).collect::<Vec<_>>(),
                shown
            );
        }
    }

    async fn check_current(&self, ledger: &Ledger, session: &Session) {
        let compaction = session.turns.last().and_then(|turn| turn.compaction.clone());
        let view = ledger.current_view(self.tenant, session.id).await.unwrap();
        assert_eq!((&view.compaction, view.length), (&compaction, session.messages.len() as u64));
        for message in &view.messages {
            assert_eq!(message.body, session.messages[message.ordinal as usize]);
        }
    }

    async fn check_notes(&self, ledger: &Ledger, at: usize) {
        let session = &self.sessions[at];
        let found = ledger.notes(self.tenant, session.id).await.unwrap();
        let mut owners: Vec<usize> = session.turns.iter().map(|turn| turn.owner).collect();
        owners.push(at);
        owners.dedup();
        // A note holds where the turn it was made behind is on the path.
        let mut expected = Vec::new();
        for owner in owners {
            let last = session.turns.iter().rposition(|turn| turn.owner == owner).map_or(0, |last| last + 1);
            let until = if owner == at { usize::MAX } else { last };
            let notes = self.sessions[owner].notes.iter().filter(|note| note.1 <= until);
            expected.extend(notes.map(|note| (note.2, note.3.clone())));
        }
        assert_eq!(found.into_iter().map(|note| (note.kind, note.messages)).collect::<Vec<_>>(), expected);
    }
}

fn agrees(place: &Place, tenant: TenantId, steps: &[(Step, usize)]) {
    run(async {
        let mut ledgers = [place.open().await, place.open().await];
        let first = ledgers[0].create_session(tenant, NewSession::of("agent")).await.unwrap();
        let first = Session {
            id: first.id,
            turns: Vec::new(),
            messages: Vec::new(),
            notes: Vec::new(),
            purged: false,
        };
        let mut model = Model { tenant, sessions: vec![first], said: 0, last: None };
        for (step, which) in steps {
            if matches!(step, Step::Reopen) {
                ledgers[*which].close().await;
                ledgers[*which] = place.open().await;
            }
            model.take(&ledgers[*which], step).await;
        }
        for ledger in ledgers {
            model.check(&ledger).await;
            assert_eq!(ledger.doctor().await.unwrap().findings, []);
            ledger.close().await;
        }
    });
}

fn check(cases: u32, place: impl Fn() -> (Place, TenantId)) {
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let result = runner.run(&vec((step(), 0..2usize), 0..60), |steps| {
        let (place, tenant) = place();
        agrees(&place, tenant, &steps);
        Ok(())
    });
    result.unwrap();
}

#[test]
fn sqlite_agrees_with_the_model() {
    check(48, || (Place::sqlite(), ME));
}

#[test]
fn postgres_agrees_with_the_model() {
    // One database for all cases, a tenant each: what one does must not be seen by the others.
    let address = Place::postgres().address;
    check(16, || {
        let tenant = TenantId::from_uuid(uuid::Uuid::now_v7());
        (Place { address: address.clone(), folder: tempfile::tempdir().unwrap() }, tenant)
    });
}

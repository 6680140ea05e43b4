//! Calls that go on from a conversation that their provider holds: only what is new is in them, and it is recorded where the reply
//! that they name stands.

use epitome::ledger::LedgerError;
use epitome::wire::digest_of_json;
use epitome::{Course, Engine, Input, Opening, Said, Session, Sight, TenantId, TurnId};

use super::links::Link;
use super::store::Ready;
use super::under_way::UnderWay;

/// What goes on from a reply.
pub(super) struct Follow<'a> {
    pub(super) tenant: TenantId,
    pub(super) link: Link,
    /// What is new.
    pub(super) messages: Vec<&'a str>,
    /// The name that the client gives to the conversation.
    pub(super) name: Option<&'a str>,
    /// Whether the client says that it tries again.
    pub(super) is_retry: bool,
}

/// Where it stands.
pub(super) struct Followed {
    pub(super) session: Session,
    pub(super) course: Course,
    pub(super) turn: TurnId,
    /// The place of the first new message.
    pub(super) first: u64,
    /// What is being recorded; nothing where it was before.
    pub(super) said: Option<Said>,
}

impl Follow<'_> {
    /// Records it; nothing where the session is gone that it goes on from.
    pub(super) async fn record(
        &self,
        ready: &Ready,
        engine: &Engine,
        under_way: &UnderWay,
    ) -> epitome::Result<Option<Followed>> {
        let session = match engine.resume(self.link.session).await {
            Err(epitome::Error::Ledger(LedgerError::NotFound { .. })) => return Ok(None),
            session => session?,
        };
        let info = session.info().await?;
        if info.messages == self.link.messages {
            return self.say(session, Course::Continued).await.map(Some);
        }
        if let Some(turn) = self.waiting(ready, &session, under_way).await? {
            let (course, first) = (Course::Retried, self.link.messages);
            return Ok(Some(Followed { session, course, turn, first, said: None }));
        }
        let opening = Opening {
            platform: Some("proxy".to_owned()),
            channel: self.name.map(str::to_owned),
            label: info.label,
            key: None,
        };
        let fork = session.fork(self.link.turn, Sight::AsSeen, opening).await?;
        self.say(fork, Course::Forked).await.map(Some)
    }

    async fn say(&self, session: Session, course: Course) -> epitome::Result<Followed> {
        let input = self.messages.iter().fold(Input::default(), |input, one| input.and(Input::json(*one)));
        let chain = session.info().await?.chain;
        let said = session.say(chain, input).await?;
        Ok(Followed { session, course, turn: said.turn, first: self.link.messages, said: Some(said) })
    }

    // The turn of the same call, made before and not answered, nor being answered now.
    async fn waiting(
        &self,
        ready: &Ready,
        session: &Session,
        under_way: &UnderWay,
    ) -> epitome::Result<Option<TurnId>> {
        let resumed = ready.ledger.resume(self.tenant, session.id()).await?;
        let end = self.link.messages + self.messages.len() as u64;
        let Some(head) = resumed.session.head.filter(|_| resumed.waits && resumed.session.messages == end)
        else {
            return Ok(None);
        };
        if !self.is_retry && under_way.all().contains(&head) {
            return Ok(None);
        }
        let before = ready.ledger.messages(self.tenant, head, self.link.messages..end).await?;
        let same = |(before, now): (&epitome::ledger::model::StoredMessage, &&str)| {
            digest_of_json(&String::from_utf8_lossy(&before.body)) == digest_of_json(now)
        };
        Ok((before.len() == self.messages.len() && before.iter().zip(&self.messages).all(same))
            .then_some(head))
    }
}

//! Knowledge: what a compaction hides is learnt before, with where it was said, and comes back when it is asked for.

use std::sync::Arc;

use epitome::{Compact, Engine, Extractor, Reply, Session, Source, Told, What};
use epitome_core::Tokens;
use epitome_core::knowledge::{Finding, Kind};
use epitome_ledger::Paging;
use epitome_ledger::model::{FindingFilter, FindingState, RecordedFinding};

use crate::support::{Place, exchange, on_both};

on_both!(
    what_is_hidden_is_learnt_with_its_provenance,
    what_changes_takes_the_place_of_what_was,
    facts_are_the_agents_and_decisions_the_sessions,
    what_was_rejected_stays_away,
    what_is_learnt_again_is_known_also_in_a_fork,
    what_the_model_sees_is_not_recalled,
    a_whole_message_is_a_question,
    what_tells_the_same_comes_later,
    a_block_keeps_to_its_budget,
    an_extractor_that_fails_holds_nothing_up,
    an_extractor_of_ones_own_is_asked,
    nothing_is_learnt_where_nobody_wants_it,
);

async fn say(session: &Session, text: &str, answer: &str) {
    session.append(text).await.unwrap();
    session.reply(Reply::text(answer)).await.unwrap();
}

/// Says much of nothing, and has everything before it compacted.
async fn bury(session: &Session, from: usize) {
    for number in from..from + 8 {
        exchange(session, number, 1_000).await;
    }
    let outcome = session.compact(Compact::now().within(Tokens(3_000))).await.unwrap();
    assert!(outcome.is_done() && outcome.notes.is_empty(), "{:?}", outcome.notes);
}

async fn known(engine: &Engine) -> Vec<RecordedFinding> {
    let mut found = engine.knowledge(FindingFilter::default(), Paging::first(100)).await.unwrap().items;
    found.reverse();
    found
}

async fn texts(engine: &Engine) -> Vec<(String, FindingState)> {
    known(engine).await.into_iter().map(|finding| (finding.text, finding.state)).collect()
}

fn told(text: &str, state: FindingState) -> (String, FindingState) {
    (text.to_owned(), state)
}

async fn recalled(session: &Session, query: &str) -> Vec<String> {
    let recall = session.recall_about(query, Tokens(1_000)).await.unwrap();
    let learnt = recall.memories().iter().filter(|memory| matches!(memory.what, What::Finding { .. }));
    learnt.map(|memory| memory.text.clone()).collect()
}

async fn what_is_hidden_is_learnt_with_its_provenance(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("knowledge").await.unwrap();
    say(&session, "Port the importer to the new API. The database listens on port 5433.", "Understood.")
        .await;
    say(
        &session,
        "Never commit to main.",
        "We'll use nom for the parser instead of regex, because it is faster.",
    )
    .await;
    assert_eq!(known(&engine).await, [], "nothing is learnt of what is still shown");
    bury(&session, 0).await;
    let found = known(&engine).await;
    let told: Vec<(Kind, u64, FindingState)> =
        found.iter().map(|finding| (finding.kind, finding.message, finding.state)).collect();
    assert_eq!(
        told,
        [
            (Kind::Fact, 0, FindingState::Current),
            (Kind::Preference, 2, FindingState::Review),
            (Kind::Decision, 3, FindingState::Current)
        ]
    );
    assert_eq!(found[0].text, "The database listens on port 5433.");
    assert_eq!((found[0].session, found[0].turn), (session.id(), session.turn(0).await.unwrap().id));
    assert_eq!(
        recalled(&session, "which port has the database?").await,
        ["The database listens on port 5433."]
    );
    let ledger = engine.ledger();
    let episodes = ledger.episodes(engine.tenant(), session.id(), Paging::first(9)).await.unwrap().items;
    assert_eq!((episodes.len(), episodes[0].number, episodes[0].messages.start), (1, 0, 0));
    assert!(episodes[0].messages.end > 4 && episodes[0].title.is_some(), "{episodes:?}");
    let task = session.current_task().await.unwrap().unwrap();
    assert!(task.starts_with("Question 7"), "{task}");
    assert_eq!(ledger.doctor().await.unwrap().findings, []);
}

async fn what_changes_takes_the_place_of_what_was(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("change").await.unwrap();
    say(&session, "The database listens on port 5433. Use tabs.", "Understood.").await;
    bury(&session, 0).await;
    say(&session, "The database port is 5433. The database port is now 5434. Use spaces.", "Understood.")
        .await;
    bury(&session, 20).await;
    assert_eq!(
        texts(&engine).await,
        [
            told("The database listens on port 5433.", FindingState::Superseded),
            told("Use tabs.", FindingState::Superseded),
            told("The database port is now 5434.", FindingState::Current),
            told("Use spaces.", FindingState::Review),
        ]
    );
    assert_eq!(recalled(&session, "database port").await, ["The database port is now 5434."]);
    let episodes =
        engine.ledger().episodes(engine.tenant(), session.id(), Paging::first(9)).await.unwrap().items;
    assert_eq!(episodes.len(), 2);
    assert_eq!(episodes[0].messages.end, episodes[1].messages.start);
}

async fn facts_are_the_agents_and_decisions_the_sessions(place: Place) {
    let engine = place.engine().await;
    let (one, other) = (engine.session("one").await.unwrap(), engine.session("other").await.unwrap());
    say(&one, "The database port is 5433. We'll use nom for the parser.", "Understood.").await;
    bury(&one, 0).await;
    say(&other, "The database port is 5433. We'll use winnow for the parser.", "Understood.").await;
    bury(&other, 20).await;
    assert_eq!(
        texts(&engine).await,
        [
            told("The database port is 5433.", FindingState::Current),
            told("We'll use nom for the parser.", FindingState::Current),
            told("We'll use winnow for the parser.", FindingState::Current),
        ],
        "the fact is known, the decision is another session's"
    );
    assert_eq!(recalled(&other, "database port").await, ["The database port is 5433."]);
    assert_eq!(recalled(&other, "parser").await, ["We'll use winnow for the parser."]);
}

async fn what_was_rejected_stays_away(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("review").await.unwrap();
    say(&session, "Use tabs. Never commit to main.", "Understood.").await;
    bury(&session, 0).await;
    let found = known(&engine).await;
    assert_eq!(engine.reject(found[0].id).await.unwrap().state, FindingState::Rejected);
    assert_eq!(engine.confirm(found[1].id).await.unwrap().state, FindingState::Confirmed);
    say(&session, "Use tabs!", "Understood.").await;
    bury(&session, 20).await;
    assert_eq!(known(&engine).await.len(), 2, "it is not learnt again");
    assert_eq!(recalled(&session, "tabs commit main").await, ["Never commit to main."]);
}

async fn what_is_learnt_again_is_known_also_in_a_fork(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("parent").await.unwrap();
    say(&session, "The database port is 5433.", "Understood.").await;
    say(&session, "The database port is now 5434.", "Understood.").await;
    let turn = session.turn(0).await.unwrap().id;
    bury(&session, 0).await;
    let before = texts(&engine).await;
    assert_eq!(before.len(), 2);
    let fork =
        engine.ledger().fork(engine.tenant(), turn, epitome_ledger::model::NewSession::of("tester")).await;
    let fork = engine.resume(fork.unwrap().id).await.unwrap();
    bury(&fork, 40).await;
    assert_eq!(texts(&engine).await, before, "the shared message was read before");
}

async fn what_the_model_sees_is_not_recalled(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("sight").await.unwrap();
    say(&session, "The zebra port is 5433, says the manual.", "Understood.").await;
    let shown = session.recall_about("zebra", Tokens(500)).await.unwrap();
    assert_eq!((shown.memories(), shown.block().as_str()), (&[][..], ""));
    bury(&session, 0).await;
    let hidden = session.recall_about("zebra", Tokens(500)).await.unwrap();
    assert_eq!(hidden.memories().len(), 1, "{hidden:?}");
    assert_eq!((hidden.memories()[0].session, hidden.memories()[0].message), (session.id(), 0));
    assert!(hidden.block().contains("#0] The zebra port is 5433"), "{}", hidden.block());
    assert_eq!(session.recall_about("?!", Tokens(500)).await.unwrap().block(), "");
    assert_eq!(session.recall_about("unheard-of", Tokens(500)).await.unwrap().block(), "");
}

async fn messages(session: &Session, query: &str) -> Vec<u64> {
    let recall = session.recall_about(query, Tokens(4_000)).await.unwrap();
    recall.memories().iter().map(|memory| memory.message).collect()
}

async fn a_whole_message_is_a_question(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("long").await.unwrap();
    say(&session, "See the gate.", "It opens with valve_17, at half past nine.").await;
    bury(&session, 0).await;
    let talk: Vec<String> = (b'a'..=b'z')
        .flat_map(|one| [(one, 'q'), (one, 'k'), (one, 'j')])
        .map(|(one, two)| format!("{}{two}", char::from(one)))
        .collect();
    let question = format!("{} then turn valve_17 on", talk.join(" "));
    assert_eq!(messages(&session, &question).await[0], 1);
}

async fn what_tells_the_same_comes_later(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("same").await.unwrap();
    for number in 0..7 {
        say(&session, &format!("Look at zebra stripes and zebra hooves, the {number}th time."), "Seen.")
            .await;
    }
    say(&session, "Look at the giraffe.", "Seen.").await;
    bury(&session, 0).await;
    let found = messages(&session, "zebra stripes hooves giraffe").await;
    assert_eq!(found.iter().filter(|message| **message < 14).count(), 7, "{found:?}");
    assert!(found[..2].contains(&14), "{found:?}");
}

async fn a_block_keeps_to_its_budget(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("budget").await.unwrap();
    for number in 0..12 {
        say(&session, &format!("The zebra{number} service listens on port 54{number:02}."), "Noted.").await;
    }
    bury(&session, 0).await;
    let counter = epitome_core::models::ModelTable::default().get("").model.counter();
    let whole = session.recall_about("service port", Tokens(4_000)).await.unwrap();
    assert!(whole.memories().len() >= 12, "{}", whole.block());
    for budget in [0, 20, 60, 120, 240] {
        let recall = session.recall_about("service port", Tokens(budget)).await.unwrap();
        assert!(counter.text(&recall.block()) <= Tokens(budget), "{}", recall.block());
        assert_eq!(recall.memories(), &whole.memories()[..recall.memories().len()], "the best come first");
    }
}

/// Finds what it was told to find.
struct Own(Result<Vec<Finding>, &'static str>);

impl Extractor for Own {
    fn extract(&self, source: Arc<Source>) -> Told<Vec<Finding>> {
        let found = self.0.clone();
        assert!(source.stretches().all(|(_, messages)| !messages.is_empty()));
        Box::pin(async move { found.map_err(Into::into) })
    }
}

async fn an_extractor_that_fails_holds_nothing_up(place: Place) {
    let engine = place.builder().extractor(Own(Err("no model today"))).build().await.unwrap();
    let session = engine.session("fails").await.unwrap();
    say(&session, "The database port is 5433.", "Understood.").await;
    for number in 0..8 {
        exchange(&session, number, 1_000).await;
    }
    let outcome = session.compact(Compact::now().within(Tokens(3_000))).await.unwrap();
    assert!(outcome.is_done());
    assert!(outcome.notes.iter().any(|note| note.contains("no model today")), "{:?}", outcome.notes);
    assert_eq!(known(&engine).await, []);
}

async fn an_extractor_of_ones_own_is_asked(place: Place) {
    let finding = |message: usize, text: &str| Finding {
        kind: Kind::Fact,
        subject: "moon".to_owned(),
        text: text.to_owned(),
        message,
        block: 0,
        span: 0..4,
    };
    let own = Own(Ok(vec![finding(0, "The moon is full."), finding(9_999, "Nobody said this.")]));
    let engine = place.builder().extractor(own).build().await.unwrap();
    let session = engine.session("own").await.unwrap();
    bury(&session, 0).await;
    assert_eq!(texts(&engine).await, [told("The moon is full.", FindingState::Current)]);
}

async fn nothing_is_learnt_where_nobody_wants_it(place: Place) {
    let engine = place.builder().learning_nothing().build().await.unwrap();
    let session = engine.session("nothing").await.unwrap();
    say(&session, "The database port is 5433.", "Understood.").await;
    bury(&session, 0).await;
    assert_eq!(known(&engine).await, []);
}

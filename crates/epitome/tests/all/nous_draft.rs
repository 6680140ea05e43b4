//! Conformance with the first draft of spec 008.1 of what needs a store or events: its integration tests, Phase 3 (episodes,
//! persistence, restart, working memory), the extraction of step 2 and the recall boost of Phase 4.

use epitome::{Compact, Engine, Reply, Session, What};
use epitome_core::compact::Preset;
use epitome_core::knowledge::Kind;
use epitome_core::settings::Settings;
use epitome_core::{Tokens, events};
use epitome_ledger::Paging;
use epitome_ledger::model::{Episode, FindingFilter, FindingState};

use crate::log;
use crate::seeds::*;
use crate::support::{Place, assert_sendable, call, on_both, result};

on_both!(
    a_conversation_of_many_turns_triggers_compaction,
    the_message_format_after_compaction,
    after_compaction_the_conversation_goes_on,
    the_summary_captures_what_was_evicted,
    tool_outputs_are_capped_before_they_are_sent,
    estimated_input_is_tracked_per_turn_and_60k_warns,
    compaction_closes_an_episode,
    the_conversation_is_persisted,
    the_conversation_is_recovered_after_a_restart,
    the_current_task_is_in_working_memory,
    durable_knowledge_is_extracted_before_it_is_evicted,
    what_was_compacted_is_recalled_first,
    when_the_summary_fails_old_messages_are_truncated,
);

async fn opened(place: &Place, settings: Settings, scribe: &Scribe) -> (Engine, Session) {
    let engine = of_seed(place, settings).summarizer(scribe.clone()).build().await.unwrap();
    let session = engine.session("telegram").await.unwrap();
    (engine, session)
}

/// Twenty messages that exceed the budget of 80,000.
async fn full(place: &Place, scribe: &Scribe) -> (Engine, Session) {
    let (engine, session) = opened(place, literal(Preset::NousDraft), scribe).await;
    chat(&session, 20, 4_001).await;
    (engine, session)
}

/// Something is said, and then so much that it is evicted.
async fn evict(session: &Session, said: &[&str]) {
    for text in said {
        session.append(*text).await.unwrap();
        session.reply(Reply::text("Understood.")).await.unwrap();
    }
    chat(session, 8, 400).await;
    assert!(session.compact(Compact::now()).await.unwrap().is_done());
}

async fn a_conversation_of_many_turns_triggers_compaction(place: Place) {
    let scribe = Scribe::new("They talked about words.");
    let (_engine, session) = opened(&place, literal(Preset::NousDraft), &scribe).await;
    chat(&session, 20, 4_000).await;
    session.context().await.unwrap();
    assert_eq!(scribe.asked(), [], "80,000 do not exceed the budget");
    session.append("One more.").await.unwrap();
    session.context().await.unwrap();
    assert_eq!(
        shape(&session).await,
        "S0..16 V16..21",
        "of a recency window of 6 what begins with an exchange"
    );
}

async fn the_message_format_after_compaction(place: Place) {
    let (_engine, session) = opened(&place, literal(Preset::NousDraft), &Scribe::new("They counted.")).await;
    numbered(&session, 20).await;
    session.compact(Compact::now()).await.unwrap();
    let expected = [
        "user: [Conversation Summary]\nThey counted.",
        "assistant: I understand the context. Continuing...",
        "user: msg 15",
        "assistant: msg 16",
        "user: msg 17",
        "assistant: msg 18",
        "user: msg 19",
        "assistant: msg 20",
    ];
    assert_eq!(lines(&session).await, expected);
}

async fn after_compaction_the_conversation_goes_on(place: Place) {
    let scribe = Scribe::new("the first segment");
    let (_engine, session) = full(&place, &scribe).await;
    assert_sendable(&session.context().await.unwrap(), 80_000);
    for round in 0..30 {
        chat(&session, 2, 4_000).await;
        scribe.write(&format!("the first segment, and {round}"));
        let context = session.context().await.unwrap();
        assert_sendable(&context, 80_000);
        assert_eq!(context.messages().next().unwrap().role, epitome_core::Role::User);
    }
    let asked = scribe.asked();
    assert!(asked.len() > 2);
    assert_eq!(asked[1].previous, ["the first segment"], "new summary = merge(old summary, new segment)");
}

async fn the_summary_captures_what_was_evicted(place: Place) {
    let engine = of_seed(&place, Preset::NousDraft.settings()).build().await.unwrap();
    let session = engine.session("offline").await.unwrap();
    evict(&session, &["Deploy the importer to aurora-7. Never touch src/generated.rs."]).await;
    let seen = lines(&session).await.join("\n");
    assert!(seen.contains("aurora-7") && seen.contains("src/generated.rs"), "{seen}");
}

async fn tool_outputs_are_capped_before_they_are_sent(place: Place) {
    let (_engine, session) = opened(&place, literal(Preset::NousDraft), &Scribe::new("unused")).await;
    let output = "a line of a build log\n".repeat(500);
    session.append("Build it.").await.unwrap();
    session.reply(call("call", "bash", "{}")).await.unwrap();
    session.append(result("call", &output)).await.unwrap();
    let context = session.context().await.unwrap();
    let shown = text_of(&context.decoded().unwrap()[2]);
    assert!(shown.chars().count() <= 4_000, "{} characters", shown.chars().count());
    assert!(shown.starts_with("a line of a build log") && shown.contains("recall "), "still useful");
    assert_sendable(&context, 80_000);
    let recorded = session.messages(2..3).await.unwrap().remove(0);
    assert!(recorded.body.len() > output.len(), "what is stored is not cut");
    session.reply(Reply::text("It is built.")).await.unwrap();
    let again = session.context().await.unwrap().to_json();
    assert!(again.starts_with(context.to_json().trim_end_matches(']')), "what was sent once is sent again");
}

async fn estimated_input_is_tracked_per_turn_and_60k_warns(place: Place) {
    let (_engine, session) = opened(&place, literal(Preset::NousDraft), &Scribe::new("unused")).await;
    session.beside(&words(1_000), "");
    log::listen();
    chat(&session, 15, 4_000).await;
    let turns = session.history(Paging::first(99)).await.unwrap().items;
    let estimated: Vec<u64> = turns.iter().map(|turn| turn.estimated.unwrap().0).collect();
    assert_eq!(estimated, (0..8).map(|turn| 5_000 + 8_000 * turn).collect::<Vec<_>>());
    let heard = log::heard(&[events::TOKENS]);
    let told: Vec<&str> = heard
        .iter()
        .filter(|line| line.level == "DEBUG")
        .filter_map(|line| line.fields.get("input_tokens_estimated").map(String::as_str))
        .collect();
    assert_eq!(told, estimated.iter().map(u64::to_string).collect::<Vec<_>>());
    let warned: Vec<_> = heard.iter().filter(|line| line.level == "WARN").collect();
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert_eq!(warned[0].fields["input_tokens_estimated"], "61000");
    assert_eq!(warned[0].fields["warn_tokens"], "60000");
}

async fn episodes(engine: &Engine, session: &Session) -> Vec<Episode> {
    engine.ledger().episodes(engine.tenant(), session.id(), Paging::first(9)).await.unwrap().items
}

async fn compaction_closes_an_episode(place: Place) {
    let (engine, session) = full(&place, &Scribe::new("so far")).await;
    assert_eq!(episodes(&engine, &session).await, []);
    session.context().await.unwrap();
    let first = episodes(&engine, &session).await;
    let compaction = session.compaction().await.unwrap().unwrap().0.id;
    assert_eq!((first.len(), first[0].messages.clone(), first[0].compaction), (1, 0..14, compaction));
    assert!(first[0].closed >= first[0].opened);
    chat(&session, 20, 4_000).await;
    session.context().await.unwrap();
    let both = episodes(&engine, &session).await;
    assert_eq!(both[0], first[0]);
    assert_eq!((both.len(), both[1].messages.clone()), (2, 14..34), "the next one begins where it ended");
}

async fn the_conversation_is_persisted(place: Place) {
    let (engine, session) = full(&place, &Scribe::new("so far")).await;
    session.context().await.unwrap();
    let state = engine.ledger().conversation_state(engine.tenant(), session.id()).await.unwrap();
    assert_eq!((state.agent_id.as_str(), state.session_id.as_str()), ("tester", "telegram"));
    assert_eq!(state.summary.as_deref(), Some("so far"));
    assert_eq!(serde_json::from_str::<Vec<serde_json::Value>>(&state.messages).unwrap().len(), 6);
    assert_eq!(state.total_tokens_estimated, Tokens(20 * 4_001));
    assert!(state.turn_count >= 10 && state.updated_at >= state.created_at);
}

async fn the_conversation_is_recovered_after_a_restart(place: Place) {
    let scribe = Scribe::new("so far");
    let (engine, session) = full(&place, &scribe).await;
    session.append("Are you there?").await.unwrap();
    let before = session.context().await.unwrap().to_json();
    let (task, closed) = (session.current_task().await.unwrap(), episodes(&engine, &session).await);
    engine.close().await;
    let (engine, session) = opened(&place, literal(Preset::NousDraft), &scribe).await;
    assert_eq!(session.context().await.unwrap().to_json(), before, "on reconnecting it is loaded");
    assert_eq!(session.current_task().await.unwrap(), task);
    assert_eq!(episodes(&engine, &session).await, closed);
    session.reply(Reply::text("I am.")).await.unwrap();
    assert!(session.context().await.unwrap().to_json().contains("I am."));
}

async fn the_current_task_is_in_working_memory(place: Place) {
    let scribe = Scribe::new(&checkpoint("Port the importer to the new API."));
    let (_engine, session) = opened(&place, literal(Preset::NousDraft), &scribe).await;
    assert_eq!(session.current_task().await.unwrap(), None);
    let ask = async |asked: &str| {
        session.append(asked).await.unwrap();
        for _ in 0..4 {
            session.reply(Reply::text(words(400))).await.unwrap();
            session.append("Go on, please.").await.unwrap();
        }
        session.reply(Reply::text("Done.")).await.unwrap();
        assert!(session.compact(Compact::now()).await.unwrap().is_done());
        session.current_task().await.unwrap().unwrap()
    };
    assert_eq!(ask("Port the importer.").await, "Port the importer to the new API.", "of the summary");
    scribe.write(&checkpoint("Write the release notes."));
    assert_eq!(ask("Now the notes.").await, "Write the release notes.");
    scribe.write("A summary of another form.");
    assert_eq!(ask("Tag the release.").await, "Tag the release.", "or of what was said");
}

async fn durable_knowledge_is_extracted_before_it_is_evicted(place: Place) {
    let (engine, session) = opened(&place, literal(Preset::NousDraft), &Scribe::new("so far")).await;
    let said =
        ["The database listens on port 5433.", "Never commit to main.", "We'll use nom for the parser."];
    evict(&session, &said).await;
    let mut found = engine.knowledge(FindingFilter::default(), Paging::first(9)).await.unwrap().items;
    found.reverse();
    let told: Vec<(Kind, &str, u64, FindingState)> = found
        .iter()
        .map(|finding| (finding.kind, finding.text.as_str(), finding.message, finding.state))
        .collect();
    let expected = [
        (Kind::Fact, said[0], 0, FindingState::Current),
        (Kind::Preference, said[1], 2, FindingState::Review),
        (Kind::Decision, said[2], 4, FindingState::Current),
    ];
    assert_eq!(told, expected, "preferences are flagged for review");
    assert!(found.iter().all(|finding| finding.session == session.id()));
    evict(&session, &[]).await;
    let again = engine.knowledge(FindingFilter::default(), Paging::first(9)).await.unwrap().items;
    assert_eq!(again.len(), 3, "what is already in Heart and Brain is not extracted twice");
}

async fn what_was_compacted_is_recalled_first(place: Place) {
    let (_engine, session) = opened(&place, literal(Preset::NousDraft), &Scribe::new("so far")).await;
    let chatter = "Has anybody seen what the database of the archive does on its port these days?";
    evict(&session, &["The database listens on port 5433.", chatter, "We'll use nom for the parser."]).await;
    let recall = session.recall_about("database port", Tokens(500)).await.unwrap();
    let memories = recall.memories();
    assert!(matches!(memories[0].what, What::Finding { kind: Kind::Fact, .. }), "{memories:?}");
    assert_eq!((memories[0].text.as_str(), memories[0].message), ("The database listens on port 5433.", 0));
    let said = memories.iter().find(|memory| memory.message == 2).unwrap();
    assert!(memories[0].score > said.score, "a fact counts for more than what was merely said");
    let decided = session.recall_about("which parser?", Tokens(500)).await.unwrap();
    assert!(matches!(decided.memories()[0].what, What::Finding { kind: Kind::Decision, .. }));
    assert!(decided.block().contains("We'll use nom for the parser."));
}

async fn when_the_summary_fails_old_messages_are_truncated(place: Place) {
    let (_engine, session) = full(&place, &Scribe::broken()).await;
    let context = session.context().await.unwrap();
    assert_eq!(shape(&session).await, "O0..14 V14..20");
    assert_eq!(context.messages().len(), 6, "without a summary");
    assert_eq!(session.messages(0..99).await.unwrap().len(), 20, "nothing is lost");
}
